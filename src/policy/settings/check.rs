// SPDX-License-Identifier: GPL-2.0-or-later
//! What settings cannot be, although each value has its type.

use super::Settings;
use crate::policy::directives::SECONDS_MAX;

/// No weight is larger: beyond that, a cost would be no number any more.
const WEIGHT_MAX: f64 = 1e6;
/// No site keeps more snapshots.
const SNAPSHOTS_MAX: u32 = 100;
/// A larger audit file is of no use to anybody.
const AUDIT_MIB_MAX: u64 = 1 << 20;
/// Every file that is kept is renamed when one is put aside.
const AUDIT_KEEP_MAX: u32 = 100;

/// A value, or several that do not go together, that settings cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Fault {
    /// The keys in question, as in `victims.step_s`; the first that a file sets is where its reader is sent.
    pub keys: Vec<String>,
    /// What is wrong and what would be right; it names the keys.
    pub sentence: String,
}

impl Fault {
    /// A fault of one key.
    pub fn of(key: impl Into<String>, sentence: String) -> Self {
        Self {
            keys: vec![key.into()],
            sentence,
        }
    }

    /// A fault of keys that do not go together.
    pub fn among<const N: usize>(keys: [&str; N], sentence: String) -> Self {
        Self {
            keys: keys.map(str::to_owned).into(),
            sentence,
        }
    }
}

impl Settings {
    /// Whether the values are possible.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_numbers()?;
        self.check_names()?;
        self.check_audit_file()?;
        self.queue.check()?;
        self.admission.check()
    }

    fn check_numbers(&self) -> Result<(), Fault> {
        let victims = &self.victims;
        let urgent = &self.urgent;
        let seconds = [
            ("victims.min_runtime_s", victims.min_runtime_s, 0.0),
            ("victims.nearly_done_s", victims.nearly_done_s, 0.0),
            ("victims.save_s", victims.save_s, 0.0),
            ("victims.restart_s", victims.restart_s, 0.0),
            ("victims.step_s", victims.step_s, 0.0),
            ("victims.save_deadline_s", victims.save_deadline_s, 1.0),
            ("victims.report_half_life_s", victims.report_half_life_s, 1.0),
            ("urgent.patience_s", urgent.patience_s, 0.0),
            ("urgent.wait_max_s", urgent.wait_max_s, 0.0),
            ("urgent.gate_patience_s", urgent.gate_patience_s, 1.0),
        ];
        for (key, time, least) in seconds {
            within(key, time.0, least, SECONDS_MAX)?;
        }
        within("victims.cpu_weight", victims.cpu_weight, 0.0, WEIGHT_MAX)?;
        within("urgent.wait_weight", urgent.wait_weight, 0.0, WEIGHT_MAX)?;
        within("victims.priority_max", victims.priority_max, 0, 100)?;
        within("commands.timeout_s", self.commands.timeout_s, 1, 300)?;
        within("records.snapshots", self.records.snapshots, 0, SNAPSHOTS_MAX)?;
        within("audit.max_mib", self.audit.max_mib, 1, AUDIT_MIB_MAX)?;
        within("audit.keep", self.audit.keep, 1, AUDIT_KEEP_MAX)
    }

    fn check_names(&self) -> Result<(), Fault> {
        for (key, exempt) in self.victims.lists() {
            check_names(key, exempt)?;
        }
        for (key, value) in [
            ("commands.scontrol", &self.commands.scontrol),
            ("commands.scancel", &self.commands.scancel),
        ] {
            if value.is_empty() {
                let sentence =
                    format!("{key} is empty; give the command's name or path, or leave the line out");
                return Err(Fault::of(key, sentence));
            }
        }
        Ok(())
    }

    fn check_audit_file(&self) -> Result<(), Fault> {
        let file = &self.audit.file;
        let is_path = file.starts_with('/') && !file.ends_with('/');
        let is_name = !file.contains('/') && !["", ".", ".."].contains(&file.as_str());
        if (is_path || is_name) && !file.contains('\0') {
            return Ok(());
        }
        let sentence = format!(
            "audit.file = {file:?} must be an absolute path of a file, or a plain name, which is one within StateSaveLocation"
        );
        Err(Fault::of("audit.file", sentence))
    }
}

/// Whether the entries of the list `key` are names.
///
/// # Errors
/// Where one is not.
pub fn check_names(key: &str, list: &[String]) -> Result<(), Fault> {
    let is_name = |entry: &String| !entry.trim().is_empty() && !entry.contains(',');
    if list.iter().all(is_name) {
        return Ok(());
    }
    let sentence = format!(
        "{key} has an entry that is empty or has a comma in it; write each name in quotes of its own, as in [\"one\", \"two\"]"
    );
    Err(Fault::of(key, sentence))
}

/// Whether the value of `key` lies within bounds.
///
/// # Errors
/// Where it does not.
pub fn within<T: PartialOrd + std::fmt::Display>(
    key: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), Fault> {
    match (&least..=&most).contains(&&value) {
        true => Ok(()),
        false => Err(Fault::of(
            key,
            format!("{key} = {value} must be a number from {least} to {most}"),
        )),
    }
}

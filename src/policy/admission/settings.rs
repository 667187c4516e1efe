// SPDX-License-Identifier: GPL-2.0-or-later
//! `[admission]` in `surgent.toml`: who may be urgent, how many at a time, and how much of the cluster they may use.

use crate::policy::settings::{Fault, check_names, within};
use serde::{Deserialize, Serialize};

/// No budget is larger, in GPU-hours: all the GPUs there are, for a long time.
const GPU_HOURS_MAX: f64 = 1e9;
/// A window is no longer than a leap year, in hours.
const WINDOW_MAX_H: u32 = 8784;

/// `[admission]`; a file that sets nothing lets everybody be urgent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdmissionSettings {
    /// What becomes of a submission that may not be urgent.
    pub refuse: Refuse,
    /// Users who may be urgent: login names or numbers.
    pub allow_users: Vec<String>,
    /// Groups whose members may be urgent: names or numbers. Who is in `allow_users` or in one of these may.
    pub allow_groups: Vec<String>,
    /// Accounts that urgent jobs may be charged to.
    pub allow_accounts: Vec<String>,
    /// QOS that urgent jobs may have.
    pub allow_qos: Vec<String>,
    /// Partitions that urgent jobs may be in.
    pub allow_partitions: Vec<String>,
    /// Users who may not be urgent.
    pub deny_users: Vec<String>,
    /// Groups whose members may not be urgent.
    pub deny_groups: Vec<String>,
    /// Accounts that urgent jobs may not be charged to.
    pub deny_accounts: Vec<String>,
    /// QOS that urgent jobs may not have.
    pub deny_qos: Vec<String>,
    /// Partitions that urgent jobs may not be in.
    pub deny_partitions: Vec<String>,
    /// For the urgent jobs of each user.
    pub per_user: Limits,
    /// For the urgent jobs of each account.
    pub per_account: Limits,
    /// For all urgent jobs together.
    pub in_all: Limits,
    /// What urgent jobs may use up.
    pub budget: Budget,
}

/// What becomes of a submission that asks to be urgent and may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Refuse {
    /// It is refused.
    #[default]
    Reject,
    /// It becomes a normal job.
    Normal,
}

/// `[admission.per_user]` and its like; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Jobs that run, or wait and may start.
    pub running: Option<u32>,
    /// Jobs that wait.
    pub waiting: Option<u32>,
    /// GPUs of the jobs that `running` counts.
    pub gpus: Option<u32>,
    /// Nodes of the jobs that `running` counts.
    pub nodes: Option<u32>,
}

/// `[admission.budget]`; `None` is no budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// GPU-hours that the urgent jobs of each user may use within the window.
    pub gpu_hours_per_user: Option<f64>,
    /// The same of each account.
    pub gpu_hours_per_account: Option<f64>,
    /// The same of all urgent jobs together.
    pub gpu_hours_in_all: Option<f64>,
    /// The window, in hours up to now.
    pub window_h: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            gpu_hours_per_user: None,
            gpu_hours_per_account: None,
            gpu_hours_in_all: None,
            window_h: 168,
        }
    }
}

impl Limits {
    /// Each with its name in the file.
    fn named(&self) -> [(&'static str, Option<u32>); 4] {
        [
            ("running", self.running),
            ("waiting", self.waiting),
            ("gpus", self.gpus),
            ("nodes", self.nodes),
        ]
    }

    fn is_any(&self) -> bool {
        self.named().iter().any(|(_, limit)| limit.is_some())
    }
}

impl Budget {
    fn named(&self) -> [(&'static str, Option<f64>); 3] {
        [
            ("gpu_hours_per_user", self.gpu_hours_per_user),
            ("gpu_hours_per_account", self.gpu_hours_per_account),
            ("gpu_hours_in_all", self.gpu_hours_in_all),
        ]
    }

    /// Whether anything is limited.
    pub fn is_any(&self) -> bool {
        self.named().iter().any(|(_, hours)| hours.is_some())
    }
}

impl AdmissionSettings {
    /// Whether anybody may be kept from being urgent.
    pub fn is_any(&self) -> bool {
        self.counts() || self.lists().iter().any(|(_, list)| !list.is_empty())
    }

    /// Whether it matters what urgent jobs there are, or were.
    pub fn counts(&self) -> bool {
        self.limits() || self.budget.is_any()
    }

    /// Whether it matters what urgent jobs there are.
    pub fn limits(&self) -> bool {
        [self.per_user, self.per_account, self.in_all]
            .iter()
            .any(Limits::is_any)
    }

    /// Whether it matters which account a job has.
    pub fn goes_by_account(&self) -> bool {
        !self.allow_accounts.is_empty()
            || !self.deny_accounts.is_empty()
            || self.per_account.is_any()
            || self.budget.gpu_hours_per_account.is_some()
    }

    /// Whether it matters which QOS a job has.
    pub fn goes_by_qos(&self) -> bool {
        !self.allow_qos.is_empty() || !self.deny_qos.is_empty()
    }

    /// Every key that lists names, with these.
    pub fn lists(&self) -> [(&'static str, &Vec<String>); 10] {
        [
            ("admission.allow_users", &self.allow_users),
            ("admission.deny_users", &self.deny_users),
            ("admission.allow_groups", &self.allow_groups),
            ("admission.deny_groups", &self.deny_groups),
            ("admission.allow_accounts", &self.allow_accounts),
            ("admission.deny_accounts", &self.deny_accounts),
            ("admission.allow_qos", &self.allow_qos),
            ("admission.deny_qos", &self.deny_qos),
            ("admission.allow_partitions", &self.allow_partitions),
            ("admission.deny_partitions", &self.deny_partitions),
        ]
    }

    /// Whether the values are possible.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub fn check(&self) -> Result<(), Fault> {
        for (name, list) in self.lists() {
            check_names(name, list)?;
        }
        for pair in self.lists().chunks(2) {
            let [(allow, allowed), (deny, denied)] = pair else {
                continue;
            };
            if let Some(both) = allowed.iter().find(|name| denied.contains(name)) {
                let sentence = format!(
                    "{allow} and {deny} both have {both:?}; a name that is denied is not allowed, so take it out of one of them"
                );
                return Err(Fault::among([deny, allow], sentence));
            }
        }
        for (table, limits) in [
            ("per_user", self.per_user),
            ("per_account", self.per_account),
            ("in_all", self.in_all),
        ] {
            for (name, limit) in limits.named() {
                // Urgent jobs without GPUs are a thing that a site may want.
                if limit == Some(0) && name != "gpus" {
                    let key = format!("admission.{table}.{name}");
                    let sentence = format!(
                        "{key} = 0 would let nobody be urgent; it must be 1 or more (without the line there is no limit)"
                    );
                    return Err(Fault::of(key, sentence));
                }
            }
        }
        for (name, hours) in self.budget.named() {
            if hours.is_some_and(|hours| !(hours > 0.0 && hours <= GPU_HOURS_MAX)) {
                let key = format!("admission.budget.{name}");
                let sentence = format!(
                    "{key} must be more than 0 and at most {GPU_HOURS_MAX} (without the line there is no limit)"
                );
                return Err(Fault::of(key, sentence));
            }
        }
        within("admission.budget.window_h", self.budget.window_h, 1, WINDOW_MAX_H)
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::settings::Settings;

    #[test]
    fn what_cannot_be_is_named() {
        for (text, named) in [
            ("allow_users = [\"\"]", "admission.allow_users"),
            ("deny_groups = [\"a,b\"]", "admission.deny_groups"),
            (
                "allow_qos = [\"x\"]\ndeny_qos = [\"x\"]",
                "admission.allow_qos and admission.deny_qos",
            ),
            ("refuse = \"maybe\"", "line 2"),
            ("[admission.per_user]\nrunning = 0", "admission.per_user.running"),
            ("[admission.in_all]\nwaiting = 0", "admission.in_all.waiting"),
            ("[admission.per_account]\ngpus = -1", "line 3"),
            ("[admission.per_account]\ngpu = 1", "gpu"),
            (
                "[admission.budget]\ngpu_hours_in_all = 0",
                "admission.budget.gpu_hours_in_all",
            ),
            (
                "[admission.budget]\ngpu_hours_per_user = nan",
                "admission.budget.gpu_hours_per_user",
            ),
            ("[admission.budget]\nwindow_h = 0", "admission.budget.window_h"),
        ] {
            let error = Settings::parse(&format!("[admission]\n{text}")).unwrap_err();
            assert!(error.contains(named), "{text:?} gave {error:?}");
        }
    }

    #[test]
    fn nothing_set_is_no_rule_and_gpus_may_be_none() {
        assert!(!Settings::default().admission.is_any());
        let text = "[admission.per_user]\ngpus = 0\n[admission.budget]\ngpu_hours_per_user = 40\n";
        let settings = Settings::parse(text).unwrap().admission;
        assert!(settings.counts() && settings.limits() && !settings.goes_by_account());
    }
}

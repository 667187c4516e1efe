// SPDX-License-Identifier: GPL-2.0-or-later
//! What a site can set in `surgent.toml`.

use super::admission::settings::AdmissionSettings;
use super::directives::SECONDS_MAX;
use super::queue::QueueSettings;
use super::units::Seconds;
use serde::{Deserialize, Serialize};

/// No weight is larger: beyond that, a cost would be no number any more.
const WEIGHT_MAX: f64 = 1e6;

/// All settings; a file that sets nothing gives the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether Surgent acts.
    pub mode: Mode,
    /// Who may be stopped, and what that costs.
    pub victims: VictimSettings,
    /// How urgent jobs are served.
    pub urgent: UrgentSettings,
    /// In what order jobs wait.
    pub queue: QueueSettings,
    /// Who may be urgent.
    pub admission: AdmissionSettings,
    /// How Slurm's own commands are run.
    pub commands: CommandSettings,
    /// What is kept of decisions.
    pub records: RecordSettings,
}

/// Whether Surgent acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Plans, and carries plans out.
    #[default]
    On,
    /// Plans and logs; touches no job.
    Shadow,
    /// Does nothing; Slurm behaves as without Surgent.
    Off,
}

/// What becomes of jobs that cannot save when asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unsavable {
    /// They are never stopped.
    #[default]
    Protect,
    /// They may be stopped, and lose all since their last save.
    Stop,
}

/// `[victims]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VictimSettings {
    /// A job that runs for less than this is left alone, in seconds.
    pub min_runtime_s: Seconds,
    /// A job that ends within this is left alone, in seconds.
    pub nearly_done_s: Seconds,
    /// A job is stopped at most so many times.
    pub max_preemptions: u32,
    /// Users whose jobs are left alone.
    pub exempt_users: Vec<String>,
    /// Accounts whose jobs are left alone.
    pub exempt_accounts: Vec<String>,
    /// QOS whose jobs are left alone.
    pub exempt_qos: Vec<String>,
    /// Partitions whose jobs are left alone.
    pub exempt_partitions: Vec<String>,
    /// The `priority` that a user can give a job counts as no more than this, 0 to 100.
    pub priority_max: u8,
    /// How long a victim has for its save, in seconds.
    pub save_deadline_s: Seconds,
    /// Jobs that cannot save.
    pub unsavable: Unsavable,
    /// Time a save takes where the job has not told, in seconds.
    pub save_s: Seconds,
    /// Time until a restarted job trains again, in seconds.
    pub restart_s: Seconds,
    /// Work lost by a job that can save at any step, in seconds: about one step.
    pub step_s: Seconds,
    /// A report of progress of this age is half trusted, one of twice this age a quarter, in seconds.
    pub report_half_life_s: Seconds,
    /// GPU-seconds that one CPU-second counts as, for jobs without GPUs.
    pub cpu_weight: f64,
}

impl Default for VictimSettings {
    fn default() -> Self {
        Self {
            min_runtime_s: Seconds(60.0),
            nearly_done_s: Seconds(60.0),
            max_preemptions: 3,
            exempt_users: Vec::new(),
            exempt_accounts: Vec::new(),
            exempt_qos: Vec::new(),
            exempt_partitions: Vec::new(),
            priority_max: 100,
            save_deadline_s: Seconds(300.0),
            unsavable: Unsavable::Protect,
            save_s: Seconds(30.0),
            restart_s: Seconds(60.0),
            step_s: Seconds(1.0),
            report_half_life_s: Seconds(3600.0),
            cpu_weight: 0.05,
        }
    }
}

/// `[urgent]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UrgentSettings {
    /// After this, victims that cannot or will not save may be stopped if `unsavable` is `stop`, in seconds.
    pub patience_s: Seconds,
    /// How long Slurm has to start an urgent job once its gate is open, in seconds.
    pub gate_patience_s: Seconds,
    /// How often a plan that Slurm does not agree with is widened by further victims.
    pub max_widen: u32,
    /// An urgent job waits at most so long for running jobs to end by themselves where that is cheaper than to stop any,
    /// in seconds from its submission.
    pub wait_max_s: Seconds,
    /// What one second of an urgent job's waiting weighs, in GPU-seconds of lost work.
    pub wait_weight: f64,
}

impl Default for UrgentSettings {
    fn default() -> Self {
        Self {
            patience_s: Seconds(600.0),
            gate_patience_s: Seconds(60.0),
            max_widen: 2,
            wait_max_s: Seconds(60.0),
            wait_weight: 1.0,
        }
    }
}

/// `[commands]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandSettings {
    /// Path or name of scontrol.
    pub scontrol: String,
    /// Path or name of scancel.
    pub scancel: String,
    /// A command that takes longer is ended, in whole seconds.
    pub timeout_s: u64,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            scontrol: "scontrol".to_owned(),
            scancel: "scancel".to_owned(),
            timeout_s: 20,
        }
    }
}

/// `[records]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordSettings {
    /// The facts behind so many of the latest plans are kept; 0 for none.
    pub snapshots: u32,
}

/// No site keeps more snapshots.
const SNAPSHOTS_MAX: u32 = 100;

impl Default for RecordSettings {
    fn default() -> Self {
        Self { snapshots: 3 }
    }
}

impl Settings {
    /// Reads the text of a `surgent.toml`.
    ///
    /// # Errors
    /// A text that names line and column, what is wrong there and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        settings.check()?;
        Ok(settings)
    }

    /// Whether the values are possible.
    pub(super) fn check(&self) -> Result<(), String> {
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
        let seconds = seconds.map(|(name, time, least)| (name, time.0, least, SECONDS_MAX));
        let weights = [
            ("victims.cpu_weight", victims.cpu_weight, 0.0, WEIGHT_MAX),
            ("urgent.wait_weight", urgent.wait_weight, 0.0, WEIGHT_MAX),
        ];
        for (name, value, least, most) in seconds.into_iter().chain(weights) {
            if !(least..=most).contains(&value) {
                return Err(format!(
                    "{name} = {value} must be a number from {least} to {most}"
                ));
            }
        }
        if victims.priority_max > 100 {
            return Err(format!(
                "victims.priority_max = {} must be from 0 to 100",
                victims.priority_max
            ));
        }
        for (name, exempt) in [
            ("victims.exempt_users", &victims.exempt_users),
            ("victims.exempt_accounts", &victims.exempt_accounts),
            ("victims.exempt_qos", &victims.exempt_qos),
            ("victims.exempt_partitions", &victims.exempt_partitions),
        ] {
            check_names(name, exempt)?;
        }
        self.queue.check()?;
        self.admission.check()?;
        if self.commands.timeout_s == 0 || self.commands.timeout_s > 300 {
            return Err(format!(
                "commands.timeout_s = {} must be from 1 to 300",
                self.commands.timeout_s
            ));
        }
        if self.records.snapshots > SNAPSHOTS_MAX {
            return Err(format!(
                "records.snapshots = {} must be from 0 to {SNAPSHOTS_MAX}",
                self.records.snapshots
            ));
        }
        for (name, value) in [
            ("commands.scontrol", &self.commands.scontrol),
            ("commands.scancel", &self.commands.scancel),
        ] {
            if value.is_empty() {
                return Err(format!(
                    "{name} is empty; give the command's name or path, or leave the line out"
                ));
            }
        }
        Ok(())
    }
}

/// Whether the entries of the list `name` are names.
pub(super) fn check_names(name: &str, list: &[String]) -> Result<(), String> {
    if list
        .iter()
        .any(|entry| entry.trim().is_empty() || entry.contains(','))
    {
        return Err(format!(
            "{name} has an entry that is empty or has a comma in it; write each name in quotes of its own, as in [\"one\", \"two\"]"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(Settings::parse(""), Ok(Settings::default()));
    }

    #[test]
    fn whole_numbers_do_for_seconds() {
        let settings = Settings::parse("mode = \"shadow\"\n[victims]\nsave_deadline_s = 8\n").unwrap();
        assert_eq!(settings.mode, Mode::Shadow);
        assert_eq!(settings.victims.save_deadline_s, Seconds(8.0));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, named) in [
            ("[victims]\nsave_dedline_s = 8", "save_dedline_s"),
            ("mode = \"maybe\"", "line 1"),
            ("[victims]\nmin_runtime_s = -1", "victims.min_runtime_s"),
            ("[victims]\nsave_deadline_s = 0", "victims.save_deadline_s"),
            ("[victims]\nstep_s = nan", "victims.step_s"),
            ("[victims]\nrestart_s = 1e300", "victims.restart_s"),
            ("[urgent]\nwait_weight = 1e300", "urgent.wait_weight"),
            ("[victims]\npriority_max = 101", "victims.priority_max"),
            ("[victims]\nexempt_qos = [\"a,b\"]", "victims.exempt_qos"),
            ("[victims]\nexempt_users = \"eve\"", "line 2"),
            ("[queue]\nwait_weight = 0", "queue.wait_weight"),
            ("[queue]\nsize_weight = 720_000", "queue.size_weight"),
            ("[queue]\nsize_half_gpus = 0", "queue.size_half_gpus"),
            ("[queue]\nurgent_order = \"loud\"", "line 2"),
            ("[commands]\ntimeout_s = 0", "commands.timeout_s"),
            ("[records]\nsnapshots = 101", "records.snapshots"),
            ("[records]\nsnapshots = -1", "snapshots"),
            ("[commands]\nscontrol = \"\"", "commands.scontrol"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert!(error.contains(named), "{text:?} gave {error:?}");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What a site can set in `surgent.toml`.

mod check;
mod place;

use super::admission::settings::AdmissionSettings;
use super::queue::QueueSettings;

use super::units::Seconds;
pub use check::Fault;
pub(super) use check::{check_names, within};
use serde::{Deserialize, Serialize};

/// All settings; a file that sets nothing gives the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Whether Surgent acts.
    pub mode: Mode,
    /// Slurm's own preemption of normal jobs by normal jobs.
    pub base: Base,
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
    /// Where it is written down what was done, and for how long that is kept.
    pub audit: AuditSettings,
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

/// Which of Slurm's own preemption plugins answers for jobs that are not urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// None: normal jobs preempt nobody.
    #[default]
    None,
    /// preempt/qos
    Qos,
    /// preempt/partition_prio
    PartitionPrio,
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

impl VictimSettings {
    fn lists(&self) -> [(&'static str, &Vec<String>); 4] {
        [
            ("victims.exempt_users", &self.exempt_users),
            ("victims.exempt_accounts", &self.exempt_accounts),
            ("victims.exempt_qos", &self.exempt_qos),
            ("victims.exempt_partitions", &self.exempt_partitions),
        ]
    }
}

impl Default for VictimSettings {
    fn default() -> Self {
        Self {
            min_runtime_s: Seconds(60.0),
            nearly_done_s: Seconds(60.0),
            max_preemptions: 10,
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

impl Default for RecordSettings {
    fn default() -> Self {
        Self { snapshots: 3 }
    }
}

/// `[audit]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditSettings {
    /// The audit file: an absolute path, or a name within StateSaveLocation.
    pub file: String,
    /// A file that would grow beyond this is put aside and a new one begun, in MiB.
    pub max_mib: u64,
    /// So many files that were put aside are kept.
    pub keep: u32,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            file: "surgent.audit.jsonl".to_owned(),
            max_mib: 16,
            keep: 12,
        }
    }
}

impl Settings {
    /// Every key that lists names, with these.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &Vec<String>)> {
        self.victims.lists().into_iter().chain(self.admission.lists())
    }

    /// Reads the text of a `surgent.toml`.
    ///
    /// # Errors
    /// One line that names line and column, what is wrong there and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let settings: Self = toml::from_str(text).map_err(|error| place::of_error(text, &error))?;
        settings.check().map_err(|fault| place::of_fault(text, &fault))?;
        Ok(settings)
    }
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
        for (text, line, column, word) in [
            ("[victims]\nsave_dedline_s = 8", 2, 1, "save_dedline_s"),
            ("\n[victim]\n", 2, 2, "victim"),
            ("mode = \"maybe\"", 1, 8, "maybe"),
            ("base = \"partition\"", 1, 8, "partition_prio"),
            ("mode = \"on", 1, 11, "invalid basic string"),
            ("mode = \"on\"\nmode = \"off\"", 2, 1, "duplicate"),
            ("[victims]\nmin_runtime_s = -1", 2, 17, "victims.min_runtime_s"),
            ("[victims]\nsave_deadline_s = 0", 2, 19, "victims.save_deadline_s"),
            ("victims.step_s = nan", 1, 18, "victims.step_s"),
            ("# ü\nvictims = { restart_s = 1e300 }", 2, 25, "victims.restart_s"),
            ("[urgent]\n\"wait_weight\" =\t1e300", 2, 17, "urgent.wait_weight"),
            ("[victims]\r\npriority_max = 101", 2, 16, "victims.priority_max"),
            ("[victims]\nexempt_qos = [\"a,b\"]", 2, 14, "victims.exempt_qos"),
            ("[victims]\nexempt_users = \"eve\"", 2, 16, "sequence"),
            ("[commands]\ntimeout_s = 0", 2, 13, "commands.timeout_s"),
            ("[records]\nsnapshots = 101", 2, 13, "records.snapshots"),
            ("[records]\nsnapshots = -1", 2, 13, "-1"),
            ("[commands]\nscontrol = \"\"", 2, 12, "commands.scontrol"),
            ("[audit]\nfile = \"../audit\"", 2, 8, "audit.file"),
            ("[audit]\nfile = \"\"", 2, 8, "audit.file"),
            ("[audit]\nmax_mib = 0", 2, 11, "audit.max_mib"),
            ("[audit]\nkeep = 0", 2, 8, "audit.keep"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            let place = format!("line {line}, column {column}: ");
            assert!(
                error.starts_with(&place) && error.contains(word),
                "{text:?} gave {error:?}"
            );
            assert_eq!(error.lines().count(), 1, "{error:?}");
        }
    }
}

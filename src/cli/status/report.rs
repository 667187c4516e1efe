// SPDX-License-Identifier: GPL-2.0-or-later
//! What is shown, field by field, as `--json` prints it (docs/status.md).

use super::who::Who;
use crate::cli::cluster::{SettingsFrom, Source};
use crate::policy::belief::Disbelief;
use crate::policy::eligibility::Refusal;
use crate::policy::facts::Hindrance;
use crate::policy::ids::JobId;
use crate::policy::settings::Mode;
use crate::policy::units::{Seconds, UnixTime};
use serde::Serialize;

/// The version of the JSON. It changes when a field changes its meaning, not when one is added.
pub(super) const VERSION: u32 = 1;

/// The whole of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub version: u32,
    /// Slurm's name of the cluster.
    pub cluster: Option<String>,
    /// When this was seen.
    pub at: UnixTime,
    pub source: Source,
    pub settings: SettingsFrom,
    pub mode: Mode,
    /// What keeps this from being the whole picture.
    pub notes: Vec<String>,
    pub urgent: Vec<Urgent>,
    pub plans: Vec<Plan>,
    pub training: Vec<Training>,
    /// Running jobs that are neither urgent nor listed, as they say nothing to Surgent.
    pub silent: usize,
}

/// In what state a listed job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(super) enum State {
    /// In the queue
    Waiting,
    /// On its nodes
    Running,
    /// Running, and asked to save
    Saving,
    /// Running, and has saved for the urgent job
    Saved,
    /// Suspended
    Suspended,
    /// Being cleaned up
    Completing,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Saving => "saving",
            Self::Saved => "saved",
            Self::Suspended => "suspended",
            Self::Completing => "completing",
        }
    }
}

/// An urgent job that waits or runs.
#[derive(Debug, Serialize)]
pub(super) struct Urgent {
    #[serde(flatten)]
    pub who: Who,
    pub state: State,
    /// When it was first submitted.
    pub submitted: UnixTime,
    /// When it started, if it runs.
    pub start: Option<UnixTime>,
    /// How many nodes it has, or wants at least.
    pub node_count: u32,
    /// GPUs that it has, or wants, on all nodes.
    pub gpus: u64,
    /// Names of the nodes that it has, or is expected to get.
    pub nodes: Vec<String>,
    /// How many tasks of an array this is.
    pub tasks: u32,
    /// Slurm's reason for its waiting.
    pub reason: Option<String>,
    /// What free nodes would not mend, if something.
    pub hindrance: Option<Hindrance>,
    /// How far the making way for it is; `None` where nobody makes way.
    pub stage: Option<Stage>,
    /// The last that the planner's log says of it, in full.
    pub said: Option<String>,
}

/// How far the making way for an urgent job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Somebody has yet to save.
    Saving,
    /// All have saved, and may be stopped at any moment.
    Saved,
    /// Slurm may stop them now.
    Stopping,
    /// Slurm did not start the urgent job all the same.
    GivenUp,
    /// The urgent job waits no more; those who made way get their places back.
    WindingUp,
}

/// A plan in progress.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    pub urgent: JobId,
    pub stage: Stage,
    /// Where the urgent job is expected to run; empty where that is not known.
    pub nodes: Vec<String>,
    pub victims: Vec<Victim>,
    /// Who was passed over.
    pub missed: Vec<JobId>,
}

/// One who makes way.
#[derive(Debug, Serialize)]
pub(super) struct Victim {
    #[serde(flatten)]
    pub who: Who,
    pub state: VictimState,
    /// When it was asked.
    pub asked: UnixTime,
    /// Until when it is to have saved.
    pub deadline: UnixTime,
    /// When it had.
    pub saved: Option<UnixTime>,
    /// How it is asked; `None` where it is to be stopped unsaved, or that is not known any more.
    pub signal: Option<String>,
}

/// How far one who makes way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum VictimState {
    /// It has yet to say that it saved.
    Saving,
    /// The same, and its deadline is over.
    Late,
    /// It has saved and still runs.
    Saved,
    /// It is not asked for a save, and still runs.
    Unasked,
    /// It need not make way any more, and is being told.
    LetOff,
    /// It was put back into the queue, or runs again.
    Requeued,
    /// It has ended.
    Ended,
}

/// A job that speaks to Surgent and is not urgent.
#[derive(Debug, Serialize)]
pub(super) struct Training {
    #[serde(flatten)]
    pub who: Who,
    pub state: State,
    /// When this run of it began; `None` while it waits.
    pub start: Option<UnixTime>,
    pub node_count: u32,
    pub gpus: u64,
    pub cpus: u32,
    /// Epochs done by now, by its report and the clock.
    pub epoch: Option<f64>,
    /// Epochs in all.
    pub epochs: Option<u32>,
    pub epoch_s: Option<Seconds>,
    /// Until the last epoch is done.
    pub left_s: Option<Seconds>,
    pub reported: Option<UnixTime>,
    pub report_age_s: Option<Seconds>,
    /// When its last save was finished.
    pub saved: Option<UnixTime>,
    /// What of its report is not believed.
    pub disbelief: Vec<Disbelief>,
    /// What stopping it now would cost; `None` where it is protected or waits.
    pub cost_gpu_s: Option<f64>,
    /// Until it could be stopped.
    pub ready_s: Option<Seconds>,
    /// The rule that protects it.
    pub protected_by: Option<Refusal>,
    /// The urgent job that it makes way for.
    pub makes_way_for: Option<JobId>,
    /// How often it was stopped for an urgent job.
    pub preempted: u32,
}

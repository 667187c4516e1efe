// SPDX-License-Identifier: GPL-2.0-or-later
//! The events, as they stand in the file.

use super::{Ruling, Submitter, Text, Whose};
use crate::policy::cost::Cost;
use crate::policy::directives::Urgency;
use crate::policy::ids::{JobId, UserId};
use crate::policy::stake::Toll;
use crate::policy::units::{Seconds, UnixTime};
use serde::Serialize;
use std::collections::BTreeMap;

/// What happened. `urgent` is always the urgent job, `job` one that makes way or is spoken of otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A submission may be urgent. Slurm has yet to give it a number.
    Admitted {
        /// Whose.
        #[serde(flatten)]
        submitter: Submitter,
    },
    /// A submission, or a change of a job, was refused.
    Refused(Ruling),
    /// A submission, or a change of a job, was to make it urgent, and it is normal.
    MadeNormal(Ruling),
    /// A waiting job has become urgent, or normal.
    ClassChanged {
        /// Which.
        job: JobId,
        /// What it is now.
        class: Urgency,
    },
    /// What a run of an urgent job has used was charged, as it is over or has gone on for another hour.
    BudgetCharged {
        /// Which.
        urgent: JobId,
        /// To whom.
        user: UserId,
        /// And to which account.
        #[serde(skip_serializing_if = "Option::is_none")]
        account: Option<Text>,
        /// When the run began.
        start: UnixTime,
        /// Until when it is charged.
        until: UnixTime,
        /// Whether it is over.
        over: bool,
        /// For all of it until then.
        gpu_hours: f64,
        /// What is used by now of the budgets that it counts towards.
        budgets: Budgets,
    },
    /// An urgent job waits that did not before.
    Waits {
        /// Which.
        urgent: JobId,
        /// Whose.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<UserId>,
        /// Where it may run.
        partitions: Vec<Text>,
        /// On how many nodes at least.
        min_nodes: u32,
        /// How many tasks of an array this is; 1 for others.
        tasks: u32,
        /// The first component of the heterogeneous job that it is a component of.
        #[serde(skip_serializing_if = "Option::is_none")]
        het: Option<JobId>,
        /// When it was submitted, or requeued.
        submit: UnixTime,
    },
    /// Jobs are to make way.
    Plan(Box<PlanEvent>),
    /// Nobody is stopped, as jobs end by themselves.
    Wait {
        /// For whom.
        urgent: JobId,
        /// Whose end is waited for.
        jobs: Vec<JobId>,
        /// When the last of them has ended.
        until: UnixTime,
        /// What stopping jobs would cost; `None` where no set of them helps.
        instead_of_gpu_s: Option<f64>,
    },
    /// Nobody is stopped, as no set of jobs helps.
    NoSet {
        /// For whom.
        urgent: JobId,
        /// How many jobs each rule protects.
        protected: BTreeMap<String, usize>,
    },
    /// A request to save has reached its job.
    Asked {
        /// For whom.
        urgent: JobId,
        /// Whom.
        job: JobId,
        /// Whose that is.
        #[serde(flatten)]
        whose: Whose,
        /// How; `None` if it is to be stopped without a save.
        signal: Option<String>,
        /// When that was decided.
        asked: UnixTime,
        /// Until when it is to have saved.
        deadline: UnixTime,
    },
    /// A job has saved.
    Saved {
        /// For whom.
        urgent: JobId,
        /// Who.
        job: JobId,
        /// Whose that is.
        #[serde(flatten)]
        whose: Whose,
        /// When it was asked.
        asked: UnixTime,
        /// When the save was finished, as the job says.
        saved: UnixTime,
        /// How long that took.
        after_s: Seconds,
    },
    /// A job is passed over.
    Missed {
        /// For whom it was asked.
        urgent: JobId,
        /// Who.
        job: JobId,
        /// Until when it was to have saved.
        deadline: Option<UnixTime>,
        /// Why.
        why: MissedWhy,
    },
    /// All have saved: from now on they may be stopped.
    GateOpened {
        /// For whom.
        urgent: JobId,
        /// Who may be stopped.
        jobs: Vec<JobId>,
        /// By whom.
        how: StopWay,
    },
    /// A job was stopped and requeued.
    Stopped {
        /// For whom.
        urgent: JobId,
        /// Who.
        job: JobId,
        /// When the run began that was stopped.
        start: UnixTime,
        /// When it was asked.
        asked: UnixTime,
        /// When it had saved; `None` if it was stopped without.
        saved: Option<UnixTime>,
        /// What it lost; not known where the state file was lost meanwhile.
        #[serde(flatten)]
        toll: Option<Toll>,
    },
    /// A job that was asked has ended its run, and it was not Surgent that stopped it.
    Left {
        /// For whom it was asked.
        urgent: JobId,
        /// Who.
        job: JobId,
        /// When the run began that is over.
        start: UnixTime,
        /// When it had saved.
        saved: Option<UnixTime>,
        /// How.
        how: LeftWay,
    },
    /// An urgent job runs.
    Started {
        /// Which.
        urgent: JobId,
        /// Whose.
        #[serde(flatten)]
        whose: Whose,
        /// Since when.
        start: UnixTime,
        /// Since its first submission, where that is known.
        waited_s: Option<Seconds>,
        /// Where.
        nodes: Vec<String>,
    },
    /// An urgent job waits no more and does not run: it was cancelled, or has ended since the last look.
    Withdrawn {
        /// Which.
        urgent: JobId,
    },
    /// A job need not make way any more.
    CalledOff {
        /// For whom it was asked.
        urgent: JobId,
        /// Who.
        job: JobId,
        /// Why.
        why: CalledOffWhy,
    },
    /// Slurm does not start an urgent job although others made way.
    GivenUp {
        /// Which.
        urgent: JobId,
    },
    /// A job that was stopped has its place in the queue back.
    Restored {
        /// For whom it was stopped.
        urgent: JobId,
        /// Who.
        job: JobId,
        /// How often it has been stopped by now.
        preempted: u32,
    },
    /// Events that could not be written.
    Lost {
        /// How many.
        lines: u64,
    },
}

/// The budgets that an urgent job counts towards, as far as they are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Budgets {
    /// Its user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<BudgetUse>,
    /// Its account's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<BudgetUse>,
    /// That of all urgent jobs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_all: Option<BudgetUse>,
}

/// What is used of a budget, within its window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BudgetUse {
    /// How much, by all urgent jobs that count towards it.
    pub used_gpu_hours: f64,
    /// How much they may use.
    pub budget_gpu_hours: f64,
}

/// A plan, with all that it was chosen by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanEvent {
    /// For whom.
    pub urgent: JobId,
    /// Whose that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// What it follows.
    pub why: PlanWhy,
    /// Where the urgent job is expected to run.
    pub nodes: Vec<String>,
    /// The sum of the victims' costs.
    pub cost_gpu_s: f64,
    /// Until the last of them is ready to be stopped.
    pub ready_s: Seconds,
    /// Who is to make way.
    pub victims: Vec<Chosen>,
    /// How many other jobs there each rule protects.
    pub protected: BTreeMap<String, usize>,
}

/// A victim of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chosen {
    /// Who.
    pub job: JobId,
    /// Whose that is.
    #[serde(flatten)]
    pub whose: Whose,
    /// When the run began that is to be stopped.
    pub start: UnixTime,
    /// How it is asked to save; `None` if it is to be stopped without.
    pub signal: Option<String>,
    /// Until when it is to have saved.
    pub deadline: UnixTime,
    /// All terms of its cost together.
    pub cost_gpu_s: f64,
    /// Term by term.
    pub cost: Cost,
}

/// What a plan follows. The names are stable, as are those below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanWhy {
    /// It is the first for this job.
    First,
    /// The one before does not do any more.
    Replanned,
    /// Slurm did not start the job although all in the one before had saved; these are further victims.
    Widened,
}

/// Why a job is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedWhy {
    /// It did not save in time.
    Deadline,
    /// Its user does not let it be requeued any more.
    NotRequeueable,
}

/// Who stops the jobs behind an open gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopWay {
    /// Slurm preempts them.
    Preempted,
    /// A command requeues them, for a heterogeneous job.
    RequeuedByCommand,
}

/// How the run of a job ended that Surgent did not stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftWay {
    /// It waits again, or runs again.
    Requeued,
    /// It has finished, failed or been cancelled.
    Ended,
}

/// Why a job need not make way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CalledOffWhy {
    /// It is passed over; see [`Event::Missed`].
    Missed,
    /// The urgent job runs.
    UrgentStarted,
    /// The urgent job is gone.
    UrgentGone,
    /// The urgent job waits for something that no victim mends.
    UrgentBlocked,
    /// Slurm does not start the urgent job.
    GivenUp,
    /// Other jobs end by themselves soon enough.
    OthersEnd,
    /// No set of jobs helps any more.
    NoSet,
    /// Other jobs make way instead.
    OtherVictims,
    /// The urgent job fits without.
    Fits,
    /// Surgent was set to shadow or off.
    Mode,
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What would have been done for one urgent job, and what became of it.

use crate::policy::cost::Cost;
use crate::policy::ids::{JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who would have made way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Victim {
    /// Who.
    pub job: JobId,
    /// Which task of which array it is, as in `17_3`.
    pub task: Option<String>,
    /// Whose.
    pub user: Option<UserId>,
    /// Who pays for it.
    pub account: Option<String>,
    /// When the run began that would have been stopped.
    pub start: UnixTime,
    /// All terms of its cost together.
    pub cost_gpu_s: f64,
    /// Term by term; that is for sums, not for a list of victims.
    #[serde(skip_serializing)]
    pub cost: Cost,
}

impl Victim {
    /// GPU-hours that would have been lost, by what the plan expected: training, the save and the restart. Without the
    /// weights by which victims are compared.
    pub fn lost_gpu_h(&self) -> f64 {
        let cost = &self.cost;
        let lost_s = cost.lost_s + cost.save_s + cost.restart_s;
        cost.resources * lost_s.0 / 3600.0
    }
}

/// The plan that would have been carried out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foreseen {
    /// When it was made.
    pub at: UnixTime,
    /// Where the urgent job would have run.
    pub nodes: Vec<String>,
    /// Who would have made way.
    pub victims: Vec<Victim>,
    /// The sum of their costs.
    pub cost_gpu_s: f64,
    /// Until the last of them would have been ready to be stopped.
    pub ready_s: Seconds,
}

impl Foreseen {
    /// GPU-hours that its victims would have lost.
    pub fn lost_gpu_h(&self) -> f64 {
        self.victims.iter().map(Victim::lost_gpu_h).sum()
    }

    /// Takes in the plan for another task of the same array.
    fn join(&mut self, other: Self) {
        for node in other.nodes {
            if !self.nodes.contains(&node) {
                self.nodes.push(node);
            }
        }
        self.victims.extend(other.victims);
        self.cost_gpu_s += other.cost_gpu_s;
        self.ready_s = Seconds(self.ready_s.0.max(other.ready_s.0));
    }
}

/// Whether somebody would have made way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// By [`UrgentJob::plan`].
    Plan,
    /// Nobody, as no set of jobs would have helped.
    NoSet,
    /// Nobody, as jobs ended by themselves soon enough.
    OthersEnd,
    /// Nobody had to.
    #[default]
    NotNeeded,
}

/// What became of an urgent job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It, or each task of it, has started.
    Started,
    /// It was cancelled, or was over between two looks.
    Withdrawn,
    /// Shadow mode ended while it waited.
    ModeChanged,
}

/// One urgent job, or all tasks of an urgent array, from its submission until it started.
#[derive(Clone, Debug, PartialEq)]
pub struct UrgentJob {
    /// Which; of an array the number of the array.
    pub id: JobId,
    /// Whose.
    pub user: Option<UserId>,
    /// When it was submitted; `None` where it was never seen to wait.
    pub submit: Option<UnixTime>,
    /// How many tasks it has; 1 for others.
    pub tasks: u32,
    /// Whether somebody would have made way: a plan, once there was one, else what was told last.
    pub outcome: Outcome,
    /// The plan that would have been carried out, for all its tasks of that moment together; `None` without any.
    pub plan: Option<Foreseen>,
    /// How often the plan changed afterwards.
    pub changed: u32,
    /// Where no set helped: how many jobs each rule protected, when that was told last.
    pub protected: BTreeMap<String, u64>,
    /// How long those of its tasks that have started really waited, where that is known.
    pub waited_s: Vec<Seconds>,
    /// How many of its tasks have started.
    pub started: u32,
    /// What became of it, and when that was told; `None` while it waits at the end of the file.
    pub fate: Option<(Fate, UnixTime)>,
}

impl UrgentJob {
    pub(super) fn new(id: JobId) -> Self {
        Self {
            id,
            user: None,
            submit: None,
            tasks: 1,
            outcome: Outcome::NotNeeded,
            plan: None,
            changed: 0,
            protected: BTreeMap::new(),
            waited_s: Vec::new(),
            started: 0,
            fate: None,
        }
    }

    /// How long it would have waited by the plan: from its submission until the last victim was ready.
    pub fn foreseen_wait_s(&self) -> Option<Seconds> {
        let plan = self.plan.as_ref()?;
        let before_s = Seconds((plan.at - self.submit?).0.max(0.0));
        Some(before_s + plan.ready_s)
    }

    /// How long it really waited; of an array, its first task that has started. As long as it waits, until `now`.
    pub fn real_wait_s(&self, now: UnixTime) -> Option<Seconds> {
        if self.started > 0 {
            return self.waited_s.first().copied();
        }
        let until = self.fate.map_or(now, |(_, at)| at);
        self.submit.map(|submit| until - submit)
    }

    pub(super) fn plan(&mut self, made: Foreseen) {
        self.outcome = Outcome::Plan;
        match &mut self.plan {
            None => self.plan = Some(made),
            Some(first) if first.at == made.at && self.tasks > 1 => first.join(made),
            Some(_) => self.changed = self.changed.saturating_add(1),
        }
    }

    /// Nobody makes way.
    pub(super) fn nobody(&mut self, outcome: Outcome) {
        if self.plan.is_none() {
            self.outcome = outcome;
        }
    }
}

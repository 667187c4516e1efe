// SPDX-License-Identifier: GPL-2.0-or-later
//! Urgent jobs are planned for in the order of the queue, in one turn as many as a number of looks at nodes is enough for. The
//! next turn goes on where the last one left off, until all have been tried; then a new round begins.

use super::ids::{JobId, NodeIndex};
use super::places::Places;
use std::collections::BTreeMap;

/// Who has been tried in a round that took more than one turn so far, and what came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Of an array, one for each task.
    tried: BTreeMap<JobId, Vec<Standstill>>,
}

/// Nobody was asked to make way. It stands until the next round; whoever comes behind is still to do without all this.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standstill {
    /// Whose end is waited for; nobody where no set of victims helps.
    pub for_jobs: Vec<JobId>,
    /// Where the urgent job would run then.
    pub places: Vec<Vec<NodeIndex>>,
}

impl Round {
    /// What came of the next task of `urgent`, if it was tried in an earlier turn of this round.
    pub fn next_of(&mut self, urgent: JobId) -> Option<Standstill> {
        let tasks = self.tried.get_mut(&urgent)?;
        (!tasks.is_empty()).then(|| tasks.remove(0))
    }

    /// `urgent` was tried.
    pub fn note(&mut self, urgent: JobId, standstill: Standstill) {
        self.tried.entry(urgent).or_default().push(standstill);
    }
}

impl Standstill {
    /// No set of victims helps.
    pub fn hopeless() -> Self {
        Self::default()
    }

    /// It would run at `places` once `jobs` are gone.
    pub fn until(jobs: impl Iterator<Item = JobId>, places: Places) -> Self {
        Self {
            for_jobs: jobs.collect(),
            places,
        }
    }

    /// Whether no set of victims helps.
    pub fn is_hopeless(&self) -> bool {
        self.for_jobs.is_empty()
    }
}

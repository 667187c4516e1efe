// SPDX-License-Identifier: GPL-2.0-or-later
//! The gate: which running jobs Slurm may preempt for which urgent job.
//!
//! Slurm asks once for every running job and every waiting one, under its write lock, and the shim hands on what is
//! asked for urgent ones. So a look-up is one atomic load while no gate is open, and two hash look-ups in an immutable
//! table otherwise. Only the planner writes.

use crate::policy::ids::JobId;
use crate::policy::units::UnixTime;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// One run of one job.
type Run = (JobId, UnixTime);

/// Who may be preempted for whom.
#[derive(Debug)]
pub struct Gate {
    any: AtomicBool,
    table: ArcSwap<HashMap<JobId, Vec<Run>>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            table: ArcSwap::from_pointee(HashMap::new()),
        }
    }
}

impl Gate {
    /// Whether Slurm may preempt this run of `victim` for `urgent`.
    pub fn allows(&self, urgent: JobId, victim: JobId, start: UnixTime) -> bool {
        // Whoever sees `true` here also sees the table that was stored before it.
        self.any.load(Ordering::Acquire)
            && self
                .table
                .load()
                .get(&urgent)
                .is_some_and(|victims| victims.binary_search(&(victim, start)).is_ok())
    }

    /// Whether this run of a job is a victim behind any open gate.
    pub fn has_victim(&self, victim: JobId, start: UnixTime) -> bool {
        self.any.load(Ordering::Acquire)
            && self
                .table
                .load()
                .values()
                .any(|victims| victims.binary_search(&(victim, start)).is_ok())
    }

    /// Opens the gate of `urgent` to exactly `victims`.
    pub fn open(&self, urgent: JobId, mut victims: Vec<Run>) {
        victims.sort_unstable();
        self.change(|table| {
            table.insert(urgent, victims);
        });
    }

    /// Shuts the gate of `urgent`.
    pub fn shut(&self, urgent: JobId) {
        self.change(|table| {
            table.remove(&urgent);
        });
    }

    /// Shuts every gate.
    pub fn shut_all(&self) {
        self.change(HashMap::clear);
    }

    fn change(&self, change: impl FnOnce(&mut HashMap<JobId, Vec<Run>>)) {
        let mut table = HashMap::clone(&self.table.load());
        change(&mut table);
        let any = !table.is_empty();
        self.table.store(table.into());
        self.any.store(any, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_through_its_own_victims_in_that_run_and_nobody_else() {
        let gate = Gate::default();
        let (urgent, other, victim, start) = (JobId(9), JobId(8), JobId(1), UnixTime(100));
        assert!(!gate.allows(urgent, victim, start));
        gate.open(urgent, vec![(JobId(2), start), (victim, start)]);
        assert!(gate.allows(urgent, victim, start));
        assert!(gate.has_victim(victim, start));
        assert!(!gate.allows(other, victim, start), "another urgent job");
        assert!(!gate.allows(urgent, JobId(3), start), "another running job");
        assert!(
            !gate.allows(urgent, victim, UnixTime(200)),
            "a later run of the victim"
        );
        gate.shut(urgent);
        assert!(!gate.allows(urgent, victim, start));
        assert!(!gate.has_victim(victim, start));
    }

    #[test]
    fn shutting_one_gate_leaves_the_other_open() {
        let gate = Gate::default();
        gate.open(JobId(8), vec![(JobId(1), UnixTime(1))]);
        gate.open(JobId(9), vec![(JobId(2), UnixTime(1))]);
        gate.shut(JobId(9));
        assert!(gate.allows(JobId(8), JobId(1), UnixTime(1)));
        assert!(!gate.allows(JobId(9), JobId(2), UnixTime(1)));
    }
}

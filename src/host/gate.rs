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
use std::time::{Duration, Instant};

/// No pass of Slurm's scheduler keeps its locks for so long.
const PASS_MAX: Duration = Duration::from_secs(10);

/// One run of one job.
type Run = (JobId, UnixTime);

/// What is published, as a whole.
#[derive(Clone, Debug, Default)]
struct Table {
    /// The victims of each urgent job, sorted.
    open: HashMap<JobId, Vec<Run>>,
    /// The runs of victims behind gates that were shut a moment ago. A pass of Slurm's scheduler that has picked one of these
    /// still asks how it is to be stopped, and it is not to be cancelled because the site's own preemption would.
    shut: HashMap<JobId, UnixTime>,
    last_shut: Option<Instant>,
}

impl Table {
    fn put_aside(&mut self, victims: Option<Vec<Run>>) {
        if let Some(victims) = victims {
            self.shut.extend(victims);
            self.last_shut = Some(Instant::now());
        }
    }
}

/// Who may be preempted for whom.
#[derive(Debug)]
pub struct Gate {
    any: AtomicBool,
    table: ArcSwap<Table>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            table: ArcSwap::from_pointee(Table::default()),
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
                .open
                .get(&urgent)
                .is_some_and(|victims| victims.binary_search(&(victim, start)).is_ok())
    }

    /// Whether this run of a job is a victim behind any gate that is open, or was a moment ago.
    pub fn has_victim(&self, victim: JobId, start: UnixTime) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let table = self.table.load();
        table.shut.get(&victim) == Some(&start)
            || table
                .open
                .values()
                .any(|victims| victims.binary_search(&(victim, start)).is_ok())
    }

    /// Opens the gate of `urgent` to exactly `victims`.
    pub fn open(&self, urgent: JobId, mut victims: Vec<Run>) {
        victims.sort_unstable();
        self.change(|table| {
            let before = table.open.insert(urgent, victims);
            table.put_aside(before);
        });
    }

    /// Shuts the gate of `urgent`.
    pub fn shut(&self, urgent: JobId) {
        self.change(|table| {
            let victims = table.open.remove(&urgent);
            table.put_aside(victims);
        });
    }

    /// Shuts every gate.
    pub fn shut_all(&self) {
        self.change(|table| {
            for (_, victims) in std::mem::take(&mut table.open) {
                table.put_aside(Some(victims));
            }
        });
    }

    /// Forgets the victims behind gates that are shut, once no pass of Slurm's scheduler can have seen these open.
    pub fn forget_shut(&self) {
        let last_shut = self.table.load().last_shut;
        if last_shut.is_some_and(|at| at.elapsed() >= PASS_MAX) {
            self.change(|table| {
                table.shut.clear();
                table.last_shut = None;
            });
        }
    }

    fn change(&self, change: impl FnOnce(&mut Table)) {
        let mut table = Table::clone(&self.table.load());
        change(&mut table);
        let any = !(table.open.is_empty() && table.shut.is_empty());
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
    }

    #[test]
    fn who_was_picked_before_the_gate_was_shut_is_still_a_victim_to_that_pass() {
        let gate = Gate::default();
        let (urgent, victim, start) = (JobId(9), JobId(1), UnixTime(100));
        gate.open(urgent, vec![(victim, start)]);
        gate.open(urgent, vec![(JobId(2), start)]);
        assert!(gate.has_victim(victim, start) && !gate.allows(urgent, victim, start));
        gate.shut_all();
        gate.forget_shut();
        assert!(gate.has_victim(JobId(2), start) && gate.has_victim(victim, start));
        assert!(!gate.has_victim(victim, UnixTime(200)), "a later run");
        gate.change(|table| table.last_shut = Some(Instant::now() - PASS_MAX));
        gate.forget_shut();
        assert!(!gate.has_victim(victim, start));
        assert!(!gate.any.load(Ordering::Relaxed), "and look-ups are cheap again");
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

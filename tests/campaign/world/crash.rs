// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurmctld is killed: what it forgets, and what becomes of that.

use super::{Job, State, World};
use std::collections::BTreeMap;
use surgent::policy::book::Book;
use surgent::policy::directives::{self, Key};

impl World {
    /// Slurmctld is killed and comes up again, with the state file or without.
    pub fn crash(&mut self, state_file: bool) {
        self.gates.clear();
        self.nodes_back_at = self.now + 3;
        self.book = match state_file {
            true => serde_json::from_str::<Book>(&serde_json::to_string(&self.book).unwrap())
                .unwrap()
                .after_restart(),
            false => Book::default(),
        };
    }

    /// Slurmctld is killed before it has saved what it did in this second for the urgent job `urgent`.
    pub fn crash_in_the_act(&mut self, urgent: u32) {
        for victim in self.jobs.values_mut() {
            if victim.state
                == (State::Pending {
                    begin: self.now + 121,
                })
            {
                victim.state = State::Killed;
            }
        }
        self.jobs.get_mut(&urgent).unwrap().state = State::Pending { begin: 0 };
        self.crash(true);
    }

    /// Slurmctld is killed when the nodes have told it of the end of those whom it has stopped since it had `jobs`, and it comes
    /// up again with these.
    pub fn crash_with_ends_unwritten(&mut self, jobs: BTreeMap<u32, Job>) {
        let after = std::mem::replace(&mut self.jobs, jobs);
        for (id, job) in &mut self.jobs {
            if after[id].is_running() && after[id].state != job.state {
                self.events.push(format!("lose {id}"));
            }
            job.forgotten = job.is_running() && (after[id].forgotten || after[id].state != job.state);
        }
        self.crash(true);
    }

    /// The job of which Slurm does not know that it has ended has begun anew on the same node, of which it does not know either,
    /// and reports.
    pub fn begin_unnoticed(&mut self, id: u32) {
        let job = self.jobs.get_mut(&id).unwrap();
        assert!(std::mem::take(&mut job.forgotten));
        job.comment = directives::edit(&job.comment, &[(Key::At, self.now.to_string())]).unwrap();
    }

    /// Nodes register anew: what they do not run is requeued.
    pub fn requeue_missing(&mut self) {
        for job in self.jobs.values_mut().filter(|job| job.forgotten) {
            job.stop(self.now);
        }
    }
}

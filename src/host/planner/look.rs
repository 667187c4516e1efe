// SPDX-License-Identifier: GPL-2.0-or-later
//! The planner's looks at the cluster.

use super::Planner;
use crate::host::core::{Core, Host};
use crate::host::views::{Collector, LockTimes};
use crate::host::{abi, guard};
use crate::policy::facts::Facts;
use crate::policy::metrics;
use crate::policy::units::Seconds;
use std::time::{Duration, Instant};

/// Slurm's locks are left alone for at least this many times as long as they were taken.
const REST_FACTOR: u32 = 10;
/// And for at least this long.
const REST_MIN: Duration = Duration::from_millis(10);

/// What a look took.
#[derive(Clone, Debug, Default)]
pub(super) struct LookTimes {
    holds: Vec<LockTimes>,
    /// To make facts of what was copied.
    read: Duration,
}

impl Planner {
    /// A snapshot; `None` where there is none to be had now.
    pub(super) fn look(&mut self, core: &Core, host: &Host) -> Option<Facts> {
        if let Some(until) = self.locks_free_until {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        self.looked_at = core.reclass.changes();
        let tape = std::mem::take(&mut self.tape);
        let mut collector =
            Collector::new(self.clock.read(), self.looked_at.jobs(), self.users.clone(), tape);
        let sink = collector.sink();
        // SAFETY: the shim's own function, which stays mapped; this thread holds no lock of Slurm's, and `sink`
        // and the collector behind it outlive the call.
        let outcome = unsafe { (host.snapshot)(&raw const sink) };
        let begun = Instant::now();
        let holds = collector.holds().to_vec();
        let held: Duration = holds.iter().map(|hold| hold.held).sum();
        self.locks_free_until = Some(begun + (held * REST_FACTOR).max(REST_MIN));
        let completing = collector.completing().to_vec();
        let (mut facts, tape) = collector.finish();
        if let Some(facts) = &mut facts {
            self.cleaning.look(&completing, begun, facts);
        }
        self.tape = tape;
        self.look_took = LookTimes {
            holds,
            read: begun.elapsed(),
        };
        match u32::try_from(outcome) {
            Ok(abi::SURGENT_SNAPSHOT_OK) => {
                if facts.is_none() {
                    log::error!("a snapshot had a record that could not be read; looking again");
                }
                #[cfg(feature = "faults")]
                facts.iter().for_each(tell_of_overfull_nodes);
                facts
            }
            Ok(abi::SURGENT_SNAPSHOT_NOT_READY) => None,
            Ok(abi::SURGENT_SNAPSHOT_NO_MEMORY) => {
                log::error!("no memory for a look at the cluster; looking again");
                None
            }
            _ => {
                guard::latch(
                    "Slurm's records are not laid out as this shim expects: it was built for another release of \
                     Slurm; build the shims again with the headers of this one",
                );
                None
            }
        }
    }

    /// Tells the log and the meter what the last look took, and then the `decision`.
    pub(super) fn note_times(&mut self, facts: &Facts, decision: Duration) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let LookTimes { holds, read } = std::mem::take(&mut self.look_took);
        let waited: Duration = holds.iter().map(|hold| hold.waited).sum();
        let held: Duration = holds.iter().map(|hold| hold.held).sum();
        let longest = holds.iter().map(|hold| hold.held).max().unwrap_or_default();
        // Up to five times a second, so not at a level at which sites usually run.
        log::trace!(
            "looked at {} nodes and {} running jobs: {:.2} ms until Slurm's locks were had, {:.2} ms under them, {:.2} ms \
             to read what was copied, {:.2} ms to decide; the locks were had {}, {:.2} ms at most",
            facts.nodes.len(),
            facts.running.len(),
            ms(waited),
            ms(held),
            ms(read),
            ms(decision),
            times(holds.len()),
            ms(longest),
        );
        let seconds = |time: Duration| Seconds(time.as_secs_f64());
        let of_hold = |hold: &LockTimes| metrics::HoldTimes {
            wait_s: seconds(hold.waited),
            held_s: seconds(hold.held),
        };
        self.meter.looked(&metrics::LookTimes {
            holds: holds.iter().map(of_hold).collect(),
            plan_s: seconds(read + decision),
        });
    }
}

/// For tests: a look that is not of one moment shows a job beside the one whose place it took.
#[cfg(feature = "faults")]
fn tell_of_overfull_nodes(facts: &Facts) {
    for node in &facts.nodes {
        let holdings = facts.running.iter().flat_map(|job| &job.holdings);
        let here = holdings.filter(|holding| holding.node == node.index);
        let held: u32 = here.map(|holding| holding.amounts.cpus).sum();
        if held > node.total.cpus {
            log::error!("jobs hold more CPUs of {} than it has", node.name);
        }
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

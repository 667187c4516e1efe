// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs that made way a moment ago: a slurmctld that is killed may take them for running again.
//!
//! Slurm writes its jobs down up to five seconds late (`SAVE_MAX_WAIT`), Surgent its state file at once. So Surgent may know of
//! an end of which the next slurmctld does not. That one finds out by itself when the job's nodes register anew
//! (`_purge_missing_jobs`): after minutes, on a large cluster half an hour. Until then the job can neither save nor run.
//!
//! A job that runs again must not be taken for one of these: whose next run is seen is watched no longer.

use super::advance::same_run;
use super::book::{Asked, Stance};
use super::facts::Facts;
use super::ids::JobId;
use super::units::{Seconds, UnixTime};
use serde::{Deserialize, Serialize};

/// So long after its end, and again after a restart of slurmctld, a run is watched.
const WATCHED_S: Seconds = Seconds(8.0);
/// Of more the oldest are dropped.
const WATCHED_MAX: usize = 1000;

/// Runs whose end Slurm may not have written yet, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecentStops(Vec<StoppedRun>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoppedRun {
    urgent: JobId,
    asked: Asked,
    /// Since when it is watched under this slurmctld.
    #[serde(skip)]
    since: Option<UnixTime>,
}

impl RecentStops {
    /// This run has made way for `urgent`, after its save, and its job may start again.
    pub fn note(&mut self, urgent: JobId, asked: &Asked, now: UnixTime) {
        self.forget(asked);
        self.0.push(StoppedRun {
            urgent,
            asked: *asked,
            since: Some(now),
        });
        self.0.drain(..self.0.len().saturating_sub(WATCHED_MAX));
    }

    /// This run is not over after all, or over once more.
    pub fn forget(&mut self, asked: &Asked) {
        self.0
            .retain(|run| (run.asked.job, run.asked.start) != (asked.job, asked.start));
    }

    /// slurmctld has ended; the next one may not know of them.
    pub fn after_restart(&mut self) {
        for run in &mut self.0 {
            run.asked.interrupted = true;
        }
    }

    /// Those that slurmctld takes for running since it was started again, and for whom they had made way.
    pub fn resurrected(&self, facts: &Facts) -> Vec<(JobId, Asked)> {
        let runs = self.0.iter().filter(|run| run.asked.interrupted);
        runs.filter(|run| same_run(facts, &run.asked).is_some())
            .map(|run| {
                let victim = Asked {
                    known_since: None,
                    stance: Stance::Victim,
                    ..run.asked
                };
                (run.urgent, victim)
            })
            .collect()
    }

    /// Drops those whose jobs run again, and those whose end Slurm has written by now.
    pub fn watch(&mut self, facts: &Facts) {
        self.0.retain_mut(|run| {
            let runs_again = facts
                .job(run.asked.job)
                .is_some_and(|job| job.start != run.asked.start);
            !runs_again && facts.now - *run.since.get_or_insert(facts.now) <= WATCHED_S
        });
    }

    /// Whether nobody is watched.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The clock was stepped by `by_s` seconds. One that was put back may show the time once more at which a run began, and
    /// then a run is not told by that from another.
    pub fn clock_stepped(&mut self, by_s: i64) {
        if by_s < 0 {
            self.0.clear();
        }
        for since in self.0.iter_mut().filter_map(|run| run.since.as_mut()) {
            since.0 = since.0.saturating_add(by_s);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What is counted over the months, for monitoring: sums of the audit's events, and what the planner's work takes.
//!
//! Sums only: no number of a job, no name of a user. docs/metrics.md says what each means.

mod histogram;
mod tally;

pub use histogram::Histogram;
pub use tally::{Tally, WAIT_BOUNDS_S};

use super::audit::{Entry, Event};
use super::ids::JobId;
use super::settings::Mode;
use super::units::{Seconds, UnixTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// From a tenth of a millisecond to ten seconds.
pub const WORK_BOUNDS_S: [f64; 11] = [
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0,
];

/// The form of [`Metrics`] as JSON.
pub const FORM: u32 = 1;

/// So many requests are remembered at most, to know them again; more than that were left behind by something else.
const ASKED_MAX: usize = 10_000;

/// All that is shown, as it is kept in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// [`FORM`].
    pub form: u32,
    /// The version of Surgent that wrote this.
    pub version: String,
    /// When it did.
    pub written: UnixTime,
    /// What was so at that time.
    pub state: State,
    /// What had happened until then.
    pub counters: Counters,
}

/// What is so at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// What Surgent may do.
    pub mode: Mode,
    /// Whether it has stepped aside.
    pub latched: bool,
    /// Urgent jobs for which others make way.
    pub campaigns: u64,
    /// Urgent jobs that wait for room alone.
    #[serde(default)]
    pub waiting: u64,
}

/// What one hold of Slurm's locks took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoldTimes {
    /// Until they were had.
    pub wait_s: Seconds,
    /// Under them.
    pub held_s: Seconds,
}

/// What a look at the cluster took.
#[derive(Clone, Debug, PartialEq)]
pub struct LookTimes {
    /// A look at a large cluster takes the locks several times.
    pub holds: Vec<HoldTimes>,
    /// To understand what was seen, and to decide, under none.
    pub plan_s: Seconds,
}

/// What only ever grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Since when is counted.
    pub since: UnixTime,
    /// Of what was done.
    pub on: Tally,
    /// Of what would have been done.
    pub shadow: Tally,
    /// Waits for Slurm's locks.
    pub lock_wait: Histogram,
    /// How long they were held.
    pub lock_held: Histogram,
    /// What it took to understand a look, and to decide.
    pub plan: Histogram,
    /// Slurm's commands that did what they were to do.
    pub commands_done: u64,
    /// Those that did not.
    pub commands_failed: u64,
    /// Faults in Surgent that were caught.
    pub faults: u64,
    /// When each job was asked to save, until it has stopped or need not. A request that goes out again is no new one.
    asked: BTreeMap<JobId, UnixTime>,
}

impl Counters {
    /// Nothing is counted yet.
    pub fn new(since: UnixTime) -> Self {
        Self {
            since,
            on: Tally::default(),
            shadow: Tally::default(),
            lock_wait: Histogram::new(&WORK_BOUNDS_S),
            lock_held: Histogram::new(&WORK_BOUNDS_S),
            plan: Histogram::new(&WORK_BOUNDS_S),
            commands_done: 0,
            commands_failed: 0,
            faults: 0,
            asked: BTreeMap::new(),
        }
    }

    /// Counts what has happened.
    pub fn count(&mut self, entry: &Entry) {
        if !self.is_repeated(&entry.event) {
            let tally = match entry.shadow {
                true => &mut self.shadow,
                false => &mut self.on,
            };
            tally.count(&entry.event);
        }
    }

    fn is_repeated(&mut self, event: &Event) -> bool {
        match *event {
            Event::Asked { job, asked, .. } => {
                let known = self.asked.get(&job) == Some(&asked);
                if self.asked.len() >= ASKED_MAX {
                    self.asked.clear();
                }
                self.asked.insert(job, asked);
                known
            }
            Event::Stopped { job, .. } | Event::Left { job, .. } | Event::CalledOff { job, .. } => {
                self.asked.remove(&job);
                false
            }
            _ => false,
        }
    }

    /// Counts a look.
    pub fn looked(&mut self, times: &LookTimes) {
        for hold in &times.holds {
            self.lock_wait.observe(hold.wait_s.0);
            self.lock_held.observe(hold.held_s.0);
        }
        self.plan.observe(times.plan_s.0);
    }
}

impl Metrics {
    /// Reads what was written.
    ///
    /// # Errors
    /// A part of a sentence: it is of another form, or no such thing.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let metrics: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if metrics.form != FORM {
            return Err(format!("its form is {}, this Surgent knows {FORM}", metrics.form));
        }
        let Counters {
            on,
            shadow,
            lock_wait,
            lock_held,
            plan,
            ..
        } = &metrics.counters;
        let works = [lock_wait, lock_held, plan];
        let sound = on.is_sound()
            && shadow.is_sound()
            && works.iter().all(|histogram| histogram.has_bounds(&WORK_BOUNDS_S));
        match sound {
            true => Ok(metrics),
            false => Err("a histogram in it has other buckets".to_owned()),
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What is counted of the events of one mode.

use super::histogram::Histogram;
use crate::policy::audit::{Event, MissedWhy, PlanWhy};
use serde::{Deserialize, Serialize};

/// From a tenth of a second to a day.
pub const WAIT_BOUNDS_S: [f64; 15] = [
    0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 10_800.0, 43_200.0, 86_400.0,
];

/// Sums of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Urgent jobs that were started, with victims or without.
    pub urgent_starts: u64,
    /// How long they had waited, those of which that is known.
    pub urgent_wait: Histogram,
    /// Plans that were the first for their job.
    pub plans_first: u64,
    /// Plans in the place of one that did not do any more.
    pub plans_replanned: u64,
    /// Plans for further victims, as Slurm did not start the job.
    pub plans_widened: u64,
    /// Decisions that no set of jobs helps.
    pub no_set: u64,
    /// Urgent jobs that Slurm did not start although others had made way.
    pub given_up: u64,
    /// Requests to save that have reached their job.
    pub saves_asked: u64,
    /// Those that were followed by a save.
    pub saves_acknowledged: u64,
    /// Those that were not, in time.
    pub saves_missed: u64,
    /// From the request to the save.
    pub save: Histogram,
    /// Jobs that were stopped after their save.
    pub stops_saved: u64,
    /// Jobs that were stopped without one.
    pub stops_unsaved: u64,
    /// What those lost that were stopped; see [`Toll`](crate::policy::stake::Toll).
    pub lost_gpu_s: f64,
    /// What they would have lost besides, had they not been asked to save.
    pub kept_gpu_s: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            urgent_starts: 0,
            urgent_wait: Histogram::new(&WAIT_BOUNDS_S),
            plans_first: 0,
            plans_replanned: 0,
            plans_widened: 0,
            no_set: 0,
            given_up: 0,
            saves_asked: 0,
            saves_acknowledged: 0,
            saves_missed: 0,
            save: Histogram::new(&WAIT_BOUNDS_S),
            stops_saved: 0,
            stops_unsaved: 0,
            lost_gpu_s: 0.0,
            kept_gpu_s: 0.0,
        }
    }
}

impl Tally {
    /// Whether all of it can be counted on from.
    pub fn is_sound(&self) -> bool {
        [&self.urgent_wait, &self.save]
            .iter()
            .all(|histogram| histogram.has_bounds(&WAIT_BOUNDS_S))
    }

    /// Counts `event`. Whether a request is a new one is for the caller to know.
    pub fn count(&mut self, event: &Event) {
        match event {
            Event::Started { waited_s, .. } => {
                self.urgent_starts += 1;
                if let Some(waited_s) = waited_s {
                    self.urgent_wait.observe(waited_s.0);
                }
            }
            Event::Plan(plan) => match plan.why {
                PlanWhy::First => self.plans_first += 1,
                PlanWhy::Replanned => self.plans_replanned += 1,
                PlanWhy::Widened => self.plans_widened += 1,
            },
            Event::NoSet { .. } => self.no_set += 1,
            Event::GivenUp { .. } => self.given_up += 1,
            Event::Asked { signal: Some(_), .. } => self.saves_asked += 1,
            Event::Saved { after_s, .. } => {
                self.saves_acknowledged += 1;
                self.save.observe(after_s.0);
            }
            Event::Missed {
                why: MissedWhy::Deadline,
                ..
            } => self.saves_missed += 1,
            Event::Stopped { saved, toll, .. } => {
                match saved {
                    Some(_) => self.stops_saved += 1,
                    None => self.stops_unsaved += 1,
                }
                if let Some(toll) = toll {
                    self.lost_gpu_s += toll.lost_gpu_s;
                    self.kept_gpu_s += toll.kept_gpu_s;
                }
            }
            Event::Admitted { .. }
            | Event::Refused(_)
            | Event::MadeNormal(_)
            | Event::ClassChanged { .. }
            | Event::BudgetCharged { .. }
            | Event::Waits { .. }
            | Event::Wait { .. }
            | Event::Asked { signal: None, .. }
            | Event::Missed {
                why: MissedWhy::NotRequeueable,
                ..
            }
            | Event::GateOpened { .. }
            | Event::Left { .. }
            | Event::Withdrawn { .. }
            | Event::CalledOff { .. }
            | Event::Restored { .. }
            | Event::Lost { .. } => {}
        }
    }
}

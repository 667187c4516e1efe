// SPDX-License-Identifier: GPL-2.0-or-later
//! `[queue]`: what weighs how much.

use crate::policy::directives::SECONDS_MAX;
use crate::policy::settings::{Fault, within};
use crate::policy::units::Seconds;
use serde::{Deserialize, Serialize};

/// A job that is small and short overtakes those that came at most so many hours before it, whatever the weights.
pub const OVERTAKE_MAX_H: u32 = 720;

/// With more points an hour the longest waits would leave the range of Slurm's site factor within a few years.
const WAIT_WEIGHT_MAX: u32 = 10_000;

/// The order of urgent jobs among themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrgentOrder {
    /// First come, first served.
    #[default]
    Submitted,
    /// By the `priority` that their users give them, the higher first.
    Priority,
    /// By the nodes that they ask for, the fewer first.
    Small,
}

/// `[queue]`
///
/// Weights are in points: one point is 1 of Slurm's priority.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueSettings {
    /// Points for each hour since the job was first submitted, 1 to 10,000.
    pub wait_weight: u32,
    /// Points that a job of no size would get; the larger it is the fewer.
    pub size_weight: u32,
    /// A job of this size gets half of them, in GPUs.
    pub size_half_gpus: f64,
    /// Points that a job with nothing left to do would get; the longer it takes the fewer.
    pub remaining_weight: u32,
    /// A job with this left to do gets half of them, in seconds.
    pub remaining_half_s: Seconds,
    /// The order of urgent jobs among themselves.
    pub urgent_order: UrgentOrder,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            wait_weight: 1000,
            size_weight: 6000,
            size_half_gpus: 8.0,
            remaining_weight: 6000,
            remaining_half_s: Seconds(28_800.0),
            urgent_order: UrgentOrder::Submitted,
        }
    }
}

impl QueueSettings {
    /// All that a job can gain by being small and short, in points.
    pub fn advantage_max(&self) -> u64 {
        u64::from(self.size_weight) + u64::from(self.remaining_weight)
    }

    /// Whether the values are possible, and let nobody starve.
    pub(in crate::policy) fn check(&self) -> Result<(), Fault> {
        let Self { wait_weight, .. } = *self;
        if !(1..=WAIT_WEIGHT_MAX).contains(&wait_weight) {
            let sentence = format!(
                "queue.wait_weight = {wait_weight} must be a whole number from 1 to {WAIT_WEIGHT_MAX}: without it a large \
                 job might wait for ever"
            );
            return Err(Fault::of("queue.wait_weight", sentence));
        }
        let most = u64::from(OVERTAKE_MAX_H) * u64::from(wait_weight);
        if self.advantage_max() > most {
            let sentence = format!(
                "queue.size_weight + queue.remaining_weight = {} must be at most {OVERTAKE_MAX_H} × queue.wait_weight = \
                 {most}: else a large and long job might wait for more than {OVERTAKE_MAX_H} hours behind jobs that came \
                 after it",
                self.advantage_max()
            );
            let keys = ["queue.size_weight", "queue.remaining_weight", "queue.wait_weight"];
            return Err(Fault::among(keys, sentence));
        }
        within("queue.size_half_gpus", self.size_half_gpus, 0.001, 1e6)?;
        within(
            "queue.remaining_half_s",
            self.remaining_half_s.0,
            1.0,
            SECONDS_MAX,
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The order of urgent jobs among themselves, as Slurm priorities.
//!
//! Slurm takes these as they are, with every priority plugin; of two that are the same the job that came first goes
//! first.

use super::settings::UrgentOrder;
use crate::policy::admission::urgent_priority;
use crate::policy::facts::WaitingJob;
use crate::policy::settings::Settings;
use crate::policy::units::{Seconds, UnixTime};

/// Who has waited for this long goes before those who have not, whatever their order is.
const PATIENCE_S: Seconds = Seconds(3600.0);

/// Above the place of the first job by the order.
const WAITED_LONG: u32 = 2000;
/// Above that: its victims leave their nodes, which are not for others.
const BEING_SERVED: u32 = 3000;
/// So many nodes or more are all the same.
const NODES_MAX: u32 = 1000;

/// The priority that a waiting urgent job is to have. `held_up`: Slurm is about to stop others for it, and first looks at
/// another job.
pub fn place(job: &WaitingJob, held_up: bool, now: UnixTime, settings: &Settings) -> u32 {
    let lowest = urgent_priority(job.het.is_some());
    // Heterogeneous jobs stay behind all others; see there.
    if job.het.is_some() {
        return lowest;
    }
    if held_up {
        return lowest + BEING_SERVED;
    }
    let first = job.record.as_ref().and_then(|record| record.first);
    let waited_long = now - first.unwrap_or(job.submit) >= PATIENCE_S;
    match settings.queue.urgent_order {
        // Slurm's own order among equals.
        UrgentOrder::Submitted => lowest,
        _ if waited_long => lowest + WAITED_LONG,
        UrgentOrder::Priority => {
            let asked = job.worth.unwrap_or(50).min(settings.victims.priority_max);
            lowest + u32::from(asked)
        }
        UrgentOrder::Small => lowest + NODES_MAX - job.request.min_nodes.min(NODES_MAX),
    }
}

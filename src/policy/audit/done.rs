// SPDX-License-Identifier: GPL-2.0-or-later
//! What Slurm's own commands have done.

use super::{Event, Whose};
use crate::policy::book::Action;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::record::Record;

/// The events of those actions that have succeeded.
pub fn of_actions(done: &[&Action], facts: &Facts) -> Vec<Event> {
    done.iter()
        .filter_map(|action| of_action(action, facts))
        .collect()
}

fn of_action(action: &Action, facts: &Facts) -> Option<Event> {
    match *action {
        Action::Ask {
            job,
            urgent,
            asked,
            deadline,
            signal,
        } => Some(Event::Asked {
            urgent,
            job,
            whose: facts.job(job).map(Whose::of).unwrap_or_default(),
            signal: signal.map(|signal| signal.to_string()),
            asked,
            deadline,
        }),
        Action::Restore { job, stop, .. } => Some(Event::Restored {
            urgent: stop.urgent,
            job,
            preempted: record(facts, job).map_or(0, |record| record.preempted) + 1,
        }),
        // The same action puts an urgent job at the head of the queue again: no change of its class.
        Action::Reclass { job, class, .. } => {
            let parked = facts.parked.iter().find(|parked| parked.id == job)?;
            let was = parked.record.as_ref().map(|record| record.class);
            (was != Some(class)).then_some(Event::ClassChanged { job, class })
        }
        Action::CallOff { .. }
        | Action::OpenGate { .. }
        | Action::ShutGate { .. }
        | Action::Requeue { .. }
        | Action::RequeueEnded { .. }
        | Action::StartNow { .. }
        | Action::Nudge
        | Action::Revive { .. }
        | Action::ShowWait { .. }
        | Action::Say(_) => None,
    }
}

fn record(facts: &Facts, job: JobId) -> Option<&Record> {
    let parked = facts.parked.iter().find(|parked| parked.id == job);
    match parked {
        Some(parked) => parked.record.as_ref(),
        None => facts.job(job)?.record.as_ref(),
    }
}

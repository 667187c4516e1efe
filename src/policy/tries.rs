// SPDX-License-Identifier: GPL-2.0-or-later
//! What has just gone out and has not worked has a rest before it goes out again: while a gate is open there are five
//! steps a second, and each failing command is one more for slurmctld.

use super::book::{AGAIN_AFTER_S, Action};
use super::ids::JobId;
use super::units::{Seconds, UnixTime};
use std::mem::discriminant;

/// When each action that a step derives from the facts alone went out last. That of a request is kept with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tries(Vec<Try>);

#[derive(Clone, Debug, PartialEq)]
struct Try {
    action: Action,
    at: UnixTime,
}

impl Tries {
    /// Takes out of `actions` those that went out a moment ago.
    pub fn let_rest(&mut self, actions: &mut Vec<Action>, now: UnixTime) {
        self.0.retain(|last| is_recent(last.at, now));
        actions.retain(|action| {
            let key = |action: &Action| whose(action).map(|job| (discriminant(action), job));
            let Some(wanted) = key(action) else { return true };
            let last = self.0.iter().position(|last| key(&last.action) == Some(wanted));
            if last.is_some_and(|at| is_same(&self.0[at].action, action)) {
                return false;
            }
            last.map(|at| self.0.swap_remove(at));
            let action = action.clone();
            self.0.push(Try { action, at: now });
            true
        });
    }

    /// By a clock that was stepped it is not known how long ago anything was.
    pub fn clock_stepped(&mut self) {
        self.0.clear();
    }
}

fn is_recent(at: UnixTime, now: UnixTime) -> bool {
    let ago = now - at;
    ago >= Seconds::ZERO && ago < AGAIN_AFTER_S
}

/// Whose, of the kinds that rest here.
fn whose(action: &Action) -> Option<JobId> {
    match *action {
        Action::CallOff { job, .. }
        | Action::Restore { job, .. }
        | Action::Reclass { job, .. }
        | Action::StartNow { job }
        | Action::ShowWait { urgent: job, .. } => Some(job),
        Action::Ask { .. }
        | Action::OpenGate { .. }
        | Action::ShutGate { .. }
        | Action::Requeue { .. }
        | Action::RequeueEnded { .. }
        | Action::Revive { .. }
        | Action::Nudge
        | Action::Say(_) => None,
    }
}

/// Whether both, of one kind and for one job, come to the same. When a job was stopped is told by each step anew.
fn is_same(one: &Action, other: &Action) -> bool {
    matches!(one, Action::Restore { .. }) || one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(urgent: u32, waits_for: &[u32]) -> Action {
        Action::ShowWait {
            urgent: JobId(urgent),
            waits_for: waits_for.iter().copied().map(JobId).collect(),
        }
    }

    fn out(tries: &mut Tries, now: i64, actions: &[Action]) -> usize {
        let mut actions = actions.to_vec();
        tries.let_rest(&mut actions, UnixTime(now));
        actions.len()
    }

    #[test]
    fn the_same_rests_for_two_seconds_and_another_goes_out_at_once() {
        let mut tries = Tries::default();
        let one = [show(5, &[1]), Action::StartNow { job: JobId(5) }];
        assert_eq!(out(&mut tries, 100, &one), 2);
        assert_eq!(out(&mut tries, 100, &one), 0, "five times a second");
        assert_eq!(out(&mut tries, 101, &[show(5, &[1, 2]), show(6, &[1])]), 2);
        assert_eq!(out(&mut tries, 102, &one), 2);
        assert_eq!(out(&mut tries, 102, &[Action::Nudge, Action::Nudge]), 2);
        // A clock that was put back makes nobody wait.
        assert_eq!(out(&mut tries, 50, &one), 2);
        assert_eq!(tries.0.len(), 2, "no more is kept than that");
    }
}

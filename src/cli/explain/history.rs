// SPDX-License-Identifier: GPL-2.0-or-later
//! What the audit file tells of one job.

use crate::policy::cost::Cost;
use crate::policy::ids::{JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The parts of a line that matter here; whatever else is in it is passed over.
#[derive(Debug, Deserialize)]
struct Line {
    at: UnixTime,
    #[serde(default)]
    shadow: bool,
    #[serde(flatten)]
    event: Event,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Event {
    Plan {
        urgent: JobId,
        user: Option<UserId>,
        victims: Vec<Chosen>,
    },
    Stopped {
        urgent: JobId,
        job: JobId,
        start: UnixTime,
        saved: Option<UnixTime>,
    },
    Started {
        urgent: JobId,
        start: UnixTime,
        waited_s: Option<Seconds>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Chosen {
    job: JobId,
    start: UnixTime,
    cost: Cost,
}

/// A job was stopped for an urgent one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Stopped {
    /// Who.
    pub job: JobId,
    /// For whom.
    pub urgent: JobId,
    /// When the run began that was stopped.
    pub start: UnixTime,
    /// When that was noticed.
    pub at: UnixTime,
    /// When it had saved; `None` if it was stopped without.
    pub saved: Option<UnixTime>,
}

/// The last start of an urgent job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Started {
    /// When.
    pub start: UnixTime,
    /// Since its first submission.
    pub waited_s: Option<Seconds>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct History {
    job: JobId,
    digits: String,
    /// Every stop of this job, and of others for it.
    pub stops: Vec<Stopped>,
    /// The last start, of an urgent job.
    pub started: Option<Started>,
    /// What each of its stops, by the urgent job and the run, was to cost by the last plan that chose it.
    costs: BTreeMap<(JobId, UnixTime), Cost>,
    users: BTreeMap<JobId, UserId>,
}

impl History {
    /// Nothing yet of this job.
    pub(super) fn of(job: JobId) -> Self {
        Self {
            job,
            digits: job.to_string(),
            stops: Vec::new(),
            started: None,
            costs: BTreeMap::new(),
            users: BTreeMap::new(),
        }
    }

    /// Takes a line up.
    pub(super) fn take(&mut self, line: &[u8]) {
        // Nearly all lines are about others.
        if !line.contains_str(&self.digits) {
            return;
        }
        // Of a file that a crash has cut, what can be read counts.
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            return;
        };
        if line.shadow {
            return;
        }
        match line.event {
            Event::Plan {
                urgent,
                user,
                victims,
            } => {
                if let Some(chosen) = victims.iter().find(|chosen| chosen.job == self.job) {
                    self.costs.insert((urgent, chosen.start), chosen.cost);
                    self.users.extend(user.map(|user| (urgent, user)));
                }
            }
            Event::Stopped {
                urgent,
                job,
                start,
                saved,
            } if job == self.job || urgent == self.job => self.stops.push(Stopped {
                job,
                urgent,
                start,
                at: line.at,
                saved,
            }),
            Event::Started {
                urgent,
                start,
                waited_s,
            } if urgent == self.job => self.started = Some(Started { start, waited_s }),
            _ => {}
        }
    }

    /// The last time that this job was stopped.
    pub(super) fn last_stop(&self) -> Option<&Stopped> {
        self.stops.iter().rev().find(|stop| stop.job == self.job)
    }

    /// What that stop was to cost.
    pub(super) fn cost(&self, stop: &Stopped) -> Option<Cost> {
        self.costs.get(&(stop.urgent, stop.start)).copied()
    }

    /// Whose the urgent job is.
    pub(super) fn user(&self, urgent: JobId) -> Option<UserId> {
        self.users.get(&urgent).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_the_job_are_kept_and_rubbish_is_passed_over() {
        let mut history = History::of(JobId(4));
        for line in [
            r#"{"v":1,"at":90,"kind":"plan","urgent":5,"user":7,"victims":[{"job":4,"start":10,"cost":{"resources":2.0,"lost_s":1.0,"lost_by":"one_step","confidence":null,"save_s":5.0,"save_by":"told","restart_s":60.0,"priority_weight":1.0,"repeat_factor":1.0,"ready_s":5.0}}]}"#,
            r#"{"v":1,"at":100,"kind":"stopped","urgent":5,"job":4,"start":10,"asked":91,"saved":95}"#,
            r#"{"v":1,"at":101,"kind":"stopped","urgent":5,"job":44,"start":10,"asked":91,"saved":95}"#,
            r#"{"v":1,"at":102,"shadow":true,"kind":"stopped","urgent":5,"job":4,"start":10,"asked":91,"saved":95}"#,
            r#"{"v":1,"at":103,"kind":"of_a_newer_release","job":4}"#,
            r#"{"v":1,"at":104,"kind":"stopped","job":4"#,
        ] {
            history.take(line.as_bytes());
        }
        assert_eq!(history.stops.len(), 1);
        let stop = *history.last_stop().unwrap();
        assert_eq!(
            (stop.urgent, stop.at.0, stop.saved),
            (JobId(5), 100, Some(UnixTime(95)))
        );
        assert!((history.cost(&stop).unwrap().total_gpu_s() - 132.0).abs() < 1e-9);
        assert_eq!(history.user(JobId(5)), Some(UserId(7)));
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What the audit file tells of each urgent job while Surgent was in shadow mode.

use crate::policy::ids::{JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
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
    Waits {
        urgent: JobId,
        user: Option<UserId>,
        tasks: u32,
        submit: UnixTime,
    },
    Plan {
        urgent: JobId,
        user: Option<UserId>,
        nodes: Vec<String>,
        cost_gpu_s: f64,
        ready_s: Seconds,
        victims: Vec<Victim>,
    },
    Wait {
        urgent: JobId,
    },
    NoSet {
        urgent: JobId,
        protected: BTreeMap<String, u64>,
    },
    Started {
        urgent: JobId,
        task: Option<String>,
        user: Option<UserId>,
        waited_s: Option<Seconds>,
    },
    Withdrawn {
        urgent: JobId,
    },
    Lost {
        lines: u64,
    },
    #[serde(other)]
    Other,
}

/// One who would have made way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Victim {
    pub job: JobId,
    pub task: Option<String>,
    pub user: Option<UserId>,
    pub account: Option<String>,
    /// When the run began that would have been stopped.
    pub start: UnixTime,
    pub cost_gpu_s: f64,
}

/// What would have been done for an urgent job: the first plan for it, which stays while it is valid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Plan {
    /// When it was made.
    pub at: UnixTime,
    pub nodes: Vec<String>,
    pub victims: Vec<Victim>,
    pub cost_gpu_s: f64,
    /// Until the last victim would have been ready.
    pub ready_s: Seconds,
    /// From the job's submission until then; `None` where the submission is not in the file.
    pub waited_s: Option<Seconds>,
}

/// Whether somebody would have made way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// By [`Story::plan`].
    Plan,
    /// No set of jobs would have helped.
    NoSet,
    /// Jobs ended by themselves soon enough.
    OthersEnd,
    /// Nobody had to.
    NotNeeded,
}

/// What became of an urgent job in reality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Started,
    /// Cancelled, or over between two looks.
    Withdrawn,
    /// It waits still, as far as the file tells.
    Waits,
}

/// All about one urgent job; of an array, about all its tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Story {
    pub job: JobId,
    pub user: Option<UserId>,
    pub submitted: Option<UnixTime>,
    /// Tasks of an array; 1 for others.
    pub tasks: u32,
    pub outcome: Outcome,
    pub plan: Option<Plan>,
    /// How often the plan changed afterwards.
    pub changed: u32,
    /// Where no set helped: how many jobs each rule protected, when that was told last.
    pub protected: BTreeMap<String, u64>,
    pub end: End,
    /// How long it waited in reality; of an array, its first task.
    pub waited_s: Option<Seconds>,
}

/// All stories so far.
#[derive(Debug, Default)]
pub(super) struct Stories {
    by_job: BTreeMap<JobId, Story>,
    /// Lines that cannot be read.
    pub unreadable: u64,
    /// Events that slurmctld could not write.
    pub lost: u64,
    /// Events from when Surgent was on.
    pub not_shadow: u64,
}

impl Stories {
    /// Takes a line, if it is not older than `since`.
    pub(super) fn take(&mut self, line: &[u8], since: UnixTime) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            self.unreadable += 1;
            return;
        };
        if line.at < since {
            return;
        }
        match line.event {
            Event::Lost { lines } => self.lost += lines,
            _ if !line.shadow => self.not_shadow += 1,
            event => self.tell(line.at, event),
        }
    }

    fn tell(&mut self, at: UnixTime, event: Event) {
        match event {
            Event::Waits {
                urgent,
                user,
                tasks,
                submit,
            } => {
                let story = self.of(urgent, user);
                story.tasks = story.tasks.max(tasks);
                story.submitted.get_or_insert(submit);
            }
            Event::Plan {
                urgent,
                user,
                nodes,
                cost_gpu_s,
                ready_s,
                victims,
            } => {
                let story = self.of(urgent, user);
                story.outcome = Outcome::Plan;
                if story.plan.is_some() {
                    story.changed = story.changed.saturating_add(1);
                    return;
                }
                story.plan = Some(Plan {
                    at,
                    nodes,
                    victims,
                    cost_gpu_s,
                    ready_s,
                    waited_s: story.submitted.map(|submitted| at - submitted + ready_s),
                });
            }
            Event::Wait { urgent } => self.of(urgent, None).note(Outcome::OthersEnd),
            Event::NoSet { urgent, protected } => {
                let story = self.of(urgent, None);
                story.note(Outcome::NoSet);
                story.protected = protected;
            }
            Event::Started {
                urgent,
                task,
                user,
                waited_s,
            } => {
                let array = task.and_then(|task| task.split('_').next()?.parse().ok());
                let story = self.of(array.map_or(urgent, JobId), user);
                if story.end != End::Started {
                    story.end = End::Started;
                    story.waited_s = waited_s;
                }
            }
            Event::Withdrawn { urgent } => {
                let story = self.of(urgent, None);
                if story.end == End::Waits {
                    story.end = End::Withdrawn;
                    story.waited_s = story.submitted.map(|submitted| at - submitted);
                }
            }
            Event::Lost { .. } | Event::Other => {}
        }
    }

    fn of(&mut self, job: JobId, user: Option<UserId>) -> &mut Story {
        let story = self.by_job.entry(job).or_insert_with(|| Story {
            job,
            user: None,
            submitted: None,
            tasks: 1,
            outcome: Outcome::NotNeeded,
            plan: None,
            changed: 0,
            protected: BTreeMap::new(),
            end: End::Waits,
            waited_s: None,
        });
        story.user = story.user.or(user);
        story
    }

    /// All of them by job, those that wait still until `now`.
    pub(super) fn until(self, now: UnixTime) -> Vec<Story> {
        let stories = self.by_job.into_values();
        let ended = stories.map(|story| match story.end {
            End::Waits => Story {
                waited_s: story.submitted.map(|submitted| now - submitted),
                ..story
            },
            End::Started | End::Withdrawn => story,
        });
        ended.collect()
    }
}

impl Story {
    /// A plan for it, once there was one, is what counts.
    fn note(&mut self, outcome: Outcome) {
        if self.plan.is_none() {
            self.outcome = outcome;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stories(lines: &[&str]) -> Stories {
        let mut stories = Stories::default();
        for line in lines {
            stories.take(line.as_bytes(), UnixTime(1000));
        }
        stories
    }

    const WAITS: &str = r#"{"v":1,"at":1001,"shadow":true,"kind":"waits","urgent":3,"user":7,"partitions":[],"min_nodes":2,"tasks":1,"submit":1000}"#;
    const PLAN: &str = r#"{"v":1,"at":1003,"shadow":true,"kind":"plan","urgent":3,"user":7,"why":"first","nodes":["n1"],"cost_gpu_s":9.1,"ready_s":30.0,"victims":[{"job":2,"user":8,"start":500,"signal":null,"deadline":1303,"cost_gpu_s":9.1}],"protected":{}}"#;

    #[test]
    fn the_first_plan_is_held_against_what_happened() {
        let other = PLAN.replace("\"job\":2", "\"job\":4").replace("1003", "1010");
        let started = r#"{"v":1,"at":1700,"shadow":true,"kind":"started","urgent":3,"start":1700,"waited_s":700.0,"nodes":["n1"]}"#;
        let found = stories(&[WAITS, PLAN, &other, started]).until(UnixTime(2000));
        let [story] = &found[..] else { panic!("{found:?}") };
        let plan = story.plan.as_ref().unwrap();
        assert_eq!((plan.victims[0].job, story.changed), (JobId(2), 1));
        assert_eq!(
            (plan.waited_s, story.waited_s),
            (Some(Seconds(33.0)), Some(Seconds(700.0)))
        );
        assert_eq!((story.outcome, story.end), (Outcome::Plan, End::Started));
    }

    #[test]
    fn what_was_done_for_real_and_what_is_older_is_not_counted() {
        let real = PLAN.replace("\"shadow\":true,", "");
        let old = PLAN.replace("1003", "999");
        let unknown = r#"{"v":1,"at":1001,"shadow":true,"kind":"of_a_newer_version","urgent":3}"#;
        let lost = r#"{"v":1,"at":1001,"kind":"lost","lines":4}"#;
        let found = stories(&[&real, &old, unknown, lost, "{", "\u{0}"]);
        assert_eq!((found.not_shadow, found.lost, found.unreadable), (1, 4, 2));
        assert_eq!(found.until(UnixTime(2000)), []);
    }

    #[test]
    fn who_waits_still_and_who_has_gone() {
        let no_set =
            r#"{"v":1,"at":1003,"shadow":true,"kind":"no_set","urgent":3,"protected":{"cannot_save":2}}"#;
        let gone = r#"{"v":1,"at":1100,"shadow":true,"kind":"withdrawn","urgent":3}"#;
        let waiting = stories(&[WAITS, no_set]).until(UnixTime(2000));
        assert_eq!(
            (waiting[0].end, waiting[0].waited_s),
            (End::Waits, Some(Seconds(1000.0)))
        );
        assert_eq!(
            (waiting[0].outcome, waiting[0].protected["cannot_save"]),
            (Outcome::NoSet, 2)
        );
        let gone = stories(&[WAITS, no_set, gone]).until(UnixTime(2000));
        assert_eq!(
            (gone[0].end, gone[0].waited_s),
            (End::Withdrawn, Some(Seconds(100.0)))
        );
    }

    #[test]
    fn the_tasks_of_an_array_are_one_story() {
        let waits = WAITS.replace("\"tasks\":1", "\"tasks\":5");
        let started = |job: u32, waited_s: u32| {
            format!(
                r#"{{"v":1,"at":1700,"shadow":true,"kind":"started","urgent":{job},"task":"3_{job}","start":1700,"waited_s":{waited_s},"nodes":[]}}"#
            )
        };
        let found = stories(&[&waits, &started(9, 50), &started(10, 60)]).until(UnixTime(2000));
        assert_eq!(
            (found.len(), found[0].tasks, found[0].waited_s),
            (1, 5, Some(Seconds(50.0)))
        );
    }
}

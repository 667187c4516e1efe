// SPDX-License-Identifier: GPL-2.0-or-later
//! What Surgent would have done: the lines of the audit file that were written in shadow mode, summed up for each urgent
//! job and in all.
//!
//! In shadow mode nobody makes way, so an urgent job that waits is planned for again and again, and each plan that
//! differs is told. What mode `on` would have done is the first: its first decision stays.

mod line;
mod totals;
mod urgent;

pub use line::Line;
pub use totals::Totals;
pub use urgent::{Fate, Foreseen, Outcome, UrgentJob, Victim};

use crate::policy::ids::{JobId, UserId};
use crate::policy::units::UnixTime;
use line::Told;
use std::collections::{BTreeMap, BTreeSet};

/// What Surgent would have done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Urgent jobs, in the order in which they were first told of.
    pub urgent: Vec<UrgentJob>,
    /// Lines that were written in shadow mode.
    pub lines: u64,
    /// Lines that were not: they tell what was done.
    pub lines_on: u64,
    /// Events that could not be written when they happened.
    pub lines_lost: u64,
    /// When the first and the last line of shadow mode were written.
    pub span: Option<(UnixTime, UnixTime)>,
    /// The latest place of each number.
    places: BTreeMap<JobId, usize>,
    /// Runs that were told: after a loss of its state Surgent tells them once more.
    runs: BTreeSet<(JobId, UnixTime)>,
}

impl FromIterator<Line> for Summary {
    fn from_iter<T: IntoIterator<Item = Line>>(lines: T) -> Self {
        let mut summary = Self::default();
        for line in lines {
            summary.add(line);
        }
        summary
    }
}

impl Summary {
    /// Takes the next line of the file.
    pub fn add(&mut self, line: Line) {
        let at = line.at;
        if let Told::Lost { lines } = line.told {
            // Written in no mode.
            self.lines_lost += lines;
            return;
        }
        if !line.shadow {
            self.lines_on += 1;
            self.leave_shadow(&line.told, at);
            return;
        }
        self.lines += 1;
        self.span = Some((self.span.map_or(at, |span| span.0), at));
        match line.told {
            Told::Waits {
                urgent,
                user,
                tasks,
                submit,
            } => {
                let job = self.opened(urgent, user);
                job.submit = job.submit.or(Some(submit));
                job.tasks = job.tasks.max(tasks);
            }
            Told::Plan {
                urgent,
                user,
                nodes,
                cost_gpu_s,
                ready_s,
                victims,
            } => self.opened(urgent, user).plan(Foreseen {
                at,
                nodes,
                victims,
                cost_gpu_s,
                ready_s,
            }),
            Told::Wait { urgent } => self.opened(urgent, None).nobody(Outcome::OthersEnd),
            Told::NoSet { urgent, protected } => {
                let job = self.opened(urgent, None);
                job.nobody(Outcome::NoSet);
                job.protected = protected;
            }
            Told::Started {
                urgent,
                task,
                user,
                start,
                waited_s,
            } => {
                if self.runs.insert((urgent, start)) {
                    let array = task.and_then(|task| task.split_once('_')?.0.parse().ok());
                    let job = self.started(urgent, array.map(JobId), user);
                    job.started += 1;
                    job.waited_s.extend(waited_s);
                    if job.started >= job.tasks {
                        job.fate = job.fate.or(Some((Fate::Started, at)));
                    }
                }
            }
            Told::Withdrawn { urgent } => {
                // That it waited may have been told before the file begins.
                if !self.places.contains_key(&urgent) {
                    self.opened(urgent, None);
                }
                self.close(urgent, Fate::Withdrawn, at);
            }
            Told::Lost { .. } | Told::Other => {}
        }
    }

    /// All urgent jobs together.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.urgent)
    }

    /// The place of the job that waits under this number.
    fn open(&self, id: JobId) -> Option<usize> {
        let place = *self.places.get(&id)?;
        self.urgent[place].fate.is_none().then_some(place)
    }

    /// The job that waits under this number.
    fn opened(&mut self, id: JobId, user: Option<UserId>) -> &mut UrgentJob {
        let place = self.open(id).unwrap_or_else(|| {
            self.urgent.push(UrgentJob::new(id));
            let place = self.urgent.len() - 1;
            self.places.insert(id, place);
            place
        });
        let job = &mut self.urgent[place];
        job.user = job.user.or(user);
        job
    }

    fn close(&mut self, id: JobId, fate: Fate, at: UnixTime) {
        if let Some(place) = self.open(id) {
            self.urgent[place].fate = Some((fate, at));
        }
    }

    /// The job that has started. A task of an array waits under the number of its array, and runs under its own.
    fn started(&mut self, id: JobId, array: Option<JobId>, user: Option<UserId>) -> &mut UrgentJob {
        let Some(array) = array.filter(|_| self.open(id).is_none()) else {
            return self.opened(id, user);
        };
        // There may be more tasks than were seen to wait, as where the file begins after that.
        match self.places.get(&array) {
            Some(&place) if matches!(self.urgent[place].fate, Some((Fate::Started, _))) => {
                &mut self.urgent[place]
            }
            _ => self.opened(array, user),
        }
    }

    /// Whatever is done for a job outside shadow mode: what comes of its wait is no more what comes without Surgent.
    fn leave_shadow(&mut self, told: &Told, at: UnixTime) {
        if let Told::Waits { urgent, .. }
        | Told::Plan { urgent, .. }
        | Told::Wait { urgent }
        | Told::NoSet { urgent, .. }
        | Told::Started { urgent, .. }
        | Told::Withdrawn { urgent } = told
        {
            self.close(*urgent, Fate::ModeChanged, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::units::Seconds;

    fn line(at: i64, kind: &str, fields: &str) -> Line {
        let shadow = r#""shadow":true"#;
        let text = format!(r#"{{"v":1,"at":{at},{shadow},"kind":"{kind}","new":[],{fields}}}"#);
        Line::parse(text.as_bytes()).unwrap()
    }

    fn plan(at: i64, urgent: u32, victims: &[u32]) -> Line {
        let victims: Vec<String> = victims
            .iter()
            .map(|job| {
                format!(
                    r#"{{"job":{job},"user":1,"start":5,"signal":null,"cost_gpu_s":9e9,"cost":{{"resources":4.0,"lost_s":10.0,
                    "lost_by":"one_step","confidence":null,"save_s":20.0,"save_by":"configured","restart_s":60.0,
                    "priority_weight":100.0,"repeat_factor":2.0,"ready_s":20.0}}}}"#
                )
            })
            .collect();
        let victims = victims.join(",");
        line(
            at,
            "plan",
            &format!(
                r#""urgent":{urgent},"nodes":["n1","n{at}"],"cost_gpu_s":9.0,"ready_s":20.0,"victims":[{victims}]"#
            ),
        )
    }

    fn waits(at: i64, urgent: u32, tasks: u32) -> Line {
        let fields = format!(
            r#""urgent":{urgent},"user":7,"tasks":{tasks},"submit":{}"#,
            at - 1
        );
        line(at, "waits", &fields)
    }

    fn started(at: i64, urgent: u32, task: &str, waited_s: f64) -> Line {
        let fields = format!(r#""urgent":{urgent},{task}"user":7,"start":{at},"waited_s":{waited_s}"#);
        line(at, "started", &fields)
    }

    fn fate(job: &UrgentJob) -> Option<Fate> {
        job.fate.map(|(fate, _)| fate)
    }

    #[test]
    fn the_first_plan_counts_however_often_it_is_made_anew() {
        let summary: Summary = [
            waits(100, 3, 1),
            plan(102, 3, &[1, 2]),
            plan(140, 3, &[2]),
            started(700, 3, "", 601.0),
            // Its state was lost.
            started(700, 3, "", 601.0),
            started(710, 4, "", 0.0),
            waits(800, 5, 1),
            line(801, "no_set", r#""urgent":5,"protected":{"cannot_save":2}"#),
            line(900, "withdrawn", r#""urgent":5"#),
            waits(1000, 6, 1),
        ]
        .into_iter()
        .collect();
        let [planned, at_once, in_vain, left] = &summary.urgent[..] else {
            panic!("{:?}", summary.urgent);
        };
        assert_eq!((planned.changed, fate(planned)), (1, Some(Fate::Started)));
        assert_eq!(planned.foreseen_wait_s(), Some(Seconds(23.0)));
        assert_eq!(planned.waited_s, [Seconds(601.0)]);
        assert_eq!((at_once.submit, fate(at_once)), (None, Some(Fate::Started)));
        assert_eq!(
            (in_vain.outcome, in_vain.protected["cannot_save"], fate(in_vain)),
            (Outcome::NoSet, 2, Some(Fate::Withdrawn))
        );
        let now = UnixTime(2000);
        assert_eq!(planned.real_wait_s(now), Some(Seconds(601.0)));
        assert_eq!(in_vain.real_wait_s(now), Some(Seconds(101.0)));
        assert_eq!((fate(left), left.real_wait_s(now)), (None, Some(Seconds(1001.0))));
        assert_eq!(
            summary.totals(),
            Totals {
                urgent: 4,
                starts: 2,
                planned: 1,
                others_end: 0,
                no_set: 1,
                victims: 2,
                runs_stopped: 2,
                jobs_stopped: 2,
                cost_gpu_s: 9.0,
                // Weights do not count: 4 GPUs for 90 s, twice.
                lost_gpu_h: 0.2,
            }
        );
        assert_eq!(summary.span, Some((UnixTime(100), UnixTime(1000))));
    }

    #[test]
    fn tasks_of_an_array_are_one_urgent_job() {
        let summary: Summary = [
            waits(100, 17, 2),
            plan(101, 17, &[1]),
            plan(101, 17, &[2]),
            plan(109, 17, &[3]),
            started(200, 18, r#""task":"17_0","#, 101.0),
            started(300, 17, r#""task":"17_1","#, 201.0),
            // Not seen to wait.
            started(310, 19, r#""task":"17_2","#, 211.0),
        ]
        .into_iter()
        .collect();
        assert_eq!(summary.urgent.len(), 1);
        let job = &summary.urgent[0];
        assert_eq!((job.started, job.changed, fate(job)), (3, 1, Some(Fate::Started)));
        assert_eq!(job.real_wait_s(UnixTime(2000)), Some(Seconds(101.0)));
        let plan = job.plan.as_ref().unwrap();
        let victims: Vec<u32> = plan.victims.iter().map(|victim| victim.job.0).collect();
        assert_eq!((victims, plan.cost_gpu_s), (vec![1, 2], 18.0));
        assert_eq!(plan.nodes, ["n1", "n101"]);
    }

    #[test]
    fn what_happens_outside_shadow_mode_is_only_counted() {
        let on = |text: &str| Line::parse(text.as_bytes()).unwrap();
        let summary: Summary = [
            waits(100, 3, 1),
            on(r#"{"v":1,"at":120,"kind":"asked","urgent":3,"job":1}"#),
            on(r#"{"v":1,"at":120,"kind":"started","urgent":3,"start":120}"#),
            on(r#"{"v":1,"at":130,"kind":"lost","lines":12}"#),
        ]
        .into_iter()
        .collect();
        assert_eq!(fate(&summary.urgent[0]), Some(Fate::ModeChanged));
        assert_eq!((summary.lines, summary.lines_on, summary.lines_lost), (1, 2, 12));
        assert_eq!(summary.totals().starts, 0);
    }

    #[test]
    fn what_is_told_of_nobody_counts_until_there_is_a_plan() {
        let no_set = || line(103, "no_set", r#""urgent":3,"protected":{}"#);
        let others = || line(104, "wait", r#""urgent":3"#);
        let outcome = |lines: Vec<Line>| Summary::from_iter(lines).urgent[0].outcome;
        assert_eq!(outcome(vec![waits(100, 3, 1)]), Outcome::NotNeeded);
        assert_eq!(outcome(vec![no_set(), others()]), Outcome::OthersEnd);
        assert_eq!(outcome(vec![others(), no_set()]), Outcome::NoSet);
        assert_eq!(
            outcome(vec![others(), plan(105, 3, &[1]), no_set()]),
            Outcome::Plan
        );
    }

    #[test]
    fn a_job_of_which_only_the_end_is_told_counts_once() {
        let gone = || line(900, "withdrawn", r#""urgent":5"#);
        let summary: Summary = [gone(), gone()].into_iter().collect();
        let [job] = &summary.urgent[..] else {
            panic!("{:?}", summary.urgent);
        };
        assert_eq!((job.submit, fate(job)), (None, Some(Fate::Withdrawn)));
    }
}

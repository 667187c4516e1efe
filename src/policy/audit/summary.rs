// SPDX-License-Identifier: GPL-2.0-or-later
//! What Surgent would have done: the lines of the audit file that were written in shadow mode, summed up for each urgent
//! job and in all.
//!
//! In shadow mode nobody makes way, so an urgent job that waits is planned for again and again, and each plan that
//! differs is told. What mode `on` would have done is the first: its first decision stays.

use crate::policy::cost::Cost;
use crate::policy::ids::{JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A line of the audit file, as far as a summary needs it. Kinds and fields that it does not need may hold anything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Line {
    at: UnixTime,
    #[serde(default)]
    shadow: bool,
    #[serde(flatten)]
    told: Told,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Told {
    Waits {
        urgent: JobId,
        user: Option<UserId>,
        tasks: u32,
        submit: UnixTime,
    },
    Plan {
        urgent: JobId,
        user: Option<UserId>,
        ready_s: Seconds,
        victims: Vec<Victim>,
    },
    Wait {
        urgent: JobId,
    },
    NoSet {
        urgent: JobId,
    },
    Started {
        urgent: JobId,
        task: Option<String>,
        user: Option<UserId>,
        start: UnixTime,
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

impl Line {
    /// Reads one line of the file.
    ///
    /// # Errors
    /// It is no JSON, or lacks what every line of its kind has.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

/// Who would have made way.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Victim {
    /// Who.
    pub job: JobId,
    /// When the run began that would have been stopped.
    pub start: UnixTime,
    /// What that would have cost.
    pub cost: Cost,
}

impl Victim {
    /// GPU-hours that would have been lost, by what the plan expected: training, the save and the restart. Without the
    /// weights by which victims are compared.
    pub fn lost_gpu_h(&self) -> f64 {
        let cost = &self.cost;
        let lost_s = cost.lost_s + cost.save_s + cost.restart_s;
        cost.resources * lost_s.0 / 3600.0
    }
}

/// The plan that would have been carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// When it was made.
    pub at: UnixTime,
    /// Until the last victim would have been ready to be stopped.
    pub ready_s: Seconds,
    /// Who would have made way.
    pub victims: Vec<Victim>,
}

impl Foreseen {
    /// GPU-hours that its victims would have lost.
    pub fn lost_gpu_h(&self) -> f64 {
        self.victims.iter().map(Victim::lost_gpu_h).sum()
    }
}

/// What became of an urgent job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It waits at the end of the file.
    #[default]
    Waits,
    /// It, or each task of it, has started.
    Started,
    /// It was cancelled.
    Withdrawn,
    /// Shadow mode ended while it waited.
    ModeChanged,
}

/// One urgent job, or all tasks of an urgent array, from its submission until it started.
#[derive(Clone, Debug, PartialEq)]
pub struct UrgentJob {
    /// Which; of an array the number of the array.
    pub id: JobId,
    /// Whose.
    pub user: Option<UserId>,
    /// When it was submitted; `None` where it was never seen to wait.
    pub submit: Option<UnixTime>,
    /// How many tasks it has; 1 for others.
    pub tasks: u32,
    /// The plan that would have been carried out, for all its tasks of that moment together; `None` without any.
    pub plan: Option<Foreseen>,
    /// How many plans were told.
    pub plans: u64,
    /// At least once nobody would have been stopped, as jobs end by themselves.
    pub others_end: bool,
    /// At least once nobody would have been stopped, as no set of jobs made it fit.
    pub no_set: bool,
    /// How long those of its tasks that have started really waited, where that is known.
    pub waited_s: Vec<Seconds>,
    /// How many of its tasks have started.
    pub started: u32,
    /// What became of it.
    pub fate: Fate,
}

impl UrgentJob {
    fn new(id: JobId) -> Self {
        Self {
            id,
            user: None,
            submit: None,
            tasks: 1,
            plan: None,
            plans: 0,
            others_end: false,
            no_set: false,
            waited_s: Vec::new(),
            started: 0,
            fate: Fate::Waits,
        }
    }

    /// How long it would have waited by the plan: from its submission until the last victim was ready.
    pub fn foreseen_wait_s(&self) -> Option<Seconds> {
        let plan = self.plan.as_ref()?;
        let before_s = Seconds((plan.at - self.submit?).0.max(0.0));
        Some(before_s + plan.ready_s)
    }

    fn plan(&mut self, at: UnixTime, ready_s: Seconds, victims: Vec<Victim>) {
        self.plans += 1;
        match &mut self.plan {
            None => {
                self.plan = Some(Foreseen { at, ready_s, victims });
            }
            // Of another task of the same array.
            Some(first) if first.at == at && self.tasks > 1 => {
                first.victims.extend(victims);
                first.ready_s = Seconds(first.ready_s.0.max(ready_s.0));
            }
            Some(_) => {}
        }
    }
}

/// All urgent jobs together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Urgent jobs.
    pub urgent: u64,
    /// Starts of urgent jobs or of their tasks.
    pub starts: u64,
    /// Urgent jobs for which others would have made way.
    pub planned: u64,
    /// Urgent jobs that waited, and for which nobody would have made way as jobs end by themselves.
    pub others_end: u64,
    /// Urgent jobs that waited, and for which no set of jobs would have done.
    pub no_set: u64,
    /// Stops, each counted.
    pub victims: u64,
    /// Different jobs among these.
    pub jobs_stopped: u64,
    /// GPU-hours that they would have lost.
    pub lost_gpu_h: f64,
}

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
    /// By its number, the place of each job that waits.
    open: BTreeMap<JobId, usize>,
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
        if let Told::Lost { lines } = line.told {
            // Written in no mode.
            self.lines_lost += lines;
            return;
        }
        if !line.shadow {
            self.lines_on += 1;
            self.leave_shadow(&line.told);
            return;
        }
        self.lines += 1;
        self.span = Some((self.span.map_or(line.at, |span| span.0), line.at));
        match line.told {
            Told::Waits {
                urgent,
                user,
                tasks,
                submit,
            } => {
                let job = self.opened(urgent);
                job.user = job.user.or(user);
                job.submit = job.submit.or(Some(submit));
                job.tasks = job.tasks.max(tasks);
            }
            Told::Plan {
                urgent,
                user,
                ready_s,
                victims,
            } => {
                let job = self.opened(urgent);
                job.user = job.user.or(user);
                job.plan(line.at, ready_s, victims);
            }
            Told::Wait { urgent } => self.opened(urgent).others_end = true,
            Told::NoSet { urgent } => self.opened(urgent).no_set = true,
            Told::Started {
                urgent,
                task,
                user,
                start,
                waited_s,
            } => {
                if self.runs.insert((urgent, start)) {
                    self.started(urgent, task.as_deref(), user, waited_s);
                }
            }
            Told::Withdrawn { urgent } => self.close(urgent, Fate::Withdrawn),
            Told::Lost { .. } | Told::Other => {}
        }
    }

    /// All urgent jobs together.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let mut stopped = BTreeSet::new();
        for job in &self.urgent {
            totals.urgent += 1;
            totals.starts += u64::from(job.started);
            match &job.plan {
                Some(plan) => {
                    totals.planned += 1;
                    totals.victims += plan.victims.len() as u64;
                    totals.lost_gpu_h += plan.lost_gpu_h();
                    stopped.extend(plan.victims.iter().map(|victim| victim.job));
                }
                None if job.others_end => totals.others_end += 1,
                None if job.no_set => totals.no_set += 1,
                None => {}
            }
        }
        totals.jobs_stopped = stopped.len() as u64;
        totals
    }

    /// The job that waits under this number.
    fn opened(&mut self, id: JobId) -> &mut UrgentJob {
        let place = *self.open.entry(id).or_insert_with(|| {
            self.urgent.push(UrgentJob::new(id));
            self.urgent.len() - 1
        });
        &mut self.urgent[place]
    }

    fn close(&mut self, id: JobId, fate: Fate) {
        if let Some(place) = self.open.remove(&id) {
            self.urgent[place].fate = fate;
        }
    }

    /// A task of an array waits under the number of its array, and runs under its own.
    fn started(&mut self, id: JobId, task: Option<&str>, user: Option<UserId>, waited_s: Option<Seconds>) {
        let array = task
            .and_then(|task| task.split_once('_')?.0.parse().ok())
            .map(JobId);
        let id = array.filter(|_| !self.open.contains_key(&id)).unwrap_or(id);
        let job = self.opened(id);
        job.user = job.user.or(user);
        job.started += 1;
        job.waited_s.extend(waited_s);
        if job.started >= job.tasks {
            self.close(id, Fate::Started);
        }
    }

    /// Whatever is done for a job outside shadow mode: what comes of its wait is no more what comes without Surgent.
    fn leave_shadow(&mut self, told: &Told) {
        if let Told::Waits { urgent, .. }
        | Told::Plan { urgent, .. }
        | Told::Wait { urgent }
        | Told::NoSet { urgent }
        | Told::Started { urgent, .. }
        | Told::Withdrawn { urgent } = told
        {
            self.close(*urgent, Fate::ModeChanged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: i64, kind: &str, fields: &str) -> Line {
        let shadow = r#""shadow":true"#;
        Line::parse(&format!(
            r#"{{"v":1,"at":{at},{shadow},"kind":"{kind}","new":[],{fields}}}"#
        ))
        .unwrap()
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
            &format!(r#""urgent":{urgent},"ready_s":20.0,"victims":[{victims}]"#),
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
            line(801, "no_set", r#""urgent":5"#),
            line(900, "withdrawn", r#""urgent":5"#),
            waits(1000, 6, 1),
        ]
        .into_iter()
        .collect();
        let [planned, at_once, in_vain, left] = &summary.urgent[..] else {
            panic!("{:?}", summary.urgent);
        };
        assert_eq!((planned.plans, planned.fate), (2, Fate::Started));
        assert_eq!(planned.foreseen_wait_s(), Some(Seconds(23.0)));
        assert_eq!(planned.waited_s, [Seconds(601.0)]);
        assert_eq!((at_once.submit, at_once.fate), (None, Fate::Started));
        assert_eq!((in_vain.no_set, in_vain.fate), (true, Fate::Withdrawn));
        assert_eq!(left.fate, Fate::Waits);
        assert_eq!(
            summary.totals(),
            Totals {
                urgent: 4,
                starts: 2,
                planned: 1,
                others_end: 0,
                no_set: 1,
                victims: 2,
                jobs_stopped: 2,
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
        ]
        .into_iter()
        .collect();
        assert_eq!(summary.urgent.len(), 1);
        let job = &summary.urgent[0];
        assert_eq!((job.started, job.fate), (2, Fate::Started));
        let victims = job.plan.iter().flat_map(|plan| &plan.victims);
        assert_eq!(victims.map(|victim| victim.job.0).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_happens_outside_shadow_mode_is_only_counted() {
        let on = |text: &str| Line::parse(text).unwrap();
        let summary: Summary = [
            waits(100, 3, 1),
            on(r#"{"v":1,"at":120,"kind":"asked","urgent":3,"job":1}"#),
            on(r#"{"v":1,"at":120,"kind":"started","urgent":3,"start":120}"#),
            on(r#"{"v":1,"at":130,"kind":"lost","lines":12}"#),
        ]
        .into_iter()
        .collect();
        assert_eq!(summary.urgent[0].fate, Fate::ModeChanged);
        assert_eq!((summary.lines, summary.lines_on, summary.lines_lost), (1, 2, 12));
        assert_eq!(summary.totals().starts, 0);
    }

    #[test]
    fn what_the_audit_writes_can_be_read() {
        use crate::policy::audit::{Entry, Event};
        let entry = Entry {
            at: UnixTime(9),
            shadow: true,
            event: Event::Waits {
                urgent: JobId(3),
                user: None,
                partitions: Vec::new(),
                min_nodes: 2,
                tasks: 1,
                het: None,
                submit: UnixTime(8),
            },
        };
        let line = Line::parse(&entry.line().unwrap()).unwrap();
        assert!(line.shadow && matches!(line.told, Told::Waits { tasks: 1, .. }));
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"at":1,"kind":"plan"}"#,
            r#"{"at":"x","kind":"a"}"#,
        ] {
            assert!(Line::parse(bad).is_err(), "{bad}");
        }
    }
}

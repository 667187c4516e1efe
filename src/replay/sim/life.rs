// SPDX-License-Identifier: GPL-2.0-or-later
//! The life of one job: its runs, what each of them trained, and what is lost when one is stopped.

use crate::policy::directives::SaveKind;
use crate::replay::workload::Job;

/// Where a job is in its life.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Phase {
    /// Not submitted yet.
    #[default]
    Coming,
    /// In the queue.
    Waiting,
    /// On nodes.
    Running(Run),
    /// Done with its work at this time.
    Done(i64),
}

/// One run of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// When it began.
    pub start_s: i64,
    /// How long it does not train: until it is up again, and while it saved for nothing.
    pub idle_s: i64,
    /// Where.
    pub nodes: Vec<u32>,
    /// The how manieth run of the job it is, from 0 on.
    pub number: u32,
    /// How it is being stopped, if it is.
    pub stop: Option<Stop>,
}

/// How a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// When that was decided.
    pub asked_s: i64,
    /// How.
    pub how: How,
    /// How long it still trains.
    pub trains_until_s: i64,
    /// When it may be taken off its nodes.
    pub ready_s: i64,
    /// What the plan expected that to cost, without waiting for others; `None` where a way of choosing expects nothing.
    pub foreseen: Option<Loss>,
}

/// What is saved of a run that is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It saves where it stands.
    AtStep,
    /// It trains to the end of the epoch, and saves then.
    AtEpochEnd,
    /// It trains until it is killed, and goes on from what it had saved by itself.
    Unsaved,
}

/// What a stop costs a job, in seconds of all its GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Training that has to be done again.
    pub redone_s: i64,
    /// Saving, and waiting for others to have saved.
    pub saving_s: i64,
    /// Until it trains again.
    pub restart_s: i64,
}

impl Loss {
    /// All of it.
    pub fn total_s(&self) -> i64 {
        self.redone_s + self.saving_s + self.restart_s
    }

    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.redone_s += other.redone_s;
        self.saving_s += other.saving_s;
        self.restart_s += other.restart_s;
    }
}

/// What is the same for all jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Until a job that was stopped trains again, in seconds.
    pub restart_s: i64,
    /// What a save between two steps loses, in seconds.
    pub step_s: i64,
    /// Whether a training keeps a checkpoint at each epoch's end without being asked.
    pub keeps_epochs: bool,
}

/// One job, and what became of it so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Life {
    /// See [`Phase`].
    pub phase: Phase,
    /// Training that is saved.
    pub done_s: i64,
    /// How often it was stopped.
    pub stops: u32,
    /// When its first run began.
    pub first_start_s: Option<i64>,
    /// What it lost.
    pub loss: Loss,
}

impl Life {
    /// Its run, while there is one.
    pub fn run(&self) -> Option<&Run> {
        match &self.phase {
            Phase::Running(run) => Some(run),
            _ => None,
        }
    }

    /// Begins a run on `nodes`; when it is going to end.
    pub fn begin(&mut self, job: &Job, nodes: Vec<u32>, now_s: i64, rules: Rules) -> i64 {
        self.first_start_s.get_or_insert(now_s);
        let run = Run {
            start_s: now_s,
            idle_s: match self.stops {
                0 => 0,
                _ => rules.restart_s,
            },
            nodes,
            number: self.stops,
            stop: None,
        };
        let end_s = self.end_s(job, &run);
        self.phase = Phase::Running(run);
        end_s
    }

    /// When the job is done in this run if nobody stops it.
    pub fn end_s(&self, job: &Job, run: &Run) -> i64 {
        run.start_s + run.idle_s + job.work_s - self.done_s
    }

    /// Training that is done by `now_s`, saved or not.
    pub fn trained_s(&self, job: &Job, run: &Run, now_s: i64) -> i64 {
        let until_s = run.stop.map_or(now_s, |stop| stop.trains_until_s.min(now_s));
        let in_run_s = (until_s - run.start_s - run.idle_s).max(0);
        (self.done_s + in_run_s).min(job.work_s)
    }

    /// What a run of `job` that trained for `trained_s` has on disk of its own accord.
    fn kept_s(&self, job: &Job, trained_s: i64, rules: Rules) -> i64 {
        match rules.keeps_epochs {
            true => (trained_s - trained_s % job.epoch_s).max(self.done_s),
            false => self.done_s,
        }
    }

    /// When this run last saved of its own accord; `None` if it has not yet.
    pub fn kept_at_s(&self, job: &Job, run: &Run, now_s: i64, rules: Rules) -> Option<i64> {
        let trained_s = self.trained_s(job, run, now_s);
        let kept_s = self.kept_s(job, trained_s, rules);
        (kept_s > self.done_s).then_some(now_s - (trained_s - kept_s))
    }

    /// How the run is stopped so that it has saved within `most_s`, or else unsaved then; decided now.
    pub fn stop(&self, job: &Job, run: &Run, now_s: i64, most_s: i64, saves: bool) -> Stop {
        let left_s = match job.save {
            SaveKind::Epoch => self.epoch_left_s(job, run, now_s),
            SaveKind::Step | SaveKind::None => 0,
        };
        let can_save = saves && job.save != SaveKind::None && left_s + job.save_s <= most_s;
        match can_save {
            true => Stop {
                asked_s: now_s,
                how: match job.save {
                    SaveKind::Epoch => How::AtEpochEnd,
                    SaveKind::Step | SaveKind::None => How::AtStep,
                },
                trains_until_s: now_s + left_s,
                ready_s: now_s + left_s + job.save_s,
                foreseen: None,
            },
            false => Stop {
                asked_s: now_s,
                how: How::Unsaved,
                trains_until_s: now_s + most_s,
                ready_s: now_s + most_s,
                foreseen: None,
            },
        }
    }

    /// What is left of the running epoch.
    fn epoch_left_s(&self, job: &Job, run: &Run, now_s: i64) -> i64 {
        let trained_s = self.trained_s(job, run, now_s);
        let idle_left_s = (run.start_s + run.idle_s - now_s).max(0);
        let epoch_end_s = ((trained_s / job.epoch_s + 1) * job.epoch_s).min(job.work_s);
        idle_left_s + epoch_end_s - trained_s
    }

    /// Ends the run and puts the job back into the queue; what that costs.
    pub fn requeue(&mut self, job: &Job, now_s: i64, rules: Rules) -> Loss {
        let Phase::Running(run) = std::mem::replace(&mut self.phase, Phase::Waiting) else {
            return Loss::default();
        };
        let trained_s = self.trained_s(job, &run, now_s);
        let kept_s = self.kept_s(job, trained_s, rules);
        let (saved_s, saving_s) = match run.stop {
            Some(stop) if stop.how == How::AtStep => (
                (trained_s - rules.step_s).max(kept_s),
                now_s - stop.trains_until_s,
            ),
            Some(stop) if stop.how == How::AtEpochEnd => (trained_s, now_s - stop.trains_until_s),
            _ => (kept_s, 0),
        };
        let loss = Loss {
            redone_s: trained_s - saved_s,
            saving_s,
            restart_s: rules.restart_s,
        };
        self.done_s = saved_s;
        self.stops += 1;
        self.loss.add(loss);
        loss
    }

    /// The run goes on after all; when it is going to end now.
    pub fn let_go(&mut self, job: &Job, now_s: i64) -> Option<i64> {
        let Phase::Running(run) = &mut self.phase else {
            return None;
        };
        let stop = run.stop.take()?;
        if stop.how != How::Unsaved && now_s >= stop.trains_until_s {
            let saving_s = now_s.max(stop.ready_s) - stop.trains_until_s;
            run.idle_s += saving_s;
            self.loss.saving_s += saving_s;
        }
        let run = self.run()?;
        Some(self.end_s(job, run))
    }
}

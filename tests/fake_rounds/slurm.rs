// SPDX-License-Identifier: GPL-2.0-or-later
//! A small Slurm of four whole nodes. What it knows of jobs outlives its slurmctld, whose plugins it asks as Slurm does.

use crate::daemon::Daemon;
use crate::ends::{Ends, seen_to_end};
use crate::job::{Job, State};
use crate::programs::{Programs, nodes_clock};
use crate::wire::{self, Ask, JobLook, Look};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use surgent::host::abi::*;

pub const NODES: usize = 4;
/// Slurm keeps a requeued job from starting for so long.
const REQUEUE_DELAY_S: i64 = 121;
/// What it takes to clear the nodes of a job.
const COMPLETING: Duration = Duration::from_millis(400);
/// The scheduler looks by itself so often, and that for heterogeneous jobs.
const SCHEDULE_EVERY: Duration = Duration::from_millis(250);
const BACKFILL_EVERY: Duration = Duration::from_secs(2);
/// Jobs are written to disk so late.
const WRITTEN_EVERY: Duration = Duration::from_secs(3);
/// Nodes register so late that run nothing of what slurmctld takes for running there.
const MISSED_IN: Duration = Duration::from_secs(20);
/// After its start slurmctld loads its state, and then nodes come forward.
const LOADS_IN: Duration = Duration::from_millis(200);
const NODES_BACK_IN: Duration = Duration::from_millis(1200);

/// See above.
pub struct Slurm {
    pub folder: PathBuf,
    pub daemon: Option<Daemon>,
    pub jobs: BTreeMap<u32, Job>,
    /// What stands on disk of them, and since when.
    written: (Instant, BTreeMap<u32, Job>),
    ends: Ends,
    /// Runs of which Surgent had seen the end when slurmctld was killed: the job, and its start.
    seen_to_end: BTreeSet<(u32, i64)>,
    /// Those of them that Slurm had to find missing by itself.
    pub left_missing: Vec<u32>,
    pub programs: Programs,
    /// Every run that there was: the job, and its start.
    runs: Vec<(u32, i64)>,
    /// `SURGENT_NODE_*` of each.
    pub nodes: [u32; NODES],
    started: Instant,
    scheduled: Instant,
    backfilled: Instant,
    /// How looks go wrong.
    pub outcome: u32,
    pub unreadable: bool,
    /// By how much slurmctld's clock is wrong.
    pub clock_by_s: i64,
}

impl Slurm {
    pub fn new(folder: PathBuf) -> Self {
        let now = Instant::now();
        Self {
            folder,
            daemon: None,
            jobs: BTreeMap::new(),
            written: (now, BTreeMap::new()),
            ends: Ends::Heard,
            seen_to_end: BTreeSet::new(),
            left_missing: Vec::new(),
            programs: Programs::default(),
            runs: Vec::new(),
            nodes: [0; NODES],
            started: now,
            scheduled: now,
            backfilled: now,
            outcome: SURGENT_SNAPSHOT_OK,
            unreadable: false,
            clock_by_s: 0,
        }
    }

    /// slurmctld's time.
    pub fn now(&self) -> i64 {
        nodes_clock() + self.clock_by_s
    }

    pub fn log(&self, line: &str) {
        wire::log(&self.folder, line);
    }

    pub fn start(&mut self, environment: &[(String, String)]) {
        self.daemon = Some(Daemon::start(&self.folder, environment));
        self.started = Instant::now();
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.daemon.take().expect("slurmctld runs").kill();
    }

    /// And what was not written is forgotten.
    pub fn kill_and_forget(&mut self, ends: Ends) {
        self.kill();
        self.seen_to_end = seen_to_end(&self.folder);
        self.jobs = self.written.1.clone();
        self.ends = ends;
    }

    /// Slurm had stopped it, and does not know that any more.
    fn is_forgotten(&self, id: u32, job: &Job) -> bool {
        let ending = self.programs.ending((id, job.restarts));
        self.ends != Ends::Heard && job.is_running() && ending == Some("KILLED")
    }

    /// As if all of it had just been written.
    pub fn write(&mut self) {
        self.written = (Instant::now(), self.jobs.clone());
    }

    /// Time passes.
    pub fn tick(&mut self) {
        for ((job, run), saved) in self.programs.go_on() {
            if self.report(job, saved) {
                self.programs.has_reported((job, run));
            }
        }
        if self.daemon.is_none() || self.started.elapsed() < NODES_BACK_IN {
            return;
        }
        self.register_nodes();
        if self.ends == Ends::Missed && self.started.elapsed() > MISSED_IN {
            self.requeue_missing();
        }
        if self.written.0.elapsed() > WRITTEN_EVERY {
            self.write();
        }
        if self.scheduled.elapsed() > SCHEDULE_EVERY {
            self.schedule();
        }
    }

    /// What runs, and what Slurm takes for running, is made to agree; nodes are cleared.
    fn register_nodes(&mut self) {
        let now = Instant::now();
        for (job, run) in self.programs.all_live() {
            let known = self.jobs.get(&job);
            if !known.is_some_and(|job| job.is_running() && job.restarts == run) {
                self.programs.end((job, run), "KILLED");
            }
        }
        let clock = self.now();
        for (id, job) in &mut self.jobs {
            if job.completing_until.is_some_and(|until| until <= now) {
                job.completing_until = None;
                job.nodes.clear();
            }
            if job.is_running()
                && let Some(how) = self.programs.ending((*id, job.restarts))
                && (self.ends == Ends::Heard || how != "KILLED")
            {
                job.state = State::Over(how);
                job.end = clock;
                job.completing_until = Some(now + COMPLETING);
            }
        }
    }

    fn requeue_missing(&mut self) {
        let jobs = self.jobs.iter();
        let missing: Vec<u32> = jobs
            .filter(|(id, job)| self.is_forgotten(**id, job))
            .map(|(id, _)| *id)
            .collect();
        for id in missing {
            if self.seen_to_end.contains(&(id, self.jobs[&id].start)) {
                self.left_missing.push(id);
            }
            self.requeue(id);
        }
    }

    fn free(&self) -> Vec<usize> {
        let is_held = |node: &usize| self.jobs.values().any(|job| job.nodes.contains(node));
        let all = (0..NODES).filter(|node| self.nodes[*node] == 0);
        all.filter(|node| !is_held(node)).collect()
    }

    /// Slurm's main scheduler, and now and then its backfill, which alone starts heterogeneous jobs.
    pub fn schedule(&mut self) {
        if self.daemon.is_none() || self.started.elapsed() < NODES_BACK_IN {
            return;
        }
        self.scheduled = Instant::now();
        let now = self.now();
        let may_start = self.jobs.iter().filter(|(_, job)| job.may_start(now));
        let mut queue: Vec<u32> = may_start.map(|(id, _)| *id).collect();
        queue.sort_by_key(|id| (Reverse(self.jobs[id].priority), *id));
        let backfills = self.backfilled.elapsed() > BACKFILL_EVERY;
        if backfills {
            self.backfilled = Instant::now();
        }
        for id in queue {
            let job = self.jobs.get_mut(&id).expect("it is in the queue");
            job.tested = true;
            match job.het {
                Some((leader, 0, _)) if backfills => self.start_together(leader),
                Some(_) => {}
                None => self.start_alone(id),
            }
        }
    }

    fn start_alone(&mut self, id: u32) {
        let want = self.jobs[&id].want;
        if self.free().len() < want {
            self.preempt(id);
        } else {
            self.start_job(id);
        }
    }

    fn start_together(&mut self, leader: u32) {
        let of_it = |job: &Job| job.het.is_some_and(|(first, ..)| first == leader);
        let parts = self.jobs.iter().filter(|(_, job)| of_it(job));
        let parts: Vec<u32> = parts.map(|(id, _)| *id).collect();
        let wanted: usize = parts.iter().map(|id| self.jobs[id].want).sum();
        let now = self.now();
        if parts.iter().all(|id| self.jobs[id].may_start(now)) && self.free().len() >= wanted {
            for part in parts {
                self.start_job(part);
            }
        }
    }

    fn start_job(&mut self, id: u32) {
        let (free, now) = (self.free(), self.now());
        let job = self.jobs.get_mut(&id).expect("it is in the queue");
        job.nodes = free[..job.want].to_vec();
        (job.state, job.start) = (State::Running, now);
        let (run, save, line) = (job.restarts, job.save, format!("sched: Allocate JobId={id}"));
        self.programs.start((id, run), save);
        self.runs.push((id, now));
        self.log(&line);
    }

    /// As Slurm does for a job that does not fit: asks the plugin about every running job, takes of those that it may take as
    /// many as are needed, and asks in what way.
    fn preempt(&mut self, id: u32) {
        let running = self.jobs.iter().filter(|(_, job)| job.is_running());
        let runs = running.map(|(id, job)| (*id, job.start)).collect();
        let mut freed = self.free().len();
        let mut victims = Vec::new();
        for (victim, start) in self.preemptable(id, runs) {
            if freed < self.jobs[&id].want {
                let nodes = &self.jobs[&victim].nodes;
                freed += nodes.iter().filter(|node| self.nodes[**node] == 0).count();
                victims.push((victim, start));
            }
        }
        if freed < self.jobs[&id].want {
            return;
        }
        for (job, start) in victims {
            match self.ask(&Ask::Mode { job, start }) {
                Some(answer) if answer.mode == SURGENT_MODE_REQUEUE => {
                    self.requeue(job);
                    self.log(&format!(
                        "preempted JobId={job} has been requeued to reclaim resources for JobId={id}"
                    ));
                }
                // As the site's own preemption says, which is none here.
                Some(_) => self.finish(job, "CANCELLED"),
                None => return,
            }
        }
    }

    /// Those of `runs` that the plugin lets `id` preempt.
    fn preemptable(&mut self, id: u32, runs: Vec<(u32, i64)>) -> Vec<(u32, i64)> {
        let ask = Ask::Preemptable {
            preemptor: id,
            admin_comment: self.jobs[&id].admin_comment.clone(),
            runs: runs.clone(),
        };
        let answers = self.ask(&ask).unwrap_or_default().preemptable;
        let allowed = runs.into_iter().zip(answers).filter(|(_, may)| *may);
        allowed.map(|(run, _)| run).collect()
    }

    /// Runs, of any that there were, behind a gate that stands open.
    pub fn behind_gates(&mut self) -> Vec<(u32, i64)> {
        let jobs: Vec<u32> = self.jobs.keys().copied().collect();
        let runs = self.runs.clone();
        let allowed = jobs.into_iter().map(|id| self.preemptable(id, runs.clone()));
        allowed.flatten().collect()
    }

    /// Stops it, and puts it back into the queue.
    pub fn requeue(&mut self, id: u32) {
        let begin = self.now() + REQUEUE_DELAY_S;
        let job = self.jobs.get_mut(&id).expect("Slurm knows it");
        self.programs.end((id, job.restarts), "KILLED");
        if job.is_running() {
            job.completing_until = Some(Instant::now() + COMPLETING);
        }
        (job.state, job.begin, job.start) = (State::Pending, begin, 0);
        job.restarts += 1;
    }

    pub fn finish(&mut self, id: u32, how: &'static str) {
        let now = self.now();
        let job = self.jobs.get_mut(&id).expect("Slurm knows it");
        self.programs.end((id, job.restarts), how);
        if job.is_running() {
            job.completing_until = Some(Instant::now() + COMPLETING);
        }
        (job.state, job.end) = (State::Over(how), now);
    }

    /// A hook's answer; `None` where slurmctld is down.
    pub fn ask(&mut self, ask: &Ask) -> Option<wire::Answer> {
        self.daemon.as_mut()?.ask(ask)
    }

    /// What the shim gives the core to see.
    pub fn look(&self) -> Look {
        let now = self.now();
        let is_loaded = self.started.elapsed() > LOADS_IN;
        let are_nodes_back = self.started.elapsed() > NODES_BACK_IN;
        let matters = |job: &Job| match job.state {
            State::Over(_) => job.completing_until.is_some() || job.save.is_none(),
            _ => true,
        };
        let jobs = self.jobs.iter().filter(|(_, job)| matters(job));
        let mut jobs: Vec<JobLook> = jobs.map(|(id, job)| job.look(*id, now)).collect();
        let outcome = match is_loaded {
            true => self.outcome,
            false => SURGENT_SNAPSHOT_NOT_READY,
        };
        match outcome {
            SURGENT_SNAPSHOT_NOT_READY => jobs.clear(),
            SURGENT_SNAPSHOT_NO_MEMORY => jobs.truncate(2),
            _ => {}
        }
        let flags = |node: usize| {
            let flag = |is: bool, flag: u32| if is { flag } else { 0 };
            let mut holders = self.jobs.iter().filter(|(_, job)| job.nodes.contains(&node));
            let is_cleared = holders.clone().any(|(_, job)| job.completing_until.is_some());
            self.nodes[node]
                | flag(is_cleared, SURGENT_NODE_COMPLETING)
                | flag(
                    self.ends != Ends::Missed && holders.all(|(id, job)| self.is_forgotten(*id, job)),
                    SURGENT_NODE_IDLE,
                )
                | flag(!are_nodes_back, SURGENT_NODE_DOWN)
        };
        Look {
            outcome,
            unreadable: self.unreadable,
            nodes: (0..NODES).map(flags).collect(),
            jobs,
        }
    }
}

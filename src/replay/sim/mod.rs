// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a workload on a machine, event by event, in whole seconds.
//!
//! All ways of serving urgent jobs have in common: urgent jobs stand at the head of the queue, first come first served;
//! normal jobs start first in, first out with backfill; a job that was stopped keeps its place by its first submission
//! and can start again at once; once all victims of an urgent job are ready they leave their nodes together and it starts.

mod life;
mod queue;
mod room;

pub use life::{How, Life, Loss, Phase, Rules, Run, Stop};
pub use room::{Room, Shape};

use super::way::{Scene, Verdict, Way};
use super::workload::{Job, Machine};
use crate::policy::settings::Settings;
use queue::{Holder, Waiting, starts};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// An urgent job for which nothing can be done is looked at again after this, and whenever something becomes free. (In
/// slurmctld that is every second.)
const AGAIN_S: i64 = 60;

/// Others make way for an urgent job.
#[derive(Clone, Debug, PartialEq)]
pub struct Campaign {
    /// For whom, by its place in the workload.
    pub urgent: usize,
    /// Those who have not left yet.
    pub victims: Vec<usize>,
    /// Where it is going to start.
    pub nodes: Vec<u32>,
    /// What is set aside for it on each of these nodes.
    pub held: Vec<u32>,
}

/// How an urgent job was served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Which job, by its place in the workload.
    pub urgent: usize,
    /// When it started.
    pub start_s: i64,
    /// Who was stopped for it.
    pub stopped: Vec<Stopped>,
}

/// A job that was stopped for an urgent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Which, by its place in the workload.
    pub at: usize,
    /// How that was decided, and what it was expected to cost.
    pub stop: Stop,
    /// What it cost, in seconds of all GPUs of the job.
    pub loss: Loss,
}

/// What nodes did for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// For which job, by its place in the workload.
    pub job: usize,
    /// Which nodes.
    pub nodes: Vec<u32>,
    /// From when.
    pub from_s: i64,
    /// Until when.
    pub to_s: i64,
    /// What.
    pub what: What,
}

/// What a job does on its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It starts again.
    Restarts,
    /// It trains.
    Trains,
    /// It saves, or has saved and waits.
    Saves,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Each job's life.
    pub lives: Vec<Life>,
    /// How each urgent job that started was served, in the order of their starts.
    pub services: Vec<Service>,
    /// What nodes did, in the order of the ends.
    pub spans: Vec<Span>,
    /// How far it came.
    pub end_s: i64,
    /// It was ended before all jobs were done.
    pub is_partial: bool,
}

/// All that a replay depends on.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// What there is.
    pub machine: Machine,
    /// What is to be run.
    pub jobs: &'a [Job],
    /// How urgent jobs are served.
    pub way: Way,
    /// Surgent's settings.
    pub settings: &'a Settings,
    /// Whether a training keeps a checkpoint at each epoch's end without being asked.
    pub keeps_epochs: bool,
    /// For ways that choose by chance.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A run of a job is at its end.
    End { at: usize, run: u32 },
    /// Victims are ready.
    Ready,
    /// A job is submitted.
    Submit { at: usize },
    /// Something is to be tried again.
    Again,
}

struct Sim<'a> {
    case: Case<'a>,
    rules: Rules,
    now_s: i64,
    lives: Vec<Life>,
    room: Room,
    running: BTreeSet<usize>,
    /// Normal jobs that wait, by place; the workload is sorted by submission.
    normal: BTreeSet<usize>,
    /// Urgent jobs that wait and for which nobody makes way.
    urgent: BTreeSet<usize>,
    campaigns: Vec<Campaign>,
    /// When each waiting urgent job is to be planned for again.
    again: BTreeMap<usize, i64>,
    services: Vec<Service>,
    spans: Vec<Span>,
    events: BinaryHeap<Reverse<(i64, Event)>>,
    random: ChaCha8Rng,
}

/// Replays `case`. `watch` is told now and then how many jobs are done, and says whether to go on.
pub fn replay(case: Case<'_>, mut watch: impl FnMut(u64) -> bool) -> Replayed {
    /// So many moments lie between two calls of `watch`.
    const WATCH_EVERY: u64 = 256;
    let mut sim = Sim::new(case);
    let mut is_partial = false;
    let mut moments: u64 = 0;
    while let Some(Reverse((now_s, event))) = sim.events.pop() {
        sim.now_s = now_s;
        sim.take(event);
        while let Some(Reverse((at_s, event))) = sim.events.peek().copied()
            && at_s == now_s
        {
            sim.events.pop();
            sim.take(event);
        }
        sim.schedule();
        moments += 1;
        if moments.is_multiple_of(WATCH_EVERY) && !watch(sim.done()) {
            is_partial = true;
            break;
        }
    }
    watch(sim.done());
    Replayed {
        lives: sim.lives,
        services: sim.services,
        spans: sim.spans,
        end_s: sim.now_s,
        is_partial,
    }
}

impl<'a> Sim<'a> {
    fn new(case: Case<'a>) -> Self {
        let submissions = case.jobs.iter().enumerate();
        let events = submissions.map(|(at, job)| Reverse((job.submit_s, Event::Submit { at })));
        let victims = &case.settings.victims;
        Self {
            rules: Rules {
                // Settings bound both.
                restart_s: victims.restart_s.0 as i64,
                step_s: victims.step_s.0 as i64,
                keeps_epochs: case.keeps_epochs,
            },
            now_s: 0,
            lives: vec![Life::default(); case.jobs.len()],
            room: Room::new(case.machine),
            running: BTreeSet::new(),
            normal: BTreeSet::new(),
            urgent: BTreeSet::new(),
            campaigns: Vec::new(),
            again: BTreeMap::new(),
            services: Vec::new(),
            spans: Vec::new(),
            events: events.collect(),
            random: ChaCha8Rng::seed_from_u64(case.seed),
            case,
        }
    }

    fn done(&self) -> u64 {
        let is_done = |life: &&Life| matches!(life.phase, Phase::Done(_));
        self.lives.iter().filter(is_done).count() as u64
    }

    fn at(&mut self, time_s: i64, event: Event) {
        self.events.push(Reverse((time_s, event)));
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Submit { at } => {
                self.lives[at].phase = Phase::Waiting;
                self.queue(at);
            }
            Event::End { at, run } => self.end(at, run),
            // What is to be done is found by `schedule`.
            Event::Ready | Event::Again => {}
        }
    }

    fn queue(&mut self, at: usize) {
        match self.case.jobs[at].is_urgent {
            true => self.urgent.insert(at),
            false => self.normal.insert(at),
        };
    }

    fn end(&mut self, at: usize, number: u32) {
        let (job, life) = (&self.case.jobs[at], &mut self.lives[at]);
        let Some(run) = life.run().filter(|run| run.number == number) else {
            return;
        };
        // It was delayed, or has stopped training, since the event was made.
        if life.trained_s(job, run, self.now_s) < job.work_s {
            return;
        }
        let run = run.clone();
        life.phase = Phase::Done(self.now_s);
        life.done_s = job.work_s;
        self.leave(at, &run);
        // What a victim leaves is for whom it was to make way, before all others.
        for place in 0..self.campaigns.len() {
            if self.campaigns[place].victims.contains(&at) {
                self.campaigns[place].victims.retain(|victim| *victim != at);
                self.set_aside(place);
            }
        }
        self.set_aside_for_all();
    }

    /// A run is over, in whatever way.
    fn leave(&mut self, at: usize, run: &Run) {
        self.note_spans(at, run);
        self.running.remove(&at);
        for node in &run.nodes {
            self.room.give(*node, self.case.jobs[at].gpus_per_node);
        }
    }

    fn note_spans(&mut self, at: usize, run: &Run) {
        let trains_from_s = (run.start_s + run.idle_s).min(self.now_s);
        let until_s = run
            .stop
            .map_or(self.now_s, |stop| stop.trains_until_s.min(self.now_s));
        let trains_until_s = until_s.max(trains_from_s);
        for (from_s, to_s, what) in [
            (run.start_s, trains_from_s, What::Restarts),
            (trains_from_s, trains_until_s, What::Trains),
            (trains_until_s, self.now_s, What::Saves),
        ] {
            if from_s < to_s {
                let nodes = run.nodes.clone();
                self.spans.push(Span {
                    job: at,
                    nodes,
                    from_s,
                    to_s,
                    what,
                });
            }
        }
    }

    /// Gives to campaigns what has become free on their nodes, in their order.
    fn set_aside_for_all(&mut self) {
        for place in 0..self.campaigns.len() {
            self.set_aside(place);
        }
    }

    fn set_aside(&mut self, place: usize) {
        let campaign = &mut self.campaigns[place];
        let gpus = self.case.jobs[campaign.urgent].gpus_per_node;
        for (node, held) in campaign.nodes.iter().zip(&mut campaign.held) {
            let more = (gpus - *held).min(self.room.on(*node));
            self.room.take(*node, more);
            *held += more;
        }
    }

    fn start(&mut self, at: usize, nodes: Vec<u32>) {
        let job = &self.case.jobs[at];
        for node in &nodes {
            self.room.take(*node, job.gpus_per_node);
        }
        self.urgent.remove(&at);
        self.normal.remove(&at);
        self.again.remove(&at);
        self.running.insert(at);
        let end_s = self.lives[at].begin(job, nodes, self.now_s, self.rules);
        let run = self.lives[at].stops;
        self.at(end_s, Event::End { at, run });
        if job.is_urgent {
            self.services.push(Service {
                urgent: at,
                start_s: self.now_s,
                stopped: Vec::new(),
            });
        }
    }

    fn schedule(&mut self) {
        self.finish_campaigns();
        self.serve();
        self.finish_campaigns();
        self.start_waiting();
    }

    /// Starts the urgent jobs whose room is there, or whose last victim is ready.
    fn finish_campaigns(&mut self) {
        let mut place = 0;
        while place < self.campaigns.len() {
            let campaign = &self.campaigns[place];
            let gpus = self.case.jobs[campaign.urgent].gpus_per_node;
            let is_ready = |at: &usize| {
                let stop = self.lives[*at].run().and_then(|run| run.stop);
                stop.is_none_or(|stop| stop.ready_s <= self.now_s)
            };
            let is_free = campaign.held.iter().all(|held| *held == gpus);
            if !is_free && !campaign.victims.iter().all(is_ready) {
                place += 1;
                continue;
            }
            let campaign = self.campaigns.remove(place);
            self.finish(campaign, is_free);
            // What this one left over may be what an earlier one lacks.
            place = 0;
        }
    }

    fn finish(&mut self, campaign: Campaign, is_free: bool) {
        let mut stopped = Vec::new();
        for at in &campaign.victims {
            if is_free {
                self.let_go(*at);
            } else if let Some(run) = self.lives[*at].run().cloned() {
                self.leave(*at, &run);
                let loss = self.lives[*at].requeue(&self.case.jobs[*at], self.now_s, self.rules);
                stopped.extend(run.stop.map(|stop| Stopped { at: *at, stop, loss }));
                self.queue(*at);
            }
        }
        for (node, held) in campaign.nodes.iter().zip(&campaign.held) {
            self.room.give(*node, *held);
        }
        let shape = Shape::of(&self.case.jobs[campaign.urgent]);
        let usable = |node: u32| match campaign.nodes.contains(&node) {
            true => self.room.on(node),
            false => 0,
        };
        match self.room.place_within(shape, usable) {
            Some(nodes) => {
                self.start(campaign.urgent, nodes);
                if let Some(service) = self.services.last_mut() {
                    service.stopped = stopped;
                }
            }
            // The plan was wrong: others were stopped in vain, and it is planned for again.
            None => {
                self.urgent.insert(campaign.urgent);
            }
        }
        self.set_aside_for_all();
    }

    fn let_go(&mut self, at: usize) {
        if let Some(end_s) = self.lives[at].let_go(&self.case.jobs[at], self.now_s) {
            let run = self.lives[at].stops;
            self.at(end_s, Event::End { at, run });
        }
    }

    /// Looks after the urgent jobs for which nobody makes way.
    fn serve(&mut self) {
        for at in self.urgent.clone() {
            if let Some(nodes) = self.room.place(Shape::of(&self.case.jobs[at])) {
                self.start(at, nodes);
                continue;
            }
            if self.again.get(&at).is_some_and(|again_s| *again_s > self.now_s) {
                continue;
            }
            self.again.remove(&at);
            let scene = Scene {
                now_s: self.now_s,
                machine: self.case.machine,
                jobs: self.case.jobs,
                lives: &self.lives,
                running: &self.running,
                room: &self.room,
                campaigns: &self.campaigns,
                rules: self.rules,
                settings: self.case.settings,
            };
            match self.case.way.choose(&scene, at, &mut self.random) {
                Verdict::Stop { victims, nodes } => self.begin(at, victims, nodes),
                Verdict::Wait { .. } if self.case.way == Way::Never => {}
                Verdict::Wait { until_s } => {
                    let again_s = self.now_s + AGAIN_S;
                    let again_s = until_s.map_or(again_s, |until_s| again_s.min(until_s.max(self.now_s + 1)));
                    self.again.insert(at, again_s);
                    self.at(again_s, Event::Again);
                }
            }
        }
    }

    fn begin(&mut self, urgent: usize, victims: Vec<(usize, Stop)>, nodes: Vec<u32>) {
        for (at, stop) in &victims {
            if let Phase::Running(run) = &mut self.lives[*at].phase {
                run.stop = Some(*stop);
            }
            self.at(stop.ready_s, Event::Ready);
        }
        self.urgent.remove(&urgent);
        self.campaigns.push(Campaign {
            urgent,
            victims: victims.into_iter().map(|(at, _)| at).collect(),
            held: vec![0; nodes.len()],
            nodes,
        });
        self.set_aside_for_all();
    }

    /// Starts who can: urgent jobs first, then the normal queue.
    fn start_waiting(&mut self) {
        let waiting = self.urgent.iter().chain(&self.normal).map(|at| {
            let (job, life) = (&self.case.jobs[*at], &self.lives[*at]);
            Waiting {
                at: *at,
                shape: Shape::of(job),
                limit_s: job.limit_s - life.done_s + self.rules.restart_s * i64::from(life.stops.min(1)),
            }
        });
        let holders = || {
            let holder = |at: &usize| {
                let (job, life) = (&self.case.jobs[*at], &self.lives[*at]);
                let run = life.run()?;
                Some(Holder {
                    end_s: run.start_s + run.idle_s + job.limit_s - life.done_s,
                    gpus: job.gpus_per_node,
                    nodes: &run.nodes,
                })
            };
            self.running.iter().filter_map(holder).collect()
        };
        for (at, nodes) in starts(&self.room, waiting, holders, self.now_s) {
            self.start(at, nodes);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A small Slurm of whole nodes, in which the actions of a step come true: what the policy is tested against.

mod crash;

use std::collections::{BTreeMap, BTreeSet};
use surgent::policy::audit::{self, Entry};
use surgent::policy::book::{Action, Book};
use surgent::policy::directives::{self, Key, Urgency};
use surgent::policy::facts::{
    Availability, Component, Facts, Hindrance, Holding, JobTraits, Node, ParkedJob, Request, RunningJob,
    WaitingJob,
};
use surgent::policy::ids::{JobId, NodeIndex, UserId};
use surgent::policy::labels::Labels;
use surgent::policy::record::Record;
use surgent::policy::resources::Amounts;
use surgent::policy::settings::{Mode, Settings};
use surgent::policy::step::step_and_tell;
use surgent::policy::units::UnixTime;

pub const CPUS: u32 = 8;

#[derive(Clone, Debug, PartialEq)]
pub enum State {
    Pending {
        begin: i64,
    },
    Running {
        start: i64,
        nodes: Vec<u32>,
    },
    /// Slurm stopped it, and after a crash takes that for an end of its own.
    Killed,
    Gone,
}

#[derive(Clone, Debug)]
pub struct Job {
    pub state: State,
    pub want_nodes: u32,
    pub labels: Labels,
    pub comment: Vec<u8>,
    pub admin_comment: Vec<u8>,
    pub requeue: bool,
    pub submit: i64,
    /// Seconds that its save takes; `None` ignores every request.
    pub save_s: Option<i64>,
    /// Why Slurm would not start it.
    pub hindrance: Option<Hindrance>,
    /// Of a heterogeneous job.
    pub het: Option<Component>,
    saving_until: Option<i64>,
    /// When Slurm began to stop it.
    preempted_at: Option<i64>,
    /// Slurm stopped it, and after a crash takes it for running.
    forgotten: bool,
}

/// So often Slurm looks at heterogeneous jobs.
pub const BACKFILL_EVERY_S: i64 = 5;

impl Job {
    pub fn record(&self) -> Option<Record> {
        Record::read(&self.admin_comment)
    }

    /// Slurm puts it back into the queue.
    pub fn stop(&mut self, now: i64) {
        self.state = State::Pending { begin: now + 121 };
        self.saving_until = None;
        self.preempted_at = None;
        self.forgotten = false;
    }

    pub fn is_urgent(&self) -> bool {
        Record::is_urgent_fast(&self.admin_comment)
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }
}

pub struct World {
    pub now: i64,
    pub nodes: u32,
    pub jobs: BTreeMap<u32, Job>,
    pub settings: Settings,
    pub book: Book,
    pub gates: BTreeMap<u32, BTreeSet<(u32, i64)>>,
    /// Everything that happened, in order: `ask 1 for 5`, `save 1`, `requeue 1 for 5`, `start 5`, ...
    pub events: Vec<String>,
    pub said: Vec<String>,
    /// What the audit tells.
    pub audit: Vec<Entry>,
    /// Slurmctld was restarted: until then its nodes are not there.
    pub nodes_back_at: i64,
    /// Commands to Slurm fail.
    pub commands_fail: bool,
    /// Slurm starts heterogeneous jobs that fit.
    pub backfill_works: bool,
    /// The node of a job that has ended, and that Slurm takes for running after a crash, is shown as idle; else as allocated.
    pub ends_show: bool,
    /// The time from the start of a preemption to its end that Slurm gives victims.
    pub grace_s: i64,
}

impl World {
    pub fn new(nodes: u32) -> Self {
        let settings = "[victims]\nmin_runtime_s = 0\nnearly_done_s = 0\nsave_deadline_s = 20\n[urgent]\ngate_patience_s = 30\n";
        Self {
            now: 1_000_000,
            nodes,
            jobs: BTreeMap::new(),
            settings: Settings::parse(settings).unwrap(),
            book: Book::default(),
            gates: BTreeMap::new(),
            events: Vec::new(),
            said: Vec::new(),
            audit: Vec::new(),
            nodes_back_at: 0,
            commands_fail: false,
            backfill_works: true,
            ends_show: true,
            grace_s: 0,
        }
    }

    /// A training job on `nodes`, running since 1,000 s, that saves within `save_s` when asked.
    pub fn train(&mut self, id: u32, nodes: &[u32], save_s: Option<i64>) {
        self.jobs.insert(
            id,
            Job {
                state: State::Running {
                    start: self.now - 1000,
                    nodes: nodes.to_vec(),
                },
                want_nodes: nodes.len() as u32,
                labels: Labels::default(),
                comment: b"my run signal=URG@full save=step".to_vec(),
                admin_comment: b"surgent{class=normal first=1}".to_vec(),
                requeue: true,
                submit: self.now - 1100,
                save_s,
                hindrance: None,
                het: None,
                saving_until: None,
                preempted_at: None,
                forgotten: false,
            },
        );
    }

    pub fn submit_urgent(&mut self, id: u32, nodes: u32) {
        self.jobs.insert(
            id,
            Job {
                state: State::Pending { begin: 0 },
                want_nodes: nodes,
                labels: Labels::default(),
                comment: b"urgency=urgent".to_vec(),
                admin_comment: b"surgent{class=urgent first=1}".to_vec(),
                requeue: true,
                submit: self.now,
                save_s: None,
                hindrance: None,
                het: None,
                saving_until: None,
                preempted_at: None,
                forgotten: false,
            },
        );
    }

    /// An urgent heterogeneous job with a component for each of `nodes`; their ids begin with `leader`.
    pub fn submit_urgent_het(&mut self, leader: u32, nodes: &[u32]) {
        for (offset, want) in (0u32..).zip(nodes) {
            self.submit_urgent(leader + offset, *want);
            self.jobs.get_mut(&(leader + offset)).unwrap().het = Some(Component {
                leader: JobId(leader),
                offset,
                of: (offset == 0).then_some(nodes.len() as u32),
            });
        }
    }

    /// A second passes: jobs save, Slurm schedules, the policy takes its step.
    pub fn tick(&mut self) {
        self.now += 1;
        self.save();
        self.schedule();
        self.decide();
    }

    pub fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    /// Slurm could not start all components of a heterogeneous job, and lets this one wait.
    pub fn put_off(&mut self, component: u32) {
        let job = self.jobs.get_mut(&component).unwrap();
        job.submit = self.now;
        job.state = State::Pending {
            begin: self.now + 121,
        };
    }

    pub fn cancel(&mut self, id: u32) {
        self.jobs.get_mut(&id).unwrap().state = State::Gone;
    }

    fn save(&mut self) {
        for (id, job) in &mut self.jobs {
            let lives = job.is_running() && !job.forgotten;
            if job.saving_until.is_some_and(|until| until <= self.now) && lives {
                job.saving_until = None;
                job.comment = directives::edit(&job.comment, &[(Key::Saved, self.now.to_string())]).unwrap();
                self.events.push(format!("save {id}"));
            }
        }
    }

    pub fn decide(&mut self) {
        let facts = self.facts();
        let before = self.book.clone();
        let mut decided = Vec::new();
        let actions = step_and_tell(&mut self.book, &facts, &self.settings, &mut |decision| {
            decided.extend(audit::decided(decision, &facts));
        });
        let mode = self.settings.mode;
        let step = audit::Step {
            before: &before,
            facts: &facts,
            mode,
        };
        let mut events = audit::of_step(&step, &mut self.book, decided);
        let works = |action: &&Action| !self.commands_fail || !needs_command(action);
        let done: Vec<&Action> = actions.iter().filter(works).collect();
        events.extend(audit::of_actions(&done, &facts));
        for action in done {
            self.apply(action.clone());
        }
        self.audit.extend(events.into_iter().map(|event| Entry {
            at: facts.now,
            shadow: mode == Mode::Shadow,
            event,
        }));
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Say(sentence) => self.said.push(sentence),
            Action::Nudge => {}
            Action::OpenGate { urgent, victims } => {
                let victims = victims.iter().map(|(job, start)| (job.0, start.0)).collect();
                self.events.push(format!("gate {urgent}"));
                self.gates.insert(urgent.0, victims);
            }
            Action::ShutGate { urgent } => {
                self.gates.remove(&urgent.0);
            }
            Action::Ask {
                job,
                urgent,
                asked,
                deadline,
                signal,
            } => {
                self.rewrite(job, |record| {
                    record.ask = Some(urgent);
                    record.asked = Some(asked);
                    record.deadline = Some(deadline);
                });
                self.events.push(format!("ask {job} for {urgent}"));
                let now = self.now;
                let target = self.jobs.get_mut(&job.0).unwrap();
                if let (Some(save_s), Some(_)) = (target.save_s, signal) {
                    target.saving_until = Some(now + save_s);
                }
                for campaign in &mut self.book.campaigns {
                    for asked in campaign.victims.iter_mut().filter(|asked| asked.job == job) {
                        asked.delivered = true;
                    }
                }
            }
            Action::Requeue { jobs } => {
                for JobId(id) in jobs {
                    let job = self.jobs.get_mut(&id).unwrap();
                    if job.is_running() {
                        job.stop(self.now);
                        self.events.push(format!("requeue {id} by command"));
                    }
                }
            }
            Action::StartNow { job: JobId(id) } => {
                let job = self.jobs.get_mut(&id).unwrap();
                job.state = State::Pending { begin: self.now };
                self.events.push(format!("hasten {id}"));
            }
            Action::RequeueEnded {
                job: JobId(id),
                restart_in_s,
            } => {
                let job = self.jobs.get_mut(&id).unwrap();
                if job.is_running() {
                    job.stop(self.now);
                    // Slurm clears no node, and so has it wait for nothing.
                    let begin = self.now + restart_in_s.map_or(0, |time_s| time_s.0 as i64);
                    job.state = State::Pending { begin };
                    self.events.push(format!("requeue {id} by command"));
                }
            }
            Action::CallOff { job, .. } => {
                self.rewrite(job, forget);
                self.events.push(format!("call off {job}"));
            }
            Action::Restore { job, stop, .. } => {
                self.rewrite(job, |record| {
                    forget(record);
                    record.note_stop(stop);
                });
                if let State::Pending { begin } = &mut self.jobs.get_mut(&job.0).unwrap().state {
                    *begin = self.now;
                }
                self.events.push(format!("restore {job}"));
            }
            Action::Revive { job, restart_in_s } => {
                let target = self.jobs.get_mut(&job.0).unwrap();
                if target.state == State::Killed {
                    target.stop(self.now);
                    target.state = State::Pending {
                        begin: self.now + restart_in_s.0 as i64,
                    };
                    self.events.push(format!("revive {job}"));
                }
            }
            Action::ShowWait { urgent, waits_for } => {
                self.rewrite(urgent, |record| record.waits_for = waits_for)
            }
            Action::Reclass { job, class, .. } => {
                assert_eq!(class, Urgency::Urgent, "no job here changes its class");
                self.events.push(format!("put forward {job}"));
            }
        }
    }

    fn rewrite(&mut self, job: JobId, change: impl FnOnce(&mut Record)) {
        let job = self.jobs.get_mut(&job.0).unwrap();
        let mut record = job.record().unwrap();
        change(&mut record);
        job.admin_comment = record.write_into(&job.admin_comment);
    }

    fn free_nodes(&self) -> Vec<u32> {
        let held: BTreeSet<u32> = self
            .jobs
            .values()
            .filter_map(|job| match &job.state {
                State::Running { nodes, .. } => Some(nodes.iter().copied()),
                _ => None,
            })
            .flatten()
            .collect();
        (0..self.nodes).filter(|node| !held.contains(node)).collect()
    }

    /// Slurm: urgent jobs first, preempting exactly whom an open gate lets it.
    pub fn schedule(&mut self) {
        if self.now < self.nodes_back_at {
            return;
        }
        let pending: Vec<u32> = self
            .jobs
            .iter()
            .filter(|(_, job)| matches!(job.state, State::Pending { begin } if begin <= self.now))
            .map(|(id, _)| *id)
            .collect();
        let (het, pending): (Vec<u32>, Vec<u32>) =
            pending.into_iter().partition(|id| self.jobs[id].het.is_some());
        let (urgent, mut normal): (Vec<u32>, Vec<u32>) = pending
            .into_iter()
            .partition(|id| Record::is_urgent_fast(&self.jobs[id].admin_comment));
        self.start_each(urgent);
        // The main scheduler starts nothing behind a heterogeneous job.
        if self.now % BACKFILL_EVERY_S == 0 {
            self.backfill(&het);
        } else if !het.is_empty() {
            normal.clear();
        }
        self.start_each(normal);
    }

    fn start_each(&mut self, jobs: Vec<u32>) {
        for id in jobs {
            let want = self.jobs[&id].want_nodes as usize;
            if self.free_nodes().len() < want {
                let gated = self.gates.get(&id).cloned().unwrap_or_default();
                let victims: Vec<u32> = gated
                    .into_iter()
                    .filter(|(job, start)| {
                        let job = &self.jobs[job];
                        matches!(&job.state, State::Running { start: now, .. } if now == start && !job.forgotten)
                    })
                    .map(|(job, _)| job)
                    .collect();
                let freed: usize = victims
                    .iter()
                    .map(|victim| self.jobs[victim].want_nodes as usize)
                    .sum();
                if self.free_nodes().len() + freed < want {
                    continue;
                }
                let graces: Vec<bool> = victims.iter().map(|victim| self.grace_is_over(*victim)).collect();
                if graces.contains(&false) {
                    continue;
                }
                for victim in victims {
                    self.jobs.get_mut(&victim).unwrap().stop(self.now);
                    self.events.push(format!("requeue {victim} for {id}"));
                }
            }
            let nodes: Vec<u32> = self.free_nodes().into_iter().take(want).collect();
            if nodes.len() == want {
                self.jobs.get_mut(&id).unwrap().state = State::Running {
                    start: self.now,
                    nodes,
                };
                self.events.push(format!("start {id}"));
            }
        }
    }

    fn grace_is_over(&mut self, victim: u32) -> bool {
        let job = self.jobs.get_mut(&victim).unwrap();
        self.now >= *job.preempted_at.get_or_insert(self.now) + self.grace_s
    }

    /// Slurm's backfill scheduler: all components of a heterogeneous job or none, on nodes that are free.
    fn backfill(&mut self, pending: &[u32]) {
        if !self.backfill_works {
            return;
        }
        let leaders = pending
            .iter()
            .filter(|id| self.jobs[id].het.is_some_and(|het| het.offset == 0));
        let leaders: Vec<u32> = leaders.copied().collect();
        for leader in leaders {
            let of_it = |id: &&u32| self.jobs[id].het.is_some_and(|het| het.leader.0 == leader);
            let components: Vec<u32> = pending.iter().filter(of_it).copied().collect();
            let wanted: u32 = components.iter().map(|id| self.jobs[id].want_nodes).sum();
            let mut free = self.free_nodes();
            let blocked = components.iter().any(|id| self.jobs[id].hindrance.is_some());
            let count = self.jobs[&leader].het.and_then(|het| het.of);
            if blocked || count != Some(components.len() as u32) || free.len() < wanted as usize {
                continue;
            }
            for id in components {
                let job = self.jobs.get_mut(&id).unwrap();
                let nodes = free.drain(..job.want_nodes as usize).collect();
                job.state = State::Running {
                    start: self.now,
                    nodes,
                };
                self.events.push(format!("start {id}"));
            }
        }
    }

    pub fn facts(&self) -> Facts {
        let mut facts = Facts::at(UnixTime(self.now));
        facts.nodes = (0..self.nodes)
            .map(|index| Node {
                index: NodeIndex(index),
                name: format!("n{index}"),
                availability: match self.now < self.nodes_back_at {
                    true => Availability::Down,
                    false => Availability::Up,
                },
                total: Amounts::new(CPUS, 1000),
                cpus_per_core: 1,
            })
            .collect();
        for (id, job) in &self.jobs {
            let id = JobId(*id);
            match &job.state {
                State::Killed | State::Gone => {}
                State::Running { start, nodes } => facts.running.push(RunningJob {
                    id,
                    array: None,
                    user: UserId(match job.is_urgent() {
                        true => 1001,
                        false => 1000,
                    }),
                    labels: job.labels.clone(),
                    start: UnixTime(*start),
                    end: job.preempted_at.map(|at| UnixTime(at + self.grace_s)),
                    submit: None,
                    preempt_time: job.preempted_at.map(UnixTime),
                    traits: JobTraits {
                        batch: true,
                        requeue: job.requeue,
                        forgotten: job.forgotten && self.ends_show,
                        ..JobTraits::default()
                    },
                    holdings: nodes
                        .iter()
                        .map(|node| Holding {
                            node: NodeIndex(*node),
                            amounts: Amounts::new(CPUS, 1000),
                        })
                        .collect(),
                    directives: directives::parse(&job.comment).ok(),
                    record: job.record(),
                    admin_comment: job.admin_comment.clone(),
                }),
                State::Pending { begin } => {
                    let record = job.record();
                    let put_off = (*begin > self.now).then_some(Hindrance::Date);
                    let hindrance = job.hindrance.or(put_off);
                    if record.as_ref().is_some_and(|record| record.ask.is_some()) {
                        facts.parked.push(ParkedJob {
                            application: None,
                            id,
                            array: None,
                            begin: UnixTime(*begin),
                            completing: false,
                            held: false,
                            het: false,
                            wanted: None,
                            record,
                            admin_comment: job.admin_comment.clone(),
                        });
                    } else if record
                        .as_ref()
                        .is_some_and(|record| record.class == Urgency::Urgent)
                    {
                        facts.waiting.push(WaitingJob {
                            application: None,
                            id,
                            priority: surgent::policy::admission::urgent_priority(job.het.is_some()),
                            submit: UnixTime(job.submit),
                            blocked: hindrance.is_some(),
                            hindrance,
                            tasks: 1,
                            het: job.het,
                            worth: None,
                            tested: self.now > job.submit + 1,
                            request: Request {
                                user: Some(UserId(1001)),
                                min_nodes: job.want_nodes,
                                max_nodes: Some(job.want_nodes),
                                cpus_per_node: CPUS,
                                candidates: (0..self.nodes).map(NodeIndex).collect(),
                                ..Request::default()
                            },
                            record: job.record(),
                            admin_comment: job.admin_comment.clone(),
                        });
                    }
                }
            }
        }
        facts
    }

    pub fn position(&self, event: &str) -> usize {
        self.events
            .iter()
            .position(|known| known == event)
            .unwrap_or_else(|| panic!("no event {event:?} in {:#?}", self.events))
    }

    pub fn happened(&self, event: &str) -> bool {
        self.events.iter().any(|known| known == event)
    }
}

fn needs_command(action: &Action) -> bool {
    !matches!(
        action,
        Action::OpenGate { .. } | Action::ShutGate { .. } | Action::Nudge | Action::Say(_)
    )
}

fn forget(record: &mut Record) {
    record.ask = None;
    record.asked = None;
    record.deadline = None;
}

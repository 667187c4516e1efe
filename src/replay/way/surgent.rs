// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent's own policy: the very function that decides in slurmctld, asked with the facts of the replay.

use super::{Scene, Verdict};
use crate::policy::cost::{Cost, LossRule};
use crate::policy::directives::{Directives, SaveKind, SaveSignal, Urgency};
use crate::policy::eligibility::Refusal;
use crate::policy::facts::{Facts, GresRequest, Holding, Node, Request, RunningJob, WaitingJob};
use crate::policy::fit::{Demand, Ledger};
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::plan::{Constraints, Outcome, plan};
use crate::policy::record::Record;
use crate::policy::resources::{Amounts, GresId, GresTable};
use crate::policy::settings::{Settings, Unsavable};
use crate::policy::units::{Seconds, UnixTime};
use crate::replay::sim::{Life, Loss, Run, Stop};
use crate::replay::workload::Job;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The replay's beginning, on a clock that knows years.
const START_UNIX: i64 = 1_000_000_000;

/// What the urgent job at place `urgent` gets.
pub fn choose(scene: &Scene<'_>, urgent: usize, saves: bool) -> Verdict {
    let settings = match saves {
        true => Cow::Borrowed(scene.settings),
        false => Cow::Owned(without_saves(scene.settings)),
    };
    let mut gres = GresTable::default();
    let gpu = gres.id("gpu", None);
    let view = View { scene, gpu, saves };
    let facts = view.facts(gres, scene.jobs.get(urgent));
    let ledger = view.ledger(&facts);
    let Some(waiting) = facts.waiting.first() else {
        return Verdict::Wait { until_s: None };
    };
    let constraints = Constraints {
        barred: view.barred(),
        patience_over: !saves || facts.now - waiting.submit > settings.urgent.patience_s,
        ..Constraints::default()
    };
    match plan(&facts, &ledger, waiting, &constraints, &settings) {
        Outcome::Stop(plan) => {
            let victims = plan.victims.iter().filter_map(|victim| {
                let at = victim.job.0.checked_sub(1)? as usize;
                let (job, life) = (&scene.jobs[at], &scene.lives[at]);
                let is_asked = matches!(victim.cost.lost_by, LossRule::OneStep | LossRule::Nothing);
                let most_s = if is_asked { scene.grace_s() } else { 0 };
                let stop = life.stop(job, life.run()?, scene.now_s, most_s, is_asked);
                let foreseen = Some(foreseen(&victim.cost));
                Some((at, Stop { foreseen, ..stop }))
            });
            Verdict::Stop {
                victims: victims.collect(),
                nodes: plan.nodes.iter().map(|node| node.0).collect(),
            }
        }
        Outcome::Wait(wait) => Verdict::Wait {
            until_s: Some(wait.until.0 - START_UNIX),
        },
        // It is only asked where the job does not fit.
        Outcome::Fits { .. } | Outcome::NoSet { .. } => Verdict::Wait { until_s: None },
    }
}

/// In the whole seconds of a replay.
fn foreseen(cost: &Cost) -> Loss {
    let whole = |seconds: Seconds| seconds.0.round() as i64;
    Loss {
        redone_s: whole(cost.lost_s),
        saving_s: whole(cost.save_s),
        restart_s: whole(cost.restart_s),
    }
}

/// Nobody can save, and anybody may be stopped all the same.
fn without_saves(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.victims.unsavable = Unsavable::Stop;
    settings
}

struct View<'a> {
    scene: &'a Scene<'a>,
    gpu: GresId,
    saves: bool,
}

impl View<'_> {
    fn now(&self) -> UnixTime {
        UnixTime(START_UNIX + self.scene.now_s)
    }

    fn facts(&self, gres: GresTable, urgent: Option<&Job>) -> Facts {
        let mut facts = Facts::at(self.now());
        facts.gres = gres;
        let whole = self.whole_node();
        facts.nodes = (0..self.scene.room.nodes())
            .map(|node| Node::new(NodeIndex(node), "", whole.clone()))
            .collect();
        facts.running = self
            .scene
            .running
            .iter()
            .filter_map(|at| {
                let life = &self.scene.lives[*at];
                Some(self.running(&self.scene.jobs[*at], life, life.run()?))
            })
            .collect();
        facts.waiting = urgent.into_iter().map(|job| self.waiting(job)).collect();
        facts
    }

    /// CPUs play no part: there are as many as GPUs.
    fn amounts(&self, gpus: u32) -> Amounts {
        let mut amounts = Amounts::new(gpus, 0);
        amounts.add_gres(self.gpu, u64::from(gpus));
        amounts
    }

    fn whole_node(&self) -> Amounts {
        self.amounts(self.scene.machine.gpus_per_node)
    }

    fn running(&self, job: &Job, life: &Life, run: &Run) -> RunningJob {
        let start = UnixTime(START_UNIX + run.start_s);
        let class = match job.is_urgent {
            true => Urgency::Urgent,
            false => Urgency::Normal,
        };
        RunningJob {
            user: job.user,
            submit: Some(UnixTime(START_UNIX + job.submit_s)),
            end: Some(UnixTime(
                START_UNIX + run.start_s + run.idle_s + job.limit_s - life.done_s,
            )),
            holdings: run
                .nodes
                .iter()
                .map(|node| Holding {
                    node: NodeIndex(*node),
                    amounts: self.amounts(job.gpus_per_node),
                })
                .collect(),
            directives: Some(self.directives(job, life, run)),
            record: Some(Record {
                first: Some(UnixTime(START_UNIX + job.submit_s)),
                preempted: life.stops,
                ..Record::new(class)
            }),
            ..RunningJob::new(job.id, start)
        }
    }

    /// What its monitor says, just now.
    fn directives(&self, job: &Job, life: &Life, run: &Run) -> Directives {
        let trained_s = life.trained_s(job, run, self.scene.now_s);
        let kept_at_s = life.kept_at_s(job, run, self.scene.now_s, self.scene.rules);
        Directives {
            epochs: Some(job.epochs()),
            epoch: Some(trained_s as f64 / job.epoch_s as f64),
            epoch_s: Some(Seconds(job.epoch_s as f64)),
            at: Some(self.now()),
            save: Some(job.save),
            save_s: Some(Seconds(job.save_s as f64)),
            saved: kept_at_s.map(|kept_at_s| UnixTime(START_UNIX + kept_at_s)),
            signal: self.signal(job),
            ..Directives::default()
        }
    }

    fn signal(&self, job: &Job) -> Option<SaveSignal> {
        let saves = self.saves && job.save != SaveKind::None;
        saves.then(|| "USR1@full".parse().ok()).flatten()
    }

    fn waiting(&self, job: &Job) -> WaitingJob {
        let submit = UnixTime(START_UNIX + job.submit_s);
        WaitingJob {
            record: Some(Record::new(Urgency::Urgent)),
            ..WaitingJob::new(job.id, u32::MAX, submit, self.request(job))
        }
    }

    fn request(&self, job: &Job) -> Request {
        Request {
            min_nodes: job.nodes,
            max_nodes: Some(job.nodes),
            cpus_per_node: job.gpus_per_node,
            gres: vec![GresRequest {
                per_node: u64::from(job.gpus_per_node),
                ..GresRequest::none(self.gpu)
            }],
            candidates: (0..self.scene.room.nodes()).map(NodeIndex).collect(),
            ..Request::default()
        }
    }

    /// What earlier urgent jobs leave.
    fn ledger(&self, facts: &Facts) -> Ledger {
        let mut ledger = Ledger::of(facts);
        for campaign in self.scene.campaigns {
            for job in campaign
                .victims
                .iter()
                .filter_map(|at| facts.job(self.scene.jobs[*at].id))
            {
                ledger.release(job);
            }
            let job = &self.scene.jobs[campaign.urgent];
            let nodes: Vec<NodeIndex> = campaign.nodes.iter().copied().map(NodeIndex).collect();
            ledger.reserve(job.id, &Demand::of(&self.request(job)), &nodes);
        }
        ledger
    }

    fn barred(&self) -> BTreeMap<JobId, Refusal> {
        let claimed = self.scene.campaigns.iter().flat_map(|campaign| &campaign.victims);
        claimed
            .map(|at| (self.scene.jobs[*at].id, Refusal::Claimed))
            .collect()
    }
}

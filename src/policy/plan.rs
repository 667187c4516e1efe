// SPDX-License-Identifier: GPL-2.0-or-later
//! The plan for one urgent job: whom to stop, why these, what it costs; or until when to wait instead.

use super::belief::{Belief, Disbelief};
use super::cost::Cost;
use super::directives::SaveSignal;
use super::eligibility::{Refusal, SaveWay};
use super::facts::{Facts, RunningJob, WaitingJob};
use super::fit::{Demand, Ledger};
use super::ids::{JobId, NodeIndex};
use super::looks::Looks;
use super::outlook::{Outlook, PricedWays};
use super::places::Places;
use super::select::{Candidate, Selection, Terms, select, soonest};
use super::settings::Settings;
use super::units::{Seconds, UnixTime};
use super::wait::ends_after;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Looks at nodes that the choice of victims for one job may take, whatever it asks for.
const LOOKS: u64 = 1_500_000;
/// The same for finding out until when it would have to wait.
const WAIT_LOOKS: u64 = 300_000;

/// What it takes to find a running job, to examine it and to tell of it, in looks at nodes.
const LOOKS_PER_JOB: u64 = 4;

/// What is to be done for one urgent job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// Nothing: it fits on what is free.
    Fits {
        /// A set of nodes on which it fits.
        nodes: Vec<NodeIndex>,
    },
    /// Stop these jobs.
    Stop(Plan),
    /// Stop nobody: running jobs end soon enough by themselves.
    Wait(Wait),
    /// Nothing can be done: no set of victims makes it fit.
    NoSet {
        /// Who might have been a victim but for a rule.
        refused: BTreeMap<JobId, Refusal>,
    },
}

/// Victims for one urgent job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// For whom.
    pub urgent: JobId,
    /// Where it is expected to run.
    pub nodes: Vec<NodeIndex>,
    /// Whom to stop, by id.
    pub victims: Vec<Victim>,
    /// The sum of their costs, in GPU-seconds.
    pub cost_gpu_s: f64,
    /// Until the last victim is ready.
    pub ready_s: Seconds,
    /// What this plan was chosen by: the costs of those who are not paid for already, and the weighted waiting for the
    /// last of them, in GPU-seconds.
    pub total_gpu_s: f64,
    /// No plan has a smaller total than this; the same as the total where this plan is known to be the best.
    pub at_least_gpu_s: f64,
    /// Who was not considered, and by which rule.
    pub refused: BTreeMap<JobId, Refusal>,
    /// Whose report was not believed, and why.
    pub disbelieved: BTreeMap<JobId, Vec<Disbelief>>,
    /// Of a heterogeneous job: where each component is expected to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentPlace>,
}

/// Where a component of a heterogeneous job is expected to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentPlace {
    /// Which.
    pub job: JobId,
    /// Where.
    pub nodes: Vec<NodeIndex>,
}

/// One victim of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Victim {
    /// Who.
    pub job: JobId,
    /// Which run of it.
    pub start: UnixTime,
    /// How it is asked to save; `None` if it is stopped without.
    #[serde(serialize_with = "as_text")]
    pub signal: Option<SaveSignal>,
    /// What it costs.
    pub cost: Cost,
    /// Until when it must have saved.
    pub deadline: UnixTime,
}

/// Jobs whose own end is waited for, as that is cheaper than to stop any.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// For whom.
    pub urgent: JobId,
    /// When the last of them has ended.
    pub until: UnixTime,
    /// Whose end is waited for, by id.
    pub for_jobs: Vec<JobId>,
    /// Where the urgent job is expected to run then.
    pub nodes: Vec<NodeIndex>,
    /// What the waiting weighs, in GPU-seconds.
    pub total_gpu_s: f64,
    /// What stopping jobs would cost together with the waiting for them; `None` where no set of victims helps.
    pub instead_of_gpu_s: Option<f64>,
}

impl Plan {
    /// The nodes of each component, in their order; of a job that is none, all in one.
    pub fn places(&self) -> Places {
        match self.components[..] {
            [] => vec![self.nodes.clone()],
            _ => self.components.iter().map(|place| place.nodes.clone()).collect(),
        }
    }
}

/// What earlier decisions mean for a plan.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// Jobs that must not be asked, and why.
    pub barred: BTreeMap<JobId, Refusal>,
    /// Victims of this very urgent job that were asked already: they cost nothing more.
    pub sunk: BTreeSet<JobId>,
    /// Whether jobs may be stopped unsaved now, if the site allows that at all.
    pub patience_over: bool,
}

/// Decides what to do for `urgent`, given what `ledger` says is free.
pub fn plan(
    facts: &Facts,
    ledger: &Ledger,
    urgent: &WaitingJob,
    constraints: &Constraints,
    settings: &Settings,
) -> Outcome {
    plan_within(&Outlook::new(facts, settings), ledger, urgent, constraints)
}

/// The same with an outlook that several plans share.
pub fn plan_within(
    outlook: &Outlook<'_>,
    ledger: &Ledger,
    urgent: &WaitingJob,
    constraints: &Constraints,
) -> Outcome {
    let demand = Demand::of(&urgent.request);
    if let Some(nodes) = ledger.fits_counted(&demand, &outlook.looks) {
        return Outcome::Fits { nodes };
    }
    let may_use = |node| demand.may_use(node);
    Case::new(outlook, ledger, urgent, constraints, may_use).decide(&demand)
}

/// A job on a node that the urgent job may use.
struct Helpful<'a> {
    job: &'a RunningJob,
    belief: &'a Belief,
    ways: &'a Result<PricedWays, Refusal>,
}

/// All of these, by id.
fn helpful<'a>(
    outlook: &'a Outlook<'_>,
    may_use: impl Fn(NodeIndex) -> bool,
    patience_over: bool,
) -> Vec<Helpful<'a>> {
    // Each is found, examined, and told of.
    outlook
        .looks
        .take(outlook.facts.running.len() as u64 * LOOKS_PER_JOB);
    let jobs = outlook.facts.running.iter().zip(outlook.beliefs());
    let mut helpful: Vec<_> = jobs
        .zip(outlook.ways(patience_over))
        .filter(|((job, _), _)| {
            let mut nodes = job.holdings.iter().map(|holding| holding.node);
            nodes.any(&may_use)
        })
        .map(|((job, belief), ways)| Helpful { job, belief, ways })
        .collect();
    helpful.sort_by_key(|helpful| helpful.job.id);
    helpful
}

/// What a plan is made from.
pub(super) struct Case<'a> {
    facts: &'a Facts,
    ledger: &'a Ledger,
    urgent: &'a WaitingJob,
    constraints: &'a Constraints,
    settings: &'a Settings,
    looks: &'a Looks,
    helpful: Vec<Helpful<'a>>,
}

/// A job that may be stopped, and what each way of doing so costs.
pub(super) struct Stoppable<'a> {
    job: &'a RunningJob,
    ways: &'a PricedWays,
}

/// Everybody on the nodes in question.
pub(super) struct Field<'a> {
    /// Who may be stopped, by id.
    pub stoppable: Vec<Stoppable<'a>>,
    /// The same, as a choice is made among them.
    pub candidates: Vec<Candidate<'a>>,
    /// Who may not.
    pub refused: BTreeMap<JobId, Refusal>,
}

impl<'a> Case<'a> {
    /// For `urgent`, which may use these nodes.
    pub fn new(
        outlook: &'a Outlook<'_>,
        ledger: &'a Ledger,
        urgent: &'a WaitingJob,
        constraints: &'a Constraints,
        may_use: impl Fn(NodeIndex) -> bool,
    ) -> Self {
        Self {
            facts: outlook.facts,
            ledger,
            urgent,
            constraints,
            settings: outlook.settings,
            looks: &outlook.looks,
            helpful: helpful(outlook, may_use, constraints.patience_over),
        }
    }

    /// Looks at everybody.
    pub fn field(&self) -> Field<'a> {
        let mut refused = BTreeMap::new();
        let mut stoppable = Vec::new();
        let mut candidates = Vec::new();
        for helpful in &self.helpful {
            match self.ways(helpful) {
                Ok(ways) => {
                    let stop = Stoppable {
                        job: helpful.job,
                        ways,
                    };
                    candidates.push(self.candidate(&stop));
                    stoppable.push(stop);
                }
                Err(refusal) => {
                    refused.insert(helpful.job.id, refusal);
                }
            }
        }
        Field {
            stoppable,
            candidates,
            refused,
        }
    }

    fn decide(&self, demand: &Demand) -> Outcome {
        let field = self.field();
        let wait_weight = self.settings.urgent.wait_weight;
        let select = |way| select(self.ledger, way, &field.candidates, wait_weight, self.looks);
        let selection = self.looks.with_at_most(LOOKS, || {
            let ways = demand.ways().count();
            let selections = demand.ways().enumerate();
            selections
                .filter_map(|(tried, way)| self.looks.with_share(ways - tried, || select(way)))
                .min_by(|a, b| a.total_gpu_s.total_cmp(&b.total_gpu_s))
        });
        let total_gpu_s = selection.as_ref().map(|selection| selection.total_gpu_s);
        if let Some(wait) = self.wait(demand, total_gpu_s) {
            return Outcome::Wait(wait);
        }
        match selection {
            Some(selection) => Outcome::Stop(self.plan(selection, field)),
            None => Outcome::NoSet {
                refused: field.refused,
            },
        }
    }

    fn ways(&self, helpful: &Helpful<'a>) -> Result<&'a PricedWays, Refusal> {
        let id = helpful.job.id;
        match self.constraints.barred.get(&id) {
            Some(refusal) => Err(*refusal),
            // Slurm never stops the job that is to be enlarged.
            None if self.urgent.request.expands == Some(id) => Err(Refusal::SlurmExempt),
            None => helpful.ways.as_ref().map_err(|refusal| *refusal),
        }
    }

    fn candidate(&self, stop: &Stoppable<'a>) -> Candidate<'a> {
        let paid = self.constraints.sunk.contains(&stop.job.id);
        let ready = paid && has_saved_for(stop.job, self.urgent.id);
        let terms = stop.ways.iter().map(|(_, cost)| Terms {
            price_gpu_s: if paid { 0.0 } else { cost.total_gpu_s() },
            ready_s: if ready { 0.0 } else { cost.ready_s.0 },
        });
        Candidate {
            job: stop.job,
            terms: terms.collect(),
        }
    }

    /// The plan to stop those whom `selection` names.
    pub fn plan(&self, selection: Selection, field: Field<'_>) -> Plan {
        let victims: Vec<Victim> = selection
            .victims
            .iter()
            .map(|&(at, way)| self.victim(&field.stoppable[at], way))
            .collect();
        let disbelieved = self
            .helpful
            .iter()
            .filter(|helpful| !helpful.belief.disbelief.is_empty());
        Plan {
            urgent: self.urgent.id,
            nodes: selection.nodes,
            cost_gpu_s: victims.iter().map(|victim| victim.cost.total_gpu_s()).sum(),
            ready_s: victims
                .iter()
                .map(|victim| victim.cost.ready_s)
                .fold(Seconds::ZERO, |a, b| if b > a { b } else { a }),
            total_gpu_s: selection.total_gpu_s,
            at_least_gpu_s: selection.at_least_gpu_s,
            victims,
            refused: field.refused,
            components: Vec::new(),
            disbelieved: disbelieved
                .map(|helpful| (helpful.job.id, helpful.belief.disbelief.to_vec()))
                .collect(),
        }
    }

    fn victim(&self, stop: &Stoppable<'_>, way: usize) -> Victim {
        let (way, cost) = &stop.ways[way];
        let (signal, wait_s) = match way {
            SaveWay::AtStep(signal) => (Some(*signal), Seconds::ZERO),
            SaveWay::AtEpochEnd { signal, wait_s } => (Some(*signal), *wait_s),
            SaveWay::SinceEpochEnd | SaveWay::Unsaved => (None, Seconds::ZERO),
        };
        let allowed_s = wait_s + self.settings.victims.save_deadline_s;
        Victim {
            job: stop.job.id,
            start: stop.job.start,
            signal,
            cost: *cost,
            deadline: after(self.facts.now, allowed_s),
        }
    }

    /// To wait for jobs that end by themselves, where that weighs no more than `stopping_gpu_s` and ends within the
    /// urgent job's patience.
    fn wait(&self, demand: &Demand, stopping_gpu_s: Option<f64>) -> Option<Wait> {
        let urgent = &self.settings.urgent;
        // Counted from the submission: a job whose end is foretold again and again cannot draw this out.
        let most_s = urgent.wait_max_s.0.min(urgent.patience_s.0);
        let patience_s = (self.urgent.submit - self.facts.now).0 + most_s;
        let worth = |ends_s: f64| stopping_gpu_s.is_none_or(|most| urgent.wait_weight * ends_s <= most);
        let ending: Vec<(&RunningJob, f64)> = self
            .helpful
            .iter()
            .filter(|Helpful { job, .. }| {
                !job.traits.suspended && !self.constraints.barred.contains_key(&job.id)
            })
            .filter_map(|Helpful { job, belief, .. }| {
                let ends_s = ends_after(job, belief, self.facts.now)?;
                Some((*job, ends_s.0))
            })
            .filter(|(_, ends_s)| *ends_s <= patience_s && worth(*ends_s))
            .collect();
        if ending.is_empty() {
            return None;
        }
        let soonest = self.looks.with_at_most(WAIT_LOOKS, || {
            let ways = demand.ways();
            ways.filter_map(|way| soonest(self.ledger, way, &ending, self.looks))
                .min_by(|a, b| a.after_s.total_cmp(&b.after_s))
        })?;
        Some(Wait {
            urgent: self.urgent.id,
            until: after(self.facts.now, Seconds(soonest.after_s)),
            for_jobs: soonest.jobs.iter().map(|&at| ending[at].0.id).collect(),
            nodes: soonest.nodes,
            total_gpu_s: urgent.wait_weight * soonest.after_s,
            instead_of_gpu_s: stopping_gpu_s,
        })
    }
}

fn has_saved_for(job: &RunningJob, urgent: JobId) -> bool {
    let record = job.record.as_ref().filter(|record| record.ask == Some(urgent));
    let asked = record.and_then(|record| record.asked);
    let saved = job.directives.as_ref().and_then(|directives| directives.saved);
    asked.is_some_and(|asked| saved.is_some_and(|saved| saved >= asked))
}

fn after(now: UnixTime, time_s: Seconds) -> UnixTime {
    // Settings and directives bound a time to far less than 2^63.
    UnixTime(now.0.saturating_add(time_s.0.ceil() as i64))
}

fn as_text<S: serde::Serializer>(signal: &Option<SaveSignal>, serializer: S) -> Result<S::Ok, S::Error> {
    match signal {
        Some(signal) => serializer.collect_str(signal),
        None => serializer.serialize_none(),
    }
}

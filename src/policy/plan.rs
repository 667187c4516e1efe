// SPDX-License-Identifier: GPL-2.0-or-later
//! The plan for one urgent job: whom to stop, why these, what it costs.

use super::cost::{Cost, cost, typical_save_age};
use super::directives::SaveSignal;
use super::eligibility::{Refusal, SaveWay, examine};
use super::facts::{Facts, WaitingJob};
use super::fit::{Demand, Ledger};
use super::ids::{JobId, NodeIndex};
use super::select::{Candidate, select};
use super::settings::Settings;
use super::units::{Seconds, UnixTime};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Who was not considered, and by which rule.
    pub refused: BTreeMap<JobId, Refusal>,
}

/// One victim of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Victim {
    /// Who.
    pub job: JobId,
    /// Which run of it.
    pub start: UnixTime,
    /// How it is asked to save; `None` if it is stopped without.
    #[serde(skip)]
    pub signal: Option<SaveSignal>,
    /// What it costs.
    pub cost: Cost,
    /// Until when it must have saved.
    pub deadline: UnixTime,
}

/// What earlier decisions mean for a plan.
#[derive(Clone, Debug, Default)]
pub struct Constraints {
    /// Jobs that must not be asked, and why.
    pub barred: BTreeMap<JobId, Refusal>,
    /// Victims of this very urgent job that were asked already: they cost nothing more.
    pub sunk: BTreeSet<JobId>,
    /// Whether jobs that cannot save may be stopped now, if the site allows that at all.
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
    let demand = Demand::of(&urgent.request);
    if let Some(nodes) = ledger.fits(&demand) {
        return Outcome::Fits { nodes };
    }
    let typical_age_s = typical_save_age(facts);
    let mut refused = BTreeMap::new();
    let mut ways = BTreeMap::new();
    let mut candidates = BTreeMap::new();
    let helpful: BTreeSet<NodeIndex> = demand.candidates.iter().copied().collect();
    for job in &facts.running {
        if !job.holdings.iter().any(|holding| helpful.contains(&holding.node)) {
            continue;
        }
        let way = match constraints.barred.get(&job.id) {
            Some(refusal) => Err(*refusal),
            None => examine(job, facts.now, settings),
        };
        match way {
            Ok(SaveWay::Unsaved) if !constraints.patience_over => {
                refused.insert(job.id, Refusal::CannotSave);
            }
            Ok(way) => {
                let cost = cost(job, &way, facts, settings, typical_age_s);
                let waiting = settings.urgent.wait_weight * cost.ready_s.0;
                let price_gpu_s = match constraints.sunk.contains(&job.id) {
                    true => 0.0,
                    false => cost.total_gpu_s() + waiting,
                };
                candidates.insert(job.id, Candidate { job, price_gpu_s });
                ways.insert(job.id, (way, cost));
            }
            Err(refusal) => {
                refused.insert(job.id, refusal);
            }
        }
    }
    let Some(selection) = select(ledger, &demand, &candidates) else {
        return Outcome::NoSet { refused };
    };
    let victims: Vec<Victim> = selection
        .victims
        .iter()
        .filter_map(|id| {
            let candidate = candidates.get(id)?;
            let (way, cost) = ways.get(id)?;
            Some(victim(candidate, way, cost, facts.now, settings))
        })
        .collect();
    Outcome::Stop(Plan {
        urgent: urgent.id,
        nodes: selection.nodes,
        cost_gpu_s: victims.iter().map(|victim| victim.cost.total_gpu_s()).sum(),
        ready_s: victims
            .iter()
            .map(|victim| victim.cost.ready_s)
            .fold(Seconds::ZERO, |a, b| if b > a { b } else { a }),
        victims,
        refused,
    })
}

fn victim(
    candidate: &Candidate<'_>,
    way: &SaveWay,
    cost: &Cost,
    now: UnixTime,
    settings: &Settings,
) -> Victim {
    let (signal, wait_s) = match way {
        SaveWay::AtStep(signal) => (Some(*signal), Seconds::ZERO),
        SaveWay::AtEpochEnd { signal, wait_s } => (Some(*signal), *wait_s),
        SaveWay::Unsaved => (None, Seconds::ZERO),
    };
    let allowed_s = wait_s + settings.victims.save_deadline_s;
    Victim {
        job: candidate.job.id,
        start: candidate.job.start,
        signal,
        cost: *cost,
        // Settings bound both terms to far less than 2^63.
        deadline: UnixTime(now.0.saturating_add(allowed_s.0.ceil() as i64)),
    }
}

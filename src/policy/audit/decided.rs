// SPDX-License-Identifier: GPL-2.0-or-later
//! Decisions as events.

use super::{Chosen, Event, Gist, PlanEvent, PlanWhy, Whose};
use crate::policy::decision::Decision;
use crate::policy::eligibility::Refusal;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::plan::{Outcome, Plan, Victim};
use std::collections::BTreeMap;

/// A decision for one urgent job, or for one task of an urgent array.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// For whom.
    pub urgent: JobId,
    /// What tells it from others.
    pub gist: Gist,
    /// All of it.
    pub event: Event,
}

/// A decision, unless it is that there is nothing to decide.
pub fn decided(decision: Decision<'_>, facts: &Facts) -> Option<Decided> {
    let urgent = decision.urgent;
    let (gist, event) = match decision.outcome {
        Outcome::Fits { .. } => return None,
        Outcome::Stop(plan) => {
            let runs = plan.victims.iter().map(|victim| (victim.job, victim.start));
            (
                Gist::Stop(runs.collect()),
                Event::Plan(Box::new(told(plan, facts))),
            )
        }
        Outcome::Wait(wait) => {
            let event = Event::Wait {
                urgent,
                jobs: wait.for_jobs.clone(),
                until: wait.until,
                instead_of_gpu_s: wait.instead_of_gpu_s,
            };
            (Gist::Wait(wait.for_jobs.clone()), event)
        }
        Outcome::NoSet { refused } => {
            let protected = by_rule(refused);
            (Gist::NoSet, Event::NoSet { urgent, protected })
        }
    };
    Some(Decided { urgent, gist, event })
}

fn told(plan: &Plan, facts: &Facts) -> PlanEvent {
    let waiting = facts.waiting.iter().find(|job| job.id == plan.urgent);
    PlanEvent {
        urgent: plan.urgent,
        user: waiting.and_then(|job| job.request.user),
        why: PlanWhy::First,
        nodes: facts.node_names(plan.nodes.iter().copied()),
        cost_gpu_s: plan.cost_gpu_s,
        ready_s: plan.ready_s,
        victims: plan.victims.iter().map(|victim| chosen(victim, facts)).collect(),
        protected: by_rule(&plan.refused),
    }
}

fn chosen(victim: &Victim, facts: &Facts) -> Chosen {
    Chosen {
        job: victim.job,
        whose: facts.job(victim.job).map(Whose::of).unwrap_or_default(),
        start: victim.start,
        signal: victim.signal.map(|signal| signal.to_string()),
        deadline: victim.deadline,
        cost_gpu_s: victim.cost.total_gpu_s(),
        cost: victim.cost,
    }
}

fn by_rule(refused: &BTreeMap<JobId, Refusal>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for refusal in refused.values() {
        *counts.entry(refusal.to_string()).or_default() += 1;
    }
    counts
}

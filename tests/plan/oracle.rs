// SPDX-License-Identifier: GPL-2.0-or-later
//! The best set of victims by trying every set, on every set of nodes.

use std::collections::BTreeMap;
use surgent::policy::belief::believe_all;
use surgent::policy::cost::{Rates, typical_save_age};
use surgent::policy::eligibility::examine;
use surgent::policy::facts::{Availability, Facts, MemoryRequest, RunningJob};
use surgent::policy::fit::Demand;
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::resources::Amounts;
use surgent::policy::settings::Settings;

/// A job that may be stopped: price and time of each way.
#[derive(Clone, Debug)]
pub struct Victim<'a> {
    pub job: &'a RunningJob,
    pub ways: Vec<(f64, f64)>,
}

/// Everybody who may be stopped, at what price, by the same rules as the plan.
pub fn victims<'a>(facts: &'a Facts, patience_over: bool, settings: &Settings) -> Vec<Victim<'a>> {
    let beliefs = believe_all(facts, settings);
    let rates = Rates {
        now: facts.now,
        gres: &facts.gres,
        victims: &settings.victims,
        typical_age_s: typical_save_age(facts.now, beliefs.iter()),
    };
    facts
        .running
        .iter()
        .zip(&beliefs)
        .filter_map(|(job, belief)| {
            let ways = examine(job, belief, facts.now, patience_over, settings).ok()?;
            let terms = |way| {
                let cost = rates.cost(job, belief, way);
                (cost.total_gpu_s(), cost.ready_s.0)
            };
            Some(Victim {
                job,
                ways: ways.iter().map(terms).collect(),
            })
        })
        .collect()
}

/// What it costs to stop `victims`, with the waiting, in the cheapest way.
pub fn total(victims: &[&Victim<'_>], wait_weight: f64) -> f64 {
    if victims.is_empty() {
        return 0.0;
    }
    let times = victims
        .iter()
        .flat_map(|victim| victim.ways.iter().map(|way| way.1));
    let at = |time_s: f64| {
        let mut sum = 0.0;
        for victim in victims {
            let in_time = victim.ways.iter().filter(|way| way.1 <= time_s).map(|way| way.0);
            sum += in_time.fold(f64::INFINITY, f64::min);
        }
        sum + wait_weight * time_s
    };
    times.map(at).fold(f64::INFINITY, f64::min)
}

/// Whether the urgent job fits once `gone` have left, on some set of nodes.
pub fn fits(facts: &Facts, demand: &Demand, gone: &dyn Fn(JobId) -> bool) -> bool {
    places(facts, demand, gone).next().is_some()
}

/// Whether all fit at once then, on sets of nodes that have none in common.
pub fn all_fit(facts: &Facts, demands: &[Demand], gone: &dyn Fn(JobId) -> bool) -> bool {
    fn rest_fits(places: &[Vec<u32>], taken: u32) -> bool {
        let Some((first, rest)) = places.split_first() else {
            return true;
        };
        let free = first.iter().filter(|set| **set & taken == 0);
        free.into_iter().any(|set| rest_fits(rest, taken | set))
    }
    let places: Vec<Vec<u32>> = demands
        .iter()
        .map(|demand| places(facts, demand, gone).collect())
        .collect();
    rest_fits(&places, 0)
}

/// Every set of nodes on which the urgent job fits then, with a bit for the index of each.
fn places(facts: &Facts, demand: &Demand, gone: &dyn Fn(JobId) -> bool) -> impl Iterator<Item = u32> {
    let mut free: BTreeMap<NodeIndex, (Amounts, bool)> = facts
        .nodes
        .iter()
        .filter(|node| node.availability == Availability::Up && demand.candidates.contains(&node.index))
        .map(|node| (node.index, (node.total.clone(), false)))
        .collect();
    for job in facts.running.iter().filter(|job| !gone(job.id)) {
        for holding in &job.holdings {
            if let Some((amounts, occupied)) = free.get_mut(&holding.node) {
                amounts.take(&holding.amounts);
                *occupied = true;
                if job.traits.whole_node {
                    *amounts = Amounts::default();
                }
            }
        }
    }
    let offers: Vec<(NodeIndex, Amounts)> = free
        .into_iter()
        .filter(|(_, (_, occupied))| !(demand.whole_node && *occupied))
        .filter_map(|(node, (mut amounts, _))| {
            let total = &facts.node(node)?.total;
            match demand.memory {
                MemoryRequest::AllOfNode if amounts.memory_mib < total.memory_mib => return None,
                // A whole node must have memory for all of its CPUs.
                MemoryRequest::PerCpu(mib) if demand.whole_node => {
                    amounts.cpus *= u32::from(amounts.memory_mib / mib >= u64::from(amounts.cpus));
                }
                MemoryRequest::PerCpu(mib) => {
                    amounts.cpus = amounts.cpus.min((amounts.memory_mib / mib) as u32)
                }
                _ => {}
            }
            amounts.covers(&demand.per_node).then_some((node, amounts))
        })
        .collect();
    let demand = demand.clone();
    (0u32..1 << offers.len()).filter_map(move |set| {
        let count = set.count_ones() as usize;
        if count < demand.min_nodes || count > demand.max_nodes {
            return None;
        }
        let chosen = offers.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
        let mut sum = Amounts::default();
        let mut required = demand.required.len();
        let mut nodes = 0;
        for (_, (node, amounts)) in chosen {
            nodes |= 1 << node.0;
            sum.add(amounts);
            required -= usize::from(demand.required.contains(node));
        }
        (required == 0 && sum.covers(&demand.total)).then_some(nodes)
    })
}

/// The least that any set of `victims` costs after which the urgent job fits; `None` where none does.
pub fn least(facts: &Facts, demand: &Demand, victims: &[Victim<'_>], wait_weight: f64) -> Option<f64> {
    let fits = |gone: &dyn Fn(JobId) -> bool| fits(facts, demand, gone);
    least_that(fits, victims, wait_weight)
}

/// The least that any set of `victims` costs after which `fits` says so.
pub fn least_that(
    fits: impl Fn(&dyn Fn(JobId) -> bool) -> bool,
    victims: &[Victim<'_>],
    wait_weight: f64,
) -> Option<f64> {
    let mut best: Option<f64> = None;
    for set in 0u32..1 << victims.len() {
        let chosen: Vec<&Victim<'_>> = victims
            .iter()
            .enumerate()
            .filter(|(at, _)| set & (1 << at) != 0)
            .map(|(_, victim)| victim)
            .collect();
        let total = total(&chosen, wait_weight);
        let gone = |id: JobId| chosen.iter().any(|victim| victim.job.id == id);
        if best.is_none_or(|best| total < best) && fits(&gone) {
            best = Some(total);
        }
    }
    best
}

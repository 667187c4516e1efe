// SPDX-License-Identifier: GPL-2.0-or-later
//! Which set of victims: the cheapest *set* whose release makes the job fit, not the cheapest jobs one by one.
//!
//! Node by node: for every node that the job may use, the cheapest victims that free enough of it; the cheapest
//! node is taken, its victims count as free on all their nodes, and so on until there are enough nodes. Then every
//! victim that turns out not to be needed is given back, the dearest first.

use super::fit::{Demand, Ledger};
use super::ids::{JobId, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};

/// A job that may be stopped, at a price.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The job.
    pub job: &'a super::facts::RunningJob,
    /// What stopping it costs, in GPU-seconds; 0 for a victim that is already paid for.
    pub price_gpu_s: f64,
}

/// A set of victims, and where the job then fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Whom to stop, by id.
    pub victims: BTreeSet<JobId>,
    /// Nodes on which the job fits once they are gone.
    pub nodes: Vec<NodeIndex>,
    /// The sum of their prices.
    pub price_gpu_s: f64,
}

/// Of a node with more possible victims than this, subsets are no longer all tried.
const EXHAUSTIVE_VICTIMS_MAX: usize = 12;

/// Further node counts are tried as long as there are at most this many.
const NODE_COUNTS_MAX: usize = 64;

/// The victims that make `demand` fit into `ledger`, or `None` where no set of `candidates` does.
pub fn select(
    ledger: &Ledger,
    demand: &Demand,
    candidates: &BTreeMap<JobId, Candidate<'_>>,
) -> Option<Selection> {
    let mut everybody_gone = ledger.clone();
    for candidate in candidates.values() {
        everybody_gone.release(candidate.job);
    }
    everybody_gone.fits(demand)?;

    demand
        .node_counts()
        .take(NODE_COUNTS_MAX)
        .filter_map(|nodes| select_on(ledger, demand, &demand.spread_over(nodes), candidates))
        // A job that fits only unevenly: free all, then give back what is not needed.
        .chain(give_back(
            ledger,
            demand,
            candidates,
            candidates.keys().copied().collect(),
        ))
        .min_by(|a, b| {
            a.price_gpu_s
                .total_cmp(&b.price_gpu_s)
                .then_with(|| a.victims.cmp(&b.victims))
        })
}

/// Like [`select`], with the demand spread evenly over a fixed number of nodes.
fn select_on(
    ledger: &Ledger,
    demand: &Demand,
    even: &Demand,
    candidates: &BTreeMap<JobId, Candidate<'_>>,
) -> Option<Selection> {
    let mut freed = ledger.clone();
    let mut victims = BTreeSet::new();
    let mut nodes: BTreeSet<NodeIndex> = BTreeSet::new();
    while nodes.len() < even.min_nodes {
        let required_left: Vec<_> = even
            .required
            .iter()
            .filter(|node| !nodes.contains(node))
            .collect();
        let (_, node, more) = even
            .candidates
            .iter()
            .filter(|node| !nodes.contains(node))
            .filter(|node| required_left.is_empty() || required_left.contains(node))
            .filter_map(|&node| {
                let (price, more) = free_node(&freed, node, even, candidates, &victims)?;
                Some((price, node, more))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)))?;
        for id in more {
            if let Some(candidate) = candidates.get(&id) {
                freed.release(candidate.job);
            }
            victims.insert(id);
        }
        nodes.insert(node);
    }
    give_back(ledger, demand, candidates, victims)
}

/// The cheapest further victims on `node` that make it give its part, with their price.
fn free_node(
    freed: &Ledger,
    node: NodeIndex,
    even: &Demand,
    candidates: &BTreeMap<JobId, Candidate<'_>>,
    victims: &BTreeSet<JobId>,
) -> Option<(f64, Vec<JobId>)> {
    if freed.offer(node, even).is_some() {
        return Some((0.0, Vec::new()));
    }
    let mut here: Vec<_> = freed
        .occupants(node)
        .iter()
        .filter(|id| !victims.contains(id))
        .filter_map(|id| candidates.get(id))
        .collect();
    here.sort_by(|a, b| {
        a.price_gpu_s
            .total_cmp(&b.price_gpu_s)
            .then_with(|| a.job.id.cmp(&b.job.id))
    });
    let fits_without = |gone: &[&Candidate<'_>]| {
        let held: Vec<_> = gone
            .iter()
            .flat_map(|candidate| &candidate.job.holdings)
            .filter(|holding| holding.node == node)
            .map(|holding| &holding.amounts)
            .collect();
        freed.offer_without(node, held.into_iter(), even).is_some()
    };
    if !fits_without(&here) {
        return None;
    }
    let chosen = if here.len() <= EXHAUSTIVE_VICTIMS_MAX {
        cheapest_subset(&here, &fits_without)?
    } else {
        // Dearest first, keep out of the set whoever is not needed.
        let mut chosen = here.clone();
        for candidate in here.iter().rev() {
            let rest: Vec<_> = chosen
                .iter()
                .copied()
                .filter(|other| other.job.id != candidate.job.id)
                .collect();
            if fits_without(&rest) {
                chosen = rest;
            }
        }
        chosen
    };
    let price = chosen.iter().map(|candidate| candidate.price_gpu_s).sum();
    Some((price, chosen.iter().map(|candidate| candidate.job.id).collect()))
}

fn cheapest_subset<'a, 'b>(
    here: &[&'a Candidate<'b>],
    fits_without: &dyn Fn(&[&Candidate<'b>]) -> bool,
) -> Option<Vec<&'a Candidate<'b>>> {
    (1u32..1 << here.len())
        .map(|mask| {
            let subset: Vec<_> = (0..here.len())
                .filter(|at| mask & (1 << at) != 0)
                .map(|at| here[at])
                .collect();
            let price: f64 = subset.iter().map(|candidate| candidate.price_gpu_s).sum();
            (price, subset)
        })
        .filter(|(_, subset)| fits_without(subset))
        .min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.len().cmp(&b.1.len())))
        .map(|(_, subset)| subset)
}

/// Drops every victim whose release is not needed, the dearest first; `None` where even all do not suffice.
fn give_back(
    ledger: &Ledger,
    demand: &Demand,
    candidates: &BTreeMap<JobId, Candidate<'_>>,
    victims: BTreeSet<JobId>,
) -> Option<Selection> {
    let fits_without = |gone: &BTreeSet<JobId>| {
        let mut trial = ledger.clone();
        for candidate in gone.iter().filter_map(|id| candidates.get(id)) {
            trial.release(candidate.job);
        }
        trial.fits(demand)
    };
    let mut nodes = fits_without(&victims)?;
    let mut dearest_first: Vec<_> = victims.iter().filter_map(|id| candidates.get(id)).collect();
    dearest_first.sort_by(|a, b| {
        b.price_gpu_s
            .total_cmp(&a.price_gpu_s)
            .then_with(|| b.job.id.cmp(&a.job.id))
    });
    let mut victims = victims;
    for candidate in dearest_first {
        let mut fewer = victims.clone();
        fewer.remove(&candidate.job.id);
        if let Some(found) = fits_without(&fewer) {
            victims = fewer;
            nodes = found;
        }
    }
    let price_gpu_s = victims
        .iter()
        .filter_map(|id| candidates.get(id))
        .map(|candidate| candidate.price_gpu_s)
        .sum();
    Some(Selection {
        victims,
        nodes,
        price_gpu_s,
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes for all components of a heterogeneous job at once. No two components share a node.

use super::demand::Missing;
use super::fit::{Demand, Ledger};
use super::ids::NodeIndex;
use super::looks::Looks;
use super::resources::Amounts;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The nodes of each component, in the order of the components.
pub type Places = Vec<Vec<NodeIndex>>;

/// With more components than this, not all orders are tried.
const ALL_ORDERS_MAX: usize = 3;
/// The exact search is done for at most so many nodes. It calls itself once for each.
const SPLIT_NODES_MAX: usize = 64;
/// It looks at so many choices for a node at most.
const SPLIT_STEPS: u32 = 20_000;
/// Of the ways of a demand (partitions, mostly), it tries so many combinations at most.
const SPLIT_WAYS_MAX: usize = 16;

/// The demands, where the nodes that one of them must have are not for the others.
pub fn apart(demands: &[Demand]) -> Vec<Demand> {
    let foreign = |at: usize, node: NodeIndex| {
        let others = demands.iter().enumerate().filter(|(other, _)| *other != at);
        others
            .into_iter()
            .any(|(_, other)| other.required.contains(&node))
    };
    let narrow = |(at, demand): (usize, &Demand)| demand.on(|node| !foreign(at, node));
    demands.iter().enumerate().map(narrow).collect()
}

/// The orders in which components are given nodes, one after the other: all of them, or the given one and the largest
/// first.
pub fn orders(demands: &[Demand]) -> Vec<Vec<usize>> {
    let given: Vec<usize> = (0..demands.len()).collect();
    if demands.len() <= ALL_ORDERS_MAX {
        return permutations(&given);
    }
    let mut largest = given.clone();
    largest.sort_by_key(|at| {
        let demand = &demands[*at];
        Reverse((demand.min_nodes, demand.total.cpus))
    });
    let mut orders = vec![given, largest];
    orders.dedup();
    orders
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in of.iter().enumerate() {
        let rest = [&of[..at], &of[at + 1..]].concat();
        for mut order in permutations(&rest) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

/// Whether there are so few nodes that [`find`] tries every way of sharing them out.
pub fn are_few(demands: &[Demand]) -> bool {
    nodes(demands.iter().flat_map(Demand::ways)).len() <= SPLIT_NODES_MAX
}

/// The nodes that any of `demands` may use.
pub(super) fn nodes<'a>(demands: impl Iterator<Item = &'a Demand>) -> BTreeSet<NodeIndex> {
    demands
        .flat_map(|demand| demand.candidates.iter().copied())
        .collect()
}

/// Nodes on which all `demands` fit as things are. These are [`apart`].
///
/// The orders are tried first; on few nodes, every way of sharing them out then is. So there, `None` means that there is
/// none, as long as the steps and `looks` last.
pub fn find(ledger: &Ledger, demands: &[Demand], looks: &Looks) -> Option<Places> {
    if demands
        .iter()
        .any(|demand| ledger.fits_counted(demand, looks).is_none())
    {
        return None;
    }
    let mut orders = orders(demands);
    if looks.are_spent() {
        orders.truncate(1);
    }
    orders
        .iter()
        .find_map(|order| in_turn(ledger, demands, order, looks))
        .or_else(|| match looks.are_spent() {
            true => None,
            false => split(ledger, demands, looks),
        })
}

fn in_turn(ledger: &Ledger, demands: &[Demand], order: &[usize], looks: &Looks) -> Option<Places> {
    let mut taken = BTreeSet::new();
    let mut places = vec![Vec::new(); demands.len()];
    for &at in order {
        let demand = demands[at].on(|node| !taken.contains(&node));
        let nodes = ledger.fits_counted(&demand, looks)?;
        taken.extend(nodes.iter().copied());
        places[at] = nodes;
    }
    Some(places)
}

/// The same by trying for each node whose it is.
fn split(ledger: &Ledger, demands: &[Demand], looks: &Looks) -> Option<Places> {
    let ways: Vec<Vec<&Demand>> = demands.iter().map(|demand| demand.ways().collect()).collect();
    let combinations: usize = ways.iter().map(Vec::len).product();
    (0..combinations.min(SPLIT_WAYS_MAX)).find_map(|mut number| {
        let mut one_each = Vec::new();
        for ways in &ways {
            one_each.push(ways[number % ways.len()]);
            number /= ways.len();
        }
        Split::new(ledger, &one_each, looks)?.find()
    })
}

/// A node that may be given to one component or another.
struct Site {
    node: NodeIndex,
    /// What it offers to each component, if that is enough of one node.
    offers: Vec<Option<Amounts>>,
}

struct Split<'a> {
    demands: &'a [&'a Demand],
    sites: Vec<Site>,
    /// What the sites from each place on offer together to each component, and how many do.
    ahead: Vec<Vec<(Amounts, usize)>>,
    steps: u32,
    looks: &'a Looks,
}

/// What a component has got.
#[derive(Clone, Default)]
struct Got {
    nodes: Vec<NodeIndex>,
    sum: Amounts,
}

impl<'a> Split<'a> {
    fn new(ledger: &Ledger, demands: &'a [&'a Demand], looks: &'a Looks) -> Option<Self> {
        let mut sites: Vec<Site> = Vec::new();
        for node in nodes(demands.iter().copied()) {
            let offer = |demand: &&Demand| {
                let may_use = demand.candidates.has(node);
                may_use.then(|| ledger.offer(node, demand)).flatten()
            };
            let offers: Vec<Option<Amounts>> = demands.iter().map(offer).collect();
            if offers.iter().any(Option::is_some) {
                sites.push(Site { node, offers });
            }
        }
        // Beginning with those that are of use to the fewest.
        sites.sort_by_key(|site| site.offers.iter().flatten().count());
        let mut ahead = vec![vec![(Amounts::default(), 0); demands.len()]];
        for site in sites.iter().rev() {
            let mut sums = ahead.last().cloned().unwrap_or_default();
            for ((sum, count), offer) in sums.iter_mut().zip(&site.offers) {
                if let Some(offer) = offer {
                    sum.add(offer);
                    *count += 1;
                }
            }
            ahead.push(sums);
        }
        ahead.reverse();
        (sites.len() <= SPLIT_NODES_MAX).then_some(Self {
            demands,
            sites,
            ahead,
            steps: SPLIT_STEPS,
            looks,
        })
    }

    fn find(mut self) -> Option<Places> {
        let mut got = vec![Got::default(); self.demands.len()];
        self.give(0, &mut got)
            .then(|| got.into_iter().map(|got| got.nodes).collect())
    }

    /// Gives away the sites from place `at` on; whether all components have enough then.
    fn give(&mut self, at: usize, got: &mut [Got]) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.looks.take(1);
        let demands = self.demands;
        let lacks: Vec<bool> = demands
            .iter()
            .zip(&*got)
            .map(|(demand, got)| {
                let required = demand.required.iter().any(|node| !got.nodes.contains(node));
                required || demand.missing(&got.sum, got.nodes.len()).is_some()
            })
            .collect();
        if !lacks.contains(&true) {
            return true;
        }
        if self.steps == 0 || self.looks.are_spent() || at == self.sites.len() || self.is_hopeless(at, got) {
            return false;
        }
        let node = self.sites[at].node;
        for to in (0..got.len()).filter(|to| lacks[*to]) {
            let Some(offer) = self.sites[at].offers[to].clone() else {
                continue;
            };
            if got[to].nodes.len() == demands[to].max_nodes {
                continue;
            }
            let before = got[to].clone();
            got[to].nodes.push(node);
            got[to].sum.add(&offer);
            if self.give(at + 1, got) {
                return true;
            }
            got[to] = before;
        }
        self.give(at + 1, got)
    }

    /// Whether some component cannot get enough even of all that is left.
    fn is_hopeless(&self, at: usize, got: &[Got]) -> bool {
        let mut nodes_missing = 0;
        for ((demand, got), (sum, count)) in self.demands.iter().zip(got).zip(&self.ahead[at]) {
            if let Some(Missing { nodes, open }) = demand.missing(&got.sum, got.nodes.len()) {
                nodes_missing += nodes;
                if nodes > *count || !sum.covers(&open) {
                    return true;
                }
            }
        }
        nodes_missing > self.sites.len() - at
    }
}

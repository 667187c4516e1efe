// SPDX-License-Identifier: GPL-2.0-or-later
//! On which of the nodes that offer enough of one node a job fits together.
//!
//! With `n` nodes this takes about `n log n` steps: a plan asks it for every job that may be spared.

use super::Demand;
use crate::policy::ids::NodeIndex;
use crate::policy::resources::Amounts;
use std::borrow::Borrow;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

impl Demand {
    /// The nodes among `offers` (what each can give, from [`crate::policy::fit::Ledger::offer`]) on which this fits
    /// together, or `None`.
    ///
    /// Takes the required nodes, then those that offer most, so that the fewest are used. Where some are found, they are
    /// found too when nodes beside them offer less.
    pub fn choose<A: Borrow<Amounts>>(&self, mut offers: Vec<(NodeIndex, A)>) -> Option<Vec<NodeIndex>> {
        let is_limited = self.max_nodes < offers.len();
        if is_limited && !self.may_do(&offers) {
            return None;
        }
        let scarce = self.total.gres_counts().first().map(|entry| entry.0);
        offers.sort_by_cached_key(|(node, offer)| {
            let offer = offer.borrow();
            let wanted = !self.required.contains(node);
            let rich = scarce.map_or(u64::from(offer.cpus), |kind| offer.gres(kind));
            (wanted, Reverse(rich), *node)
        });
        let picked = self.pick(offers.iter());
        // With fewer nodes than there are, it matters which; one that gives a bit of all may do where the richest do not.
        match picked {
            None if is_limited => self.pick_by_need(&offers),
            picked => picked,
        }
    }

    /// Whether, of each resource by itself, as many nodes as may be used have enough.
    fn may_do<A: Borrow<Amounts>>(&self, offers: &[(NodeIndex, A)]) -> bool {
        let mut parts = Vec::with_capacity(offers.len());
        let mut have = |total: u64, of: &dyn Fn(&Amounts) -> u64| {
            parts.clear();
            parts.extend(offers.iter().map(|(_, offer)| of(offer.borrow())));
            if self.max_nodes < parts.len() {
                parts.select_nth_unstable_by(self.max_nodes, |a, b| b.cmp(a));
                parts.truncate(self.max_nodes);
            }
            parts.iter().fold(0u64, |sum, part| sum.saturating_add(*part)) >= total
        };
        let mut gres = self.total.gres_counts().iter();
        have(u64::from(self.total.cpus), &|offer| u64::from(offer.cpus))
            && gres.all(|&(id, total)| have(total, &|offer| offer.gres(id)))
    }

    /// Takes `offers` as they come.
    fn pick<'o, A: Borrow<Amounts> + 'o>(
        &self,
        offers: impl Iterator<Item = &'o (NodeIndex, A)>,
    ) -> Option<Vec<NodeIndex>> {
        let mut open = self.total.clone();
        let mut nodes = Vec::new();
        for (node, offer) in offers {
            if self.is_enough(nodes.len(), &open) || nodes.len() == self.max_nodes {
                break;
            }
            open.take(offer.borrow());
            nodes.push(*node);
        }
        let satisfied =
            self.is_enough(nodes.len(), &open) && self.required.iter().all(|node| nodes.contains(node));
        satisfied.then_some(nodes)
    }

    fn is_enough(&self, nodes: usize, open: &Amounts) -> bool {
        nodes >= self.min_nodes && *open == Amounts::default()
    }

    /// Takes of `offers`, which begin with the required nodes, the one that gives most of what is missing, in turn.
    fn pick_by_need<A: Borrow<Amounts>>(&self, offers: &[(NodeIndex, A)]) -> Option<Vec<NodeIndex>> {
        let mut open = self.total.clone();
        let mut order: Vec<usize> = (0..self.required.len().min(offers.len())).collect();
        for at in &order {
            open.take(offers[*at].1.borrow());
        }
        let part = |open: &Amounts, at: usize| self.part_of(open, offers[at].1.borrow());
        let mut parts: BinaryHeap<Part> = (order.len()..offers.len())
            .map(|at| Part {
                part: part(&open, at),
                at,
            })
            .collect();
        while order.len() < self.max_nodes && !self.is_enough(order.len(), &open) {
            let Some(mut most) = parts.peek_mut() else { break };
            // The less is missing, the less an offer gives; so none gives more than it did when it was looked at last.
            let now = part(&open, most.at);
            if now < most.part {
                most.part = now;
                continue;
            }
            let at = PeekMut::pop(most).at;
            open.take(offers[at].1.borrow());
            order.push(at);
        }
        self.pick(order.iter().map(|at| &offers[*at]))
    }

    /// How much of all that is asked for `offer` gives, where `open` is still missing.
    fn part_of(&self, open: &Amounts, offer: &Amounts) -> f64 {
        let part = |open: u64, offer: u64, total: u64| open.min(offer) as f64 / total.max(1) as f64;
        let gres = open.gres_counts().iter();
        let gres: f64 = gres
            .map(|&(id, left)| part(left, offer.gres(id), self.total.gres(id)))
            .sum();
        gres + part(
            u64::from(open.cpus),
            u64::from(offer.cpus),
            u64::from(self.total.cpus),
        )
    }
}

/// What the offer in place `at` gives at most of what is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    part: f64,
    at: usize,
}

impl Eq for Part {}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.part
            .total_cmp(&other.part)
            .then_with(|| other.at.cmp(&self.at))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::request::{GresRequest, Request};
    use crate::policy::resources::GresId;
    use proptest::prelude::*;

    const GPU: GresId = GresId(0);

    fn demand(nodes: u32, cpus: u32, gpus: u64, candidates: usize) -> Demand {
        Demand::of(&Request {
            min_nodes: 1,
            max_nodes: Some(nodes),
            min_cpus: cpus,
            cpus_per_task: 1,
            gres: vec![GresRequest {
                id: GPU,
                per_node: 0,
                per_job: gpus,
                per_task: 0,
                cpus_each: 0,
                cpus_by_job: false,
                memory_each_mib: 0,
            }],
            candidates: (0..candidates as u32).map(NodeIndex).collect(),
            ..Request::default()
        })
    }

    /// As it is said, without a thought of the time that it takes.
    fn by_need(demand: &Demand, mut offers: Vec<(NodeIndex, Amounts)>) -> Option<Vec<NodeIndex>> {
        let mut open = demand.total.clone();
        let mut order = Vec::new();
        while order.len() < demand.max_nodes && !offers.is_empty() {
            let part = |at: &usize| demand.part_of(&open, &offers[*at].1);
            let best = (0..offers.len())
                .rev()
                .max_by(|a, b| part(a).total_cmp(&part(b)))?;
            let (node, offer) = offers.remove(best);
            open.take(&offer);
            order.push((node, offer));
        }
        demand.pick(order.iter())
    }

    proptest! {
        #[test]
        fn nodes_are_taken_by_what_is_missing(
            offers in prop::collection::vec((0..9u32, 0..9u64), 1..12),
            nodes in 1..8u32, cpus in 1..40u32, gpus in 1..40u64,
        ) {
            let demand = demand(nodes, cpus, gpus, offers.len());
            let offers: Vec<(NodeIndex, Amounts)> = offers.iter().enumerate().map(|(at, (cpus, gpus))| {
                let mut offer = Amounts::new(*cpus, 0);
                offer.add_gres(GPU, *gpus);
                (NodeIndex(at as u32), offer)
            }).collect();
            let plainly = by_need(&demand, offers.clone());
            prop_assert_eq!(demand.pick_by_need(&offers), plainly.clone());
            // What no set of nodes has enough of by itself is not looked for.
            prop_assert!(plainly.is_none() || demand.may_do(&offers));
            if let Some(found) = demand.choose(offers.clone()) {
                let beside: Vec<_> = offers.iter().filter(|(node, _)| found.contains(node)).cloned().collect();
                prop_assert!(demand.choose(beside).is_some(), "without those beside");
            }
        }
    }
}

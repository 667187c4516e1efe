// SPDX-License-Identifier: GPL-2.0-or-later
//! Which nodes a job takes of those that each offer enough of one.

use super::Demand;
use crate::policy::ids::NodeIndex;
use crate::policy::looks::Looks;
use crate::policy::resources::Amounts;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Offers that are sorted or rated in the time that one look at a node takes.
const OFFERS_PER_LOOK: u64 = 4;

impl Demand {
    /// The nodes among `offers` (what each can give, from [`crate::policy::fit::Ledger::offer`]) on which this fits
    /// together, or `None`.
    ///
    /// Takes the required nodes, then those that offer most, so that the fewest are used.
    pub fn choose(&self, offers: Vec<(NodeIndex, Amounts)>) -> Option<Vec<NodeIndex>> {
        self.choose_counted(offers, &Looks::up_to(u64::MAX))
    }

    /// The same; what it takes is charged to `looks`.
    pub(in crate::policy) fn choose_counted(
        &self,
        mut offers: Vec<(NodeIndex, Amounts)>,
        looks: &Looks,
    ) -> Option<Vec<NodeIndex>> {
        looks.take(offers.len() as u64 / OFFERS_PER_LOOK);
        let scarce = self.total.gres_counts().first().map(|entry| entry.0);
        offers.sort_by_cached_key(|(node, offer)| {
            let wanted = self.required.binary_search(node).is_err();
            let rich = scarce.map_or(u64::from(offer.cpus), |kind| offer.gres(kind));
            (wanted, Reverse(rich), *node)
        });
        let picked = self.pick(offers.iter());
        // With fewer nodes than there are, it matters which; one that gives a bit of all may do where the richest do not.
        match picked {
            None if self.max_nodes < offers.len() => self.pick_by_need(&offers, looks),
            picked => picked,
        }
    }

    /// Takes `offers` as they come.
    fn pick<'a>(&self, offers: impl Iterator<Item = &'a (NodeIndex, Amounts)>) -> Option<Vec<NodeIndex>> {
        let mut open = self.total.clone();
        let mut nodes = Vec::new();
        for (node, offer) in offers {
            let enough = nodes.len() >= self.min_nodes && open == Amounts::default();
            if enough || nodes.len() == self.max_nodes {
                break;
            }
            open.take(offer);
            nodes.push(*node);
        }
        let is_required = |node: &&NodeIndex| self.required.binary_search(node).is_ok();
        let satisfied = nodes.len() >= self.min_nodes
            && open == Amounts::default()
            && nodes.iter().filter(is_required).count() == self.required.len();
        satisfied.then_some(nodes)
    }

    /// Takes of `offers`, which begin with the required nodes, the one that gives most of what is missing, in turn.
    fn pick_by_need(&self, offers: &[(NodeIndex, Amounts)], looks: &Looks) -> Option<Vec<NodeIndex>> {
        let mut open = self.total.clone();
        let (first, others) = offers.split_at(self.required.len().min(offers.len()));
        let mut order: Vec<&(NodeIndex, Amounts)> = first.iter().take(self.max_nodes).collect();
        for (_, offer) in &order {
            open.take(offer);
        }
        let rate = |at: usize, open: &Amounts| Rated {
            gives: self.part_of(open, &others[at].1),
            at,
        };
        let mut rated: BinaryHeap<Rated> = (0..others.len()).map(|at| rate(at, &open)).collect();
        let mut looked_at = others.len() as u64;
        while order.len() < self.max_nodes {
            let Some(best) = rated.pop() else { break };
            // The less is missing, the less an offer gives: what it was rated at is the most that it gives now.
            let now = rate(best.at, &open);
            looked_at += 1;
            if rated.peek().is_some_and(|next| *next > now) {
                rated.push(now);
                continue;
            }
            let taken = &others[best.at];
            open.take(&taken.1);
            order.push(taken);
        }
        looks.take(looked_at / OFFERS_PER_LOOK);
        self.pick(order.into_iter())
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

/// An offer, by its place, and what it gives; the greatest is the one to take.
#[derive(Clone, Copy, Debug)]
struct Rated {
    gives: f64,
    at: usize,
}

impl Ord for Rated {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of two that give the same, the one that comes first.
        self.gives.total_cmp(&other.gives).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Rated {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rated {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rated {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::request::{GresRequest, Request};
    use crate::policy::resources::GresId;

    const GPU: GresId = GresId(0);

    /// What [`Demand::pick_by_need`] is to find, by rating all offers again for each node.
    fn by_rating_all(demand: &Demand, mut offers: Vec<(NodeIndex, Amounts)>) -> Option<Vec<NodeIndex>> {
        let mut open = demand.total.clone();
        let mut order = Vec::new();
        while order.len() < demand.max_nodes && !offers.is_empty() {
            let best = match order.len() < demand.required.len() {
                true => 0,
                false => (0..offers.len())
                    .rev()
                    .max_by(|a, b| {
                        let gives = |at: usize| demand.part_of(&open, &offers[at].1);
                        gives(*a).total_cmp(&gives(*b))
                    })
                    .unwrap(),
            };
            let taken = offers.remove(best);
            open.take(&taken.1);
            order.push(taken);
        }
        demand.pick(order.iter())
    }

    #[test]
    fn the_heap_takes_the_same_nodes_as_rating_all_offers_again_for_each() {
        let mut roll: u64 = 1;
        let mut dice = |below: u64| {
            roll = roll.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (roll >> 33) % below
        };
        let mut found = 0;
        for _ in 0..500 {
            let offers: Vec<(NodeIndex, Amounts)> = (0..12)
                .map(|node| {
                    let mut offer = Amounts::new(1 + dice(9) as u32, 0);
                    offer.add_gres(GPU, dice(6));
                    (NodeIndex(node), offer)
                })
                .collect();
            let demand = Demand::of(&Request {
                min_nodes: 1,
                max_nodes: Some(3 + dice(4) as u32),
                min_cpus: dice(45) as u32,
                cpus_per_task: 1,
                required: Vec::from_iter((dice(3) == 0).then_some(NodeIndex(0))),
                gres: vec![GresRequest {
                    per_job: 1 + dice(25),
                    ..GresRequest::none(GPU)
                }],
                candidates: (0..12).map(NodeIndex).collect(),
                ..Request::default()
            });
            let nodes = demand.pick_by_need(&offers, &Looks::up_to(u64::MAX));
            found += u32::from(nodes.is_some());
            assert_eq!(nodes, by_rating_all(&demand, offers));
        }
        assert!((100..450).contains(&found), "{found}");
    }

    #[test]
    fn to_choose_among_alike_offers_takes_looks_by_their_number_not_by_its_square() {
        let offers: Vec<(NodeIndex, Amounts)> = (0..2000)
            .map(|node| {
                let mut offer = Amounts::new(64, 0);
                offer.add_gres(GPU, 8);
                (NodeIndex(node), offer)
            })
            .collect();
        let demand = Demand::of(&Request {
            min_nodes: 1000,
            max_nodes: Some(1000),
            min_cpus: 70_000,
            cpus_per_task: 1,
            candidates: (0..2000).map(NodeIndex).collect(),
            ..Request::default()
        });
        let looks = Looks::up_to(u64::MAX);
        assert_eq!(demand.choose_counted(offers, &looks), None);
        assert!(looks.taken() < 10_000, "{}", looks.taken());
    }
}

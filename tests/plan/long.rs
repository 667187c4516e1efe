// SPDX-License-Identifier: GPL-2.0-or-later
//! A long search in another manner than the plan's: everybody on some nodes goes, then whoever can be spared comes back,
//! in a random order; over and over.

use crate::cluster::Dice;
use crate::oracle::{self, Victim};
use std::collections::BTreeSet;
use surgent::policy::fit::{Demand, Ledger};
use surgent::policy::ids::NodeIndex;
use surgent::policy::resources::Amounts;

/// Who is gone, and what the nodes then offer.
struct Pool<'a> {
    ledger: &'a Ledger,
    demand: &'a Demand,
    victims: &'a [Victim<'a>],
    /// On each candidate node: who may be stopped there, and what that gives.
    here: Vec<Vec<(usize, &'a Amounts)>>,
    offers: Vec<Option<Amounts>>,
    gone: BTreeSet<usize>,
    /// Any nodes do, so that counting them is enough.
    plain: bool,
}

impl<'a> Pool<'a> {
    fn new(ledger: &'a Ledger, demand: &'a Demand, victims: &'a [Victim<'a>]) -> Self {
        let mut here = vec![Vec::new(); demand.candidates.len()];
        for (at, victim) in victims.iter().enumerate() {
            for holding in &victim.job.holdings {
                if let Some(node) = demand.candidates.position(holding.node) {
                    here[node].push((at, &holding.amounts));
                }
            }
        }
        let nodes = demand.min_nodes as u64;
        let plain = demand.required.is_empty()
            && u64::from(demand.total.cpus) <= u64::from(demand.per_node.cpus) * nodes
            && demand
                .total
                .gres_counts()
                .iter()
                .all(|&(id, count)| count <= demand.per_node.gres(id) * nodes);
        let mut pool = Self {
            ledger,
            demand,
            victims,
            offers: vec![None; here.len()],
            here,
            gone: BTreeSet::new(),
            plain,
        };
        for node in 0..pool.here.len() {
            pool.look(node);
        }
        pool
    }

    fn look(&mut self, node: usize) {
        let gone: Vec<&Amounts> = self.here[node]
            .iter()
            .filter(|(victim, _)| self.gone.contains(victim))
            .map(|(_, amounts)| *amounts)
            .collect();
        let index = self.demand.candidates[node];
        self.offers[node] = self.ledger.offer_without(index, gone.into_iter(), self.demand);
    }

    fn set(&mut self, victim: usize, gone: bool) {
        match gone {
            true => self.gone.insert(victim),
            false => self.gone.remove(&victim),
        };
        for holding in &self.victims[victim].job.holdings {
            if let Some(node) = self.demand.candidates.position(holding.node) {
                self.look(node);
            }
        }
    }

    fn fits(&self) -> bool {
        let fitting = self.offers.iter().flatten().count();
        if fitting < self.demand.min_nodes || self.plain {
            return fitting >= self.demand.min_nodes;
        }
        let nodes = self.demand.candidates.iter().zip(&self.offers);
        let offers: Vec<(NodeIndex, Amounts)> = nodes
            .filter_map(|(node, offer)| Some((*node, offer.clone()?)))
            .collect();
        self.demand.choose(offers).is_some()
    }

    fn total(&self, wait_weight: f64) -> f64 {
        let gone: Vec<&Victim<'_>> = self.gone.iter().map(|at| &self.victims[*at]).collect();
        oracle::total(&gone, wait_weight)
    }

    /// Brings back whoever of `order` can be spared.
    fn spare(&mut self, order: &[usize]) {
        for &victim in order {
            self.set(victim, false);
            if !self.fits() {
                self.set(victim, true);
            }
        }
    }
}

fn price(victim: &Victim<'_>) -> f64 {
    victim.ways.iter().map(|way| way.0).fold(f64::INFINITY, f64::min)
}

/// The least total that `rounds` rounds find, beginning with `start`.
pub fn search(
    ledger: &Ledger,
    demand: &Demand,
    victims: &[Victim<'_>],
    wait_weight: f64,
    start: &[usize],
    rounds: u32,
    dice: &mut Dice,
) -> f64 {
    let mut pool = Pool::new(ledger, demand, victims);
    for &victim in start {
        pool.set(victim, true);
    }
    assert!(pool.fits());
    let mut best = pool.total(wait_weight);
    for _ in 0..rounds {
        let before = pool.gone.clone();
        for _ in 0..dice.within(1, 4) {
            let node = dice.within(0, pool.here.len() as u64 - 1) as usize;
            for (victim, _) in pool.here[node].clone() {
                pool.set(victim, true);
            }
        }
        let added: BTreeSet<usize> = pool.gone.difference(&before).copied().collect();
        let mut order: Vec<(f64, usize)> = pool
            .gone
            .iter()
            // Mostly those who were there before come back first: else nothing would change.
            .map(|&at| {
                let blur = 0.3 + dice.within(0, 1000) as f64 / 500.0;
                let old = if added.contains(&at) { 1.0 } else { 2.0 };
                (price(&victims[at]) * blur * old, at)
            })
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let order: Vec<usize> = order.into_iter().map(|(_, at)| at).collect();
        pool.spare(&order);
        let total = pool.total(wait_weight);
        if total <= best {
            best = total;
        } else {
            let changed: Vec<usize> = pool.gone.symmetric_difference(&before).copied().collect();
            for victim in changed {
                pool.set(victim, before.contains(&victim));
            }
        }
    }
    best
}

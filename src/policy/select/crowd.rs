// SPDX-License-Identifier: GPL-2.0-or-later
//! More nodes than the job may have, of which the right ones must be taken.

use super::problem::Problem;
use crate::policy::resources::Amounts;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Amounts by dimension of the totals.
type Sums = SmallVec<[u64; 4]>;

/// What sites offer, kept so that it is mostly known without choosing nodes anew whether some of them suffice.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// How many sites offer so much, by dimension of the totals.
    counts: SmallVec<[BTreeMap<u64, usize>; 4]>,
    /// Those that were chosen last, as many as may be had.
    chosen: Vec<bool>,
    /// How many of these offer enough of one node, and what those offer together.
    count: usize,
    sums: Sums,
}

impl Crowd {
    /// No site offers anything, and none are chosen.
    pub fn new(problem: &Problem<'_>) -> Self {
        Self {
            counts: problem.totals.iter().map(|_| BTreeMap::new()).collect(),
            chosen: vec![false; problem.sites.len()],
            count: 0,
            sums: SmallVec::from_elem(0, problem.totals.len()),
        }
    }

    /// Site `at` offers `new` instead of `old`.
    pub fn change(&mut self, problem: &Problem<'_>, at: usize, old: Option<&Amounts>, new: Option<&Amounts>) {
        if old == new {
            return;
        }
        if let Some(old) = old {
            for (counts, (dimension, _)) in self.counts.iter_mut().zip(&problem.totals) {
                let amount = dimension.of(old);
                let left = counts.get(&amount).map_or(0, |count| count - 1);
                match left {
                    0 => counts.remove(&amount),
                    _ => counts.insert(amount, left),
                };
            }
        }
        if let Some(new) = new {
            for (counts, (dimension, _)) in self.counts.iter_mut().zip(&problem.totals) {
                *counts.entry(dimension.of(new)).or_default() += 1;
            }
        }
        if self.chosen[at] {
            self.leave(problem, old);
            self.join(problem, new);
        }
    }

    /// These sites are chosen now, and as many more of what all `offers` are as may be had, the richest first: so they do
    /// for longer.
    pub fn choose(&mut self, problem: &Problem<'_>, sites: &[usize], offers: &[Option<Amounts>]) {
        self.chosen.fill(false);
        self.count = 0;
        self.sums.fill(0);
        for &at in sites {
            self.chosen[at] = true;
            self.join(problem, offers[at].as_ref());
        }
        let more = problem.demand.max_nodes.saturating_sub(sites.len());
        if more == 0 {
            return;
        }
        let rich = |offer: &Amounts| -> f64 {
            let parts = problem.totals.iter();
            parts
                .map(|(dimension, total)| dimension.of(offer) as f64 / *total as f64)
                .sum()
        };
        let others = offers.iter().enumerate().filter(|(at, _)| !self.chosen[*at]);
        let mut others: Vec<(f64, usize)> = others
            .filter_map(|(at, offer)| Some((rich(offer.as_ref()?), at)))
            .collect();
        others.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, at) in others.into_iter().take(more) {
            self.chosen[at] = true;
            self.join(problem, offers[at].as_ref());
        }
    }

    /// Whether site `at` is one of the chosen ones.
    pub fn is_chosen(&self, at: usize) -> bool {
        self.chosen[at]
    }

    /// Whether the chosen sites suffice. That the required ones do is not looked at.
    pub fn chosen_suffice(&self, problem: &Problem<'_>) -> bool {
        self.count >= problem.demand.min_nodes && self.covers(problem, &self.sums)
    }

    /// `false` where no choice of sites suffices, as not even the richest do in each dimension by itself.
    pub fn may_suffice(&self, problem: &Problem<'_>) -> bool {
        let mut looked_at = 0;
        let richest = self.counts.iter().map(|counts| {
            let mut left = problem.demand.max_nodes;
            let mut sum: u64 = 0;
            for (amount, count) in counts.iter().rev() {
                let taken = left.min(*count);
                sum = sum.saturating_add(amount.saturating_mul(taken as u64));
                left -= taken;
                looked_at += 1;
                if left == 0 {
                    break;
                }
            }
            sum
        });
        let richest: Sums = richest.collect();
        problem.looks.take(looked_at / 16);
        self.covers(problem, &richest)
    }

    fn covers(&self, problem: &Problem<'_>, sums: &Sums) -> bool {
        let totals = problem.totals.iter().map(|(_, total)| total);
        sums.iter().zip(totals).all(|(sum, total)| sum >= total)
    }

    fn join(&mut self, problem: &Problem<'_>, offer: Option<&Amounts>) {
        let Some(offer) = offer else { return };
        self.count += 1;
        for (sum, (dimension, _)) in self.sums.iter_mut().zip(&problem.totals) {
            *sum += dimension.of(offer);
        }
    }

    fn leave(&mut self, problem: &Problem<'_>, offer: Option<&Amounts>) {
        let Some(offer) = offer else { return };
        self.count -= 1;
        for (sum, (dimension, _)) in self.sums.iter_mut().zip(&problem.totals) {
            *sum -= dimension.of(offer);
        }
    }
}

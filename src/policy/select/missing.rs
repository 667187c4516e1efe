// SPDX-License-Identifier: GPL-2.0-or-later
//! What is missing on one node, in plain numbers: quick bounds on what it takes, before the node itself is asked.
//!
//! All that is used of the model here is that a node cannot give more of a resource than nobody holds there. So what is
//! found not to suffice does not, and what is found to suffice may not.

use super::problem::{Dimension, Problem};
use smallvec::SmallVec;

/// Resources that are looked at; more than these are left to the node itself.
const DIMENSIONS: usize = 4;

/// Amounts by dimension, in the resource's own unit.
pub type Plain = [f64; DIMENSIONS];

/// What is missing on a node, and what some jobs there would give.
#[derive(Clone, Debug)]
pub struct Missing {
    /// What is missing while nobody of them is gone.
    pub at_first: Plain,
    /// What each of them gives.
    pub gives: SmallVec<[Plain; 8]>,
    /// From each of them on: what they give together.
    together: SmallVec<[Plain; 9]>,
    /// From each of them on: the least price for one unit.
    unit_prices: SmallVec<[Plain; 9]>,
}

impl Missing {
    /// On site `at`, with `gone` away; `here` are others there.
    pub fn on(
        problem: &Problem<'_>,
        at: usize,
        gone: impl Fn(u32) -> bool,
        here: &[u32],
        prices: &[f64],
    ) -> Self {
        let site = &problem.sites[at];
        let need = &problem.demand.per_node;
        let shared = problem.demand.jobs_per_cpu.is_some();
        let gres = need.gres_counts().iter().map(|&(id, _)| Dimension::Gres(id));
        let all = [Dimension::Cpus, Dimension::Memory].into_iter().chain(gres);
        // Of CPUs that several jobs use at once it is not as plain.
        let looked_at = all.filter(|dimension| !(shared && *dimension == Dimension::Cpus));
        let dimensions: SmallVec<[Dimension; DIMENSIONS]> = looked_at.take(DIMENSIONS).collect();
        let mut missing = Self {
            at_first: [0.0; DIMENSIONS],
            gives: SmallVec::new(),
            together: SmallVec::from_elem([0.0; DIMENSIONS], here.len() + 1),
            unit_prices: SmallVec::from_elem([f64::INFINITY; DIMENSIONS], here.len() + 1),
        };
        for job in here {
            let held = site.here.iter().find(|(other, _)| other == job);
            let mut gives = [0.0; DIMENSIONS];
            for (give, dimension) in gives.iter_mut().zip(&dimensions) {
                *give = held.map_or(0.0, |(_, amounts)| dimension.of(amounts) as f64);
            }
            missing.gives.push(gives);
        }
        for (from, job) in here.iter().enumerate().rev() {
            for place in 0..DIMENSIONS {
                let give = missing.gives[from][place];
                missing.together[from][place] = missing.together[from + 1][place] + give;
                let unit = prices[*job as usize] / give;
                missing.unit_prices[from][place] = match give > 0.0 {
                    true => unit.min(missing.unit_prices[from + 1][place]),
                    false => missing.unit_prices[from + 1][place],
                };
            }
        }
        for (place, dimension) in dimensions.iter().enumerate() {
            let free = problem.free(at).map_or(0, |free| dimension.of(free));
            let away = site.here.iter().filter(|(job, _)| gone(*job));
            let free = free + away.map(|(_, amounts)| dimension.of(amounts)).sum::<u64>();
            let open = dimension.of(need).saturating_sub(free) as f64;
            // Otherwise it does not come from them: such as nodes of a kind, which nobody holds.
            if open <= missing.together[0][place] {
                missing.at_first[place] = open;
            }
        }
        missing
    }

    /// Whether those from number `from` on give `open` together.
    pub fn can_give(&self, open: &Plain, from: usize) -> bool {
        open.iter()
            .zip(&self.together[from])
            .all(|(open, give)| open <= give)
    }

    /// The least price of `open`, from those from number `from` on.
    pub fn price_at_least(&self, open: &Plain, from: usize) -> f64 {
        let prices = open.iter().zip(&self.unit_prices[from]);
        prices
            .filter(|(open, _)| **open > 0.0)
            .map(|(open, unit)| open * unit)
            .fold(0.0, f64::max)
    }

    /// The least price of all that is missing at first; closer than [`Missing::price_at_least`]. `prices` are theirs.
    pub fn price(&self, prices: impl Iterator<Item = f64>) -> f64 {
        let least = |place: usize| self.at_first[place] * self.unit_prices[0][place];
        let missing = (0..DIMENSIONS).filter(|place| self.at_first[*place] > 0.0);
        let Some(place) = missing.max_by(|a, b| least(*a).total_cmp(&least(*b))) else {
            return 0.0;
        };
        // The cheapest of this resource first, the last of them in part.
        let mut offers: SmallVec<[(f64, f64); 16]> = prices
            .zip(&self.gives)
            .filter(|(_, gives)| gives[place] > 0.0)
            .map(|(price, gives)| (price / gives[place], gives[place]))
            .collect();
        offers.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut open = self.at_first[place];
        let mut sum = 0.0;
        for (unit, gives) in offers {
            sum += unit * gives.min(open);
            open -= gives;
            if open <= 0.0 {
                break;
            }
        }
        sum
    }

    /// What is still missing of `open` once number `at` is gone.
    pub fn without(&self, open: &Plain, at: usize) -> Plain {
        std::array::from_fn(|place| open[place] - self.gives[at][place])
    }
}

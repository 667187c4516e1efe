// SPDX-License-Identifier: GPL-2.0-or-later
//! What can be done on one node: whom to stop there so that it gives what every node must give, or more.

use super::missing::{Missing, Plain};
use super::trial::{Open, Trial};
use crate::policy::resources::Amounts;
use smallvec::SmallVec;

/// Sets that are tried on one node before the best so far is taken.
const SETS_MAX: u32 = 1000;

/// So many sets that seem to do may turn out not to, before the trying is given up.
const REFUSED_MAX: u32 = 32;

/// Jobs that a node's deeds name.
pub type Few = SmallVec<[u32; 8]>;

/// Stopping some jobs on one node, and what that gives.
#[derive(Clone, Debug)]
pub struct Deed {
    /// Whom to stop, beside those who are gone.
    pub jobs: Few,
    /// At what price.
    pub price: f64,
    /// What no cheaper set of jobs on this node undercuts: the price, unless not all sets were tried.
    pub at_least: f64,
    /// What the node offers then.
    offer: Amounts,
}

impl Deed {
    /// How much of what is missing this gives, as a part of all that is asked for.
    pub fn gain(&self, trial: &Trial<'_, '_>, at: usize, open: &Open) -> f64 {
        let problem = trial.problem;
        let before = trial.offer(at);
        let mut gain = 0.0;
        if before.is_none() && open.nodes > 0 {
            gain += 1.0 / problem.demand.min_nodes as f64;
        }
        if !problem.uniform {
            for ((dimension, total), open) in problem.totals.iter().zip(&open.totals) {
                let had = before.map_or(0, |before| dimension.of(before));
                let more = dimension.of(&self.offer).saturating_sub(had);
                gain += more.min(*open) as f64 / *total as f64;
            }
        }
        gain
    }
}

/// The deed on site `at` that buys most of what is `open` for its price, with what it buys per GPU-second (as GPU-seconds
/// per unit: less is better). `None` where nothing there helps.
pub fn best(trial: &mut Trial<'_, '_>, at: usize, prices: &[f64], open: &Open) -> Option<(f64, Deed)> {
    let mut deed = cheapest(trial, at, prices)?;
    let uniform = trial.problem.uniform;
    let mut best: Option<(f64, Deed)> = None;
    loop {
        let gain = deed.gain(trial, at, open);
        if gain > 0.0 {
            let rate = deed.price / gain;
            if best.as_ref().is_none_or(|(least, _)| rate < *least) {
                best = Some((rate, deed.clone()));
            }
        }
        // More than one that helps is looked for as long as there is time for it.
        let enough = best.is_some() && trial.problem.looks.are_spent();
        if uniform || enough {
            return best;
        }
        let Some(more) = one_more(trial, at, prices, &deed, open) else {
            return best;
        };
        deed = more;
    }
}

/// The cheapest deed that makes site `at` give what every node must give; to stop nobody, where it does so already.
pub fn cheapest(trial: &mut Trial<'_, '_>, at: usize, prices: &[f64]) -> Option<Deed> {
    if let Some(offer) = trial.offer(at) {
        return Some(Deed {
            jobs: Few::new(),
            price: 0.0,
            at_least: 0.0,
            offer: offer.clone(),
        });
    }
    let mut here = stoppable(trial, at, prices);
    here.sort_by(|a, b| prices[*b as usize].total_cmp(&prices[*a as usize]).then(a.cmp(b)));
    let offer = trial.offer_with(at, &here)?;
    if let [job] = here[..] {
        let price = prices[job as usize];
        return Some(Deed {
            jobs: here,
            price,
            at_least: price,
            offer,
        });
    }
    let missing = Missing::on(trial.problem, at, |job| trial.is_gone(job), &here, prices);
    let mut search = Cheapest {
        at,
        prices,
        here: &here,
        missing: &missing,
        best_price: price(&here, prices),
        best: here.clone(),
        refused: 0,
        sets_left: SETS_MAX,
    };
    search.descend(trial, 0, &mut Few::new(), 0.0, &missing.at_first);
    let all_are_needed = search.refused > REFUSED_MAX && !search.spare_one_by_one(trial);
    trial
        .problem
        .looks
        .take(u64::from(SETS_MAX - search.sets_left) / 4);
    let at_least = match all_are_needed || search.is_exact() {
        true => search.best_price,
        false => here.last().map_or(0.0, |job| prices[*job as usize]),
    };
    let jobs = search.best;
    let offer = trial.offer_with(at, &jobs)?;
    Some(Deed {
        price: price(&jobs, prices),
        at_least,
        jobs,
        offer,
    })
}

/// `deed` and one job more, the one that gives most for its price.
fn one_more(trial: &mut Trial<'_, '_>, at: usize, prices: &[f64], deed: &Deed, open: &Open) -> Option<Deed> {
    let mut best: Option<(f64, Deed)> = None;
    for job in stoppable(trial, at, prices) {
        if deed.jobs.contains(&job) {
            continue;
        }
        let mut jobs = deed.jobs.clone();
        jobs.push(job);
        let Some(offer) = trial.offer_with(at, &jobs) else {
            continue;
        };
        let more = Deed {
            price: deed.price + prices[job as usize],
            at_least: deed.at_least,
            jobs,
            offer,
        };
        let gain = more.gain(trial, at, open) - deed.gain(trial, at, open);
        let rate = prices[job as usize] / gain;
        if gain > 0.0 && best.as_ref().is_none_or(|(least, _)| rate < *least) {
            best = Some((rate, more));
        }
    }
    best.map(|(_, deed)| deed)
}

fn stoppable(trial: &Trial<'_, '_>, at: usize, prices: &[f64]) -> Few {
    let here = trial.site(at).here.iter().map(|(job, _)| *job);
    here.filter(|job| !trial.is_gone(*job) && prices[*job as usize].is_finite())
        .collect()
}

fn price(jobs: &[u32], prices: &[f64]) -> f64 {
    jobs.iter().map(|job| prices[*job as usize]).sum()
}

/// Tries the sets of jobs on one node that may be cheaper than the best so far.
struct Cheapest<'s> {
    at: usize,
    prices: &'s [f64],
    /// The dearest first.
    here: &'s [u32],
    missing: &'s Missing,
    best: Few,
    best_price: f64,
    /// Sets that seemed to do by plain numbers, and did not.
    refused: u32,
    sets_left: u32,
}

impl Cheapest<'_> {
    fn is_exact(&self) -> bool {
        self.sets_left > 0 && self.refused <= REFUSED_MAX
    }

    /// Decides about `here[from..]`; those before are in `taken` or stay. `open` is what is missing then.
    fn descend(&mut self, trial: &mut Trial<'_, '_>, from: usize, taken: &mut Few, price: f64, open: &Plain) {
        if !self.is_exact() || price >= self.best_price || !self.missing.can_give(open, from) {
            return;
        }
        self.sets_left -= 1;
        if open.iter().all(|open| *open <= 0.0) {
            if trial.offer_with(self.at, taken).is_some() {
                self.best = taken.clone();
                self.best_price = price;
                return;
            }
            self.refused += 1;
        }
        let Some(&job) = self.here.get(from) else {
            return;
        };
        // At least one more must go, of whom the last is the cheapest.
        let cheapest = self.here.last().map_or(0.0, |job| self.prices[*job as usize]);
        let more = self.missing.price_at_least(open, from).max(cheapest);
        if price + more >= self.best_price {
            return;
        }
        self.descend(trial, from + 1, taken, price, open);
        taken.push(job);
        let open = self.missing.without(open, from);
        self.descend(trial, from + 1, taken, price + self.prices[job as usize], &open);
        taken.pop();
    }

    /// Where plain numbers do not tell what does: whoever is not needed, the dearest first, is spared. `false` where all are
    /// needed.
    fn spare_one_by_one(&mut self, trial: &mut Trial<'_, '_>) -> bool {
        let mut jobs: Few = self.here.into();
        for job in self.here {
            let fewer: Few = jobs.iter().copied().filter(|other| other != job).collect();
            if trial.offer_with(self.at, &fewer).is_some() {
                jobs = fewer;
            }
        }
        let price = price(&jobs, self.prices);
        let some_are_spared = jobs.len() < self.here.len();
        if price < self.best_price {
            self.best = jobs;
            self.best_price = price;
        }
        some_are_spared
    }
}

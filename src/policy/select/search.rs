// SPDX-License-Identifier: GPL-2.0-or-later
//! Making a set better: parts of it are given up and built anew.

use super::build::{self, Deeds};
use super::cover;
use super::dice::Dice;
use super::problem::Problem;
use super::trial::{Budget, Found, Trial};

/// Nodes whose victims are given up at once, at most.
const RUINED_MAX: usize = 4;
/// Prices are blurred by up to this part, so that the same ruin is not rebuilt the same way.
const BLUR: f64 = 0.4;

/// Brings back everybody whose leaving is not needed, the dearest at `prices` first.
pub fn give_back(trial: &mut Trial<'_, '_>, prices: &[f64]) {
    let all: Vec<u32> = trial.gone.iter().copied().collect();
    give_back_of(trial, prices, all);
}

fn give_back_of(trial: &mut Trial<'_, '_>, prices: &[f64], mut of: Vec<u32>) {
    of.sort_by(|a, b| {
        let price = |job: u32| prices[job as usize];
        price(*b).total_cmp(&price(*a)).then(b.cmp(a))
    });
    for job in of {
        trial.set(job, false);
        if !trial.fits() {
            trial.set(job, true);
        }
    }
}

/// The search on one choice, with all victims ready by one time.
pub struct Search<'p, 'a> {
    trial: Trial<'p, 'a>,
    prices: Vec<f64>,
    /// What can be done on each site as things are; `None` where that must be found anew.
    deeds: Vec<Option<Option<(f64, cover::Deed)>>>,
    dice: Dice,
    best: Option<Found>,
}

impl<'p, 'a> Search<'p, 'a> {
    /// A search for sets that are ready by `ready_s`, begun with one that is built from nothing in the best of several
    /// ways. Without one where none was found.
    pub fn new(problem: &'p Problem<'a>, ready_s: f64, others: &[Problem<'a>]) -> Self {
        let prices = problem.prices(ready_s);
        let mut search = Self {
            trial: Trial::new(problem),
            deeds: vec![None; problem.sites.len()],
            prices,
            dice: Dice::new(ready_s.to_bits()),
            best: None,
        };
        search.start_with(&search.prices.clone());
        search.start_with(&build::shared(problem, &search.prices));
        for other in others {
            search.start_from(other, ready_s);
        }
        search
    }

    /// The best set so far.
    pub fn best(&self) -> Option<&Found> {
        self.best.as_ref()
    }

    fn start_with(&mut self, prices: &[f64]) {
        let mut trial = Trial::new(self.trial.problem);
        let deeds = build::deeds(&mut trial, prices);
        if build::complete(&mut trial, prices, deeds) {
            give_back(&mut trial, &self.prices);
            self.take(trial);
        }
    }

    /// A set found for another demand on the same nodes, where it does for this one.
    fn start_from(&mut self, other: &Problem<'a>, ready_s: f64) {
        let prices = other.prices(ready_s);
        let mut there = Trial::new(other);
        let deeds = build::deeds(&mut there, &prices);
        if !build::complete(&mut there, &prices, deeds) {
            return;
        }
        let mut trial = Trial::new(self.trial.problem);
        for origin in there.found().victims {
            if let Some(job) = trial.problem.place(origin) {
                trial.set(job, true);
            }
        }
        if trial.fits() {
            give_back(&mut trial, &self.prices);
            self.take(trial);
        }
    }

    fn take(&mut self, trial: Trial<'p, 'a>) {
        let found = trial.found();
        if self.best.as_ref().is_none_or(|best| found.beats(best)) {
            self.best = Some(found);
            self.trial = trial;
            self.deeds.fill(None);
        }
    }

    /// Ruins and rebuilds until the budget is spent or nothing was gained for long.
    pub fn improve(&mut self, budget: &mut Budget, at_least: f64) {
        let patience = 60 + 20 * self.trial.gone.len();
        let mut in_vain = 0;
        while in_vain < patience && !budget.is_spent() {
            if self.best.as_ref().is_none_or(|best| best.is_within(at_least)) || self.trial.gone.is_empty() {
                return;
            }
            let before = self.trial.looks;
            in_vain = if self.round() { 0 } else { in_vain + 1 };
            budget.spend(self.trial.looks - before + 16);
        }
    }

    /// One ruin and rebuilding; whether that was a gain.
    fn round(&mut self) -> bool {
        let before = self.trial.gone.clone();
        let barred = self.ruin();
        let rebuilt = self.rebuild(barred);
        if rebuilt {
            let touched: Vec<u32> = match self.trial.gone.len() {
                few if few <= 24 => self.trial.gone.iter().copied().collect(),
                _ => self.near(self.trial.gone.difference(&before).copied()),
            };
            let prices = std::mem::take(&mut self.prices);
            give_back_of(&mut self.trial, &prices, touched);
            self.prices = prices;
            let found = self.trial.found();
            if self.best.as_ref().is_none_or(|best| found.beats(best)) {
                let changed: Vec<u32> = self.trial.gone.symmetric_difference(&before).copied().collect();
                self.forget_deeds_of(&changed);
                self.best = Some(found);
                return true;
            }
        }
        let changed: Vec<u32> = self.trial.gone.symmetric_difference(&before).copied().collect();
        for job in &changed {
            self.trial.set(*job, before.contains(job));
        }
        self.forget_deeds_of(&changed);
        false
    }

    /// Those of the gone who are on the nodes of `jobs`.
    fn near(&self, jobs: impl Iterator<Item = u32>) -> Vec<u32> {
        let trial = &self.trial;
        let mut near: Vec<u32> = jobs
            .flat_map(|job| &trial.job(job).sites)
            .flat_map(|at| &trial.site(*at as usize).here)
            .map(|(job, _)| *job)
            .filter(|job| trial.is_gone(*job))
            .collect();
        near.sort_unstable();
        near.dedup();
        near
    }

    /// Brings back a victim, all others on its nodes and some more; one of them must stay.
    fn ruin(&mut self) -> Option<u32> {
        let seeds = 1 + self.dice.below(RUINED_MAX.min(self.trial.gone.len()));
        let mut back = Vec::new();
        for _ in 0..seeds {
            let pick = self.dice.below(self.trial.gone.len());
            back.extend(self.trial.gone.iter().nth(pick).copied());
        }
        let barred = match self.dice.below(4) {
            0 => None,
            _ => back.first().copied(),
        };
        let back = match self.dice.below(2) {
            0 => back,
            _ => self.near(back.into_iter()),
        };
        for job in &back {
            self.trial.set(*job, false);
        }
        self.forget_deeds_of(&back);
        barred
    }

    fn rebuild(&mut self, barred: Option<u32>) -> bool {
        let blurred = self.dice.below(2) == 0;
        if self.trial.fits() {
            return true;
        }
        if barred.is_none() && !blurred {
            let deeds = self.present_deeds();
            return build::complete(&mut self.trial, &self.prices, deeds);
        }
        let mut prices = self.prices.clone();
        if blurred {
            for price in &mut prices {
                *price *= 1.0 + BLUR * self.dice.fraction();
            }
        }
        if let Some(barred) = barred {
            prices[barred as usize] = f64::INFINITY;
        }
        let mut deeds = self.present_deeds();
        let open = self.trial.open();
        for (at, deed) in deeds.iter_mut().enumerate() {
            let Some((rate, known)) = deed else { continue };
            if barred.is_some_and(|barred| known.jobs.contains(&barred)) {
                *deed = cover::best(&mut self.trial, at, &prices, &open);
            } else if blurred {
                let price: f64 = known.jobs.iter().map(|job| prices[*job as usize]).sum();
                if known.price > 0.0 {
                    *rate *= price / known.price;
                }
                known.price = price;
            }
        }
        build::complete(&mut self.trial, &prices, deeds)
    }

    fn present_deeds(&mut self) -> Deeds {
        let open = self.trial.open();
        for (at, known) in self.deeds.iter_mut().enumerate() {
            // Where it goes by totals, what a deed gives depends on what is missing.
            if known.is_none() || !self.trial.problem.uniform {
                *known = Some(cover::best(&mut self.trial, at, &self.prices, &open));
            }
        }
        self.deeds.iter().map(|known| known.clone().flatten()).collect()
    }

    fn forget_deeds_of(&mut self, jobs: &[u32]) {
        for job in jobs {
            for at in &self.trial.job(*job).sites {
                self.deeds[*at as usize] = None;
            }
        }
    }
}

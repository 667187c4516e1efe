// SPDX-License-Identifier: GPL-2.0-or-later
//! Making a set better: parts of it are given up and built anew.

use super::build::{self, BestDeed, Deeds};
use super::dice::Dice;
use super::problem::Problem;
use super::spare::{give_back, give_back_nodes, give_back_of};
use super::trial::{Found, Trial};

/// Nodes whose victims are given up at once, at most.
const RUINED_MAX: usize = 4;
/// Out of so many jobs on several nodes one is picked.
const PUSHED_OF: usize = 3;
/// Prices are blurred by up to this part, so that the same ruin is not rebuilt the same way.
const BLUR: f64 = 0.4;

/// The search on one choice, with all victims ready by one time.
pub struct Search<'p, 'a> {
    trial: Trial<'p, 'a>,
    prices: Vec<f64>,
    /// What can be done on each site as things are; `None` where that must be found anew.
    deeds: Vec<Option<BestDeed>>,
    dice: Dice,
    /// Jobs on several nodes: to stop one of them may pay only together with much else.
    spanning: Vec<u32>,
    aim: Aim,
    /// The set that is being improved, with what is aimed at in the place of its total.
    present: Option<Found>,
    /// The best set that was seen, with its total.
    best: Option<Found>,
}

/// What a search tries to lessen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The sum of prices, all victims being ready by the search's time.
    Price,
    /// Prices and weighted waiting together.
    Total,
}

impl<'p, 'a> Search<'p, 'a> {
    /// A search for sets that are ready by `ready_s`, begun with one that is built from nothing in the best of several
    /// ways. Without one where none was found.
    pub fn new(problem: &'p Problem<'a>, ready_s: f64, others: &[Problem<'a>]) -> Self {
        let prices = problem.prices(ready_s);
        let mut search = Self {
            trial: Trial::new(problem),
            deeds: vec![None; problem.sites.len()],
            dice: Dice::new(ready_s.to_bits()),
            spanning: (0..)
                .zip(problem.jobs.iter().zip(&prices))
                .filter(|(_, (job, price))| job.sites.len() > 1 && price.is_finite())
                .map(|(at, _)| at)
                .collect(),
            prices,
            aim: Aim::Price,
            present: None,
            best: None,
        };
        // These come first: they take least.
        for other in others {
            search.within_half(|search| search.start_from(other, ready_s));
        }
        search.within_half(|search| search.start_with(&search.prices.clone()));
        let shared = build::shared(problem, &search.prices);
        if shared != search.prices {
            search.within_half(|search| search.start_with(&shared));
        }
        search
    }

    /// The best set so far.
    pub fn best(&self) -> Option<&Found> {
        self.best.as_ref()
    }

    /// Starts once more, if there are looks left, and leaves half of them to others.
    fn within_half(&mut self, start: impl FnOnce(&mut Self)) {
        let looks = self.trial.problem.looks;
        if self.best.is_none() || !looks.are_spent() {
            looks.with_at_most(looks.left() / 2, || start(self));
        }
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
        if self.accepts(trial.found(), self.price(&trial)) {
            self.trial = trial;
            self.deeds.fill(None);
        }
    }

    fn price(&self, trial: &Trial<'p, 'a>) -> f64 {
        trial.gone.iter().map(|job| self.prices[*job as usize]).sum()
    }

    /// Whether a set is better than the present one, in whose place it then is.
    fn accepts(&mut self, found: Found, price: f64) -> bool {
        let value = match self.aim {
            Aim::Price => price,
            Aim::Total => found.total,
        };
        let candidate = Found {
            victims: found.victims.clone(),
            total: value,
        };
        if self.best.as_ref().is_none_or(|best| found.beats(best)) {
            self.best = Some(found);
        }
        let better = self
            .present
            .as_ref()
            .is_none_or(|present| candidate.beats(present));
        if better {
            self.present = Some(candidate);
        }
        better
    }

    /// The least sum of prices that was found.
    pub fn least_price(&self) -> f64 {
        self.present
            .as_ref()
            .map_or(f64::INFINITY, |present| present.total)
    }

    /// Goes on from `found` with the total as the aim.
    pub fn aim_at_total(&mut self, found: &Found) {
        let mut trial = Trial::new(self.trial.problem);
        for origin in &found.victims {
            if let Some(job) = trial.problem.place(*origin) {
                trial.set(job, true);
            }
        }
        self.aim = Aim::Total;
        self.present = None;
        if trial.fits() {
            self.take(trial);
        }
    }

    /// Ruins and rebuilds until the looks are spent or nothing was gained for long.
    pub fn improve(&mut self, at_least: f64) {
        let problem = self.trial.problem;
        let patience = 60 + 20 * self.trial.gone.len();
        let mut in_vain = 0;
        while in_vain < patience && !problem.looks.are_spent() {
            if self
                .present
                .as_ref()
                .is_none_or(|present| present.is_within(at_least))
                || self.trial.gone.is_empty()
            {
                return;
            }
            in_vain = if self.round() { 0 } else { in_vain + 1 };
            // What is copied for each round, whatever is looked at in it.
            let copied = problem.sites.len() / 16 + problem.jobs.len() / 512 + self.trial.gone.len() / 8;
            problem.looks.take(copied.max(16) as u64);
        }
    }

    /// One ruin and rebuilding; whether that was a gain.
    fn round(&mut self) -> bool {
        let before = self.trial.gone.clone();
        let pushed = self.push();
        let barred = self.ruin(pushed);
        let rebuilt = self.rebuild(barred);
        if rebuilt {
            if self.trial.has_nodes_to_spare() {
                give_back_nodes(&mut self.trial, &self.prices);
            }
            // Before this round nobody could be spared; so it is those near to what has changed.
            let others: Vec<u32> = match self.trial.problem.uniform {
                true => self.near(self.trial.gone.symmetric_difference(&before).copied()),
                false => self.trial.gone.iter().copied().collect(),
            };
            // The others are spared first; else nothing would have come of the push.
            let others = others.into_iter().filter(|job| Some(*job) != pushed).collect();
            give_back_of(&mut self.trial, &self.prices, others);
            give_back_of(&mut self.trial, &self.prices, pushed.into_iter().collect());
            if self.accepts(self.trial.found(), self.price(&self.trial)) {
                self.forget_deeds();
                return true;
            }
        }
        let changed: Vec<u32> = self.trial.gone.symmetric_difference(&before).copied().collect();
        for job in changed {
            self.trial.set(job, before.contains(&job));
        }
        self.forget_deeds();
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

    /// Lets a job on several nodes go, now and then: of a few at random, the one that costs least a node.
    fn push(&mut self) -> Option<u32> {
        if self.spanning.is_empty() || self.dice.below(2) == 0 {
            return None;
        }
        let picks = (0..PUSHED_OF).map(|_| self.spanning[self.dice.below(self.spanning.len())]);
        let picks: Vec<u32> = picks.collect();
        let rate = |job: u32| self.prices[job as usize] / self.trial.job(job).sites.len() as f64;
        let pushed = picks
            .into_iter()
            .filter(|job| !self.trial.is_gone(*job))
            .min_by(|a, b| rate(*a).total_cmp(&rate(*b)).then(a.cmp(b)))?;
        self.trial.set(pushed, true);
        self.forget_deeds();
        Some(pushed)
    }

    /// Brings back a victim, all others on its nodes and some more, but for the one who was pushed; one of them must stay.
    fn ruin(&mut self, pushed: Option<u32>) -> Option<u32> {
        let seeds = 1 + self.dice.below(RUINED_MAX.min(self.trial.gone.len()));
        let mut back = Vec::new();
        for _ in 0..seeds {
            let pick = self.dice.below(self.trial.gone.len());
            back.extend(self.trial.gone.iter().nth(pick).copied());
        }
        let barred = match self.dice.below(4) {
            0 => None,
            _ => back.first().copied().filter(|job| Some(*job) != pushed),
        };
        let back = match self.dice.below(2) {
            0 => back,
            _ => self.near(back.into_iter()),
        };
        let back: Vec<u32> = back.into_iter().filter(|job| Some(*job) != pushed).collect();
        for job in back {
            self.trial.set(job, false);
        }
        self.forget_deeds();
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
                *deed = build::best(&mut self.trial, at, &prices, &open);
            } else if blurred && known.price > 0.0 {
                let price: f64 = known.jobs.iter().map(|job| prices[*job as usize]).sum();
                *rate *= price / known.price;
            }
        }
        build::complete(&mut self.trial, &prices, deeds)
    }

    fn present_deeds(&mut self) -> Deeds {
        let open = self.trial.open();
        for (at, known) in self.deeds.iter_mut().enumerate() {
            // Where it goes by totals, what a deed gives depends on what is missing.
            if known.is_none() || !self.trial.problem.uniform {
                *known = Some(build::best(&mut self.trial, at, &self.prices, &open));
            }
        }
        self.deeds.iter().map(|known| known.clone().flatten()).collect()
    }

    /// Of sites where somebody left or came back, what can be done there must be found anew.
    fn forget_deeds(&mut self) {
        for at in self.trial.touched.drain(..) {
            self.deeds[at as usize] = None;
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What all plans of one moment have in common: what is believed of each running job, and what it costs to stop it.

use super::belief::{Belief, believe_all};
use super::cost::{Cost, Rates, typical_save_age};
use super::eligibility::{Refusal, SaveWay, examine, save_ways};
use super::facts::Facts;
use super::looks::Looks;
use super::settings::Settings;
use smallvec::SmallVec;
use std::cell::OnceCell;

/// The ways in which a job may be stopped, each with what it costs.
pub type PricedWays = SmallVec<[(SaveWay, Cost); 2]>;

/// What the cheapest of these ways costs.
pub fn cheapest(ways: &PricedWays) -> Option<&Cost> {
    let costs = ways.iter().map(|(_, cost)| cost);
    costs.min_by(|a, b| a.total_gpu_s().total_cmp(&b.total_gpu_s()))
}

/// Facts and settings, and what follows from them whoever is urgent. All of that is worked out when it is first asked for,
/// and then kept.
#[derive(Debug)]
pub struct Outlook<'a> {
    /// The cluster.
    pub facts: &'a Facts,
    /// The site's settings.
    pub settings: &'a Settings,
    /// What these plans take together.
    pub looks: Looks,
    /// Once they have taken so many, whoever has not been planned for has to wait for another moment.
    looks_max: u64,
    beliefs: OnceCell<Vec<Belief>>,
    /// While jobs may not be stopped unsaved, and once they may.
    ways: [OnceCell<Vec<Result<PricedWays, Refusal>>>; 2],
}

impl<'a> Outlook<'a> {
    /// Nothing is worked out yet.
    pub fn new(facts: &'a Facts, settings: &'a Settings) -> Self {
        Self {
            facts,
            settings,
            looks: Looks::up_to(u64::MAX),
            looks_max: u64::MAX,
            beliefs: OnceCell::new(),
            ways: Default::default(),
        }
    }

    /// The same for so many plans as take `looks_max`.
    pub fn up_to(self, looks_max: u64) -> Self {
        Self { looks_max, ..self }
    }

    /// Whether the others have to wait for another moment.
    pub fn is_exhausted(&self) -> bool {
        self.looks.taken() >= self.looks_max
    }

    /// What is believed of each running job, in the order of the facts.
    pub fn beliefs(&self) -> &[Belief] {
        self.beliefs
            .get_or_init(|| believe_all(self.facts, self.settings))
    }

    /// In what ways each running job may be stopped, in the order of the facts; or the rule that protects it.
    /// `patience_over`: it may also be stopped unsaved, if the site allows that at all.
    pub fn ways(&self, patience_over: bool) -> &[Result<PricedWays, Refusal>] {
        self.ways[usize::from(patience_over)].get_or_init(|| {
            let rates = self.rates();
            let jobs = self.facts.running.iter().zip(self.beliefs());
            jobs.map(|(job, belief)| {
                let ways = examine(job, belief, self.facts.now, patience_over, self.settings)?;
                let priced = ways.into_iter().map(|way| (way, rates.cost(job, belief, &way)));
                Ok(priced.collect())
            })
            .collect()
        })
    }

    /// In what ways the running job at this place may be stopped unless a rule protects it that has nothing to do with its
    /// saving; none where it cannot be stopped in any.
    pub fn price(&self, at: usize) -> PricedWays {
        let (job, belief) = (&self.facts.running[at], &self.beliefs()[at]);
        let rates = self.rates();
        let ways = save_ways(job, belief, false, self.settings).unwrap_or_default();
        ways.into_iter()
            .map(|way| (way, rates.cost(job, belief, &way)))
            .collect()
    }

    fn rates(&self) -> Rates<'_> {
        Rates {
            now: self.facts.now,
            gres: &self.facts.gres,
            victims: &self.settings.victims,
            typical_age_s: typical_save_age(self.facts.now, self.beliefs().iter()),
        }
    }
}

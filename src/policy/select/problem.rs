// SPDX-License-Identifier: GPL-2.0-or-later
//! The choice to be made, with places in vectors for names: jobs that may be stopped, nodes that may serve.

use super::trial::Found;
use super::{Candidate, Terms};
use crate::policy::fit::{Demand, Ledger};
use crate::policy::ids::NodeIndex;
use crate::policy::looks::Looks;
use crate::policy::resources::{Amounts, GresId};
use smallvec::SmallVec;

/// Jobs that are copied in the time that one look at a node takes.
const JOBS_PER_LOOK: usize = 8;

/// All that a choice depends on.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    ledger: &'a Ledger,
    /// What all work on this choice is charged to.
    pub looks: &'a Looks,
    /// What is asked for, with what every node must give made as strict as the totals make it.
    pub demand: Demand,
    /// What all nodes must give together.
    pub totals: SmallVec<[(Dimension, u64); 4]>,
    /// Any `min_nodes` nodes that each give their part give the totals too.
    pub uniform: bool,
    /// GPU-seconds per second of waiting.
    pub wait_weight: f64,
    /// In the order of the candidates.
    pub jobs: Vec<Job>,
    /// Nodes that serve once all jobs are gone, in the order of their indices.
    pub sites: Vec<Site<'a>>,
}

/// One job that may be stopped.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its place among the candidates.
    pub origin: u32,
    /// The ways of stopping it, of which none is both dearer and later than another: by time, then.
    pub terms: SmallVec<[Terms; 2]>,
    /// The nodes that it is on, as places in [`Problem::sites`].
    pub sites: SmallVec<[u32; 2]>,
}

impl Job {
    /// The cheapest price at which it is ready by `ready_s`; infinite where there is none.
    pub fn price(&self, ready_s: f64) -> f64 {
        let in_time = self.terms.iter().rev().find(|terms| terms.ready_s <= ready_s);
        in_time.map_or(f64::INFINITY, |terms| terms.price_gpu_s)
    }
}

/// One node that may serve.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// Which.
    pub node: NodeIndex,
    /// The urgent job must have it.
    pub required: bool,
    /// Who may be stopped here, as places in [`Problem::jobs`], and what that gives.
    pub here: SmallVec<[(u32, &'a Amounts); 8]>,
    /// What it offers once all of them are gone.
    pub full: Amounts,
}

/// Something of which all nodes together must give enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// CPUs.
    Cpus,
    /// MiB of memory.
    Memory,
    /// A generic resource.
    Gres(GresId),
}

impl Dimension {
    /// How much of it is in `amounts`.
    pub fn of(self, amounts: &Amounts) -> u64 {
        match self {
            Self::Cpus => u64::from(amounts.cpus),
            Self::Memory => amounts.memory_mib,
            Self::Gres(id) => amounts.gres(id),
        }
    }
}

impl<'a> Problem<'a> {
    /// The whole choice; `None` where `demand` does not fit even without all of `candidates`.
    pub fn new(
        ledger: &'a Ledger,
        demand: &Demand,
        candidates: &[Candidate<'a>],
        wait_weight: f64,
        looks: &'a Looks,
    ) -> Option<Self> {
        let mut problem = Self {
            ledger,
            looks,
            demand: demand.clone(),
            totals: SmallVec::new(),
            uniform: false,
            wait_weight,
            jobs: Vec::with_capacity(candidates.len()),
            sites: demand
                .candidates
                .iter()
                .map(|&node| Site {
                    node,
                    required: demand.required.binary_search(&node).is_ok(),
                    here: SmallVec::new(),
                    full: Amounts::default(),
                })
                .collect(),
        };
        for (origin, candidate) in (0u32..).zip(candidates) {
            problem.add(origin, candidate);
        }
        problem.drop_useless_sites();
        let offers = problem.sites.iter().map(|site| (site.node, site.full.clone()));
        demand.choose_counted(offers.collect(), looks)?;
        problem.tighten();
        Some(problem)
    }

    fn add(&mut self, origin: u32, candidate: &Candidate<'a>) {
        let place = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        let mut sites = SmallVec::new();
        for holding in &candidate.job.holdings {
            let Some(at) = self.demand.candidates.position(holding.node) else {
                continue;
            };
            // Who makes way for somebody else already has no more to give.
            if self.ledger.occupants(holding.node).contains(&candidate.job.id) {
                self.sites[at].here.push((place, &holding.amounts));
                sites.push(u32::try_from(at).unwrap_or(u32::MAX));
            }
        }
        if !sites.is_empty() {
            self.jobs.push(Job {
                origin,
                terms: undominated(&candidate.terms),
                sites,
            });
        }
    }

    fn drop_useless_sites(&mut self) {
        self.looks.take(self.sites.len() as u64);
        for site in &mut self.sites {
            let held = site.here.iter().map(|(_, amounts)| *amounts);
            if let Some(full) = self.ledger.offer_without(site.node, held, &self.demand) {
                site.full = full;
            } else {
                site.full = Amounts::default();
                site.here.clear();
            }
        }
        let keep: Vec<usize> = (0..self.sites.len())
            .filter(|&at| self.sites[at].full != Amounts::default())
            .collect();
        if keep.len() < self.sites.len() {
            *self = self.part(&keep);
        }
    }

    /// Where only so many nodes may be used, each must give what the others cannot.
    fn tighten(&mut self) {
        let total = &self.demand.total;
        self.totals = [
            (Dimension::Cpus, u64::from(total.cpus)),
            (Dimension::Memory, total.memory_mib),
        ]
        .into_iter()
        .chain(
            total
                .gres_counts()
                .iter()
                .map(|&(id, count)| (Dimension::Gres(id), count)),
        )
        .filter(|(_, count)| *count > 0)
        .collect();
        let others = self.demand.max_nodes.min(self.sites.len()).saturating_sub(1) as u64;
        let mut stricter = false;
        for &(dimension, total) in &self.totals {
            let most = self.sites.iter().map(|site| dimension.of(&site.full)).max();
            let floor = total.saturating_sub(most.unwrap_or(0).saturating_mul(others));
            let per_node = &mut self.demand.per_node;
            let more = floor.saturating_sub(dimension.of(per_node));
            stricter |= more > 0;
            match dimension {
                // No more than the total, which is one of the same kind.
                Dimension::Cpus => per_node.cpus += u32::try_from(more).unwrap_or(0),
                Dimension::Memory => per_node.memory_mib += more,
                Dimension::Gres(id) => per_node.add_gres(id, more),
            }
        }
        let nodes = self.demand.min_nodes as u64;
        self.uniform = self
            .totals
            .iter()
            .all(|(dimension, total)| dimension.of(&self.demand.per_node).saturating_mul(nodes) >= *total);
        if stricter {
            self.drop_useless_sites();
        }
    }

    /// The same choice with another demand, on the nodes that can serve that; `None` where it does not fit.
    pub fn with_demand(&self, demand: Demand) -> Option<Self> {
        let mut other = Self {
            demand,
            ..self.clone()
        };
        other.drop_useless_sites();
        let offers = other.sites.iter().map(|site| (site.node, site.full.clone()));
        other.demand.choose_counted(offers.collect(), self.looks)?;
        other.tighten();
        Some(other)
    }

    /// The same choice on the nodes in places `keep` only, which are in order.
    pub fn part(&self, keep: &[usize]) -> Self {
        self.looks
            .take((keep.len() + self.jobs.len() / JOBS_PER_LOOK) as u64);
        let mut new_place = vec![None; self.jobs.len()];
        let mut jobs: Vec<Job> = Vec::new();
        // Jobs keep their order, so their new places are known only once all that stay are known.
        for &at in keep {
            for (job, _) in &self.sites[at].here {
                new_place[*job as usize] = Some(0);
            }
        }
        for (old, place) in new_place.iter_mut().enumerate() {
            if place.is_some() {
                *place = Some(u32::try_from(jobs.len()).unwrap_or(u32::MAX));
                jobs.push(Job {
                    sites: SmallVec::new(),
                    ..self.jobs[old].clone()
                });
            }
        }
        let mut sites = Vec::with_capacity(keep.len());
        for (new_at, &at) in (0u32..).zip(keep) {
            let mut site = self.sites[at].clone();
            for (job, _) in &mut site.here {
                if let Some(place) = new_place[*job as usize] {
                    *job = place;
                    jobs[place as usize].sites.push(new_at);
                }
            }
            sites.push(site);
        }
        Self {
            ledger: self.ledger,
            looks: self.looks,
            demand: self.demand.clone(),
            totals: self.totals.clone(),
            jobs,
            sites,
            ..*self
        }
    }

    /// The place of the site that is this node.
    pub fn site_of(&self, node: NodeIndex) -> Option<usize> {
        self.sites.binary_search_by_key(&node, |site| site.node).ok()
    }

    /// What site `at` offers with `gone` away, of those who are there.
    pub fn offer<'b>(&self, at: usize, gone: impl ExactSizeIterator<Item = &'b Amounts>) -> Option<Amounts> {
        self.ledger.offer_without(self.sites[at].node, gone, &self.demand)
    }

    /// What nobody holds on site `at`.
    pub fn free(&self, at: usize) -> Option<&Amounts> {
        self.ledger.free(self.sites[at].node)
    }

    /// The cheapest price of each job at which it is ready by `ready_s`; infinite where there is none.
    pub fn prices(&self, ready_s: f64) -> Vec<f64> {
        self.jobs.iter().map(|job| job.price(ready_s)).collect()
    }

    /// The place of the job that is candidate number `origin`.
    pub fn place(&self, origin: u32) -> Option<u32> {
        let found = self.jobs.binary_search_by_key(&origin, |job| job.origin);
        found.ok().and_then(|at| u32::try_from(at).ok())
    }

    /// The sum of the cheapest prices of a set at which all are ready by `ready_s`, in GPU-seconds.
    pub fn cheapest_by(&self, found: &Found, ready_s: f64) -> f64 {
        let jobs = found.victims.iter().filter_map(|origin| self.place(*origin));
        jobs.map(|at| self.jobs[at as usize].price(ready_s)).sum()
    }

    /// By when a set is ready, if it is stopped in the cheapest way.
    pub fn ready_s(&self, found: &Found) -> f64 {
        let victims: Vec<u32> = found
            .victims
            .iter()
            .filter_map(|origin| self.place(*origin))
            .collect();
        self.total(victims.iter().copied()).1
    }

    /// The least that stopping `victims` (places of jobs, in order) costs with the waiting for them, in GPU-seconds,
    /// and by when the last is then ready.
    pub fn total(&self, victims: impl Iterator<Item = u32> + Clone) -> (f64, f64) {
        let jobs = victims.map(|at| &self.jobs[at as usize]);
        // Nobody is ready before this, whatever is chosen.
        let ready_s = jobs.clone().map(|job| job.terms[0].ready_s).fold(0.0, f64::max);
        let mut price = 0.0;
        let mut cheaper_later: SmallVec<[(f64, f64); 8]> = SmallVec::new();
        for job in jobs {
            let mut last = f64::INFINITY;
            for terms in &job.terms {
                if terms.ready_s <= ready_s {
                    last = terms.price_gpu_s;
                } else {
                    cheaper_later.push((terms.ready_s, last - terms.price_gpu_s));
                    last = terms.price_gpu_s;
                }
            }
            price += job.price(ready_s);
        }
        cheaper_later.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best = (price + self.wait_weight * ready_s, ready_s);
        for (later_s, saving) in cheaper_later {
            price -= saving;
            let total = price + self.wait_weight * later_s;
            if total < best.0 {
                best = (total, later_s);
            }
        }
        best
    }
}

/// The terms of which none is both dearer and later than another, by time.
fn undominated(terms: &[Terms]) -> SmallVec<[Terms; 2]> {
    let mut sorted: SmallVec<[Terms; 2]> = terms.into();
    sorted.sort_by(|a, b| {
        a.ready_s
            .total_cmp(&b.ready_s)
            .then_with(|| a.price_gpu_s.total_cmp(&b.price_gpu_s))
    });
    // The first stays whatever it costs: there is a way to stop this job, however dear.
    let mut cheapest = None;
    sorted.retain(|terms| {
        let better = cheapest.is_none_or(|cheapest| terms.price_gpu_s < cheapest);
        if better {
            cheapest = Some(terms.price_gpu_s);
        }
        better
    });
    sorted
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A set of victims that is tried: who is gone, what the nodes then offer, whether that is enough.

use super::problem::{Job, Problem, Site};
use crate::policy::ids::NodeIndex;
use crate::policy::resources::Amounts;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// How many more looks at nodes a search may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    looks: u64,
}

impl Budget {
    /// So many.
    pub fn new(looks: u64) -> Self {
        Self { looks }
    }

    /// Takes `looks` away; `false` once nothing is left.
    pub fn spend(&mut self, looks: u64) -> bool {
        self.looks = self.looks.saturating_sub(looks);
        self.looks > 0
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.looks == 0
    }
}

/// Whether a total is less than `other`, or more; equal where they differ by no more than sums in another order do.
pub fn compare_totals(total: f64, other: f64) -> Ordering {
    let slack = 1e-9 * (1.0 + other.abs());
    match total - other {
        less if less < -slack => Ordering::Less,
        more if more > slack => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// A set of victims after whose departure the job fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// As places among the candidates, in order.
    pub victims: Vec<u32>,
    /// Prices and weighted waiting together, in GPU-seconds.
    pub total: f64,
}

impl Found {
    /// Whether this set is to be preferred: it costs less, or as much and has the lower ids.
    pub fn beats(&self, other: &Self) -> bool {
        match compare_totals(self.total, other.total) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.victims < other.victims,
        }
    }

    /// Whether nothing can cost noticeably less, as no set costs less than `at_least`.
    pub fn is_within(&self, at_least: f64) -> bool {
        compare_totals(self.total, at_least) != Ordering::Greater
    }
}

/// A set of victims in the making.
#[derive(Clone, Debug)]
pub struct Trial<'p, 'a> {
    /// The choice.
    pub problem: &'p Problem<'a>,
    /// Who is gone, as places of jobs.
    pub gone: BTreeSet<u32>,
    is_gone: Vec<bool>,
    /// What each site offers, if that is enough of one node.
    offers: Vec<Option<Amounts>>,
    /// How many sites offer enough.
    fitting: usize,
    /// How many required sites do not.
    required_missing: usize,
    /// What all that offer enough offer, by dimension of the totals.
    sums: SmallVec<[u64; 4]>,
    /// The sites on which the job fits as things are; `None` where that is not known.
    fits_on: Option<Vec<bool>>,
    /// Looks at nodes so far.
    pub looks: u64,
    /// Sites where somebody left or came back since this was last emptied; some more than once.
    pub touched: Vec<u32>,
}

impl<'p, 'a> Trial<'p, 'a> {
    /// Nobody is gone.
    pub fn new(problem: &'p Problem<'a>) -> Self {
        let mut trial = Self {
            problem,
            gone: BTreeSet::new(),
            is_gone: vec![false; problem.jobs.len()],
            offers: vec![None; problem.sites.len()],
            fitting: 0,
            required_missing: problem.demand.required.len(),
            sums: SmallVec::from_elem(0, problem.totals.len()),
            fits_on: None,
            looks: 0,
            touched: Vec::new(),
        };
        for at in 0..problem.sites.len() {
            trial.look(at);
        }
        trial
    }

    /// The job in place `at`.
    pub fn job(&self, at: u32) -> &'p Job {
        &self.problem.jobs[at as usize]
    }

    /// The site in place `at`.
    pub fn site(&self, at: usize) -> &'p Site<'a> {
        &self.problem.sites[at]
    }

    /// Whether the job in place `at` is gone.
    pub fn is_gone(&self, at: u32) -> bool {
        self.is_gone[at as usize]
    }

    /// What site `at` offers, if that is enough of one node.
    pub fn offer(&self, at: usize) -> Option<&Amounts> {
        self.offers[at].as_ref()
    }

    /// What site `at` would offer if, of those who are there, `also` were gone too.
    pub fn offer_with(&mut self, at: usize, also: &[u32]) -> Option<Amounts> {
        self.looks += 1;
        let held: SmallVec<[&Amounts; 16]> = self.problem.sites[at]
            .here
            .iter()
            .filter(|(job, _)| self.is_gone[*job as usize] || also.contains(job))
            .map(|(_, amounts)| *amounts)
            .collect();
        self.problem.offer(at, held.into_iter())
    }

    /// Lets a job go, or brings it back.
    pub fn set(&mut self, job: u32, gone: bool) {
        if self.is_gone[job as usize] == gone {
            return;
        }
        self.is_gone[job as usize] = gone;
        self.fits_on = None;
        match gone {
            true => self.gone.insert(job),
            false => self.gone.remove(&job),
        };
        let problem = self.problem;
        for &at in &problem.jobs[job as usize].sites {
            self.look(at as usize);
        }
        self.touched.extend(&problem.jobs[job as usize].sites);
    }

    /// Brings `jobs` back, who are gone, if the job fits nevertheless; whether they could be.
    pub fn spare(&mut self, jobs: &[u32]) -> bool {
        let fits_on = self.fits_on.take();
        for job in jobs {
            self.set(*job, false);
        }
        let is_beside = |on: &Vec<bool>| {
            let mut sites = jobs.iter().flat_map(|job| &self.job(*job).sites);
            !sites.any(|at| on[*at as usize])
        };
        if fits_on.as_ref().is_some_and(is_beside) {
            self.fits_on = fits_on;
            return true;
        }
        if self.fits() {
            return true;
        }
        for job in jobs {
            self.set(*job, true);
        }
        self.fits_on = fits_on;
        false
    }

    /// Whether more nodes offer enough than must.
    pub fn has_nodes_to_spare(&self) -> bool {
        self.fitting > self.problem.demand.min_nodes
    }

    /// Whether the job fits now.
    pub fn fits(&mut self) -> bool {
        let demand = &self.problem.demand;
        let open = |(sum, (_, total)): (&u64, &(_, u64))| sum < total;
        if self.fitting < demand.min_nodes
            || self.required_missing > 0
            || self.sums.iter().zip(&self.problem.totals).any(open)
        {
            return false;
        }
        // More than may be used, but any of them do; or all may be used.
        if self.problem.uniform || self.fitting <= demand.max_nodes {
            return true;
        }
        self.looks += self.problem.sites.len() as u64 / 4;
        let Some(nodes) = demand.choose(self.offers().collect()) else {
            return false;
        };
        let nodes: BTreeSet<_> = nodes.into_iter().collect();
        let sites = self.problem.sites.iter();
        self.fits_on = Some(sites.map(|site| nodes.contains(&site.node)).collect());
        true
    }

    /// Every site that offers enough of one node, with what it offers.
    pub fn offers(&self) -> impl Iterator<Item = (NodeIndex, &Amounts)> {
        let sites = self.problem.sites.iter().zip(&self.offers);
        sites.filter_map(|(site, offer)| Some((site.node, offer.as_ref()?)))
    }

    /// What is still missing: nodes, and each total.
    pub fn open(&self) -> Open {
        let totals = self.sums.iter().zip(&self.problem.totals);
        Open {
            nodes: self.problem.demand.min_nodes.saturating_sub(self.fitting),
            totals: totals
                .map(|(sum, (_, total))| total.saturating_sub(*sum))
                .collect(),
        }
    }

    /// This set of victims.
    pub fn found(&self) -> Found {
        Found {
            victims: self.gone.iter().map(|at| self.job(*at).origin).collect(),
            total: self.total(),
        }
    }

    /// See [`Problem::total`].
    pub fn total(&self) -> f64 {
        self.problem.total(self.gone.iter().copied()).0
    }

    fn look(&mut self, at: usize) {
        let offer = self.offer_with(at, &[]);
        let old = self.offers[at].take();
        for (sum, (dimension, _)) in self.sums.iter_mut().zip(&self.problem.totals) {
            *sum -= old.as_ref().map_or(0, |old| dimension.of(old));
            *sum += offer.as_ref().map_or(0, |offer| dimension.of(offer));
        }
        let required = self.problem.sites[at].required;
        match (old.is_some(), offer.is_some()) {
            (false, true) => {
                self.fitting += 1;
                self.required_missing -= usize::from(required);
            }
            (true, false) => {
                self.fitting -= 1;
                self.required_missing += usize::from(required);
            }
            _ => {}
        }
        self.offers[at] = offer;
    }
}

/// What is still missing.
#[derive(Clone, Debug)]
pub struct Open {
    /// Nodes.
    pub nodes: usize,
    /// Each total.
    pub totals: SmallVec<[u64; 4]>,
}

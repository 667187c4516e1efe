// SPDX-License-Identifier: GPL-2.0-or-later
//! A set of victims that is tried: who is gone, what the nodes then offer, whether that is enough.

use super::crowd::Crowd;
use super::problem::{Job, Problem, Site};
use crate::policy::ids::NodeIndex;
use crate::policy::resources::Amounts;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::collections::BTreeSet;

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

/// Jobs on a node that are compared with those to be gone in the time that one look takes.
const PAIRS_PER_LOOK: usize = 512;

/// What is known without choosing nodes anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Glance {
    Fits,
    FitsNot,
    Unknown,
}

/// How often nodes are chosen anew while a set grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    wait: usize,
    waited: usize,
}

impl Pace {
    fn waits(&mut self) -> bool {
        self.waited += 1;
        self.waited <= self.wait
    }

    fn slow_down(&mut self) {
        self.wait = self.wait * 2 + 1;
        self.waited = 0;
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
    /// Where more sites may offer enough than may be had, and not any of them do.
    crowd: Option<Crowd>,
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
            crowd: (!problem.uniform && problem.demand.max_nodes < problem.sites.len())
                .then(|| Crowd::new(problem)),
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
        // With many on a node, to find out who is to be gone takes longer than to ask the node.
        let pairs = self.problem.sites[at].here.len() * (1 + also.len());
        self.problem.looks.take(1 + (pairs / PAIRS_PER_LOOK) as u64);
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

    /// Whether more nodes offer enough than must.
    pub fn has_nodes_to_spare(&self) -> bool {
        self.fitting > self.problem.demand.min_nodes
    }

    /// Whether the job fits now.
    pub fn fits(&mut self) -> bool {
        match self.at_a_glance() {
            Glance::Fits => true,
            Glance::FitsNot => false,
            Glance::Unknown => self.choose().is_some(),
        }
    }

    /// The same as far as it is known without choosing nodes anew: those that were chosen last still do.
    pub fn still_fits(&self) -> bool {
        self.at_a_glance() == Glance::Fits
    }

    /// The same while more and more jobs go: once the looks are spent, nodes are chosen anew more and more seldom.
    pub fn fits_by_now(&mut self, pace: &mut Pace) -> bool {
        match self.at_a_glance() {
            Glance::Fits => true,
            Glance::FitsNot => false,
            Glance::Unknown if pace.waits() => false,
            Glance::Unknown => {
                let fits = self.choose().is_some();
                if self.problem.looks.are_spent() {
                    pace.slow_down();
                }
                fits
            }
        }
    }

    /// Nodes on which the job fits now.
    pub fn nodes(&mut self) -> Option<Vec<NodeIndex>> {
        let stood = self.still_fits();
        let chosen = self.choose();
        // What was found before may do although it is not found now.
        let crowd = self.crowd.as_ref().filter(|_| stood && chosen.is_none());
        let before = crowd.map(|crowd| {
            let sites = (0..self.problem.sites.len()).filter(|at| crowd.is_chosen(*at));
            let offers = sites.filter_map(|at| Some((self.site(at).node, self.offers[at].clone()?)));
            offers.collect()
        });
        chosen.or_else(|| self.problem.demand.choose_counted(before?, self.problem.looks))
    }

    fn at_a_glance(&self) -> Glance {
        let demand = &self.problem.demand;
        let open = |(sum, (_, total)): (&u64, &(_, u64))| sum < total;
        if self.fitting < demand.min_nodes
            || self.required_missing > 0
            || self.sums.iter().zip(&self.problem.totals).any(open)
        {
            return Glance::FitsNot;
        }
        match &self.crowd {
            Some(crowd) if self.fitting > demand.max_nodes => {
                if crowd.chosen_suffice(self.problem) {
                    Glance::Fits
                } else if crowd.may_suffice(self.problem) {
                    Glance::Unknown
                } else {
                    Glance::FitsNot
                }
            }
            // More than may be used, but any of them do; or all may be used.
            _ => Glance::Fits,
        }
    }

    /// Chooses nodes as they are chosen in the end.
    fn choose(&mut self) -> Option<Vec<NodeIndex>> {
        let sites = self.problem.sites.iter().zip(&self.offers);
        let offers = sites.filter_map(|(site, offer)| Some((site.node, offer.clone()?)));
        let nodes = self
            .problem
            .demand
            .choose_counted(offers.collect(), self.problem.looks)?;
        if let Some(crowd) = &mut self.crowd {
            let places = nodes.iter().filter_map(|node| self.problem.site_of(*node));
            crowd.choose(self.problem, &places.collect::<Vec<_>>(), &self.offers);
        }
        Some(nodes)
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
        // In one loop the compiler looks into offers that are none, which does no harm and which valgrind takes for a fault.
        if let Some(old) = &old {
            for (sum, (dimension, _)) in self.sums.iter_mut().zip(&self.problem.totals) {
                *sum -= dimension.of(old);
            }
        }
        if let Some(offer) = &offer {
            for (sum, (dimension, _)) in self.sums.iter_mut().zip(&self.problem.totals) {
                *sum += dimension.of(offer);
            }
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
        if let Some(crowd) = &mut self.crowd {
            crowd.change(self.problem, at, old.as_ref(), offer.as_ref());
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

// SPDX-License-Identifier: GPL-2.0-or-later
//! The nodes on which a search is worth while: those that are cheap for what they give.

use super::build::{self, Deeds};
use super::cover::Few;
use super::missing::Missing;
use super::problem::Problem;
use super::trial::{Found, Open, Trial};
use std::collections::BinaryHeap;

/// The search goes on with so many times the nodes that are likely to be used, and some more.
const FACTOR: usize = 2;
const MORE: usize = 48;

/// How many sites to search on.
fn wanted(problem: &Problem<'_>) -> usize {
    let mut used = problem.demand.min_nodes;
    for &(dimension, total) in &problem.totals {
        let all: u64 = problem.sites.iter().map(|site| dimension.of(&site.full)).sum();
        let each = (all / problem.sites.len().max(1) as u64).max(1);
        used = used.max(usize::try_from(total / each).unwrap_or(usize::MAX));
    }
    used.saturating_mul(FACTOR).saturating_add(MORE)
}

/// All sites, in the order of a bound on the rate of the best deed there: the bound holds for dearer prices, too.
#[derive(Clone, Debug)]
pub struct Order {
    sites: Vec<(f64, usize)>,
    /// How many sites to search on.
    wanted: usize,
}

impl Order {
    /// By `prices`. `untouched` is without any victim.
    pub fn new(untouched: &Trial<'_, '_>, prices: &[f64]) -> Self {
        let open = untouched.open();
        let mut order: Vec<(f64, usize)> = (0..untouched.problem.sites.len())
            .map(|at| (rate_at_least(untouched, at, prices, &open), at))
            .collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self {
            sites: order,
            wanted: wanted(untouched.problem),
        }
    }
}

/// The best deed on each of the sites where it is cheapest for what it gives, as many as are wanted at least. What is
/// left out is no better than the last of these. `prices` are no less than those of `order`.
pub fn best_deeds(untouched: &mut Trial<'_, '_>, order: &Order, prices: &[f64]) -> Deeds {
    let problem = untouched.problem;
    let open = untouched.open();
    let wanted = order.wanted;
    let mut deeds: Deeds = vec![None; problem.sites.len()];
    let mut rates: BinaryHeap<Rate> = BinaryHeap::new();
    for &(least, at) in &order.sites {
        if rates.len() >= wanted && rates.peek().is_some_and(|worst| least > worst.0) {
            break;
        }
        deeds[at] = build::best(untouched, at, prices, &open);
        if let Some((rate, _)) = &deeds[at] {
            rates.push(Rate(*rate));
            if rates.len() > wanted {
                rates.pop();
            }
        }
    }
    deeds
}

/// A number in a heap.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate(f64);

impl Eq for Rate {}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A quick bound on the rate of any deed on site `at`: from what each job holds, whether or not that can be used.
fn rate_at_least(trial: &Trial<'_, '_>, at: usize, prices: &[f64], open: &Open) -> f64 {
    let problem = trial.problem;
    if trial.offer(at).is_some() && problem.uniform {
        return f64::INFINITY;
    }
    match problem.uniform {
        true => {
            let here: Few = problem.sites[at].here.iter().map(|(job, _)| *job).collect();
            let missing = Missing::on(problem, at, |_| false, &here, prices);
            missing.price(here.iter().map(|job| prices[*job as usize])) * problem.demand.min_nodes as f64
        }
        false => {
            let opens = match trial.offer(at) {
                // It may give what is free there, too.
                None => {
                    1.0 / problem.demand.min_nodes as f64 + part_of(problem, open, &problem.sites[at].full)
                }
                Some(_) => 0.0,
            };
            let here = problem.sites[at].here.iter();
            here.map(|(job, held)| prices[*job as usize] / (opens + part_of(problem, open, held)).max(1e-9))
                .fold(f64::INFINITY, f64::min)
        }
    }
}

/// How much of all that is asked for `amounts` are at most.
fn part_of(problem: &Problem<'_>, open: &Open, amounts: &crate::policy::resources::Amounts) -> f64 {
    let totals = problem.totals.iter().zip(&open.totals);
    totals
        .map(|((dimension, total), open)| dimension.of(amounts).min(*open) as f64 / *total as f64)
        .sum()
}

/// The sites that matter for a set of victims, in order: where they are, and where something is to be had without any.
pub fn sites_of(untouched: &Trial<'_, '_>, found: &Found) -> Vec<usize> {
    let problem = untouched.problem;
    let places = found.victims.iter().filter_map(|origin| problem.place(*origin));
    let mut sites: Vec<usize> = places
        .flat_map(|job| &problem.jobs[job as usize].sites)
        .map(|at| *at as usize)
        .chain((0..problem.sites.len()).filter(|&at| untouched.offer(at).is_some()))
        .collect();
    sites.sort_unstable();
    sites.dedup();
    sites
}

/// The sites to search on, in order: those that must be had, those that are cheapest for what they give by any of `deeds`,
/// and those that give most for nothing. `trial` is without any victim.
pub fn sites(trial: &Trial<'_, '_>, order: &Order, deeds: &[&Deeds]) -> Vec<usize> {
    let problem = trial.problem;
    let wanted = order.wanted;
    let all = 0..problem.sites.len();
    let mut keep: Vec<usize> = all.clone().filter(|&at| problem.sites[at].required).collect();
    for deeds in deeds {
        let mut cheapest: Vec<(f64, usize)> = all
            .clone()
            .filter_map(|at| deeds[at].as_ref().map(|(rate, _)| (*rate, at)))
            .collect();
        cheapest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        keep.extend(cheapest.into_iter().take(wanted).map(|(_, at)| at));
    }
    let rich = |at: usize| -> f64 {
        let totals = problem.totals.iter();
        let offer = trial.offer(at);
        totals
            .map(|(dimension, total)| offer.map_or(0.0, |offer| dimension.of(offer) as f64 / *total as f64))
            .sum()
    };
    let mut free: Vec<(f64, usize)> = all
        .filter(|&at| trial.offer(at).is_some())
        .map(|at| (rich(at), at))
        .collect();
    free.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    keep.extend(free.into_iter().take(wanted).map(|(_, at)| at));
    keep.sort_unstable();
    keep.dedup();
    keep
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Which set of victims: the cheapest *set* whose release makes the job fit, not the cheapest jobs one by one.
//!
//! Minimises the sum of the victims' prices plus the waiting weight times the time until the last of them is ready.
//! A job that spans nodes is paid for once.
//!
//! 1. [`Problem`]: the nodes that can serve at all, who is on them, and at what terms each may be stopped.
//! 2. [`build`]: greedily, the action that buys most per GPU-second, over the whole cluster.
//! 3. The nodes that cost least for what they give are kept (a few times as many as are needed); the rest of the work
//!    is done on those, so that it does not grow with the cluster.
//! 4. [`search`]: parts of the set are given up and built anew, as long as the budget lasts; again with every bound on
//!    the waiting time that may pay.
//! 5. [`exact`]: where few jobs come into question every set that may be better is tried.
//! 6. [`search::give_back`]: whoever is not needed is spared. So Slurm, which picks from exactly these victims, needs all.
//!
//! Every stage is bounded by a number of looks at nodes ([`Budget`]), not by a clock: same input, same set.

mod bound;
mod build;
mod cover;
mod dice;
mod exact;
mod problem;
mod search;
mod soonest;
mod trial;

use super::facts::RunningJob;
use super::fit::{Demand, Ledger};
use super::ids::NodeIndex;
use problem::Problem;
use search::Search;
use smallvec::SmallVec;
pub use soonest::{Soonest, soonest};
use trial::{Budget, Found, Trial};

/// Looks at nodes that the search may take, beside one or two passes over the whole cluster.
const SEARCH_LOOKS: u64 = 150_000;
/// Looks at nodes that the exact search may take.
const EXACT_LOOKS: u64 = 60_000;
/// With more jobs than this there is no hope that the exact search ends within [`EXACT_LOOKS`].
const EXACT_JOBS_MAX: usize = 28;
/// The search goes on with so many times the nodes that were used at first, and some more.
const PART_FACTOR: usize = 2;
const PART_MORE: usize = 48;
/// Bounds on the waiting time that are tried.
const READY_BOUNDS_MAX: usize = 8;

/// What one way of stopping a job costs, and how soon it has stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// In GPU-seconds; 0 for a victim that is already paid for.
    pub price_gpu_s: f64,
    /// In seconds.
    pub ready_s: f64,
}

/// A job that may be stopped, and the ways of doing so.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// The job.
    pub job: &'a RunningJob,
    /// At least one.
    pub terms: SmallVec<[Terms; 2]>,
}

/// A set of victims, and where the job then fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Whom to stop, and how: place in the candidates, place in its terms. In the order of the candidates.
    pub victims: Vec<(usize, usize)>,
    /// Nodes on which the job fits once they are gone.
    pub nodes: Vec<NodeIndex>,
    /// Prices and weighted waiting together, in GPU-seconds.
    pub total_gpu_s: f64,
    /// No set can be cheaper than this, in GPU-seconds; the total itself where the set is known to be the best.
    pub at_least_gpu_s: f64,
}

/// The victims that make `demand` fit into `ledger`, or `None` where no set of `candidates` does.
///
/// `candidates` are in the order of their ids; `wait_weight` is in GPU-seconds per second of waiting.
pub fn select(
    ledger: &Ledger,
    demand: &Demand,
    candidates: &[Candidate<'_>],
    wait_weight: f64,
) -> Option<Selection> {
    let whole = Problem::new(ledger, demand, candidates, wait_weight)?;
    let prices = whole.prices(f64::INFINITY);
    let shared = build::shared(&whole, &prices);
    let mut trial = Trial::new(&whole);
    let deeds = build::deeds(&mut trial, &prices);
    let shared_deeds = match shared == prices {
        true => deeds.clone(),
        false => build::deeds(&mut trial, &shared),
    };
    let at_least = bound::at_least(&whole, &shared_deeds);

    let mut first = trial;
    if !build::complete(&mut first, &prices, deeds.clone()) {
        for job in (0..).take(whole.jobs.len()) {
            first.set(job, true);
        }
    }
    search::give_back(&mut first, &prices);
    let mut best = first.found();

    if !best.is_within(at_least) {
        let part = whole.part(&promising(&whole, &first, &[&deeds, &shared_deeds]));
        if let Some(found) = search_part(&part, at_least)
            && found.beats(&best)
        {
            best = found;
        }
    }
    let mut proven = best.is_within(at_least);
    if !proven && whole.jobs.len() <= EXACT_JOBS_MAX {
        (best, proven) = exact::search(&whole, best, &mut Budget::new(EXACT_LOOKS));
    }
    selection(&whole, demand, candidates, best, proven, at_least)
}

/// The nodes on which the search goes on, as places of sites: those of `first` and those that are cheap for what they
/// give, by any of `deeds`.
fn promising(whole: &Problem<'_>, first: &Trial<'_, '_>, deeds: &[&build::Deeds]) -> Vec<usize> {
    let mut keep: Vec<usize> = (0..whole.sites.len())
        .filter(|&at| whole.sites[at].required)
        .collect();
    for job in &first.gone {
        keep.extend(first.job(*job).sites.iter().map(|at| *at as usize));
    }
    let used = keep.len().max(whole.demand.min_nodes);
    for deeds in deeds {
        // Where there is nothing to do, a node gives what it gives for nothing.
        let rate = |at: usize| deeds[at].as_ref().map_or(0.0, |(rate, _)| *rate);
        let mut cheapest: Vec<usize> = (0..whole.sites.len()).collect();
        cheapest.sort_by(|a, b| rate(*a).total_cmp(&rate(*b)).then(a.cmp(b)));
        keep.extend(cheapest.into_iter().take(PART_FACTOR * used + PART_MORE));
    }
    keep.sort_unstable();
    keep.dedup();
    keep
}

/// The best set on these nodes, with any bound on the waiting time that may pay.
fn search_part(part: &Problem<'_>, at_least: f64) -> Option<Found> {
    let others = even_demands(part);
    let mut budget = Budget::new(SEARCH_LOOKS / 2);
    let mut search = Search::new(part, f64::INFINITY, &others);
    search.improve(&mut budget, at_least);
    let mut best = search.best()?.clone();
    let cheapest = part.cheapest_of(&best);

    let mut bounds: Vec<f64> = part
        .jobs
        .iter()
        .flat_map(|job| &job.terms)
        .map(|terms| terms.ready_s)
        .collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    // With more time than the best set takes, nothing is to be gained.
    let taken_s = part.ready_s(&best);
    bounds.retain(|bound| *bound < taken_s);
    // Intervals of places in `bounds` in which the best bound may be, with the sum of prices above them.
    let mut open = vec![(0, bounds.len(), cheapest)];
    for _ in 0..READY_BOUNDS_MAX {
        // The less time is allowed, the more the victims cost; so this is the least that is possible in an interval.
        let least = |(from, _, price): &(usize, usize, f64)| price + part.wait_weight * bounds[*from];
        open.retain(|interval| interval.0 < interval.1 && least(interval) < best.total);
        open.sort_by(|a, b| least(b).total_cmp(&least(a)));
        let Some((from, to, price)) = open.pop() else {
            break;
        };
        let middle = from + (to - from) / 2;
        let mut search = Search::new(part, bounds[middle], &others);
        search.improve(
            &mut Budget::new(SEARCH_LOOKS / 2 / READY_BOUNDS_MAX as u64),
            at_least,
        );
        open.push((middle + 1, to, price));
        if let Some(found) = search.best() {
            open.push((from, middle, part.cheapest_of(found)));
            if found.beats(&best) {
                best = found.clone();
            }
        }
    }
    Some(best)
}

/// The demand of `part` spread evenly over several numbers of nodes: sets that do for one of these do for it, too.
fn even_demands<'a>(part: &Problem<'a>) -> Vec<Problem<'a>> {
    if part.uniform {
        return Vec::new();
    }
    let counts = part.demand.node_counts();
    let (fewest, most) = (*counts.start(), (*counts.end()).min(part.sites.len()));
    let mut nodes = fewest;
    let mut demands = Vec::new();
    while nodes <= most {
        demands.extend(part.with_demand(part.demand.spread_over(nodes)));
        nodes = (nodes + 1).max(nodes * 3 / 2);
    }
    demands
}

/// The answer, with nobody in it who is not needed.
fn selection(
    whole: &Problem<'_>,
    demand: &Demand,
    candidates: &[Candidate<'_>],
    best: Found,
    proven: bool,
    at_least: f64,
) -> Option<Selection> {
    let mut trial = Trial::new(whole);
    for origin in best.victims {
        trial.set(whole.place(origin)?, true);
    }
    search::give_back(&mut trial, &whole.prices(f64::INFINITY));
    let nodes = demand.choose(trial.offers().collect())?;
    let (total_gpu_s, ready_s) = whole.total(trial.gone.iter().copied());
    let victims = trial.found().victims.into_iter().map(|origin| {
        let origin = origin as usize;
        (origin, in_time(&candidates[origin].terms, ready_s))
    });
    Some(Selection {
        victims: victims.collect(),
        nodes,
        total_gpu_s,
        at_least_gpu_s: if proven {
            total_gpu_s
        } else {
            at_least.min(total_gpu_s)
        },
    })
}

/// The place of the cheapest terms that are ready by `ready_s`.
fn in_time(terms: &[Terms], ready_s: f64) -> usize {
    let in_time = terms
        .iter()
        .enumerate()
        .filter(|(_, terms)| terms.ready_s <= ready_s);
    in_time
        .min_by(|(_, a), (_, b)| a.price_gpu_s.total_cmp(&b.price_gpu_s))
        .map_or(0, |(at, _)| at)
}

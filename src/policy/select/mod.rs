// SPDX-License-Identifier: GPL-2.0-or-later
//! Which set of victims: the cheapest *set* whose release makes the job fit, not the cheapest jobs one by one.
//!
//! Minimises the sum of the victims' prices plus the waiting weight times the time until the last of them is ready.
//! A job that spans nodes is paid for once.
//!
//! 1. [`Problem`]: the nodes that can serve at all, who is on them, and at what terms each may be stopped.
//! 2. [`promise`]: the nodes that cost least for what they give, a few times as many as are needed. The rest of the work
//!    is done on those, so that it does not grow with the cluster.
//! 3. [`build`]: greedily, the deed that buys most per GPU-second.
//! 4. [`search`]: parts of the set are given up and built anew, as long as the looks last.
//!    [`bounds`] does 2 to 4 again with bounds on the waiting time, where that may pay.
//! 5. [`exact`]: where few jobs come into question every set that may be better is tried.
//! 6. [`spare::give_back`]: whoever is not needed is spared. So Slurm, which picks from exactly these victims, needs all.
//!
//! All stages are charged to one number of looks at nodes ([`Looks`]), not to a clock: same input, same set. A part of it is for
//! each bound on the waiting time, and of that a part for each beginning of a set. Once they are spent, a set that was begun
//! is completed without rating anew what can be done, nodes are chosen anew ever more seldom ([`trial::Pace`]), and whoever is
//! not needed on the nodes that were chosen last is spared ([`crowd`]): that takes a few passes over what is looked at.

mod bound;
mod bounds;
mod build;
mod cover;
mod crowd;
mod dice;
mod exact;
mod missing;
mod problem;
mod promise;
mod search;
mod soonest;
mod spare;
mod trial;

use super::facts::RunningJob;
use super::fit::{Demand, Ledger};
use super::ids::NodeIndex;
use super::looks::Looks;
use problem::Problem;
use smallvec::SmallVec;
pub use soonest::{Soonest, soonest};
use trial::Trial;
pub use trial::compare_totals;

/// With more jobs than this there is no hope that the exact search ends.
const EXACT_JOBS_MAX: usize = 28;

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
/// `candidates` are in the order of their ids; `wait_weight` is in GPU-seconds per second of waiting. Once `looks` are spent,
/// the best set so far is taken.
pub fn select(
    ledger: &Ledger,
    demand: &Demand,
    candidates: &[Candidate<'_>],
    wait_weight: f64,
    looks: &Looks,
) -> Option<Selection> {
    let whole = Problem::new(ledger, demand, candidates, wait_weight, looks)?;
    let mut untouched = Trial::new(&whole);
    // The rest is for seeing in the end that nobody is in the set who is not needed.
    let most = looks.left() / 8 * 7;
    let (mut best, mut at_least) = looks.with_at_most(most, || bounds::search(&mut untouched))?;
    if !best.is_within(at_least) && whole.jobs.len() <= EXACT_JOBS_MAX {
        let (found, ended) = exact::search(&whole, best);
        best = found;
        if ended {
            at_least = best.total;
        }
    }
    let needed = promise::sites_of(&untouched, &best);
    let part = whole.part(&needed);
    let mut trial = Trial::new(&part);
    for origin in &best.victims {
        trial.set(part.place(*origin)?, true);
    }
    spare::give_back(&mut trial, &part.prices(f64::INFINITY));
    let nodes = trial.nodes()?;
    let (total_gpu_s, ready_s) = part.total(trial.gone.iter().copied());
    let found = trial.found().victims.into_iter().map(|origin| {
        let origin = origin as usize;
        (origin, in_time(&candidates[origin].terms, ready_s))
    });
    Some(Selection {
        victims: found.collect(),
        nodes,
        total_gpu_s,
        at_least_gpu_s: if best.is_within(at_least) {
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

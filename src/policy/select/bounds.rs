// SPDX-License-Identifier: GPL-2.0-or-later
//! The search with bounds on the time until the last victim is ready: it is one number for all of them, so it is fixed
//! first, and the victims are chosen by price alone.

use super::bound;
use super::build;
use super::problem::Problem;
use super::promise::{self, Order};
use super::search::Search;
use super::spare;
use super::trial::{Found, Trial};

/// Looks at nodes that the search without a bound may take, beside one or two passes over the whole cluster.
const FREE_LOOKS: u64 = 60_000;
/// The same with a bound.
const BOUNDED_LOOKS: u64 = 20_000;
/// So many bounds are tried.
const BOUNDS_MAX: usize = 8;
/// On more nodes than this, half as many.
const SITES_MANY: usize = 4000;

/// Looks at nodes that the last search may take, which goes on from the best set.
const LAST_LOOKS: u64 = 40_000;

/// Without a bound, no more than this part of all looks is taken.
const FREE_PART: u64 = 2;
/// With one, no more than this part of all looks.
const BOUNDED_PART: u64 = 4;

/// The sites in the order of what they promise, at prices without a bound: as they are, and shared.
struct Orders {
    plain: Order,
    shared: Order,
}

/// What was found for one bound.
struct Solved {
    /// The best set that was seen on the way.
    found: Found,
    /// The least sum of prices of any set that was seen.
    least_price: f64,
    /// No set that is ready in time has a smaller sum of prices.
    prices_at_least: f64,
}

/// Bounds that are still to be tried, by their places in a list of all.
#[derive(Clone, Copy)]
struct Interval {
    from: usize,
    to: usize,
    /// The sum of prices of the set for the next bound above: with less time it is hardly less.
    prices: f64,
    /// And it is no less than this.
    prices_at_least: f64,
}

/// The best set that was found, and what no set undercuts; `None` where nothing does. `untouched` is without any victim.
pub fn search(untouched: &mut Trial<'_, '_>) -> Option<(Found, f64)> {
    let whole = untouched.problem;
    let prices = whole.prices(f64::INFINITY);
    let orders = Orders {
        plain: Order::new(untouched, &prices),
        shared: Order::new(untouched, &build::shared(whole, &prices)),
    };
    let all = whole.looks.left();
    let mut solve = |ready_s, part, looks, start| {
        whole
            .looks
            .with_at_most(all / part, || solve(untouched, &orders, ready_s, looks, start))
    };
    let first = solve(f64::INFINITY, FREE_PART, FREE_LOOKS, None)?;
    let (mut best, prices_at_least) = (first.found, first.prices_at_least);
    // With more time than the best set takes, nothing is to be gained.
    let taken_s = whole.ready_s(&best);
    let mut at_least = prices_at_least + whole.wait_weight * taken_s;
    let bounds = ready_times(whole, taken_s);
    let waiting = |place: usize| whole.wait_weight * bounds[place];
    let mut open = vec![Interval {
        from: 0,
        to: bounds.len(),
        prices: first.least_price,
        prices_at_least,
    }];
    let tries = if whole.sites.len() > SITES_MANY {
        BOUNDS_MAX / 2
    } else {
        BOUNDS_MAX
    };
    let mut left_out = Vec::new();
    for _ in 0..tries {
        if whole.looks.are_spent() {
            break;
        }
        let (worth, hopeless): (Vec<Interval>, Vec<Interval>) = open
            .into_iter()
            .filter(|interval| interval.from < interval.to)
            .partition(|interval| interval.prices + waiting(interval.from) < best.total);
        open = worth;
        left_out.extend(hopeless);
        open.sort_by(|a, b| (b.prices + waiting(b.from)).total_cmp(&(a.prices + waiting(a.from))));
        let Some(interval) = open.pop() else { break };
        let middle = interval.from + (interval.to - interval.from) / 2;
        open.push(Interval {
            from: middle + 1,
            ..interval
        });
        // With less time than one that does not suffice, nothing does.
        let Some(solved) = solve(bounds[middle], BOUNDED_PART, BOUNDED_LOOKS, None) else {
            continue;
        };
        at_least = at_least.min(solved.prices_at_least + waiting(middle));
        open.push(Interval {
            from: interval.from,
            to: middle,
            prices: solved.least_price,
            prices_at_least: solved.prices_at_least,
        });
        if solved.found.beats(&best) {
            best = solved.found;
        }
    }
    for interval in open.into_iter().chain(left_out) {
        if interval.from < interval.to {
            at_least = at_least.min(interval.prices_at_least + waiting(interval.from));
        }
    }
    if !best.is_within(at_least)
        && !whole.looks.are_spent()
        && let Some(last) = solve(whole.ready_s(&best), BOUNDED_PART, LAST_LOOKS, Some(&best))
        && last.found.beats(&best)
    {
        best = last.found;
    }
    Some((best, at_least))
}

/// All times until `until_s` at which a job can be ready, in order.
fn ready_times(problem: &Problem<'_>, until_s: f64) -> Vec<f64> {
    let terms = problem.jobs.iter().flat_map(|job| &job.terms);
    let mut times: Vec<f64> = terms
        .map(|terms| terms.ready_s)
        .filter(|time| *time <= until_s)
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times.dedup();
    times
}

/// A set that is ready by `ready_s`, at a sum of prices as small as possible; or one with a total as small as possible,
/// found from `start`.
fn solve(
    untouched: &mut Trial<'_, '_>,
    orders: &Orders,
    ready_s: f64,
    looks: u64,
    start: Option<&Found>,
) -> Option<Solved> {
    let whole = untouched.problem;
    let prices = whole.prices(ready_s);
    let shared = build::shared(whole, &prices);
    let deeds = promise::best_deeds(untouched, &orders.plain, &prices);
    let shared_deeds = match shared == prices {
        true => deeds.clone(),
        false => promise::best_deeds(untouched, &orders.shared, &shared),
    };
    let prices_at_least = bound::prices_at_least(untouched, &shared_deeds);
    let mut sites = promise::sites(untouched, &orders.plain, &[&deeds, &shared_deeds]);
    if let Some(start) = start {
        sites.extend(promise::sites_of(untouched, start));
        sites.sort_unstable();
        sites.dedup();
    }
    let part = whole.part(&sites);
    let mut search = Search::new(&part, ready_s, &even_demands(&part));
    if let Some(start) = start {
        search.aim_at_total(start);
    }
    whole
        .looks
        .with_at_most(looks, || search.improve(prices_at_least));
    let (found, least_price) = match search.best() {
        Some(found) => (found.clone(), search.least_price()),
        // The nodes that seemed to do may not do together.
        None => {
            let found = everybody(whole, &prices)?;
            let price = whole.cheapest_by(&found, ready_s);
            (found, price)
        }
    };
    Some(Solved {
        found,
        least_price,
        prices_at_least,
    })
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
    while nodes <= most && !part.looks.are_spent() {
        demands.extend(part.with_demand(part.demand.spread_over(nodes)));
        nodes = (nodes + 1).max(nodes * 3 / 2);
    }
    demands
}

/// All who are ready in time (their price is finite), less those whose leaving is not needed.
fn everybody(whole: &Problem<'_>, prices: &[f64]) -> Option<Found> {
    let mut trial = Trial::new(whole);
    for (job, price) in (0u32..).zip(prices) {
        if price.is_finite() {
            trial.set(job, true);
        }
    }
    trial.fits().then(|| {
        spare::give_back(&mut trial, prices);
        trial.found()
    })
}

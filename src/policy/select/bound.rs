// SPDX-License-Identifier: GPL-2.0-or-later
//! What no set of victims can undercut.

use super::build::Deeds;
use super::problem::Problem;

/// A bound on the sum of prices, from the deeds at shared prices (see [`super::build::shared`]), in GPU-seconds.
///
/// Where any `min_nodes` nodes do, at least so many must be paid for, each at no less than its cheapest deed, and no job
/// is paid for on more nodes than its price was divided among. Elsewhere nothing is known but that prices are not
/// negative.
pub fn prices_at_least(problem: &Problem<'_>, shared: &Deeds) -> f64 {
    if !problem.uniform {
        return 0.0;
    }
    let price = |at: usize| shared[at].as_ref().map_or(0.0, |(_, deed)| deed.at_least);
    let sites = 0..problem.sites.len();
    let (required, others): (Vec<usize>, Vec<usize>) = sites.partition(|&at| problem.sites[at].required);
    let mut sum: f64 = required.iter().map(|&at| price(at)).sum();
    let mut cheapest: Vec<f64> = others.into_iter().map(price).collect();
    let more = problem.demand.min_nodes.saturating_sub(required.len());
    if more > 0 && more < cheapest.len() {
        cheapest.select_nth_unstable_by(more - 1, f64::total_cmp);
        cheapest.truncate(more);
    }
    sum += cheapest.iter().take(more).sum::<f64>();
    sum
}

/// The same with the waiting for the first who can be ready.
pub fn at_least(problem: &Problem<'_>, shared: &Deeds) -> f64 {
    let first = problem.jobs.iter().map(|job| job.terms[0].ready_s);
    let first_s = first.fold(f64::INFINITY, f64::min);
    let waiting = match first_s.is_finite() {
        true => problem.wait_weight * first_s,
        false => 0.0,
    };
    prices_at_least(problem, shared) + waiting
}

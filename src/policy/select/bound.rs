// SPDX-License-Identifier: GPL-2.0-or-later
//! What no set of victims can undercut.

use super::build::Deeds;
use super::trial::Trial;

/// A bound on the sum of prices, from the deeds at shared prices (see [`super::build::shared`]), in GPU-seconds.
///
/// Where any `min_nodes` nodes do, at least so many must be paid for, each at no less than its cheapest deed, and no job
/// is paid for on more nodes than its price was divided among. Elsewhere nothing is known but that prices are not
/// negative. `trial` is without any victim.
pub fn prices_at_least(trial: &Trial<'_, '_>, shared: &Deeds) -> f64 {
    let problem = trial.problem;
    if !problem.uniform {
        return 0.0;
    }
    // Where nothing is known of a site, it is no cheaper than those of which something is: see `promise::best_deeds`.
    let price = |at: usize| match (&shared[at], trial.offer(at)) {
        (_, Some(_)) => Some(0.0),
        (Some((_, deed)), None) => Some(deed.at_least),
        (None, None) => None,
    };
    let sites = 0..problem.sites.len();
    let (required, others): (Vec<usize>, Vec<usize>) = sites.partition(|&at| problem.sites[at].required);
    let required_price: f64 = required.iter().filter_map(|&at| price(at)).sum();
    let mut cheapest: Vec<f64> = others.into_iter().filter_map(price).collect();
    cheapest.sort_by(f64::total_cmp);
    let more = problem.demand.min_nodes.saturating_sub(required.len());
    required_price + cheapest.iter().take(more).sum::<f64>()
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Whoever is not needed is spared.

use super::trial::Trial;
use std::collections::BTreeMap;

/// Brings back everybody whose leaving is not needed, the dearest at `prices` first.
pub fn give_back(trial: &mut Trial<'_, '_>, prices: &[f64]) {
    let all: Vec<u32> = trial.gone.iter().copied().collect();
    give_back_of(trial, prices, all);
}

/// The same for some of them.
pub fn give_back_of(trial: &mut Trial<'_, '_>, prices: &[f64], mut of: Vec<u32>) {
    of.sort_by(|a, b| {
        let price = |job: u32| prices[job as usize];
        price(*b).total_cmp(&price(*a)).then(b.cmp(a))
    });
    if of.is_empty() || !trial.fits() {
        return;
    }
    for job in of {
        trial.set(job, false);
        if !is_enough(trial) {
            trial.set(job, true);
        }
    }
}

/// Whether the job still fits. Once the looks are spent, no other nodes are chosen: whoever is on none of those that were
/// chosen last is spared all the same, and nobody is missed there.
fn is_enough(trial: &mut Trial<'_, '_>) -> bool {
    match trial.problem.looks.are_spent() {
        true => trial.still_fits(),
        false => trial.fits(),
    }
}

/// Brings back all who are on one node only, node by node where that can be, beginning with those that cost most.
pub fn give_back_nodes(trial: &mut Trial<'_, '_>, prices: &[f64]) {
    if !trial.fits() {
        return;
    }
    let mut prices_of: BTreeMap<u32, f64> = BTreeMap::new();
    let alone = |trial: &Trial<'_, '_>, job: u32| match trial.job(job).sites[..] {
        [at] => Some(at),
        _ => None,
    };
    for job in &trial.gone {
        if let Some(at) = alone(trial, *job) {
            *prices_of.entry(at).or_default() += prices[*job as usize];
        }
    }
    let mut nodes: Vec<(u32, f64)> = prices_of.into_iter().collect();
    nodes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (at, _) in nodes {
        let here = trial.site(at as usize).here.iter().map(|(job, _)| *job);
        let group: Vec<u32> = here
            .filter(|job| trial.is_gone(*job) && alone(trial, *job).is_some())
            .collect();
        for job in &group {
            trial.set(*job, false);
        }
        if !is_enough(trial) {
            for job in group {
                trial.set(job, true);
            }
        }
    }
}

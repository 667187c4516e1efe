// SPDX-License-Identifier: GPL-2.0-or-later
//! Completing a set greedily: again and again the deed that gives most for its price.

use super::cover::{self, Deed};
use super::problem::Problem;
use super::trial::{Open, Pace, Trial};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

/// The best that can be done on a site: price per unit of gain, and the deed. Shared, as a search starts many times from
/// nearly the same. `None` where nothing there helps.
pub type BestDeed = Option<(f64, Rc<Deed>)>;

/// The same for each site.
pub type Deeds = Vec<BestDeed>;

/// A site with the rate at which its best deed gives.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    rate: f64,
    site: usize,
    /// The entry is out of date unless this is the site's present version.
    version: u32,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rate
            .total_cmp(&other.rate)
            .then(self.site.cmp(&other.site))
            .then(self.version.cmp(&other.version))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best deed on every site.
pub fn deeds(trial: &mut Trial<'_, '_>, prices: &[f64]) -> Deeds {
    let open = trial.open();
    (0..trial.problem.sites.len())
        .map(|at| best(trial, at, prices, &open))
        .collect()
}

/// See [`cover::best`].
pub fn best(trial: &mut Trial<'_, '_>, at: usize, prices: &[f64], open: &Open) -> BestDeed {
    cover::best(trial, at, prices, open).map(|(rate, deed)| (rate, Rc::new(deed)))
}

/// Lets jobs go until the urgent job fits. `deeds` are those of `trial` as it is, at `prices`.
///
/// `false` where that does not lead there: by totals there are enough nodes, but more than it may have.
pub fn complete(trial: &mut Trial<'_, '_>, prices: &[f64], mut deeds: Deeds) -> bool {
    let problem = trial.problem;
    let mut versions = vec![0; problem.sites.len()];
    for at in (0..problem.sites.len()).filter(|&at| problem.sites[at].required) {
        match cover::cheapest(trial, at, prices) {
            Some(deed) => carry_out(trial, &deed, |touched| versions[touched] += 1),
            None => return false,
        }
    }
    let mut heap: BinaryHeap<Reverse<Entry>> = BinaryHeap::with_capacity(deeds.len());
    for (site, deed) in deeds.iter_mut().enumerate() {
        if versions[site] > 0 {
            *deed = best(trial, site, prices, &trial.open());
        }
        if let Some((rate, _)) = deed {
            heap.push(Reverse(Entry {
                rate: *rate,
                site,
                version: versions[site],
            }));
        }
    }
    let mut stale = Vec::new();
    let mut pace = Pace::default();
    while !trial.fits_by_now(&mut pace) {
        let Some(Reverse(entry)) = heap.pop() else {
            return trial.fits();
        };
        let site = entry.site;
        if entry.version != versions[site] {
            continue;
        }
        if !problem.uniform && !problem.looks.are_spent() {
            // The less is missing, the less a deed gives; so the rate of an entry is at best what it was.
            deeds[site] = best(trial, site, prices, &trial.open());
            let now = deeds[site].as_ref().map(|(rate, _)| *rate);
            let next = heap.peek().map_or(f64::INFINITY, |Reverse(next)| next.rate);
            match now {
                None => continue,
                Some(rate) if rate > next => {
                    heap.push(Reverse(Entry { rate, ..entry }));
                    continue;
                }
                Some(_) => {}
            }
        }
        let Some((_, deed)) = deeds[site].take() else {
            continue;
        };
        stale.clear();
        carry_out(trial, &deed, |touched| stale.push(touched));
        stale.push(site);
        stale.sort_unstable();
        stale.dedup();
        for &touched in &stale {
            versions[touched] += 1;
            deeds[touched] = best(trial, touched, prices, &trial.open());
            if let Some((rate, _)) = &deeds[touched] {
                heap.push(Reverse(Entry {
                    rate: *rate,
                    site: touched,
                    version: versions[touched],
                }));
            }
        }
    }
    true
}

fn carry_out(trial: &mut Trial<'_, '_>, deed: &Deed, mut touched: impl FnMut(usize)) {
    for job in &deed.jobs {
        trial.set(*job, true);
        for site in &trial.job(*job).sites {
            touched(*site as usize);
        }
    }
}

/// Each price divided among the nodes that the job is on, as far as the urgent job may use them all.
pub fn shared(problem: &Problem<'_>, prices: &[f64]) -> Vec<f64> {
    let nodes_max = match problem.uniform {
        true => problem.demand.min_nodes,
        false => problem.demand.max_nodes,
    };
    let jobs = problem.jobs.iter().zip(prices);
    jobs.map(|(job, price)| price / job.sites.len().clamp(1, nodes_max.max(1)) as f64)
        .collect()
}

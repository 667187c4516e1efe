// SPDX-License-Identifier: GPL-2.0-or-later
//! Every set that may be cheaper than the best one known, where there are few.

use super::problem::Problem;
use super::trial::{Found, Trial};

/// Looks at nodes that this may take.
const LOOKS: u64 = 60_000;

/// The best set there is and `true`, or the best that was seen until the looks were spent and `false`.
pub fn search(problem: &Problem<'_>, start: Found) -> (Found, bool) {
    // The dearest first: once it is clear that one of them must go, little is left to try.
    let prices = problem.prices(f64::INFINITY);
    let mut order: Vec<u32> = (0..).take(problem.jobs.len()).collect();
    order.sort_by(|a, b| {
        let price = |job: u32| prices[job as usize];
        price(*b).total_cmp(&price(*a)).then(b.cmp(a))
    });
    // Whoever has not been decided about counts as gone in `most`, and as staying in `least`.
    let mut most = Trial::new(problem);
    for &job in &order {
        most.set(job, true);
    }
    let mut exact = Exact {
        order: &order,
        most,
        least: Trial::new(problem),
        best: start,
    };
    let ended = problem.looks.with_at_most(LOOKS, || {
        exact.descend(0);
        !problem.looks.are_spent()
    });
    (exact.best, ended)
}

struct Exact<'s, 'p, 'a> {
    order: &'s [u32],
    most: Trial<'p, 'a>,
    least: Trial<'p, 'a>,
    best: Found,
}

impl Exact<'_, '_, '_> {
    /// Decides about `order[from..]`.
    fn descend(&mut self, from: usize) {
        let looks = self.least.problem.looks;
        looks.take(1);
        // More victims never cost less.
        let found = self.least.found();
        if found.total > self.best.total + 1e-9 * (1.0 + self.best.total.abs()) || looks.are_spent() {
            return;
        }
        if self.least.fits() {
            if found.beats(&self.best) {
                self.best = found;
            }
            return;
        }
        let Some(&job) = self.order.get(from) else {
            return;
        };
        self.most.set(job, false);
        if self.most.fits() {
            self.descend(from + 1);
        }
        self.most.set(job, true);
        self.least.set(job, true);
        self.descend(from + 1);
        self.least.set(job, false);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Small clusters: every plan is the best there is, and there is one exactly when brute force finds one.

use crate::cluster::{Dice, Size, random};
use crate::oracle;
use std::collections::BTreeSet;
use surgent::policy::fit::{Demand, Ledger};
use surgent::policy::ids::JobId;
use surgent::policy::plan::{Constraints, Outcome, plan};

const SEEDS: u64 = 4000;

/// Seeds that once failed.
const KEPT: [u64; 0] = [];

const SMALL: Size = Size {
    nodes: 6,
    jobs: 12,
    span: 4,
    wanted: 3,
    room: 1,
};

/// How much dearer than the best the plan is, as a part of the best; `None` where the job fits or nothing helps.
fn excess(seed: u64) -> Option<f64> {
    let mut dice = Dice(seed);
    let size = Size {
        nodes: dice.within(1, SMALL.nodes),
        jobs: dice.within(1, SMALL.jobs),
        ..SMALL
    };
    let (facts, settings) = random(&mut dice, size);
    let urgent = &facts.waiting[0];
    let constraints = Constraints {
        patience_over: dice.one_in(2),
        // Now and then some were asked already, and cost nothing more.
        sunk: match dice.one_in(4) {
            true => facts
                .running
                .iter()
                .map(|job| job.id)
                .filter(|_| dice.one_in(2))
                .collect(),
            false => BTreeSet::new(),
        },
        ..Constraints::default()
    };
    let ledger = Ledger::of(&facts);
    let outcome = plan(&facts, &ledger, urgent, &constraints, &settings);
    let demand = Demand::of(&urgent.request);
    let mut victims = oracle::victims(&facts, constraints.patience_over, &settings);
    for victim in victims
        .iter_mut()
        .filter(|victim| constraints.sunk.contains(&victim.job.id))
    {
        victim.ways.iter_mut().for_each(|way| way.0 = 0.0);
    }
    let weight = settings.urgent.wait_weight;
    let least = oracle::least(&facts, &demand, &victims, weight);
    match (outcome, least) {
        (Outcome::Fits { .. }, Some(0.0)) if oracle::fits(&facts, &demand, &|_| false) => None,
        (Outcome::NoSet { .. }, None) => None,
        (Outcome::Stop(plan), Some(least)) => {
            let chosen: BTreeSet<JobId> = plan.victims.iter().map(|victim| victim.job).collect();
            let set: Vec<_> = victims
                .iter()
                .filter(|victim| chosen.contains(&victim.job.id))
                .collect();
            assert_eq!(
                set.len(),
                chosen.len(),
                "seed {seed}: a victim that may not be one"
            );
            assert!(
                oracle::fits(&facts, &demand, &|id| chosen.contains(&id)),
                "seed {seed}: it does not fit"
            );
            for spared in &chosen {
                let gone = |id: JobId| id != *spared && chosen.contains(&id);
                assert!(
                    !oracle::fits(&facts, &demand, &gone),
                    "seed {seed}: {spared} is not needed"
                );
            }
            let total = oracle::total(&set, weight);
            assert!(
                (total - plan.total_gpu_s).abs() < 1e-6 * (1.0 + total),
                "seed {seed}: {total} {plan:?}"
            );
            assert!(
                plan.at_least_gpu_s <= least * (1.0 + 1e-9) + 1e-6,
                "seed {seed}: at least, {least} {plan:?}"
            );
            Some((total - least) / least.max(1e-9))
        }
        (outcome, least) => panic!("seed {seed}: {outcome:?}, but brute force says {least:?}"),
    }
}

#[test]
fn plans_are_the_best_there_is() {
    let mut excesses = Vec::new();
    for seed in KEPT.into_iter().chain(0..SEEDS) {
        excesses.extend(excess(seed));
    }
    let plans = excesses.len();
    let best = excesses.iter().filter(|excess| **excess < 1e-9).count();
    let mean = excesses.iter().sum::<f64>() / plans as f64;
    println!(
        "{plans} plans on {SEEDS} small clusters: {:.2} % are the best, {:.3} % too dear on average",
        100.0 * best as f64 / plans as f64,
        100.0 * mean
    );
    assert!(plans > 1000);
    assert!(best as f64 >= 0.99 * plans as f64);
    assert!(mean <= 0.01);
}

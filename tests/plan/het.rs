// SPDX-License-Identifier: GPL-2.0-or-later
//! Heterogeneous jobs on small clusters: there is a plan exactly when brute force finds one, and nobody in it is spare.

use crate::cluster::{Dice, Size, random};
use crate::oracle;
use std::collections::BTreeSet;
use surgent::policy::facts::{Component, Facts};
use surgent::policy::fit::{Demand, Ledger};
use surgent::policy::ids::JobId;
use surgent::policy::outlook::Outlook;
use surgent::policy::party::Party;
use surgent::policy::plan::{Constraints, Outcome, Plan};
use surgent::policy::settings::Settings;

const SEEDS: u64 = 12_000;

/// Seeds that once failed.
const KEPT: [u64; 0] = [];

const SMALL: Size = Size {
    nodes: 5,
    jobs: 9,
    span: 3,
    wanted: 2,
    room: 1,
};

const LARGE: Size = Size {
    nodes: 200,
    jobs: 4500,
    span: 8,
    wanted: 24,
    room: 9,
};

fn small(dice: &mut Dice, seed: u64) -> Option<(Facts, Settings)> {
    let size = Size {
        nodes: dice.within(2, SMALL.nodes),
        jobs: dice.within(1, SMALL.jobs),
        ..SMALL
    };
    cluster(dice, size, seed)
}

/// A cluster on which a heterogeneous job of two to four components waits, each with a request of its own; or none.
fn cluster(dice: &mut Dice, size: Size, seed: u64) -> Option<(Facts, Settings)> {
    let (mut facts, settings) = random(dice, size);
    let leader = facts.waiting[0].id;
    let count = dice.pick(&[2, 2, 2, 3, 3, 4]);
    for offset in 1..count {
        // The same kinds of resources come in the same order there, so that requests mean the same.
        let (elsewhere, _) = (0..20)
            .map(|other| {
                random(
                    &mut Dice(seed + 1_000_003 * (1 + other + 20 * u64::from(offset))),
                    size,
                )
            })
            .find(|(elsewhere, _)| elsewhere.gres == facts.gres)?;
        let mut job = elsewhere.waiting[0].clone();
        job.id = JobId(leader.0 + offset);
        facts.waiting.push(job);
    }
    for (offset, job) in (0..).zip(&mut facts.waiting) {
        job.het = Some(Component {
            leader,
            offset,
            of: (offset == 0).then_some(count),
        });
    }
    Some((facts, settings))
}

fn decide(facts: &Facts, constraints: &Constraints, settings: &Settings) -> Outcome {
    let parties = Party::all(facts);
    assert_eq!(parties.len(), 1);
    assert!(!parties[0].is_blocked());
    parties[0].plan(&Outlook::new(facts, settings), &Ledger::of(facts), constraints)
}

/// Each component fits on the nodes that the plan names for it, and no node is named twice.
fn assert_places(facts: &Facts, plan: &Plan, seed: u64) {
    let mut ledger = Ledger::of(facts);
    for victim in &plan.victims {
        ledger.release(facts.job(victim.job).unwrap());
    }
    let mut seen = BTreeSet::new();
    assert_eq!(plan.components.len(), facts.waiting.len());
    for (place, job) in plan.components.iter().zip(&facts.waiting) {
        assert_eq!(place.job, job.id);
        assert!(place.nodes.iter().all(|node| seen.insert(*node)), "seed {seed}");
        let demand = Demand::of(&job.request).on(|node| place.nodes.contains(&node));
        let nodes = ledger.fits(&demand).unwrap_or_default();
        assert_eq!(
            nodes.len(),
            place.nodes.len(),
            "seed {seed}: {} does not fit",
            job.id
        );
    }
    assert_eq!(plan.nodes.len(), seen.len());
}

/// How much dearer than the best the plan is, as a part of the best; `None` where the job fits or nothing helps.
fn excess(seed: u64) -> Option<f64> {
    let mut dice = Dice(seed);
    let (facts, settings) = small(&mut dice, seed)?;
    let constraints = Constraints {
        patience_over: dice.one_in(2),
        ..Constraints::default()
    };
    let outcome = decide(&facts, &constraints, &settings);
    let demands: Vec<Demand> = facts.waiting.iter().map(|job| Demand::of(&job.request)).collect();
    let victims = oracle::victims(&facts, constraints.patience_over, &settings);
    let weight = settings.urgent.wait_weight;
    let fits = |gone: &dyn Fn(JobId) -> bool| oracle::all_fit(&facts, &demands, gone);
    let least = oracle::least_that(fits, &victims, weight);
    match (outcome, least) {
        (Outcome::Fits { .. }, Some(0.0)) if fits(&|_| false) => None,
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
            assert!(fits(&|id| chosen.contains(&id)), "seed {seed}: it does not fit");
            for spared in &chosen {
                let gone = |id: JobId| id != *spared && chosen.contains(&id);
                assert!(!fits(&gone), "seed {seed}: {spared} is not needed");
            }
            assert_places(&facts, &plan, seed);
            let total = oracle::total(&set, weight);
            let slack = 1e-6 * (1.0 + total);
            assert!(
                (total - plan.total_gpu_s).abs() < slack,
                "seed {seed}: {total} is said to be {}",
                plan.total_gpu_s
            );
            assert!(
                plan.at_least_gpu_s <= least + slack,
                "seed {seed}: {} is no bound",
                plan.at_least_gpu_s
            );
            Some((total - least) / least.max(1.0))
        }
        (outcome, least) => panic!("seed {seed}: {outcome:?}, and the best costs {least:?}"),
    }
}

#[test]
fn there_is_a_plan_exactly_when_there_is_a_set_and_nobody_in_it_is_spare() {
    let excesses: Vec<f64> = (0..SEEDS).chain(KEPT).filter_map(excess).collect();
    let best = excesses.iter().filter(|excess| **excess < 1e-6).count();
    let mean = excesses.iter().sum::<f64>() / excesses.len() as f64;
    let worst = excesses.iter().copied().fold(0.0, f64::max);
    println!(
        "{} plans, {best} of them the best; {:.2} % dearer on average, {:.0} % at worst",
        excesses.len(),
        100.0 * mean,
        100.0 * worst
    );
    assert!(excesses.len() > 1000);
    assert!(best as f64 >= 0.99 * excesses.len() as f64);
    assert!(mean <= 0.01);
}

#[test]
fn the_same_facts_give_the_same_plan_however_they_are_listed() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let Some((facts, settings)) = small(&mut dice, seed) else {
            continue;
        };
        let mut shuffled = facts.clone();
        shuffled.waiting.reverse();
        for job in &mut shuffled.running {
            job.holdings.reverse();
        }
        let outcome =
            |facts| serde_json::to_string(&decide(facts, &Constraints::default(), &settings)).unwrap();
        assert_eq!(outcome(&facts), outcome(&shuffled), "seed {seed}");
    }
}

#[test]
fn on_large_clusters_all_components_fit_and_nobody_is_spare() {
    let (mut plans, mut total, mut at_least) = (0, 0.0, 0.0);
    for seed in 0..16 {
        let Some((facts, settings)) = cluster(&mut Dice(seed), LARGE, seed) else {
            continue;
        };
        let begun = std::time::Instant::now();
        let Outcome::Stop(plan) = decide(&facts, &Constraints::default(), &settings) else {
            continue;
        };
        println!(
            "seed {seed}: {} victims in {:.0} ms",
            plan.victims.len(),
            begun.elapsed().as_secs_f64() * 1e3
        );
        assert_places(&facts, &plan, seed);
        let party = Party::all(&facts).remove(0);
        for spared in &plan.victims {
            let mut ledger = Ledger::of(&facts);
            for victim in plan.victims.iter().filter(|victim| victim.job != spared.job) {
                ledger.release(facts.job(victim.job).unwrap());
            }
            assert!(
                party.place(&ledger).is_none(),
                "seed {seed}: {} is not needed",
                spared.job
            );
        }
        (plans, total, at_least) = (
            plans + 1,
            total + plan.total_gpu_s,
            at_least + plan.at_least_gpu_s,
        );
    }
    println!(
        "{plans} plans; no set of one component alone costs less than {:.0} %",
        100.0 * at_least / total
    );
    assert!(plans > 5);
}

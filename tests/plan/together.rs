// SPDX-License-Identifier: GPL-2.0-or-later
//! Several urgent jobs at once, and the same facts in another order.

use crate::cluster::{Dice, Size, random};
use crate::oracle;
use std::collections::{BTreeMap, BTreeSet};
use surgent::policy::admission::urgent_priority;
use surgent::policy::book::{Action, Book};
use surgent::policy::facts::{Component, Facts, Hindrance};
use surgent::policy::fit::{Demand, Ledger};
use surgent::policy::ids::JobId;
use surgent::policy::plan::{Constraints, plan};
use surgent::policy::settings::Mode;
use surgent::policy::step::step;

const SEEDS: u64 = 1500;

const SIZE: Size = Size {
    nodes: 8,
    jobs: 24,
    span: 3,
    wanted: 3,
    room: 1,
};

/// A cluster on which several urgent jobs wait, each with a request of its own.
fn crowd(seed: u64) -> (Facts, surgent::policy::settings::Settings) {
    let mut dice = Dice(seed);
    let (mut facts, settings) = random(&mut dice, SIZE);
    let others = dice.within(1, 3) as u32;
    for other in 1..=others {
        // The same cluster's kinds of resources come in the same order, so that requests mean the same there.
        let (elsewhere, _) = random(&mut Dice(seed + u64::from(other) * 1_000_003), SIZE);
        let mut job = elsewhere.waiting[0].clone();
        if elsewhere.gres == facts.gres {
            job.id = JobId(1_000_000 + other);
            job.priority = 10 - other;
            facts.waiting.push(job);
        }
    }
    facts.waiting[0].priority = 20;
    (facts, settings)
}

#[test]
fn no_job_makes_way_twice_and_each_urgent_job_fits_beside_those_before_it() {
    let (mut plans, mut crowded) = (0, 0);
    for seed in 0..SEEDS {
        let (facts, settings) = crowd(seed);
        let actions = step(&mut Book::default(), &facts, &settings);
        let mut asked: BTreeMap<JobId, Vec<JobId>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for action in &actions {
            if let Action::Ask { job, urgent, .. } = action {
                assert!(seen.insert(*job), "seed {seed}: {job} is asked twice");
                asked.entry(*urgent).or_default().push(*job);
            }
        }
        plans += asked.len();
        crowded += usize::from(asked.len() > 1);
        // Once all have gone, every urgent job with victims must fit in the order of the queue, each in turn taking
        // what it needs: so nothing was counted twice.
        let mut ledger = Ledger::of(&facts);
        for job in facts.running.iter().filter(|job| seen.contains(&job.id)) {
            ledger.release(job);
        }
        let mut served: Vec<_> = facts
            .waiting
            .iter()
            .filter(|job| asked.contains_key(&job.id))
            .collect();
        served.sort_by_key(|job| std::cmp::Reverse(job.priority));
        let mut alone = Vec::new();
        for urgent in served {
            let demand = Demand::of(&urgent.request);
            let gone = |id: JobId| seen.contains(&id);
            assert!(
                oracle::fits(&facts, &demand, &gone),
                "seed {seed}: {} does not fit",
                urgent.id
            );
            if let Some(nodes) = ledger.fits(&demand) {
                ledger.reserve(urgent.id, &demand, &nodes);
                alone.push(urgent.id);
            }
        }
        assert!(!asked.is_empty() || alone.is_empty());
        if asked.len() > 1 {
            // The first in the queue always gets its place.
            let first = facts.waiting.iter().filter(|job| asked.contains_key(&job.id));
            let first = first.max_by_key(|job| job.priority).unwrap();
            assert!(alone.contains(&first.id), "seed {seed}");
        }
    }
    println!("{plans} plans, in {crowded} of {SEEDS} cases several at once");
    assert!(crowded > 50);
}

/// Slurm's main scheduler starts nothing behind a heterogeneous job, so such a job must not stand before other urgent ones.
#[test]
fn heterogeneous_jobs_stand_and_are_served_behind_other_urgent_jobs() {
    let mut served = 0;
    for seed in 0..200 {
        let (mut facts, settings) = crowd(seed);
        facts.waiting.truncate(1);
        facts.waiting[0].priority = urgent_priority(false);
        let plain = facts.waiting[0].clone();
        let alone: Vec<Action> = step(&mut Book::default(), &facts, &settings);
        let leader = JobId(2_000_000);
        for (offset, priority) in [(0, 7), (1, urgent_priority(true))] {
            let mut component = plain.clone();
            component.id = JobId(leader.0 + offset);
            component.priority = priority;
            component.het = Some(Component {
                leader,
                offset,
                of: (offset == 0).then_some(2),
            });
            facts.waiting.push(component);
        }
        let mut held = plain.clone();
        (held.id, held.priority) = (JobId(3_000_000), 0);
        (held.blocked, held.hindrance) = (true, Some(Hindrance::Held));
        facts.waiting.push(held);

        let together = step(&mut Book::default(), &facts, &settings);
        let place = |action: &Action| match action {
            Action::Reclass { job, place, .. } => Some((*job, *place)),
            _ => None,
        };
        let places: Vec<_> = together.iter().filter_map(place).collect();
        assert_eq!(places, [(leader, urgent_priority(true))], "seed {seed}");
        let asked = |actions: &[Action], of: JobId| -> BTreeSet<JobId> {
            let asked = actions.iter().filter_map(|action| match action {
                Action::Ask { job, urgent, .. } if *urgent == of => Some(*job),
                _ => None,
            });
            asked.collect()
        };
        assert_eq!(asked(&alone, plain.id), asked(&together, plain.id), "seed {seed}");
        let for_het = asked(&together, leader);
        assert!(for_het.is_disjoint(&asked(&together, plain.id)), "seed {seed}");
        served += usize::from(!for_het.is_empty());
    }
    assert!(served > 20, "{served}");
}

#[test]
fn the_order_in_which_jobs_are_listed_changes_nothing() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let (facts, settings) = random(
            &mut dice,
            Size {
                jobs: 60,
                nodes: 20,
                ..SIZE
            },
        );
        let decide = |facts: &Facts| {
            let constraints = Constraints {
                patience_over: true,
                ..Constraints::default()
            };
            plan(
                facts,
                &Ledger::of(facts),
                &facts.waiting[0],
                &constraints,
                &settings,
            )
        };
        let mut shuffled = facts.clone();
        for at in (1..shuffled.running.len()).rev() {
            shuffled.running.swap(at, dice.within(0, at as u64) as usize);
        }
        for job in &mut shuffled.running {
            job.holdings.reverse();
        }
        let (one, other) = (decide(&facts), decide(&shuffled));
        assert_eq!(
            serde_json::to_string(&one).unwrap(),
            serde_json::to_string(&other).unwrap(),
            "seed {seed}"
        );
    }
}

#[test]
fn in_shadow_mode_the_plans_for_an_array_are_said_once() {
    let mut arrays = 0;
    for seed in 0..200 {
        let (mut facts, mut settings) = crowd(seed);
        settings.mode = Mode::Shadow;
        for job in facts.waiting.iter_mut().filter(|job| job.het.is_none()) {
            job.tasks = 3;
        }
        let mut book = Book::default();
        let said = |actions: Vec<Action>| {
            let said = actions
                .into_iter()
                .filter(|action| matches!(action, Action::Say(_)));
            said.count()
        };
        let at_first = said(step(&mut book, &facts, &settings));
        arrays += usize::from(at_first > 0);
        for _ in 0..2 {
            assert_eq!(said(step(&mut book, &facts, &settings)), 0, "seed {seed}");
        }
    }
    assert!(arrays > 20, "{arrays}");
}

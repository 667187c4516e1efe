// SPDX-License-Identifier: GPL-2.0-or-later
//! What a plan takes, counted in looks at nodes: whatever is asked for, it is not much more than there may be.

use crate::cluster::{Dice, NOW};
use crate::{parts, tables};
use surgent::policy::directives;
use surgent::policy::facts::{Component, Facts, Holding, RunningJob};
use surgent::policy::fit::{Demand, Ledger};
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::outlook::Outlook;
use surgent::policy::party::Party;
use surgent::policy::plan::{Constraints, Outcome, Plan};
use surgent::policy::request::Request;
use surgent::policy::resources::Amounts;
use surgent::policy::settings::Settings;
use surgent::policy::units::UnixTime;

/// What the search may take, and half as much to end it.
const LOOKS_MAX: u64 = 1_500_000 * 3 / 2;
/// A heterogeneous job may take six million; to spare whom it need not ask is soon done on alike nodes.
const HET_LOOKS_MAX: u64 = 2_500_000;

/// A full cluster of nodes with so many GPUs and CPUs each, shared evenly by `jobs_per_node` jobs.
fn full(nodes: &[(u32, u32)], jobs_per_node: u32) -> Facts {
    let mut dice = Dice(7);
    let mut facts = Facts::at(UnixTime(NOW));
    let gpu = facts.gres.id("gpu", None);
    for (index, &(gpus, cpus)) in (0..).zip(nodes) {
        let part = |of: u32| {
            let mut amounts = Amounts::new(cpus / of, u64::from(1000 * cpus / of));
            amounts.add_gres(gpu, u64::from(gpus / of));
            amounts
        };
        facts.nodes.push(parts::node(index, part(1)));
        for seat in 0..jobs_per_node {
            let (save_s, priority) = (dice.within(1, 200), dice.within(0, 100));
            let comment = format!("signal=USR1@batch save_s={save_s} priority={priority}");
            facts.running.push(RunningJob {
                holdings: vec![Holding {
                    node: NodeIndex(index),
                    amounts: part(jobs_per_node),
                }],
                directives: directives::parse(comment.as_bytes()).ok(),
                ..tables::job(index * jobs_per_node + seat + 1, "")
            });
        }
    }
    facts
}

/// Lets a job wait that asks for `gpus` in all.
fn ask(facts: &mut Facts, id: u32, gpus: u64, request: Request) {
    let request = Request {
        candidates: facts.nodes.iter().map(|node| node.index).collect(),
        cpus_per_task: 1,
        gres: parts::in_all(facts.gres.id("gpu", None), gpus),
        ..request
    };
    facts.waiting.push(parts::waiting(id, request));
}

fn nodes(min: u32, max: u32) -> Request {
    Request {
        min_nodes: min,
        max_nodes: Some(max),
        ..Request::default()
    }
}

/// The plan for all that waits in `facts`, with the looks that it took.
fn decide(facts: &Facts) -> (Plan, u64) {
    let settings = Settings::default();
    let outlook = Outlook::new(facts, &settings);
    let parties = Party::all(facts);
    let outcome = parties[0].plan(&outlook, &Ledger::of(facts), &Constraints::default());
    let Outcome::Stop(plan) = outcome else {
        panic!("{outcome:?}");
    };
    (plan, outlook.looks.taken())
}

/// The job fits once all victims are gone, and not without any one of a sample of them.
fn assert_does(facts: &Facts, plan: &Plan, what: &str) {
    let demand = Demand::of(&facts.waiting[0].request);
    let without = |kept: Option<JobId>| {
        let mut ledger = Ledger::of(facts);
        for victim in plan.victims.iter().filter(|victim| Some(victim.job) != kept) {
            ledger.release(facts.job(victim.job).unwrap());
        }
        ledger.fits(&demand).is_some()
    };
    assert!(without(None), "{what}: does not fit");
    for victim in plan.victims.iter().step_by(50) {
        assert!(!without(Some(victim.job)), "{what}: {} is spare", victim.job);
    }
}

#[test]
fn no_demand_on_alike_nodes_takes_more_looks_than_there_are() {
    let tasks = Request {
        tasks: Some(5000),
        min_cpus: 5000,
        ..nodes(100, 100)
    };
    let demands = [
        ("-N 100 --gpus=750", 2, 750, nodes(100, 100)),
        ("-N 75-100 --gpus=750", 2, 750, nodes(75, 100)),
        ("-N 1-500 --gpus=750", 2, 750, nodes(1, 500)),
        ("-N 100 -n 5000", 2, 0, tasks),
        ("-N 150 --gpus=1170", 8, 1170, nodes(150, 150)),
    ];
    for (what, jobs_per_node, gpus, request) in demands {
        let mut facts = full(&[(8, 64); 500], jobs_per_node);
        ask(&mut facts, 1_000_000, gpus, request);
        let (plan, looks) = decide(&facts);
        println!("{what}: {looks} looks, {} victims", plan.victims.len());
        assert!(looks <= LOOKS_MAX, "{what}: {looks} looks");
        assert_does(&facts, &plan, what);
    }
}

#[test]
fn nor_one_on_nodes_of_which_none_is_like_another() {
    // Who has many GPUs has few CPUs, so that the richest nodes do not do.
    let mut dice = Dice(11);
    let unlike: Vec<(u32, u32)> = (0..400)
        .map(|_| {
            let gpus = dice.within(4, 64) as u32;
            (gpus, 8 * (70 - gpus) + dice.within(0, 40) as u32)
        })
        .collect();
    let mut facts = full(&unlike, 4);
    let request = Request {
        tasks: Some(33_000),
        min_cpus: 33_000,
        ..nodes(120, 120)
    };
    ask(&mut facts, 1_000_000, 3300, request);
    let (plan, looks) = decide(&facts);
    println!("{looks} looks, {} victims", plan.victims.len());
    assert!(looks <= LOOKS_MAX, "{looks} looks");
    let ledger = facts.running.iter().fold(Ledger::of(&facts), |mut ledger, job| {
        if plan.victims.iter().any(|victim| victim.job == job.id) {
            ledger.release(job);
        }
        ledger
    });
    let there = Demand::of(&facts.waiting[0].request).on(|node| plan.nodes.contains(&node));
    assert!(ledger.fits(&there).is_some());
}

#[test]
fn nor_a_heterogeneous_job() {
    let mut facts = full(&[(8, 64); 1000], 2);
    for offset in 0..3 {
        ask(&mut facts, 1_000_000 + offset, 800, nodes(100, 100));
        facts.waiting[offset as usize].het = Some(Component {
            leader: JobId(1_000_000),
            offset,
            of: (offset == 0).then_some(3),
        });
    }
    let (plan, looks) = decide(&facts);
    println!("{looks} looks, {} victims", plan.victims.len());
    assert_eq!(plan.victims.len(), 600);
    assert!(looks <= HET_LOOKS_MAX, "{looks} looks");
}

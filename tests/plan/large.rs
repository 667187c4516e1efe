// SPDX-License-Identifier: GPL-2.0-or-later
//! Large clusters: no long search finds much that is better, and where no job spans nodes the best is known.

use crate::cluster::{Dice, Size, random};
use crate::long;
use crate::oracle::{self, Victim};
use surgent::policy::facts::Facts;
use surgent::policy::fit::{Demand, Ledger};
use surgent::policy::plan::{Constraints, Outcome, Plan, plan};
use surgent::policy::settings::Settings;

const LARGE: Size = Size {
    nodes: 200,
    jobs: 4500,
    span: 8,
    wanted: 24,
    room: 9,
};

/// Random large clusters on which somebody must make way, with the plan.
fn cases(size: Size, count: usize) -> impl Iterator<Item = (u64, Facts, Settings, Plan)> {
    let constraints = Constraints {
        patience_over: true,
        ..Constraints::default()
    };
    (0..)
        .filter_map(move |seed| {
            let (facts, settings) = random(&mut Dice(seed), size);
            match plan(
                &facts,
                &Ledger::of(&facts),
                &facts.waiting[0],
                &constraints,
                &settings,
            ) {
                Outcome::Stop(plan) => Some((seed, facts, settings, plan)),
                _ => None,
            }
        })
        .take(count)
}

#[test]
fn no_long_search_finds_a_much_better_plan() {
    let mut worst: f64 = 0.0;
    let (mut sum, mut jobs) = (0.0, 0);
    let count = 12;
    for (seed, facts, settings, plan) in cases(LARGE, count) {
        jobs += facts.running.len();
        let victims = oracle::victims(&facts, true, &settings);
        let start: Vec<usize> = (0..victims.len())
            .filter(|&at| plan.victims.iter().any(|victim| victim.job == victims[at].job.id))
            .collect();
        let ledger = Ledger::of(&facts);
        let demand = Demand::of(&facts.waiting[0].request);
        let weight = settings.urgent.wait_weight;
        let best = long::search(
            &ledger,
            &demand,
            &victims,
            weight,
            &start,
            ROUNDS,
            &mut Dice(seed),
        );
        let excess = (plan.total_gpu_s - best) / best.max(1e-9);
        println!(
            "seed {seed}: {} victims, {:.1} GPU-s, at least {:.1}, long search {best:.1}: {:.2} % too dear",
            plan.victims.len(),
            plan.total_gpu_s,
            plan.at_least_gpu_s,
            100.0 * excess
        );
        worst = worst.max(excess);
        sum += excess;
    }
    println!(
        "{count} large plans: {:.2} % too dear at worst, {:.2} % on average",
        100.0 * worst,
        100.0 * sum / count as f64
    );
    assert!(jobs > 1500 * count);
    assert!(worst <= 0.02);
}

const ROUNDS: u32 = 600;

/// Where no job spans nodes and any nodes do: node by node the cheapest set, then the cheapest nodes.
fn best_node_by_node(facts: &Facts, settings: &Settings, demand: &Demand, victims: &[Victim<'_>]) -> f64 {
    let ledger = Ledger::of(facts);
    let mut times: Vec<f64> = victims
        .iter()
        .flat_map(|victim| victim.ways.iter().map(|way| way.1))
        .collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut best = f64::INFINITY;
    for time_s in times {
        let price = |victim: &Victim<'_>| {
            let in_time = victim.ways.iter().filter(|way| way.1 <= time_s).map(|way| way.0);
            in_time.fold(f64::INFINITY, f64::min)
        };
        let mut nodes: Vec<f64> = demand
            .candidates
            .iter()
            .map(|&node| {
                let here: Vec<_> = victims
                    .iter()
                    .filter(|victim| price(victim).is_finite())
                    .filter_map(|victim| {
                        let holding = victim.job.holdings.iter().find(|holding| holding.node == node)?;
                        Some((price(victim), &holding.amounts))
                    })
                    .collect();
                (0u32..1 << here.len())
                    .filter_map(|set| {
                        let chosen = || (0..here.len()).filter(move |at| set & (1 << at) != 0);
                        let gone: Vec<_> = chosen().map(|at| here[at].1).collect();
                        ledger.offer_without(node, gone.into_iter(), demand)?;
                        Some(chosen().map(|at| here[at].0).sum::<f64>())
                    })
                    .fold(f64::INFINITY, f64::min)
            })
            .collect();
        nodes.sort_by(f64::total_cmp);
        let price: f64 = nodes.iter().take(demand.min_nodes).sum();
        best = best.min(price + settings.urgent.wait_weight * time_s);
    }
    best
}

#[test]
fn where_no_job_spans_nodes_the_plan_is_the_best() {
    let size = Size {
        nodes: 60,
        jobs: 300,
        span: 1,
        room: 2,
        ..LARGE
    };
    let mut count = 0;
    for (seed, facts, settings, plan) in cases(size, 60) {
        let demand = Demand::of(&facts.waiting[0].request);
        let nodes = demand.min_nodes as u64;
        let any_nodes_do = demand.required.is_empty()
            && u64::from(demand.total.cpus) <= u64::from(demand.per_node.cpus) * nodes
            && demand
                .total
                .gres_counts()
                .iter()
                .all(|&(id, count)| count <= demand.per_node.gres(id) * nodes);
        if !any_nodes_do {
            continue;
        }
        count += 1;
        let victims = oracle::victims(&facts, true, &settings);
        let best = best_node_by_node(&facts, &settings, &demand, &victims);
        assert!(
            plan.total_gpu_s <= best * 1.001 + 1e-6,
            "seed {seed}: {} and not {best}",
            plan.total_gpu_s
        );
    }
    println!("{count} plans without spanning jobs are the best");
    assert!(count > 20);
}

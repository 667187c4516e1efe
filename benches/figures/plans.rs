// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans for full clusters.

use crate::{allocations, cluster, median, ratio};
use std::hint::black_box;
use surgent::policy::book::Book;
use surgent::policy::facts::Facts;
use surgent::policy::fit::Ledger;
use surgent::policy::plan::{Constraints, Outcome, plan};
use surgent::policy::settings::Settings;
use surgent::policy::step::step;

/// Waiting urgent jobs in the second figure.
const MANY: u32 = 20;

/// Reads every record once: no plan can take less.
fn read_all(facts: &Facts) -> u64 {
    let held = facts.running.iter().map(|job| u64::from(job.held().cpus));
    held.sum::<u64>() + facts.nodes.iter().map(|node| node.total.memory_mib).sum::<u64>()
}

pub fn plans() {
    let settings = Settings::default();
    println!("\nplans; x: as many times as reading all records once takes");
    println!("  nodes    jobs         one urgent job             twenty         memory  gap to the bound");
    for (nodes, jobs_per_node) in [(1000, 4), (1000, 10), (10_000, 4), (10_000, 10)] {
        let facts = cluster::full(nodes, jobs_per_node, MANY);
        let ledger = Ledger::of(&facts);
        let constraints = Constraints::default();
        let decide = || plan(&facts, &ledger, &facts.waiting[0], &constraints, &settings);
        let reading = median(21, || read_all(&facts));
        let one = median(9, decide);
        let many = median(3, || step(&mut Book::default(), &facts, &settings));
        let peak_bytes = allocations::peak_bytes_of(|| {
            black_box(step(&mut Book::default(), &facts, &settings));
        });
        let Outcome::Stop(plan) = decide() else {
            panic!("no plan to measure");
        };
        println!(
            "{nodes:7} {:7} {:8.1} ms ({:5.0} x) {:9.1} ms ({:5.0} x) {:7.1} MiB {:9.2} %",
            facts.running.len(),
            one.as_secs_f64() * 1e3,
            ratio(one, reading),
            many.as_secs_f64() * 1e3,
            ratio(many, reading),
            peak_bytes as f64 / f64::from(1 << 20),
            100.0 * (plan.total_gpu_s / plan.at_least_gpu_s - 1.0),
        );
    }
}

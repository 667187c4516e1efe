// SPDX-License-Identifier: GPL-2.0-or-later
//! How much decisions take, as ratios to something simple that is measured in the same run. `cargo bench`

mod cluster;

use std::hint::black_box;
use std::time::{Duration, Instant};
use surgent::policy::book::Book;
use surgent::policy::facts::Facts;
use surgent::policy::fit::Ledger;
use surgent::policy::plan::{Constraints, Outcome, plan};
use surgent::policy::settings::Settings;
use surgent::policy::step::step;

fn main() {
    plans();
}

/// The median of several runs.
fn median<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let begin = Instant::now();
            black_box(run());
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

/// Reads every record once: no plan can take less.
fn read_all(facts: &Facts) -> u64 {
    let held = facts.running.iter().map(|job| u64::from(job.held().cpus));
    held.sum::<u64>() + facts.nodes.iter().map(|node| node.total.memory_mib).sum::<u64>()
}

fn plans() {
    let settings = Settings::default();
    println!("plan: nodes, jobs: one urgent job; twenty; each also as times of reading all records once");
    for (nodes, jobs_per_node) in [(1000, 4), (1000, 10), (10_000, 4), (10_000, 10)] {
        let facts = cluster::full(nodes, jobs_per_node, 20);
        let reading = median(21, || read_all(&facts));
        let ledger = Ledger::of(&facts);
        let filling = median(5, || Ledger::of(&facts));
        let constraints = Constraints::default();
        let one = median(7, || {
            plan(&facts, &ledger, &facts.waiting[0], &constraints, &settings)
        });
        let outcome = plan(&facts, &ledger, &facts.waiting[0], &constraints, &settings);
        let Outcome::Stop(plan) = outcome else {
            panic!("no plan to measure: {outcome:?}");
        };
        let twenty = median(3, || step(&mut Book::default(), &facts, &settings));
        println!(
            "{nodes:6} {:7}: {:8.2} ms ({:4.0} x), ledger {:6.2} ms; {:8.2} ms ({:5.0} x); {} victims, total {:.1}, at least {:.1}",
            facts.running.len(),
            one.as_secs_f64() * 1e3,
            one.as_secs_f64() / reading.as_secs_f64(),
            filling.as_secs_f64() * 1e3,
            twenty.as_secs_f64() * 1e3,
            twenty.as_secs_f64() / reading.as_secs_f64(),
            plan.victims.len(),
            plan.total_gpu_s,
            plan.at_least_gpu_s,
        );
    }
}

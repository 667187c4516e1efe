// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-scale`: what a full cluster takes a real slurmctld with a real slurmd for each node, without preemption,
//! with Slurm's own, and with Surgent, while urgent jobs come and while none do.
//!
//! In each round every site has its turn, in another order each time, on the same running and waiting jobs.
//! SURGENT_BENCH_NODES is the number of nodes (300), SURGENT_BENCH_WAITING that of waiting jobs (seven for each node),
//! SURGENT_BENCH_ROUNDS that of rounds (5), SURGENT_BENCH_TURN_S how long a turn is measured (60 s).

#[path = "../common/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other benches use the rest")]
mod common;
#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

mod jobs;
mod nodes;
mod site;
mod size;
mod table;
mod turn;

use site::{Site, Sites};
use size::Size;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::{Outcome, finish, places};
use table::Column;
use turn::Turn;

/// In the order of the first round.
const SITES: [Site; 3] = [Site::Nothing, Site::Stock, Site::Surgent];

fn main() -> ExitCode {
    common::run("bench-scale", run)
}

fn run(interrupted: Arc<AtomicBool>) -> Outcome {
    let size = Size::from_environment()?;
    println!(
        "{} nodes, {} running jobs and {} waiting ones; {} rounds of {} turns of {} s.",
        size.nodes,
        size.running(),
        size.waiting,
        size.rounds,
        columns().len(),
        size.turn.as_secs()
    );
    let mut sites = Sites::start(size, interrupted)?;
    jobs::fill(&mut sites)?;
    let mut columns = columns();
    let mut under_locks_ms = Vec::new();
    let outcome = measure(&mut sites, &mut columns, &mut under_locks_ms);
    // Also where it was interrupted.
    table::print(&columns, &under_locks_ms);
    outcome?;
    println!("\nsurgent metrics:");
    let surgent = places::surgent()?.display().to_string();
    let metrics = finish(sites.cluster.command(&surgent).arg("metrics"), "surgent metrics")?;
    for line in metrics
        .lines()
        .filter(|line| line.starts_with("surgent_lock_held_seconds"))
    {
        println!("  {line}");
    }
    println!("\nEnding all that was started.");
    Ok(())
}

fn measure(sites: &mut Sites, columns: &mut [Column], under_locks_ms: &mut Vec<f64>) -> Outcome {
    for round in 0..sites.size.rounds as usize {
        // Each is the first as often as the others.
        for turn in 0..SITES.len() {
            let site = SITES[(round + turn) % SITES.len()];
            sites.become_site(site)?;
            for column in columns.iter_mut().filter(|column| column.site == site) {
                jobs::wait_until_full(sites)?;
                let measured = Turn::measure(sites, column.urgent)?;
                println!("round {}, {}: {measured}", round + 1, column.name);
                column.turns.push(measured);
                jobs::dismiss(&sites.cluster)?;
            }
            if site == Site::Surgent {
                jobs::wait_until_full(sites)?;
                under_locks_ms.extend(turn::under_locks_ms(sites)?);
                jobs::dismiss(&sites.cluster)?;
            }
        }
    }
    Ok(())
}

fn columns() -> [Column; 5] {
    let column = |name, site, urgent, against| Column {
        name,
        site,
        urgent,
        against,
        turns: Vec::new(),
    };
    [
        column("no preemption", Site::Nothing, false, Some(1)),
        column("stock", Site::Stock, false, None),
        column("Surgent, idle", Site::Surgent, false, Some(1)),
        column("stock, preempting", Site::Stock, true, None),
        column("Surgent, planning", Site::Surgent, true, Some(3)),
    ]
}

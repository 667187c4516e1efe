// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-latency`: how soon an urgent job starts on a full cluster, and what its victims lose, with Surgent and with
//! Slurm's own preempt/qos, which is given the best settings and scripts that we know.
//!
//! Each system has a cluster of four nodes. All are filled with the same trainings at the same time; then the urgent job
//! comes to one after the other, in another order each time; then the victims go on, and are counted, on all at the same time.
//! SURGENT_BENCH_STARTS is the number of urgent jobs for each (50), SURGENT_BENCH_SEED what they follow from (1).

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

mod figures;
mod situation;
mod systems;
mod turn;

use figures::Seen;
use situation::Situation;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use support::{Cluster, Failure, Outcome};
use systems::System;
use turn::Turn;

fn main() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&interrupted)) {
            eprintln!("bench-latency: signals cannot be handled: {error}");
            return ExitCode::FAILURE;
        }
    }
    match run(&interrupted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-latency: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(interrupted: &Arc<AtomicBool>) -> Outcome {
    let starts = number("SURGENT_BENCH_STARTS", 50)?;
    let seed = number("SURGENT_BENCH_SEED", 1)?;
    println!("Starting {} clusters, with slurmdbd each.", System::ALL.len());
    let clusters = side_by_side(System::ALL, |system| system.start(Arc::clone(interrupted)))?;
    println!("{starts} urgent jobs on each, from seed {seed}.");
    let mut seen: Vec<Seen> = System::ALL
        .map(|system| Seen {
            system,
            starts: Vec::new(),
        })
        .into();
    let mut played = Ok(());
    for number in 1..=starts {
        played = play(&clusters, &Situation::new(u64::from(seed), number), &mut seen);
        if played.is_err() {
            break;
        }
    }
    // Also after a failure: what was counted by then is worth having.
    figures::print(&seen);
    played
}

/// Plays the situation on each cluster.
fn play(clusters: &[Cluster], situation: &Situation, seen: &mut [Seen]) -> Outcome {
    println!("\n{:3}. {situation}", situation.number);
    let all = System::ALL.into_iter().zip(clusters);
    let mut turns = side_by_side(all, |(system, cluster)| {
        Turn::prepare(system, cluster, situation).map_err(|failure| failure.during(system.name()))
    })?;
    let count = turns.len();
    for turn in 0..count {
        turns[(situation.number as usize + turn) % count].submit_urgent(situation)?;
    }
    turns.iter().try_for_each(Turn::wait_for_urgent)?;
    let ended = side_by_side(turns, Turn::end)?;
    for (seen, start) in seen.iter_mut().zip(ended) {
        println!("     {:16}{start}", seen.system.name());
        seen.starts.push(start);
    }
    Ok(())
}

/// Does it for each at the same time.
fn side_by_side<I: Send, T: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items
            .into_iter()
            .map(|item| scope.spawn(move || work(item)))
            .collect();
        let done = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(Failure::from("a thread of the bench has panicked")))
        });
        done.collect()
    })
}

fn number(variable: &str, default: u32) -> Outcome<u32> {
    match std::env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{variable}={text:?} is not a number above 0").into())
        }
    }
}

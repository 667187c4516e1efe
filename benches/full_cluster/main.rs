// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-cluster`: for how long a look at a full cluster holds Slurm's locks, on a real slurmctld.
//!
//! Its nodes are cloud nodes that are for ever being powered up. So Slurm gives them to jobs, and no slurmd is needed.
//! SURGENT_BENCH_NODES is the number of nodes (10,000), SURGENT_BENCH_LOOKS that of looks (30).

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

mod figures;
mod fill;

use fill::Size;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::Outcome;

fn main() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&interrupted)) {
            eprintln!("bench-cluster: signals cannot be handled: {error}");
            return ExitCode::FAILURE;
        }
    }
    match run(interrupted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-cluster: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(interrupted: Arc<AtomicBool>) -> Outcome {
    let size = Size {
        nodes: number("SURGENT_BENCH_NODES", 10_000)?,
    };
    let looks = number("SURGENT_BENCH_LOOKS", 30)?;
    let cluster = fill::full(size, interrupted)?;
    figures::print(&cluster, size, looks)
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

// SPDX-License-Identifier: GPL-2.0-or-later
//! `make demo`: four training jobs fill a real Slurm cluster, an urgent job arrives, and all that follows is shown as it
//! is seen from outside: by squeue, by scontrol, in the jobs' own output and in slurmctld's log.
//!
//! Exit 0 only if every step was seen.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

mod narrator;
mod story;
mod table;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&interrupted)) {
            eprintln!("demo: signals cannot be handled: {error}");
            return ExitCode::FAILURE;
        }
    }
    match story::tell(interrupted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nThe demo ends here: {failure}");
            ExitCode::FAILURE
        }
    }
}

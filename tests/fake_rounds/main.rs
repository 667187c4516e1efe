// SPDX-License-Identifier: GPL-2.0-or-later
//! Rounds of faults without Slurm: the real core, its planner, files and commands, in a process of its own that can be killed,
//! and around it a small model of Slurm. What a round is, and what must hold after it, is as in `tests/rounds`.
//!
//! `SURGENT_FAULT_ROUNDS` (25) rounds from the seed `SURGENT_FAULT_SEED` (40,000) on, `SURGENT_FAULT_HOSTS` (10) side by side.
//!
//! This one program plays all parts: it has no harness, and goes by the name that it is started under.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;

#[path = "../support/rounds/mod.rs"]
#[allow(dead_code, reason = "the real cluster uses the rest")]
mod rounds;

#[path = "../support/shim.rs"]
mod shim;

mod answers;
mod command;
mod controller;
mod daemon;
mod ends;
mod field;
mod job;
mod programs;
mod slurm;
mod story;
mod strike;
mod wire;

use rounds::fault::Fault;
use std::path::Path;
use std::process::ExitCode;

const NAME: &str = "after_every_fault_all_is_well_again_on_the_fake_host";

fn main() -> ExitCode {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program);
    match program.file_name().and_then(|name| name.to_str()) {
        Some("slurmctld") => controller::run(program),
        Some("scontrol" | "scancel" | "squeue") => command::run(program, words),
        _ => play(words.collect()),
    }
}

/// As a harness would: only if it is meant.
fn play(words: Vec<String>) -> ExitCode {
    let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
    let is_meant = filters.peek().is_none() || filters.any(|filter| NAME.contains(filter.as_str()));
    if !is_meant || words.iter().any(|word| word == "--list") {
        return ExitCode::SUCCESS;
    }
    match rounds::play(Fault::FAKE, ("SURGENT_FAULT_HOSTS", 10), || story::play) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("test {NAME} ... FAILED\n{failure}");
            ExitCode::FAILURE
        }
    }
}

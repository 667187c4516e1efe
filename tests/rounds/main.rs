// SPDX-License-Identifier: GPL-2.0-or-later
//! Rounds of faults on a real Slurm: in each, one fault strikes at one step of an urgent job's life, and afterwards all
//! must be well, as seen from outside. Everything that a round does follows from its seed.
//!
//! `SURGENT_FAULT_ROUNDS` (25) rounds from the seed `SURGENT_FAULT_SEED` (40,000) on, on `SURGENT_FAULT_CLUSTERS` (2)
//! clusters side by side. Seeds that follow one another meet every fault at every step.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;

#[path = "../support/rounds/mod.rs"]
#[allow(dead_code, reason = "the fake host uses the rest")]
mod rounds;

mod end;
mod field;
mod site;
mod story;
mod strike;
mod victims;

use rounds::fault::Fault;
use site::Site;
use support::{Outcome, tell};

#[test]
fn after_every_fault_all_is_well_again() -> Outcome {
    if std::env::var_os("SURGENT_NO_CLUSTER").is_some_and(|value| value == "1") {
        tell("skipped, for SURGENT_NO_CLUSTER=1 is set: the rounds of faults");
        return Ok(());
    }
    rounds::play(Fault::REAL, ("SURGENT_FAULT_CLUSTERS", 2), || {
        let mut site = Site::default();
        move |round| site.play(round)
    })
}

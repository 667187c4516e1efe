// SPDX-License-Identifier: GPL-2.0-or-later
//! Rounds of faults on a real Slurm: in each, one fault strikes at one step of an urgent job's life, and afterwards all
//! must be well, as seen from outside. Everything that a round does follows from its seed.
//!
//! `SURGENT_FAULT_ROUNDS` (25) rounds from the seed `SURGENT_FAULT_SEED` (40,000) on, on `SURGENT_FAULT_CLUSTERS` (2)
//! clusters side by side. Seeds that follow one another meet every fault at every step.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;

mod end;
mod fault;
mod field;
mod round;
mod site;
mod story;
mod strike;
mod tally;
mod victims;

use round::Round;
use site::Site;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{Outcome, number, tell};
use tally::Tally;

#[test]
fn after_every_fault_all_is_well_again() -> Outcome {
    if std::env::var_os("SURGENT_NO_CLUSTER").is_some_and(|value| value == "1") {
        tell("skipped, for SURGENT_NO_CLUSTER=1 is set: the rounds of faults");
        return Ok(());
    }
    let first_seed = number("SURGENT_FAULT_SEED", 40_000)?;
    let rounds = number("SURGENT_FAULT_ROUNDS", 25)?;
    let clusters = number("SURGENT_FAULT_CLUSTERS", 2)?.clamp(1, rounds.max(1));
    tell(&format!(
        "{rounds} rounds of faults from the seed {first_seed} on"
    ));
    let next = AtomicU64::new(0);
    let tally = Tally::new(rounds);
    std::thread::scope(|scope| {
        for _ in 0..clusters {
            scope.spawn(|| {
                let mut site = Site::default();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= rounds {
                        break;
                    }
                    let round = Round::of(first_seed.wrapping_add(at));
                    tally.note(&round, site.play(&round));
                }
            });
        }
    });
    tally.close()
}

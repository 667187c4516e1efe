// SPDX-License-Identifier: GPL-2.0-or-later
//! Rounds of faults, as far as they are the same on a real Slurm (`tests/rounds`) and on the fake host
//! (`tests/fake_rounds`): what a round is, what may strike, and what must be true afterwards.

pub mod damage;
pub mod fault;
pub mod round;
pub mod sight;
pub mod tally;

use crate::support::{Outcome, number, tell};
use round::Round;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tally::{Tally, Verdict};

/// What all rounds are played with: victims are chosen, waited for and given up within seconds. Commands are those in the
/// folder `commands`.
pub fn settings(commands: &Path) -> String {
    format!(
        "[victims]\nmin_runtime_s = 1\nnearly_done_s = 1\nsave_deadline_s = 20\nsave_s = 1\nrestart_s = 2\n\
         [commands]\nscontrol = '{0}/scontrol'\nscancel = '{0}/scancel'\ntimeout_s = 4\n",
        commands.display()
    )
}

/// Plays `SURGENT_FAULT_ROUNDS` (25) rounds from the seed `SURGENT_FAULT_SEED` (40,000) on, so many at a time as the variable
/// `side_by_side` says; `player` makes one who plays them one after the other.
pub fn play<Player: FnMut(&Round) -> Verdict>(
    faults: &'static [fault::Fault],
    (side_by_side, default): (&str, u64),
    player: impl Fn() -> Player + Sync,
) -> Outcome {
    let first_seed = number("SURGENT_FAULT_SEED", 40_000)?;
    let rounds = number("SURGENT_FAULT_ROUNDS", 25)?;
    let side_by_side = number(side_by_side, default)?.clamp(1, rounds.max(1));
    tell(&format!(
        "{rounds} rounds of faults from the seed {first_seed} on"
    ));
    let next = AtomicU64::new(0);
    let tally = Tally::new(rounds, faults);
    std::thread::scope(|scope| {
        for _ in 0..side_by_side {
            scope.spawn(|| {
                let mut play = player();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= rounds {
                        break;
                    }
                    let round = Round::of(first_seed.wrapping_add(at), faults);
                    tally.note(&round, play(&round));
                }
            });
        }
    });
    tally.close()
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A line for each round, and in the end how often each fault struck at each step.

use super::fault::Fault;
use super::round::{Round, Step};
use crate::support::{Outcome, tell};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What a round ended with.
pub enum Verdict {
    /// The fault struck, and all is well; what is remarkable about Slurm itself.
    Well(Vec<String>),
    /// All is well, but there was nothing to strike.
    Missed(String),
    /// The round could not be played here.
    Skipped(&'static str),
    /// Something is not as it must be: what, the round's story, and the logs.
    Violated(String),
}

/// See above.
pub struct Tally {
    rounds: u64,
    faults: &'static [Fault],
    begun: Instant,
    entries: Mutex<Vec<Entry>>,
}

struct Entry {
    round: Round,
    verdict: Verdict,
}

impl Tally {
    pub fn new(rounds: u64, faults: &'static [Fault]) -> Self {
        Self {
            rounds,
            faults,
            begun: Instant::now(),
            entries: Mutex::default(),
        }
    }

    pub fn note(&self, round: &Round, verdict: Verdict) {
        let mut entries = self.entries.lock().unwrap_or_else(|poison| poison.into_inner());
        let outcome = match &verdict {
            Verdict::Well(remarks) if remarks.is_empty() => "well".to_owned(),
            Verdict::Well(remarks) => format!("well ({})", remarks.join("; ")),
            Verdict::Missed(why) => format!("well, but the fault could not strike: {why}"),
            Verdict::Skipped(why) => format!("skipped: {why}"),
            Verdict::Violated(tale) => format!("VIOLATED: {tale}"),
        };
        let at = entries.len() + 1;
        let time = self.begun.elapsed().as_secs();
        tell(&format!("{at}/{} at {time} s: {round}: {outcome}", self.rounds));
        entries.push(Entry {
            round: round.clone(),
            verdict,
        });
    }

    /// Prints the summary; fails if a round did.
    pub fn close(self) -> Outcome {
        let time = self.begun.elapsed();
        let entries = self
            .entries
            .into_inner()
            .unwrap_or_else(|poison| poison.into_inner());
        tell(&summary(self.faults, &entries, time));
        let violated = entries
            .iter()
            .filter(|entry| matches!(entry.verdict, Verdict::Violated(_)));
        let seeds: Vec<String> = violated.map(|entry| entry.round.seed.to_string()).collect();
        match seeds.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "rounds that did not end well, each to be repeated with SURGENT_FAULT_ROUNDS=1 SURGENT_FAULT_SEED=: {}",
                seeds.join(" ")
            )
            .into()),
        }
    }
}

fn summary(faults: &[Fault], entries: &[Entry], time: Duration) -> String {
    let mut text = format!(
        "{} rounds in {} s. Struck, by fault and step:\n",
        entries.len(),
        time.as_secs()
    );
    text += &format!("{:34}", "");
    for step in Step::ALL {
        text += &format!("{:>12}", step.name());
    }
    for fault in faults {
        text += &format!("\n{:34}", fault.name());
        for step in Step::ALL {
            let of = entries
                .iter()
                .filter(|entry| entry.round.fault == *fault && entry.round.step == step);
            let (mut struck, mut violated) = (0, 0);
            for entry in of {
                struck += u32::from(matches!(entry.verdict, Verdict::Well(_) | Verdict::Violated(_)));
                violated += u32::from(matches!(entry.verdict, Verdict::Violated(_)));
            }
            let cell = match (struck, violated) {
                (0, _) => "-".to_owned(),
                (_, 0) => struck.to_string(),
                _ => format!("{struck} ({violated}!)"),
            };
            text += &format!("{cell:>12}");
        }
    }
    text
}

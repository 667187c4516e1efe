// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld says that submissions took it.

use crate::support::{Cluster, Outcome};
use std::ops::Sub;

/// Submissions so far, or in a round.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    pub submissions: u64,
    pub total_us: u64,
}

impl Spent {
    fn average_us(self) -> f64 {
        self.total_us as f64 / self.submissions as f64
    }
}

impl Sub for Spent {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            submissions: self.submissions - earlier.submissions,
            total_us: self.total_us - earlier.total_us,
        }
    }
}

/// What sdiag says since slurmctld was started.
pub fn spent(cluster: &Cluster) -> Outcome<Spent> {
    let answer = cluster.ask("sdiag", &[])?;
    // REQUEST_SUBMIT_BATCH_JOB ( 4003) count:5 ave_time:567 total_time:2839
    let Some(line) = answer
        .lines()
        .find(|line| line.contains("REQUEST_SUBMIT_BATCH_JOB "))
    else {
        return Ok(Spent::default());
    };
    let number = |name: &str| {
        let value = line.split_whitespace().find_map(|word| word.strip_prefix(name))?;
        value.parse().ok()
    };
    match (number("count:"), number("total_time:")) {
        (Some(submissions), Some(total_us)) => Ok(Spent {
            submissions,
            total_us,
        }),
        _ => Err(format!("sdiag does not say what submissions took: {line}").into()),
    }
}

/// All rounds, by contender; the first is what the others are compared with.
pub struct Rounds<const N: usize> {
    names: [&'static str; N],
    rounds: Vec<[Spent; N]>,
}

impl<const N: usize> Rounds<N> {
    pub fn new(names: [&'static str; N]) -> Self {
        Self {
            names,
            rounds: Vec::new(),
        }
    }

    pub fn push(&mut self, round: [Spent; N]) {
        self.rounds.push(round);
    }

    pub fn print(&self) {
        println!(
            "\n            jobs   average µs   median µs   x, median of rounds   x, middle half of rounds"
        );
        for at in 0..N {
            let of = |round: &[Spent; N]| round[at].average_us();
            let jobs: u64 = self.rounds.iter().map(|round| round[at].submissions).sum();
            let total_us: u64 = self.rounds.iter().map(|round| round[at].total_us).sum();
            let averages = sorted(self.rounds.iter().map(of));
            // Rounds are compared with themselves: whatever else the machine did then met all alike.
            let ratios = sorted(self.rounds.iter().map(|round| of(round) / round[0].average_us()));
            println!(
                "{:9} {jobs:6} {:12.0} {:11.0} {:21.3} {:17.3} to {:.3}",
                self.names[at],
                total_us as f64 / jobs as f64,
                quantile(&averages, 2),
                quantile(&ratios, 2),
                quantile(&ratios, 1),
                quantile(&ratios, 3),
            );
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// So many quarters through sorted values.
fn quantile(sorted: &[f64], quarters: usize) -> f64 {
    sorted[(sorted.len() - 1) * quarters / 4]
}

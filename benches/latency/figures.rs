// SPDX-License-Identifier: GPL-2.0-or-later
//! What was counted, and its table.

use crate::systems::System;
use std::fmt;

/// A training that made way.
pub struct Victim {
    /// Seconds that its save takes, if it had saved when it was stopped.
    pub save_s: Option<f64>,
    /// Steps that it had done and that are not in the model from which it went on.
    pub lost_steps: usize,
}

/// What one urgent job met.
pub struct Start {
    /// From the call of sbatch to the first line of the job's script.
    pub start_s: f64,
    pub victims: Vec<Victim>,
}

impl Start {
    fn unsaved(&self) -> usize {
        self.victims
            .iter()
            .filter(|victim| victim.save_s.is_none())
            .count()
    }

    /// Seconds beyond the slowest victim's save, where all have saved.
    fn beyond_save_s(&self) -> Option<f64> {
        let saves: Option<Vec<f64>> = self.victims.iter().map(|victim| victim.save_s).collect();
        Some(self.start_s - saves?.into_iter().fold(0.0, f64::max))
    }

    fn lost_steps(&self) -> usize {
        self.victims.iter().map(|victim| victim.lost_steps).sum()
    }
}

impl fmt::Display for Start {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:6.2} s", self.start_s)?;
        match self.beyond_save_s() {
            Some(beyond_s) => write!(out, ", the slowest save and {beyond_s:.2} s")?,
            None => write!(out, ", {} not saved", self.unsaved())?,
        }
        let (victims, lost) = (self.victims.len(), self.lost_steps());
        write!(out, "; {victims} victims, {lost} steps lost")
    }
}

/// All starts of one system.
pub struct Seen {
    pub system: System,
    pub starts: Vec<Start>,
}

/// The systems side by side; the first is what the others are compared with.
pub fn print(seen: &[Seen]) {
    section(
        "seconds from sbatch to the first line of the urgent job",
        seen,
        |start| vec![start.start_s],
    );
    section(
        "seconds beyond the slowest victim's save, where all have saved",
        seen,
        |start| start.beyond_save_s().into_iter().collect(),
    );
    section("steps lost, by victim", seen, |start| {
        let lost = start.victims.iter().map(|victim| victim.lost_steps as f64);
        lost.collect()
    });
    section(
        "victims, by start",
        seen,
        |start| vec![start.victims.len() as f64],
    );
    println!("\nin all            starts  victims  stopped unsaved  steps lost");
    for one in seen {
        let sum = |count: fn(&Start) -> usize| one.starts.iter().map(count).sum::<usize>();
        println!(
            "  {:16} {:5} {:8} {:16} {:11}",
            one.system.name(),
            one.starts.len(),
            sum(|start| start.victims.len()),
            sum(Start::unsaved),
            sum(Start::lost_steps)
        );
    }
}

fn section(title: &str, seen: &[Seen], values: impl Fn(&Start) -> Vec<f64>) {
    println!("\n{title}\n                    median     p95    most   median x   p95 x");
    let sorted: Vec<Vec<f64>> = seen
        .iter()
        .map(|one| {
            let mut all: Vec<f64> = one.starts.iter().flat_map(&values).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        })
        .collect();
    for (one, all) in seen.iter().zip(&sorted) {
        let name = one.system.name();
        if all.is_empty() {
            println!("  {name:16} -");
            continue;
        }
        let x = |percent| match percentile(&sorted[0], percent) {
            first if first > 0.0 => format!("{:.2}", percentile(all, percent) / first),
            _ => "-".to_owned(),
        };
        println!(
            "  {name:16} {:7.2} {:7.2} {:7.2} {:>10} {:>7}",
            percentile(all, 50),
            percentile(all, 95),
            percentile(all, 100),
            x(50),
            x(95)
        );
    }
}

/// The least of the sorted values that so many percent of them do not exceed; 0 of none.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! All turns side by side.

use crate::common::quantile;
use crate::site::Site;
use crate::turn::Turn;

/// A site under a load, and its turns: one of each round.
pub struct Column {
    pub name: &'static str,
    pub site: Site,
    /// Whether urgent jobs come.
    pub urgent: bool,
    /// The column that it is compared with.
    pub against: Option<usize>,
    pub turns: Vec<Turn>,
}

type Row = (&'static str, fn(&Turn) -> f64);

const ROWS: [Row; 12] = [
    ("scheduler cycle, ms", |turn| turn.main_cycle_ms),
    ("scheduler cycle, most, ms", |turn| turn.main_cycle_most_ms),
    ("scheduler cycles", |turn| turn.main_cycles as f64),
    ("backfill cycle, ms", |turn| turn.backfill_cycle_ms),
    ("backfill cycle, most, ms", |turn| turn.backfill_cycle_most_ms),
    ("backfill cycles", |turn| turn.backfill_cycles as f64),
    ("submission, sdiag's average, ms", |turn| turn.submit_average_ms),
    ("submission, log's median, ms", |turn| turn.submit_median_ms),
    ("squeue, ms", |turn| turn.squeue_ms),
    ("slurmctld's CPU time, % of a core", |turn| turn.cpu_percent),
    ("of which Surgent's planner", |turn| turn.planner_cpu_percent),
    ("slurmctld's memory, MiB", |turn| turn.rss_mib),
];

/// Prints what has its turns: the median of all rounds, and the median, least and most of the ratios in each round. Then what
/// Surgent's looks took under Slurm's locks.
pub fn print(columns: &[Column], under_locks_ms: &[f64]) {
    let measured = || columns.iter().filter(|column| !column.turns.is_empty());
    for (name, of) in ROWS {
        println!("\n{name}");
        for column in measured() {
            let values: Vec<f64> = column.turns.iter().map(of).collect();
            let median = quantile(&sorted(values.clone()), 2);
            print!("  {:24} {median:10.2}", column.name);
            let comparable = |at: &usize| columns[*at].turns.iter().any(|turn| of(turn) > 0.0);
            if let Some(against) = column.against.filter(comparable) {
                let others = columns[against].turns.iter().map(of);
                let ratios = sorted(
                    values
                        .iter()
                        .zip(others)
                        .map(|(value, other)| value / other)
                        .collect(),
                );
                print!(
                    "   {:5.2} x ({:.2} to {:.2}) {}",
                    quantile(&ratios, 2),
                    ratios[0],
                    ratios[ratios.len() - 1],
                    columns[against].name
                );
            }
            println!();
        }
    }
    println!("\njobs stopped for others");
    for column in measured() {
        let stopped: usize = column.turns.iter().map(|turn| turn.stopped).sum();
        println!("  {:24} {stopped:10}", column.name);
    }
    let under_locks_ms = sorted(under_locks_ms.to_vec());
    if let (Some(least), Some(most)) = (under_locks_ms.first(), under_locks_ms.last()) {
        let median = quantile(&under_locks_ms, 2);
        println!("\nunder Slurm's locks, ms:   looks    least   median     most");
        println!(
            "                           {:5} {least:8.2} {median:8.2} {most:8.2}",
            under_locks_ms.len()
        );
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What decisions take, as ratios to something simple that is measured in the same run: `cargo bench`.
//!
//! What Slurm's own plugins can be compared with is measured by `benches/hooks`; `make bench` runs both.

mod admissions;
mod allocations;
mod cluster;
mod comments;
mod demands;
mod plans;
mod replays;
mod shown;
mod submissions;

use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// All of them, or those that are named: `cargo bench --bench figures -- replays`.
fn main() {
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with("--"))
        .collect();
    let figures: [(&str, fn()); 7] = [
        ("comments", comments::comments),
        ("submissions", submissions::submissions),
        ("admissions", admissions::admissions),
        ("plans", plans::plans),
        ("demands", demands::demands),
        ("shown", shown::shown),
        ("replays", replays::replays),
    ];
    for (name, show) in figures {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            show();
        }
    }
}

/// The median of several runs.
fn median<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let begin = Instant::now();
            black_box(run());
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn ratio(time: Duration, to: Duration) -> f64 {
    time.as_secs_f64() / to.as_secs_f64()
}

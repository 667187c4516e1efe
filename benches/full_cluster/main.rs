// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-cluster`: for how long a look at a full cluster holds Slurm's locks, on a real slurmctld.
//!
//! Its nodes are cloud nodes that are for ever being powered up. So Slurm gives them to jobs, and no slurmd is needed.
//! SURGENT_BENCH_NODES is the number of nodes (10,000), SURGENT_BENCH_LOOKS that of looks (30), SURGENT_BENCH_URGENT that of
//! urgent jobs that wait beside (0).

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

#[path = "../common/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other benches use the rest")]
mod common;

mod figures;
mod fill;

use common::number;
use fill::Size;
use std::process::ExitCode;

fn main() -> ExitCode {
    common::run("bench-cluster", |interrupted| {
        let size = Size {
            nodes: number("SURGENT_BENCH_NODES", 10_000)?,
            urgent: number("SURGENT_BENCH_URGENT", 0)?,
        };
        let looks = number("SURGENT_BENCH_LOOKS", 30)?;
        let cluster = fill::full(size, interrupted)?;
        figures::print(&cluster, size, looks)
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading what squeue and scontrol print of a large cluster.

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/show/printer.rs"]
mod printer;

use crate::{allocations, median, ratio};
use bstr::ByteSlice as _;
use printer::{Job, Printed, read};
use std::hint::black_box;

const NODES: u32 = 10_000;
/// Running jobs of each node; one in so many spans two nodes.
const JOBS_PER_NODE: u32 = 4;
const SPANNING: u32 = 20;
const WAITING: u32 = 10_000;

fn jobs() -> Vec<Job> {
    let running = NODES * JOBS_PER_NODE;
    let hold = |id: u32| {
        let node = (id - 1) % NODES;
        let other = (node + 1) % NODES;
        match id % SPANNING {
            0 => vec![(node, 16, 2), (other, 16, 2)],
            _ => vec![(node, 16, 2)],
        }
    };
    let running_jobs = (1..=running).map(|id| Job::running(id, hold(id)));
    let waiting_jobs = (running + 1..=running + WAITING).map(Job::waiting);
    running_jobs.chain(waiting_jobs).collect()
}

pub fn shown() {
    let printed = Printed::of(NODES, &jobs());
    let outputs = [&printed.list, &printed.texts, &printed.records, &printed.nodes];
    let bytes: usize = outputs.iter().map(|output| output.len()).sum();
    let parse = || read(&printed, |_| Vec::new()).expect("the tables are whole");
    let splitting = median(9, || {
        outputs.iter().map(|output| output.lines().count()).sum::<usize>()
    });
    let time = median(5, parse);
    let peak_bytes = allocations::peak_bytes_of(|| {
        black_box(parse());
    });
    let (jobs, facts) = parse();
    let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    println!("\nwhat Slurm's commands print; x: as many times as splitting the same bytes into lines");
    println!(
        "  {} nodes, {} jobs: {:.0} MiB read in {:.0} ms ({:.1} x), {:.0} MiB held beside the text",
        facts.nodes.len(),
        jobs.len(),
        mib(bytes),
        time.as_secs_f64() * 1e3,
        ratio(time, splitting),
        mib(peak_bytes),
    );
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent beside what else a site has set up in Slurm: other plugins, schedulers, reservations, shared CPUs, licences,
//! suspended jobs. Arrays and `--exclusive` are in `shapes`, heterogeneous jobs in `heterogeneous`, PreemptExemptTime in
//! `shapes` too.

mod plugins;
mod reservations;
mod scheduling;
mod sharing;
mod suspended;

use crate::shapes::crowd::Member;
use crate::shapes::{TOML, gpus_of};
use crate::support::{Builder, Cluster};

/// A cluster where stopping and starting is a matter of moments.
fn prompt() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
}

/// A job on all of each node, `m1` on `n1` and so on; that on n3 is cheapest, then those on n4, n1 and n2.
fn whole_nodes() -> Vec<Member> {
    [("m1", 80), ("m2", 90), ("m3", 10), ("m4", 20)]
        .map(|(name, priority)| whole_node(name, &[]).worth(priority))
        .into()
}

/// A job on all of the node of its number.
fn whole_node(name: &str, more: &[&str]) -> Member {
    let node = format!("-w{}", name.replace('m', "n"));
    let mut options = gpus_of(4, &[&node, "--time=600"]);
    options.extend(more.iter().map(|option| (*option).to_owned()));
    Member::new(name, options)
}

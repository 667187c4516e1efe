// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests on a real Slurm cluster on this machine. See `tests/support`.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the demo uses the rest")]
mod support;

mod admission;
mod ask;
mod attacks;
mod audit;
mod backup;
mod base;
mod beside;
mod check;
mod comments;
mod drill;
mod epilog;
mod faults;
mod follow;
mod harness;
mod heterogeneous;
mod holds;
mod interruptions;
mod kept;
mod latency;
mod launchers;
mod layout;
mod memory;
mod metrics;
mod order;
mod programs;
mod reclass;
mod rehearsal;
mod releases;
mod saving;
mod scene;
mod shapes;
mod show;
mod status;
mod story;
mod traps;
mod upgrade;
mod urgency_option;
mod victims;

use support::{Builder, Cluster, Outcome, tell};

/// Runs a test on a cluster of its own; prints that it is skipped if SURGENT_NO_CLUSTER=1 asks for that.
fn on_cluster(setup: Builder, test: impl FnOnce(&mut Cluster) -> Outcome) -> Outcome {
    match skips() {
        true => Ok(()),
        false => test(&mut setup.start()?),
    }
}

/// Whether tests on a cluster are to be skipped; says so.
fn skips() -> bool {
    let skips = std::env::var_os("SURGENT_NO_CLUSTER").is_some_and(|value| value == "1");
    if skips {
        tell("skipped, for SURGENT_NO_CLUSTER=1 is set: a test on a cluster");
    }
    skips
}

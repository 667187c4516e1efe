// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests on a real Slurm cluster on this machine. See `tests/support`.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the demo uses the rest")]
mod support;

mod comments;
mod faults;
mod harness;
mod interruptions;
mod latency;
mod scene;
mod shapes;
mod story;
mod traps;
mod victims;

use support::{Builder, Cluster, Outcome};

/// Runs a test on a cluster of its own; prints that it is skipped if SURGENT_NO_CLUSTER=1 asks for that.
fn on_cluster(setup: Builder, test: impl FnOnce(&mut Cluster) -> Outcome) -> Outcome {
    if std::env::var_os("SURGENT_NO_CLUSTER").is_some_and(|value| value == "1") {
        println!("skipped: SURGENT_NO_CLUSTER=1 is set");
        return Ok(());
    }
    test(&mut setup.start()?)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The cluster of the soak, with Surgent or without.

use crate::support::{Cluster, Outcome, Preempt, places};
use std::fs;
use std::path::PathBuf;

/// slurmctld forgets jobs soon, so that what it still knows of them is not taken for a leak.
const CONF: [&str; 3] = [
    "SchedulerParameters=batch_sched_delay=0,bf_interval=2",
    "MinJobAge=10",
    "PriorityType=priority/multifactor",
];

/// Only with Surgent. At this level the log tells what looks take.
const WITH_SURGENT: [&str; 2] = [
    "PrioritySiteFactorPlugin=site_factor/surgent",
    "SlurmctldDebug=debug",
];

/// Without Surgent urgent jobs only go first.
const WITHOUT: &str = "PartitionName=first Nodes=ALL PriorityTier=2";
pub const URGENT_WITHOUT: &[&str] = &["--partition=first"];

const TOML: &str = "[victims]\nmin_runtime_s = 1\nnearly_done_s = 1\nsave_deadline_s = 30\nsave_s = 1\nrestart_s = 2\n\
                    [urgent]\nwait_max_s = 5\n";

/// Starts it, with what its jobs run in its work folder.
pub fn start(with_surgent: bool) -> Outcome<Cluster> {
    let mut builder = Cluster::builder();
    for line in CONF {
        builder = builder.conf(line);
    }
    builder = match with_surgent {
        true => WITH_SURGENT
            .iter()
            .fold(builder.toml(TOML), |builder, line| builder.conf(line)),
        false => builder.preempt(Preempt::Nothing).conf(WITHOUT),
    };
    let cluster = builder.start()?;
    // Ordinary users cannot look into a checkout of root's.
    let copies = [
        (places::surgent()?, surgent(&cluster)),
        (
            places::root().join("tests/soak/training.sh"),
            cluster.work().join("training.sh"),
        ),
    ];
    for (from, to) in copies {
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(cluster)
}

/// The program that trainings run under.
pub fn surgent(cluster: &Cluster) -> PathBuf {
    cluster.work().join("surgent")
}

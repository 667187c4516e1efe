// SPDX-License-Identifier: GPL-2.0-or-later
//! Waiting for Slurm to fill a cluster.

use super::Sdiag;
use crate::support::{Cluster, LIMIT, Outcome};
use std::time::{Duration, Instant};

/// Filling ends in failure where no job was started for so long.
const STUCK: Duration = Duration::from_secs(300);

/// Waits until slurmctld has started so many jobs since it was started itself.
pub fn wait_until_started(cluster: &Cluster, jobs: u32) -> Outcome {
    let mut before = 0;
    let mut progress = Instant::now();
    loop {
        let started = Sdiag::ask(cluster)?.number("", "Jobs started")?;
        println!("{started} of {jobs} jobs have their node.");
        if started >= jobs.into() {
            return Ok(());
        }
        if started > before {
            (before, progress) = (started, Instant::now());
        } else if progress.elapsed() > STUCK {
            return Err(cluster.with_logs("Slurm does not start the other jobs.".to_owned()));
        }
        // Ends early, and in failure, only if somebody interrupts it.
        let pause = Instant::now();
        cluster.wait_for("more jobs to start", LIMIT, |_| {
            Ok(pause.elapsed() > Duration::from_secs(10))
        })?;
    }
}

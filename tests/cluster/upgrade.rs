// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugins are replaced by newer ones under a running slurmctld, by the package manager.

use crate::on_cluster;
use crate::scene::{assert_finishes_whole, four, quick, urgent, wait_for_requests};
use crate::support::{Cluster, LIMIT, Outcome, finish, places};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// The command that upgrades them.
const COMMAND: &str = "SURGENT_UPGRADE";

#[test]
#[ignore = "wants installed packages: make check-packages"]
fn slurmctld_works_on_with_the_old_plugins_and_then_with_the_new() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(30, 0.1).option("--save-s=4"))?;
        let first = urgent(cluster, "first", 2)?;
        wait_for_requests(cluster, &trainees, first, 2)?;
        upgrade()?;
        cluster.wait_for_state(first, "COMPLETED", LIMIT)?;
        assert_urgent_jobs_are_served(cluster, "old")?;
        cluster.reconfigure()?;
        assert_urgent_jobs_are_served(cluster, "reconfigured")?;
        cluster.stop_controller()?;
        cluster.start_controller()?;
        assert_urgent_jobs_are_served(cluster, "restarted")?;
        trainees
            .iter()
            .try_for_each(|trainee| assert_finishes_whole(cluster, trainee))
    })
}

/// Replaces the plugins where slurmctld has them from.
fn upgrade() -> Outcome {
    let core = places::plugins()?.join("libsurgent.so");
    let file = || {
        std::fs::metadata(&core)
            .map(|data| data.ino())
            .map_err(|error| format!("{}: {error}", core.display()))
    };
    let before = file()?;
    let command = std::env::var(COMMAND).map_err(|error| format!("{COMMAND}: {error}"))?;
    finish(Command::new("sh").args(["-c", &command]), &command)?;
    assert_ne!(before, file()?, "the core is the same file as before");
    Ok(())
}

fn assert_urgent_jobs_are_served(cluster: &mut Cluster, name: &str) -> Outcome {
    let job = urgent(cluster, name, 2)?;
    cluster.wait_for_state(job, "COMPLETED", LIMIT)?;
    cluster.controller_is_well()
}

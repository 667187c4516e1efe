// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugins are replaced by newer ones under a running slurmctld, by the package manager.

use crate::on_cluster;
use crate::scene::{TOML, Trainee, assert_finishes_whole, four, quick, urgent, wait_for_requests};
use crate::support::{Cluster, LIMIT, Outcome, finish, places};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// The command that upgrades them.
const COMMAND: &str = "SURGENT_UPGRADE";

#[test]
#[ignore = "wants installed packages: make check-packages"]
fn slurmctld_works_on_with_the_old_plugins_and_then_with_the_new() -> Outcome {
    // However soon the trainings end, each urgent job is to have its victims.
    let setup = quick().toml(&format!("{TOML}[urgent]\nwait_max_s = 0\n"));
    on_cluster(setup, |cluster| {
        let trainees = four(cluster, |training| training.lasting(24, 0.1).option("--save-s=4"))?;
        assert_an_urgent_job_is_served(cluster, "meanwhile", &trainees, upgrade)?;
        assert_an_urgent_job_is_served(cluster, "old", &trainees, || Ok(()))?;
        cluster.reconfigure()?;
        assert_an_urgent_job_is_served(cluster, "reconfigured", &trainees, || Ok(()))?;
        cluster.stop_controller()?;
        cluster.start_controller()?;
        assert_an_urgent_job_is_served(cluster, "restarted", &trainees, || Ok(()))?;
        trainees
            .iter()
            .try_for_each(|trainee| assert_finishes_whole(cluster, trainee))
    })
}

/// Two trainings make way for it; `meanwhile` comes between the requests and the saves.
fn assert_an_urgent_job_is_served(
    cluster: &mut Cluster,
    name: &str,
    trainees: &[Trainee],
    meanwhile: impl FnOnce() -> Outcome,
) -> Outcome {
    let trainings: Vec<_> = trainees.iter().map(|trainee| trainee.id).collect();
    cluster.wait_for_all(&trainings, "RUNNING")?;
    let job = urgent(cluster, name, 2)?;
    wait_for_requests(cluster, trainees, job, 2)?;
    meanwhile()?;
    cluster.wait_for_state(job, "COMPLETED", LIMIT)?;
    cluster.controller_is_well()
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

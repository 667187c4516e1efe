// SPDX-License-Identifier: GPL-2.0-or-later
//! The base comes and goes with surgent.toml, and slurmctld does without where it cannot be had.

use super::scenes::wait_for_reason;
use super::{BASE, NO_DELAY, submit, wait_for_base, with_surgent};
use crate::scene::settings;
use crate::support::{LIMIT, Outcome, finish, places};
use crate::{on_cluster, skips};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Its file is missing, or of another release; where both plugins are named one after the other, each is told of once.
#[test]
fn a_base_that_cannot_be_loaded_is_told_of_and_keeps_nobody_from_working() -> Outcome {
    if skips() {
        return Ok(());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), readable).map_err(|error| error.to_string())?;
    // All plugins but the two, and one that calls itself one of them.
    for source in [places::plugins()?, places::stock_plugins()?] {
        link_plugins(&source, folder.path())?;
    }
    let code = "const char plugin_type[] = \"preempt/qos\"; const unsigned plugin_version = 0x150801;";
    let file = folder.path().join("strange.c");
    fs::write(&file, code).map_err(|error| error.to_string())?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-o"])
        .args([&folder.path().join("preempt_qos.so"), &file]);
    finish(&mut cc, "cc")?;

    let plugin_dir = format!("PluginDir={}", folder.path().display());
    on_cluster(
        with_surgent("base = \"qos\"", &[NO_DELAY, &plugin_dir]),
        |cluster| {
            let failed = |name: &str, why: &str| {
                let line = format!("surgent: {name} cannot be loaded: ");
                cluster.wait_for(&format!("{line:?} and {why:?} in the log"), LIMIT, |cluster| {
                    Ok(cluster.logged(&[&line, why]).is_some())
                })
            };
            failed("preempt_qos.so", "another Slurm release")?;
            settings(cluster, BASE)?;
            failed("preempt_partition_prio.so", "no folder of PluginDir")?;
            let urgent = submit(cluster, "urgent", &["--comment=urgency=urgent", "--nodes=4"])?;
            cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
            let told = cluster.log();
            let told = told.iter().filter(|line| line.has(&["cannot be loaded"]));
            assert_eq!(told.count(), 2, "each once");
            cluster.controller_is_well()
        },
    )
}

/// Links to all plugins in `source` but the two that can be a base.
fn link_plugins(source: &Path, target: &Path) -> Outcome {
    let entries = fs::read_dir(source).map_err(|error| format!("{}: {error}", source.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if ["preempt_qos.so", "preempt_partition_prio.so"]
            .iter()
            .all(|base| name != *base)
        {
            symlink(entry.path(), target.join(&name)).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

#[test]
fn the_base_changes_with_the_file() -> Outcome {
    on_cluster(with_surgent("", &[NO_DELAY]), |cluster| {
        let low = cluster.sbatch(
            &["--requeue", "--exclusive", "--nodes=4", "--partition=low"],
            "sleep 1000",
        )?;
        cluster.wait_for_state(low, "RUNNING", LIMIT)?;
        let high = submit(cluster, "high", &["--nodes=1"])?;
        wait_for_reason(cluster, high, "Resources")?;
        for (toml, named) in [
            ("base = \"qos\"", "the base is preempt/qos"),
            ("", "there is no base"),
            (BASE, "the base is preempt/partition_prio"),
        ] {
            assert_eq!(cluster.job(low)?.state(), "RUNNING");
            settings(cluster, toml)?;
            wait_for_base(cluster, named)?;
        }
        cluster.wait_for_state(high, "COMPLETED", 2 * LIMIT)?;
        assert_eq!(cluster.job(low)?.restarts(), 1);
        // And over a restart.
        cluster.kill_controller()?;
        cluster.start_controller()?;
        let again = cluster.sbatch(&["--exclusive", "--nodes=4", "--partition=low"], "sleep 1000")?;
        cluster.wait_for_state(again, "RUNNING", LIMIT)?;
        let high = submit(cluster, "again", &["--nodes=1"])?;
        cluster.wait_for_state(high, "COMPLETED", 2 * LIMIT)
    })
}

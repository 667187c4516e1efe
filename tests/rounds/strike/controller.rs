// SPDX-License-Identifier: GPL-2.0-or-later
//! slurmctld killed; and its clock, by libfaketime, as nobody may step that of the machine.

use crate::field::Field;
use crate::support::{Cluster, Outcome};
use std::fs;
use std::path::Path;

/// Slurm writes its jobs up to five seconds late. Of those whom it may have begun to requeue it can forget that, and then
/// takes for running, or for ended, what it has stopped itself. They have to come back all the same.
pub fn kill(field: &mut Field<'_>) -> Outcome {
    field.cluster.kill_controller()?;
    let log = field.log();
    let by_command = log.contains("surgent: requeueing jobs");
    let requeued = field.asked().into_iter().filter(|victim| {
        let preempted = format!("preempted JobId={} has been requeued", victim.id);
        by_command || log.contains(&preempted)
    });
    let requeued: Vec<_> = requeued.map(|victim| victim.id).collect();
    field.interrupted.extend(requeued);
    Ok(())
}

/// What slurmctld is to be started with for its clock to be stepped; `None` where libfaketime is not installed.
pub fn clock_environment(folder: &Path) -> Option<Vec<(String, String)>> {
    let architecture = std::env::consts::ARCH;
    let library = format!("/usr/lib/{architecture}-linux-gnu/faketime/libfaketimeMT.so.1");
    let variables = [
        ("LD_PRELOAD", library.clone()),
        (
            "FAKETIME_TIMESTAMP_FILE",
            folder.join("clock").display().to_string(),
        ),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    Path::new(&library).exists().then(|| variables.into())
}

/// Steps it: "+40" seconds, "-40", or "+0" for the machine's time.
pub fn set_clock(cluster: &Cluster, offset: &str) -> Outcome {
    let path = cluster.folder().join("clock");
    // By rename: slurmctld reads it at any moment.
    let aside = path.with_extension("new");
    fs::write(&aside, offset)
        .and_then(|()| fs::rename(&aside, &path))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The jobs: those that run, those that wait, and those that come while it is measured.

use crate::common::wait_until_started;
use crate::site::Sites;
use crate::support::{Cluster, Outcome, finish};
use std::process::Command;
use std::time::Duration;

/// Trainings that wait are submitted so many at a time.
const ARRAY: u32 = 1000;
/// Jobs that came while it was measured are gone by then.
const LIMIT: Duration = Duration::from_secs(300);

/// The name of jobs that come while it is measured.
const VISITOR: &str = "visitor";

/// A training: half a node, and what a monitor would report of it.
const TRAINING: [&str; 12] = [
    "-p",
    "low",
    "-N1",
    "-c2",
    "--gres=gpu:1",
    "-t",
    "10-0",
    "--requeue",
    "-o",
    "/dev/null",
    "--comment",
    "epochs=90 epoch=12.5 epoch_s=600 at=1764410000 save=step save_s=1 signal=USR1@batch",
];
const SCRIPT: &str = include_str!("training.sh");

/// Has the cluster full of running trainings, and then of waiting ones.
pub fn fill(sites: &mut Sites) -> Outcome {
    let size = sites.size;
    finish(
        Command::new("mkfifo").arg(sites.cluster.work().join("never")),
        "mkfifo",
    )?;
    println!("Starting {} jobs.", size.running());
    let array = format!("--array=0-{}", size.running() - 1);
    sites
        .cluster
        .ask("sbatch", &[&TRAINING[..], &[&array, "--wrap", SCRIPT]].concat())?;
    wait_until_started(&sites.cluster, size.running())?;
    wait_until_full(sites)?;
    println!("Submitting {} that wait.", size.waiting);
    for first in (0..size.waiting).step_by(ARRAY as usize) {
        submit_waiting(&sites.cluster, ARRAY.min(size.waiting - first))?;
        sites.pause(Duration::ZERO)?;
    }
    Ok(())
}

/// Submits an array of trainings, each of which has a record of its own in slurmctld: as Slurm splits an array of which a
/// part is changed.
fn submit_waiting(cluster: &Cluster, jobs: u32) -> Outcome {
    let array = format!("--array=0-{}", jobs - 1);
    let answer = cluster.ask(
        "sbatch",
        &[&TRAINING[..], &["--parsable", &array, "--wrap", SCRIPT]].concat(),
    )?;
    if jobs > 1 {
        let all_but_one = format!("JobId={}_[0-{}]", answer.trim(), jobs - 2);
        cluster.ask("scontrol", &["update", &all_but_one, "Nice=0"])?;
    }
    Ok(())
}

/// Waits until all nodes are full of trainings.
pub fn wait_until_full(sites: &Sites) -> Outcome {
    sites.cluster.wait_for("all nodes to be full", LIMIT, |cluster| {
        let running = cluster.ask("squeue", &["-h", "-t", "R", "-p", "low", "-o", "%i"])?;
        Ok(running.lines().count() >= sites.size.running() as usize)
    })
}

/// Submits a training that will have to wait.
pub fn submit_training(cluster: &Cluster) -> Outcome {
    cluster
        .ask(
            "sbatch",
            &[&TRAINING[..], &["-J", VISITOR, "--wrap", SCRIPT]].concat(),
        )
        .map(drop)
}

/// Submits a job for which two trainings have to make way, under Slurm's rules and under Surgent's.
pub fn submit_urgent(cluster: &Cluster) -> Outcome {
    let job = [
        "-p",
        "high",
        "-N1",
        "--exclusive",
        "--gres=gpu:2",
        "-t",
        "10",
        "-o",
        "/dev/null",
    ];
    let rest = ["-J", VISITOR, "--comment=urgency=urgent", "--wrap", "sleep 5"];
    cluster.ask("sbatch", &[&job[..], &rest[..]].concat()).map(drop)
}

/// Takes away who came while it was measured.
pub fn dismiss(cluster: &Cluster) -> Outcome {
    cluster.ask("scancel", &["-n", VISITOR])?;
    cluster.wait_for("the jobs that came meanwhile to be gone", LIMIT, |cluster| {
        Ok(cluster
            .ask("squeue", &["-h", "-n", VISITOR, "-o", "%i"])?
            .is_empty())
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The harness itself, with Slurm as it comes.

use crate::on_cluster;
use crate::support::{Cluster, LIMIT, Outcome, Preempt, Training};
use std::fs;

#[test]
fn a_dropped_cluster_leaves_no_process_and_no_file() -> Outcome {
    let mut left = String::new();
    on_cluster(Cluster::builder().preempt(Preempt::Nothing), |cluster| {
        left = cluster.folder().display().to_string();
        cluster.sbatch(
            &["-J", "root"],
            "trap '' TERM; srun sleep 1000 & echo up; sleep 1000",
        )?;
        cluster.sbatch_as_nobody(&["-J", "nobody"], "id -un; sleep 1000")?;
        cluster.wait_for_output("root", "up", LIMIT)?;
        cluster.wait_for_output("nobody", "nobody", LIMIT)?;
        assert!(
            processes_of(&left) >= 8,
            "munged, slurmctld, four slurmd and two jobs run"
        );
        Ok(())
    })?;
    if !left.is_empty() {
        assert_eq!(processes_of(&left), 0);
        assert!(!fs::exists(&left).unwrap());
    }
    Ok(())
}

/// What the demo's table says of Slurm alone is true of it.
#[test]
fn slurm_alone_stops_the_youngest_and_loses_all_they_did() -> Outcome {
    let setup = Cluster::builder()
        .preempt(Preempt::PartitionPrio)
        .conf("SchedulerParameters=batch_sched_delay=0,preempt_youngest_first");
    on_cluster(setup, |cluster| {
        let mut trainees = Vec::new();
        for name in ["a", "b", "c", "d"] {
            trainees.push((
                name,
                Training::new(name)
                    .lasting(9, 0.1)
                    .unmonitored()
                    .submit(cluster)?,
            ));
            // Slurm counts starts in whole seconds.
            cluster.wait_for_steps(name, 12)?;
        }
        let urgent = cluster.sbatch(&["--partition=high", "--nodes=2", "--exclusive"], "sleep 1")?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        for (name, id) in trainees {
            let (job, steps) = (cluster.job(id)?, cluster.steps(name));
            assert_eq!(
                job.restarts(),
                u32::from(["c", "d"].contains(&name)),
                "restarts of {name}"
            );
            assert!(steps.last() >= 12 && steps.of("saved").count() == 0, "{name}");
        }
        Ok(())
    })
}

/// Counts the processes that name `folder` in their environment.
fn processes_of(folder: &str) -> usize {
    let environments = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("environ"));
    let named = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(folder);
    environments
        .filter(|path| fs::read(path).is_ok_and(named))
        .count()
}

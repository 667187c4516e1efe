// SPDX-License-Identifier: GPL-2.0-or-later
//! A panic in any hook must leave slurmctld answering, with Slurm's own behaviour.

use crate::scene::{by_factors, four, quick, urgent};
use crate::support::{Builder, Cluster, LIMIT, Outcome, places};
use crate::{on_cluster, skips};

/// Runs `scene` with a core in which `hook` panics each time; the log must tell of it and slurmctld be well after.
fn with_fault(hook: &str, scene: impl FnOnce(&mut Cluster) -> Outcome) -> Outcome {
    with_fault_on(quick(), hook, scene)
}

/// The same on a cluster like this.
fn with_fault_on(setup: Builder, hook: &str, scene: impl FnOnce(&mut Cluster) -> Outcome) -> Outcome {
    if skips() {
        return Ok(());
    }
    let setup = setup
        .plugins(places::plugins_with_faults()?)
        .controller_env("SURGENT_FAULT", hook);
    on_cluster(setup, |cluster| {
        scene(cluster)?;
        let fault = format!("surgent: fault 1 of 3 in {hook}: ");
        cluster.wait_for(&format!("{fault:?} in the log"), LIMIT, |cluster| {
            Ok(cluster.logged(&[&fault]).is_some())
        })?;
        let after = cluster.sbatch(&["--job-name=after", "--comment=epochs=3"], "echo after")?;
        cluster.wait_for_output("after", "after", 2 * LIMIT)?;
        cluster.wait_for_state(after, "COMPLETED", LIMIT)?;
        cluster.controller_is_well()
    })
}

/// Four trainings and an urgent job. Whether it waits for them or takes their place, all of them end.
fn full_cluster(cluster: &mut Cluster) -> Outcome {
    let trainees = four(cluster, |training| training.lasting(3, 0.1))?;
    // Two nodes, so that there are victims to be put in order.
    let urgent = urgent(cluster, "urgent", 2)?;
    cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
    // One that Slurm requeues without Surgent's help starts again only after its two minutes.
    let ends = |state: &str| ["COMPLETED", "PENDING"].contains(&state);
    trainees.iter().try_for_each(|trainee| {
        cluster.wait_for(&format!("{} to end", trainee.name), LIMIT, |cluster| {
            Ok(ends(cluster.job(trainee.id)?.state()))
        })
    })
}

#[test]
fn in_job_submit() -> Outcome {
    with_fault("job_submit", |cluster| {
        let job = cluster.sbatch(&["--hold", "--comment=urgency=urgnt"], "true")?;
        assert_eq!(
            cluster.job(job)?.get("AdminComment"),
            "",
            "Slurm takes any comment, and writes no record"
        );
        Ok(())
    })
}

#[test]
fn in_job_modify() -> Outcome {
    with_fault("job_modify", |cluster| {
        let job = cluster.sbatch(&["--hold", "--comment=epochs=12"], "true")?;
        cluster.ask(
            "scontrol",
            &["update", &format!("JobId={job}"), "Comment=epochs=-3"],
        )?;
        assert_eq!(cluster.comment(job)?, "epochs=-3", "Slurm takes any comment");
        Ok(())
    })
}

#[test]
fn in_preemptable() -> Outcome {
    with_fault("preemptable", full_cluster)
}

#[test]
fn in_site_factor() -> Outcome {
    with_fault_on(by_factors(quick()), "site_factor", |cluster| {
        let job = cluster.sbatch(&["--hold", "--comment=epochs=12"], "true")?;
        cluster.ask("scontrol", &["release", &job.to_string()])?;
        cluster.wait_for_state(job, "COMPLETED", LIMIT)
    })
}

#[test]
fn in_mode() -> Outcome {
    with_fault("mode", full_cluster)
}

#[test]
fn in_priority() -> Outcome {
    with_fault("priority", full_cluster)
}

#[test]
fn in_acts() -> Outcome {
    with_fault("acts", full_cluster)
}

#[test]
fn in_snapshot() -> Outcome {
    with_fault("snapshot", full_cluster)
}

#[test]
fn in_planner() -> Outcome {
    with_fault("planner", full_cluster)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Urgent jobs where Slurm's own preemption goes on for the others.

use super::scenes::wait_for_reason;
use super::{BASE, NO_DELAY, wait_for_base, with_surgent};
use crate::on_cluster;
use crate::scene::{TOML, Trainee, assert_all_finish_whole, start, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training, places};
use std::fs;

/// Four trainings that Slurm, left to itself, would cancel.
fn four_to_cancel(cluster: &Cluster, change: impl Fn(Training) -> Training) -> Outcome<Vec<Trainee>> {
    let training = |name: &'static str| {
        let training = Training::new(name).sbatch("--partition=cancelled");
        (name, change(training))
    };
    start(cluster, ["a", "b", "c", "d"].map(training))
}

fn submit(cluster: &Cluster, name: &str, options: &[&str]) -> Outcome<JobId> {
    let name = format!("--job-name={name}");
    let arguments: Vec<_> = ["--exclusive", "--partition=high", &name]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    cluster.sbatch(&arguments, "echo up; sleep 3")
}

const URGENT: &str = "--comment=urgency=urgent";

#[test]
fn victims_save_first_and_are_requeued_where_the_site_would_cancel_them() -> Outcome {
    let setup = with_surgent(BASE, &[NO_DELAY, "PreemptMode=CANCEL"]);
    on_cluster(setup, |cluster| {
        wait_for_base(cluster, "preempt/partition_prio")?;
        let trainees = four_to_cancel(cluster, |training| training.lasting(4, 0.1).option("--save-s=2"))?;
        let urgent = submit(cluster, "urgent", &[URGENT, "--nodes=2"])?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        assert_all_finish_whole(cluster, &trainees, &victims)
    })
}

/// The next best one makes way instead.
#[test]
fn a_victim_that_the_base_takes_first_is_replaced() -> Outcome {
    on_cluster(with_surgent(BASE, &[NO_DELAY]), |cluster| {
        wait_for_base(cluster, "preempt/partition_prio")?;
        let trainees = four_to_cancel(cluster, |training| training.lasting(6, 0.1).option("--save-s=4"))?;
        // In `high`, Slurm would try nobody behind it.
        let urgent = submit(cluster, "urgent", &[URGENT, "--nodes=1", "--partition=low"])?;
        let first = wait_for_requests(cluster, &trainees, urgent, 1)?[0];
        let node = cluster.job(trainees[first].id)?.get("NodeList").to_owned();
        let normal = submit(cluster, "normal", &[&format!("--nodelist={node}"), "--time=60"])?;
        cluster.wait_for_state(trainees[first].id, "PREEMPTED", LIMIT)?;
        cluster.wait_for_all(&[normal, urgent], "COMPLETED")?;
        for (position, trainee) in trainees.iter().enumerate() {
            let state = if position == first {
                "PREEMPTED"
            } else {
                "COMPLETED"
            };
            cluster.wait_for_state(trainee.id, state, LIMIT)?;
        }
        Ok(())
    })
}

#[test]
fn an_urgent_job_is_never_taken_for_a_normal_one() -> Outcome {
    on_cluster(with_surgent(BASE, &[NO_DELAY]), |cluster| {
        wait_for_base(cluster, "preempt/partition_prio")?;
        let urgent = cluster.sbatch(
            &[
                URGENT,
                "--requeue",
                "--exclusive",
                "--partition=low",
                "--nodelist=n[1-3]",
            ],
            "sleep 1000",
        )?;
        let normal = cluster.sbatch(
            &["--requeue", "--exclusive", "--partition=low", "--nodelist=n4"],
            "sleep 1000",
        )?;
        cluster.wait_for_all(&[urgent, normal], "RUNNING")?;
        let two = submit(cluster, "two", &["--nodes=2"])?;
        wait_for_reason(cluster, two, "Resources")?;
        cluster.ask("scancel", &[&two.to_string()])?;
        let one = submit(cluster, "one", &["--nodes=1"])?;
        cluster.wait_for_state(one, "COMPLETED", LIMIT)?;
        assert_eq!(cluster.job(normal)?.restarts(), 1);
        assert_eq!(
            (cluster.job(urgent)?.state(), cluster.job(urgent)?.restarts()),
            ("RUNNING", 0)
        );
        Ok(())
    })
}

/// Slurm behaves as without Surgent then: the base is asked about urgent jobs too.
#[test]
fn while_surgent_does_not_act_urgent_jobs_are_as_others() -> Outcome {
    let faulty = with_surgent(BASE, &[NO_DELAY])
        .plugins(places::plugins_with_faults()?)
        .controller_env("SURGENT_FAULT", "preemptable");
    let shadow = with_surgent(&format!("mode = \"shadow\"\n{BASE}"), &[NO_DELAY]);
    for setup in [faulty, shadow] {
        on_cluster(setup, |cluster| {
            wait_for_base(cluster, "preempt/partition_prio")?;
            let low = ["--requeue", "--exclusive", "--nodes=4"];
            let low = cluster.sbatch(&[&low[..], &["--partition=low", URGENT]].concat(), "sleep 1000")?;
            cluster.wait_for_state(low, "RUNNING", LIMIT)?;
            let high = submit(cluster, "high", &[URGENT, "--nodes=1"])?;
            cluster.wait_for_state(high, "COMPLETED", 2 * LIMIT)?;
            assert_eq!(cluster.job(low)?.restarts(), 1);
            cluster.controller_is_well()
        })?;
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
            ("base = \"qos\"", "preempt/qos"),
            ("", "nobody"),
            (BASE, "preempt/partition_prio"),
        ] {
            assert_eq!(cluster.job(low)?.state(), "RUNNING");
            fs::write(cluster.folder().join("surgent.toml"), format!("{toml}\n{TOML}"))
                .map_err(|error| error.to_string())?;
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

// SPDX-License-Identifier: GPL-2.0-or-later
//! Who is stopped, and who never is.

use crate::on_cluster;
use crate::scene::{
    TOML, asked_for, assert_all_finish_whole, assert_finishes_whole, assert_undisturbed, four, quick, start,
    urgent, wait_for_requests,
};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training};
use std::process::Stdio;

#[test]
fn an_urgent_job_that_fits_needs_no_victim() -> Outcome {
    on_cluster(quick(), |cluster| {
        let names = ["a", "b", "c"];
        let trainees = start(
            cluster,
            names.map(|name| (name, Training::new(name).lasting(2, 0.1))),
        )?;
        let urgent = urgent(cluster, "urgent", 1)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        assert!(cluster.logged(&["surgent: plan for job"]).is_none());
        trainees
            .iter()
            .try_for_each(|trainee| assert_undisturbed(cluster, trainee))
    })
}

#[test]
fn an_urgent_job_that_can_never_fit_disturbs_nobody() -> Outcome {
    on_cluster(quick(), |cluster| {
        // It outlasts the others, or they would be all that is in the way.
        let keep = |name: &'static str| (name, Training::new(name).lasting(5, 0.1).sbatch("--no-requeue"));
        let give = |name: &'static str| (name, Training::new(name).lasting(2, 0.1));
        let trainees = start(cluster, [keep("a"), give("b"), give("c"), give("d")])?;
        // All four nodes: the job on one of them may not be stopped.
        let urgent = urgent(cluster, "urgent", 4)?;
        wait_for_refusal(cluster, urgent, "1 not_requeueable")?;
        for trainee in &trainees {
            assert_finishes_whole(cluster, trainee)?;
            assert_undisturbed(cluster, trainee)?;
        }
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)
    })
}

#[test]
fn urgent_never_preempts_urgent() -> Outcome {
    on_cluster(quick(), |cluster| {
        let first = urgent(cluster, "first", 4)?;
        cluster.ask("scontrol", &["update", &format!("JobId={first}"), "Requeue=1"])?;
        cluster.wait_for_state(first, "RUNNING", LIMIT)?;
        let second = urgent(cluster, "second", 1)?;
        wait_for_refusal(cluster, second, "1 urgent")?;
        cluster.wait_for_all(&[first, second], "COMPLETED")?;
        assert_eq!(cluster.job(first)?.restarts(), 0);
        assert_eq!(asked_for(cluster, first)?, None);
        Ok(())
    })
}

#[test]
fn no_requeue_and_interactive_jobs_are_never_victims() -> Outcome {
    on_cluster(quick(), |cluster| {
        let mut srun = cluster.command("srun");
        srun.args([
            "--job-name=interactive",
            "--comment=save=step signal=USR1@full",
            "--exclusive",
            "--gres=gpu:4",
            "sleep",
            "100",
        ]);
        let mut srun = srun
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("srun: {error}"))?;
        let interactive = cluster.wait_until("srun to run", LIMIT, |cluster| {
            let answer = cluster.ask(
                "squeue",
                &["-h", "-t", "running", "-n", "interactive", "-o", "%i"],
            )?;
            Ok(answer.trim().parse().ok().map(JobId))
        })?;
        let training =
            |name: &'static str, option: &str| (name, Training::new(name).lasting(4, 0.1).sbatch(option));
        let trainees = start(
            cluster,
            [
                training("kept", "--no-requeue"),
                training("a", "--requeue"),
                training("b", "--requeue"),
            ],
        )?;
        let urgent = urgent(cluster, "urgent", 2)?;
        assert_eq!(wait_for_requests(cluster, &trainees, urgent, 2)?, [1, 2]);
        cluster.wait_for_state(urgent, "RUNNING", LIMIT)?;
        assert_eq!(cluster.job(interactive)?.state(), "RUNNING");
        assert_eq!(asked_for(cluster, interactive)?, None);
        assert_undisturbed(cluster, &trainees[0])?;
        cluster.ask("scancel", &[&interactive.to_string()])?;
        let _ = srun.wait();
        trainees
            .iter()
            .try_for_each(|trainee| assert_finishes_whole(cluster, trainee))
    })
}

#[test]
fn whom_the_site_exempts_is_never_a_victim() -> Outcome {
    let exempt = "[victims]\nexempt_users = [\"nobody\"]\nexempt_accounts = [\"VIP\"]\nexempt_partitions = [\"safe\"]\n";
    let setup = quick()
        .toml(&TOML.replace("[victims]\n", exempt))
        .conf("PartitionName=safe Nodes=ALL");
    on_cluster(setup, |cluster| {
        // Whoever is exempt looks cheapest.
        let training = |name: &'static str, priority: u32, option: &str| {
            let comment = format!("--comment=priority={priority}");
            let training = Training::new(name).lasting(4, 0.1);
            (name, training.sbatch(&comment).sbatch(option))
        };
        let trainees = start(
            cluster,
            [
                training("account", 0, "--account=vip"),
                training("partition", 0, "--partition=safe"),
                training("other", 100, "--account=ordinary"),
            ],
        )?;
        let user = cluster.sbatch_as_nobody(
            &[
                "--exclusive",
                "--comment=signal=USR1@batch priority=0",
                "--output=/dev/null",
            ],
            "sleep 300",
        )?;
        cluster.wait_for_state(user, "RUNNING", LIMIT)?;
        let first = urgent(cluster, "first", 1)?;
        assert_eq!(wait_for_requests(cluster, &trainees, first, 1)?, [2]);
        cluster.wait_for_state(first, "COMPLETED", LIMIT)?;
        let second = urgent(cluster, "second", 4)?;
        wait_for_refusal(
            cluster,
            second,
            "1 exempt_user, 1 exempt_account, 1 exempt_partition",
        )?;
        assert_eq!(asked_for(cluster, user)?, None);
        for trainee in &trainees[..2] {
            assert_undisturbed(cluster, trainee)?;
        }
        cluster.ask("scancel", &[&second.to_string(), &user.to_string()])?;
        trainees
            .iter()
            .try_for_each(|trainee| assert_finishes_whole(cluster, trainee))
    })
}

#[test]
fn a_victim_that_ignores_the_request_is_passed_over_for_another() -> Outcome {
    let toml = TOML.replace("save_deadline_s = 20", "save_deadline_s = 4");
    on_cluster(quick().toml(&toml), |cluster| {
        // The one that will not save looks cheapest.
        let dear = |name: &'static str| {
            (
                name,
                Training::new(name)
                    .lasting(6, 0.1)
                    .sbatch("--comment=priority=80"),
            )
        };
        let deaf = Training::new("deaf")
            .lasting(6, 0.1)
            .option("--ignore-requests")
            .sbatch("--comment=priority=10");
        let trainees = start(cluster, [dear("a"), dear("b"), dear("c"), ("deaf", deaf)])?;
        let urgent = urgent(cluster, "urgent", 1)?;
        assert_eq!(
            wait_for_requests(cluster, &trainees, urgent, 1)?,
            [3],
            "the cheapest is asked first"
        );
        cluster.wait_for_state(urgent, "RUNNING", LIMIT)?;
        let passed_over = format!("surgent: job {} did not save before its deadline", trainees[3].id);
        assert!(cluster.logged(&[&passed_over]).is_some());
        assert_eq!(cluster.job(trainees[3].id)?.restarts(), 0);
        assert_eq!(cluster.steps("deaf").of("asked").count(), 1);
        let mut stopped = 0;
        for trainee in &trainees {
            assert_finishes_whole(cluster, trainee)?;
            stopped += cluster.job(trainee.id)?.restarts();
        }
        assert_eq!(stopped, 1, "one other job made way");
        Ok(())
    })
}

#[test]
fn two_urgent_jobs_at_once_share_no_victim() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(6, 0.1).option("--save-s=3"))?;
        let urgents = [urgent(cluster, "first", 1)?, urgent(cluster, "second", 2)?];
        let victims = [
            wait_for_requests(cluster, &trainees, urgents[0], 1)?,
            wait_for_requests(cluster, &trainees, urgents[1], 2)?,
        ];
        assert!(!victims[1].contains(&victims[0][0]), "{victims:?}");
        cluster.wait_for_all(&urgents, "COMPLETED")?;
        assert_all_finish_whole(cluster, &trainees, &victims.concat())
    })
}

/// Waits until the log says that nobody can make way for `urgent`, for the reason given.
/// Waits until the log tells that nobody may be stopped for `urgent`, and this reason among others.
pub fn wait_for_refusal(cluster: &Cluster, urgent: JobId, reason: &str) -> Outcome {
    let sentence = format!("surgent: job {urgent} waits: no set of jobs that may be stopped makes it fit");
    cluster.wait_for(
        &format!("{sentence:?} with {reason:?} in the log"),
        LIMIT,
        |cluster| Ok(cluster.logged(&[&sentence, reason]).is_some()),
    )
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What releases of Slurm do differently, and what comes to the same with Surgent. docs/development.md lists these, and the
//! tests elsewhere that cover others.

use crate::on_cluster;
use crate::scene::{
    asked_for, assert_finishes_whole, assert_undisturbed, quick, start, urgent, wait_for_requests,
};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training};

/// Saves when asked, and ends by itself.
const LEAVER: &str = r#"
leave() { scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$(date +%s)"; exit 0; }
trap leave USR1
echo up restart ${SLURM_RESTART_COUNT:-0}
sleep 100000 & wait
"#;

/// From 24.05 on Slurm itself requeues a job that ends in the grace time of its preemption, and earlier ones do not. A job
/// that Surgent asks is in no grace time.
#[test]
fn a_victim_that_ends_by_itself_has_ended_and_under_surgent_run_goes_on_later() -> Outcome {
    on_cluster(quick(), |cluster| {
        let options = [
            "--job-name=leaver",
            "--exclusive",
            "--comment=signal=USR1@batch priority=0",
        ];
        let leaver = cluster.sbatch(&options, LEAVER)?;
        cluster.wait_for_output("leaver", "up", LIMIT)?;
        let training = |name: &'static str, priority: u32| {
            let comment = format!("--comment=priority={priority}");
            (name, Training::new(name).lasting(9, 0.1).sbatch(&comment))
        };
        let (slow, saves_slowly) = training("slow", 0);
        // Its program ends after its save, before the gate opens: the monitor stays.
        let saves_slowly = saves_slowly.option("--save-s=4");
        let trainees = start(
            cluster,
            [(slow, saves_slowly), training("a", 100), training("b", 100)],
        )?;
        let urgent = urgent(cluster, "urgent", 2)?;
        assert_eq!(wait_for_requests(cluster, &trainees, urgent, 1)?, [0]);
        cluster.wait_for_all(&[leaver, urgent], "COMPLETED")?;
        assert_finishes_whole(cluster, &trainees[0])?;
        assert_eq!(cluster.job(trainees[0].id)?.restarts(), 1);
        for other in &trainees[1..] {
            assert_finishes_whole(cluster, other)?;
            assert_undisturbed(cluster, other)?;
        }
        assert_eq!(cluster.job(leaver)?.state(), "COMPLETED");
        assert_eq!(cluster.output("leaver"), "up restart 0\n");
        Ok(())
    })
}

/// Takes three seconds to save, and Slurm five (KillWait) to stop it.
const SLOW: &str = r#"
trap '' TERM
trap 'sleep 3; scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$(date +%s)"' USR1
sleep 100000 &
while kill -0 $!; do wait $!; done
"#;

/// Up to 23.02 slurmctld reads its configuration and goes on; later ones are a new process, with new plugins.
#[test]
fn reconfigure_changes_nothing_whenever_it_comes() -> Outcome {
    on_cluster(quick(), |cluster| {
        let options = ["-N4", "--exclusive", "--comment=signal=USR1@batch"];
        let victim = cluster.sbatch(&options, SLOW)?;
        let is_asked = |cluster: &Cluster, urgent| Ok(asked_for(cluster, victim)? == Some(urgent));
        let gate_is_open = |cluster: &Cluster, urgent: JobId| {
            Ok(cluster
                .logged(&[&format!("surgent: gate open for job {urgent}")])
                .is_some())
        };
        let urgent_runs = |cluster: &Cluster, urgent: JobId| Ok(cluster.job(urgent)?.state() == "RUNNING");
        type Look<'a> = &'a dyn Fn(&Cluster, JobId) -> Outcome<bool>;
        let moments: [(&str, Look); 3] = [
            ("the request to be made", &is_asked),
            ("the gate to be open", &gate_is_open),
            ("the urgent job to run", &urgent_runs),
        ];
        for (before, (moment, has_come)) in moments.into_iter().enumerate() {
            wait_for_run(cluster, victim, before)?;
            let urgent = urgent(cluster, "urgent", 1)?;
            cluster.wait_for(moment, LIMIT, |cluster| has_come(cluster, urgent))?;
            cluster.reconfigure()?;
            cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
            wait_for_run(cluster, victim, before + 1)?;
            let record = cluster.job(victim)?.get("AdminComment").to_owned();
            let stop = format!(" preempted={} by={urgent} ", before + 1);
            assert!(
                record.contains(&stop) && record.contains(" saved=yes"),
                "{moment}: {record}"
            );
        }
        cluster.controller_is_well()
    })
}

fn wait_for_run(cluster: &Cluster, job: JobId, restarts: usize) -> Outcome {
    cluster.wait_for(
        &format!("job {job} to run, restarted {restarts} times"),
        LIMIT,
        |cluster| {
            let job = cluster.job(job)?;
            Ok(job.state() == "RUNNING" && job.restarts() as usize == restarts)
        },
    )
}

/// Slurm keeps a requeued job back for two minutes, which only 25.11 lets a site change (requeue_delay). A victim of
/// Surgent's is back sooner.
#[test]
fn slurm_lets_a_requeued_job_wait_for_minutes_and_surgent_does_not() -> Outcome {
    on_cluster(quick(), |cluster| {
        let options = ["-N2", "--exclusive", "--comment=signal=USR1@batch"];
        let victim = cluster.sbatch(&options, SLOW)?;
        let other = cluster.sbatch(&["-N2", "--exclusive", "--comment=priority=100"], SLOW)?;
        cluster.wait_for_all(&[victim, other], "RUNNING")?;
        let urgent = urgent(cluster, "urgent", 1)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        wait_for_run(cluster, victim, 1)?;
        cluster.ask("scontrol", &["requeue", &other.to_string()])?;
        // Longer than what the victim was waited for.
        cluster.wait_for("Slurm's own delay", LIMIT, |cluster| {
            let job = cluster.job(other)?;
            let time = |key: &str| job.get(key).parse::<jiff::civil::DateTime>().ok();
            let (Some(submit), Some(eligible)) = (time("SubmitTime"), time("EligibleTime")) else {
                return Ok(false);
            };
            Ok(submit.duration_until(eligible).as_secs() > LIMIT.as_secs() as i64)
        })
    })
}

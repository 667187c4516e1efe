// SPDX-License-Identifier: GPL-2.0-or-later
//! In what order jobs wait and start, with priority/multifactor and without.

use crate::on_cluster;
use crate::scene::{SAVER, TOML, Trainee, by_factors, four, quick, urgent, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome};
use crate::victims::wait_for_refusal;
use std::fs;
use std::thread;
use std::time::Duration;

/// The names of jobs as they start.
const STARTED: &str = "started";

/// Submits a job that takes all nodes and notes that it has started. Of each node it asks for so many GPUs.
fn all_nodes(cluster: &Cluster, name: &str, gpus: u32, comment: &str, minutes: u32) -> Outcome<JobId> {
    let started = cluster.work().join(STARTED);
    let arguments = [
        "--nodes=4",
        "--exclusive",
        &format!("--job-name={name}"),
        &format!("--gres=gpu:{gpus}"),
        &format!("--comment={comment}"),
        &format!("--time={minutes}"),
    ];
    cluster.sbatch(&arguments, &format!("echo {name} >> '{}'", started.display()))
}

/// Occupies all nodes until it is cancelled. Nobody may stop it.
fn blocker(cluster: &Cluster) -> Outcome<JobId> {
    let arguments = ["--nodes=4", "--exclusive", "--no-requeue"];
    let blocker = cluster.sbatch(&arguments, "exec sleep 600")?;
    cluster.wait_for_state(blocker, "RUNNING", LIMIT)?;
    Ok(blocker)
}

fn cancel(cluster: &Cluster, job: JobId) -> Outcome {
    cluster.ask("scancel", &[&job.to_string()]).map(drop)
}

/// What sprio says of a job: its site factor.
fn site_factor(cluster: &Cluster, job: JobId) -> Outcome<i64> {
    let shown = cluster.ask("sprio", &["-h", "-j", &job.to_string(), "-o", "%S"])?;
    Ok(shown
        .trim()
        .parse()
        .map_err(|_| format!("sprio says {shown:?} of job {job}"))?)
}

fn priority(cluster: &Cluster, job: JobId) -> Outcome<u32> {
    let job = cluster.job(job)?;
    let shown = job.get("Priority");
    Ok(shown.parse().map_err(|_| format!("Priority={shown}"))?)
}

/// Slurm's times are whole seconds, and of two jobs of the same second the one with the smaller number goes first.
fn let_a_second_pass() {
    thread::sleep(Duration::from_secs(2));
}

/// The names of the jobs that have started, in order.
fn start_order(cluster: &Cluster) -> Vec<String> {
    let text = fs::read_to_string(cluster.work().join(STARTED)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn waiting_jobs_start_as_their_factors_say() -> Outcome {
    // A second of waiting is 2 points, and size and what is left to do are worth hours.
    let weights = "[queue]\nwait_weight = 10_000\nsize_weight = 100_000\nremaining_weight = 1_000_000\n";
    on_cluster(by_factors(quick()).toml(&format!("{TOML}{weights}")), |cluster| {
        let blocker = blocker(cluster)?;
        let jobs = [
            ("large", all_nodes(cluster, "large", 4, "", 600)?),
            ("small", all_nodes(cluster, "small", 1, "", 600)?),
            (
                "long",
                all_nodes(cluster, "long", 4, "epochs=90 epoch_s=3600", 6000)?,
            ),
            (
                "short",
                all_nodes(cluster, "short", 4, "epochs=90 epoch=89 epoch_s=60", 600)?,
            ),
            // As large and long as the first one, and later by more than a rounding.
            ("later", {
                let_a_second_pass();
                all_nodes(cluster, "later", 4, "", 600)?
            }),
            ("urgent", all_nodes(cluster, "urgent", 4, "urgent", 600)?),
        ];
        let factor = |name: &str| {
            let (_, job) = jobs.iter().find(|(known, _)| *known == name).expect("a job");
            site_factor(cluster, *job)
        };
        // A new job has waited for the quarter of an hour that waiting is counted ahead.
        let wait = 10_000 / 4;
        let expected =
            |size: f64, left_h: f64| (100_000.0 * 8.0 / (8.0 + size) + 1e6 * 8.0 / (8.0 + left_h)) as i64;
        for (name, size, left_h) in [
            ("large", 16.0, 10.0),
            ("small", 4.0, 10.0),
            ("long", 16.0, 90.0),
            ("short", 16.0, 1.0 / 60.0),
        ] {
            let (shown, expected) = (factor(name)?, expected(size, left_h) + wait);
            // Within the minutes that this test may take.
            assert!(
                (shown - expected).abs() < 2000,
                "{name}: {shown}, not about {expected}"
            );
        }
        cancel(cluster, blocker)?;
        cluster.wait_for("all to have started", 2 * LIMIT, |cluster| {
            Ok(start_order(cluster).len() == jobs.len())
        })?;
        assert_eq!(
            start_order(cluster),
            ["urgent", "short", "small", "large", "later", "long"]
        );
        Ok(())
    })
}

/// A training is preempted; a job that came after it and wants the same node starts after it.
fn a_preempted_job_keeps_its_place(cluster: &mut Cluster) -> Outcome {
    let trainees = four(cluster, |training| training.lasting(12, 0.1))?;
    // As small and as short as can be.
    let options = ["--nodes=1", "--exclusive", "--job-name=later", "--time=1"];
    let later = cluster.sbatch(&options, "sleep 1")?;
    let_a_second_pass();
    let urgent = urgent(cluster, "urgent", 1)?;
    let victim = &trainees[wait_for_requests(cluster, &trainees, urgent, 1)?[0]];
    cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
    cluster.wait_for("the victim to train again", LIMIT, |cluster| {
        Ok(cluster.steps(&victim.name).first("resumed", 1).is_some())
    })?;
    assert_eq!(cluster.job(later)?.state(), "PENDING", "it came later");
    assert_tells_of_the_stop(cluster, victim, urgent)?;
    cluster.wait_for_state(later, "COMPLETED", 2 * LIMIT)
}

fn assert_tells_of_the_stop(cluster: &Cluster, victim: &Trainee, urgent: JobId) -> Outcome {
    let record = cluster.job(victim.id)?.get("AdminComment").to_owned();
    let stop = format!(" preempted=1 by={urgent} stopped=");
    assert!(record.starts_with("surgent{class=normal first="), "{record}");
    assert!(
        record.contains(&stop) && record.trim_end().ends_with(" saved=yes}"),
        "{record}"
    );
    Ok(())
}

#[test]
fn a_preempted_job_starts_before_those_who_came_later() -> Outcome {
    on_cluster(by_factors(quick()), a_preempted_job_keeps_its_place)
}

#[test]
fn with_priority_basic_a_preempted_job_keeps_its_priority() -> Outcome {
    on_cluster(
        quick().conf("PriorityType=priority/basic"),
        a_preempted_job_keeps_its_place,
    )
}

/// How many tasks of an array run.
fn running_tasks(cluster: &Cluster, array: JobId) -> Outcome<usize> {
    let arguments = ["-h", "-r", "-t", "RUNNING", "-j", &array.to_string(), "-o", "%i"];
    Ok(cluster.ask("squeue", &arguments)?.lines().count())
}

#[test]
fn a_preempted_task_of_an_array_starts_before_those_who_came_later() -> Outcome {
    on_cluster(by_factors(quick()), |cluster| {
        let options = ["-N1", "--exclusive", "--array=1-4", "--comment=signal=USR1@batch"];
        let array = cluster.sbatch(&options, SAVER)?;
        let all_run = |cluster: &Cluster| Ok(running_tasks(cluster, array)? == 4);
        cluster.wait_for("all tasks to run", LIMIT, all_run)?;
        let later = cluster.sbatch(&["-N1", "--exclusive", "--time=1"], "true")?;
        let_a_second_pass();
        let urgent = urgent(cluster, "urgent", 1)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        // Slurm's two minutes of delay are more than this limit.
        cluster.wait_for("all tasks to run again", LIMIT, all_run)?;
        assert_eq!(cluster.job(later)?.state(), "PENDING", "it came later");
        let tasks = cluster.ask("scontrol", &["show", "job", &array.to_string()])?;
        assert_eq!(tasks.matches(" preempted=1 by=").count(), 1, "{tasks}");
        assert_eq!(tasks.matches("Restarts=1").count(), 1, "{tasks}");
        cancel(cluster, array)
    })
}

#[test]
fn a_job_is_protected_for_longer_each_time_and_then_for_good() -> Outcome {
    let toml = format!(
        "{}max_preemptions = 3\n",
        TOML.replace("min_runtime_s = 1\n", "min_runtime_s = 5\n")
    );
    on_cluster(quick().toml(&toml), |cluster| {
        let options = ["-N4", "--exclusive", "--comment=signal=USR1@batch"];
        let victim = cluster.sbatch(&options, SAVER)?;
        for times in 0..3 {
            cluster.wait_for(&format!("run {} of the victim", times + 1), LIMIT, |cluster| {
                let job = cluster.job(victim)?;
                Ok(job.state() == "RUNNING" && job.restarts() == times)
            })?;
            let urgent = urgent(cluster, "urgent", 1)?;
            if times > 0 {
                wait_for_refusal(cluster, urgent, "1 restarted_recently")?;
            }
            cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        }
        cluster.wait_for_state(victim, "RUNNING", LIMIT)?;
        let urgent = urgent(cluster, "urgent", 1)?;
        wait_for_refusal(cluster, urgent, "1 max_preemptions")?;
        assert_eq!(cluster.job(victim)?.restarts(), 3);
        cancel(cluster, victim)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)
    })
}

#[test]
fn among_urgent_jobs_the_small_one_goes_first_where_the_site_wants_that() -> Outcome {
    let toml = format!("{TOML}[queue]\nurgent_order = \"small\"\n");
    on_cluster(quick().toml(&toml), |cluster| {
        let blocker = blocker(cluster)?;
        let large = urgent(cluster, "large", 4)?;
        let small = urgent(cluster, "small", 1)?;
        cluster.wait_for("the small one to stand before the large one", LIMIT, |cluster| {
            Ok(priority(cluster, small)? > priority(cluster, large)?)
        })?;
        cancel(cluster, blocker)?;
        cluster.wait_for_all(&[large, small], "COMPLETED")
    })
}

/// Slurm's main scheduler looks at nobody behind a job that does not fit, in its partition, and backfill comes by too
/// seldom here to be of help.
#[test]
fn a_job_whose_victims_have_saved_does_not_wait_behind_one_for_which_there_are_none() -> Outcome {
    let seldom = "SchedulerParameters=batch_sched_delay=0,bf_interval=1000";
    on_cluster(quick().conf(seldom), |cluster| {
        let protected = ["--nodes=3", "--exclusive", "--no-requeue"];
        let blocker = cluster.sbatch(&protected, "exec sleep 600")?;
        let saves = [
            "--job-name=victim",
            "--exclusive",
            "--requeue",
            "--comment=signal=USR1@batch save=step",
        ];
        let victim = cluster.sbatch(&saves, SAVER)?;
        cluster.wait_for_all(&[blocker, victim], "RUNNING")?;
        cluster.wait_for_output("victim", "up restart 0", LIMIT)?;
        let large = urgent(cluster, "large", 4)?;
        wait_for_refusal(cluster, large, "1 not_requeueable")?;
        let small = urgent(cluster, "small", 1)?;
        cluster.wait_for_state(small, "COMPLETED", LIMIT)?;
        assert_eq!(cluster.job(victim)?.restarts(), 1);
        assert_eq!(cluster.job(large)?.state(), "PENDING");
        cancel(cluster, blocker)?;
        cluster.wait_for_state(large, "COMPLETED", LIMIT)
    })
}

#[test]
fn places_outlive_slurmctld() -> Outcome {
    on_cluster(by_factors(quick()), |cluster| {
        let blocker = blocker(cluster)?;
        let waiting = all_nodes(cluster, "waiting", 4, "epochs=10 epoch_s=360", 600)?;
        let before = site_factor(cluster, waiting)?;
        // A minute or two of waiting are a few points.
        let as_before = |cluster: &Cluster| {
            let factor = site_factor(cluster, waiting).ok();
            Ok(factor.is_some_and(|factor| (before..before + 100).contains(&factor)))
        };
        cluster.stop_controller()?;
        cluster.start_controller()?;
        cluster.wait_for("the same factor after a restart", LIMIT, as_before)?;
        cluster.kill_controller()?;
        cluster.start_controller()?;
        cluster.wait_for("the same factor after a crash", LIMIT, as_before)?;
        cluster.reconfigure()?;
        cluster.controller_is_well()?;
        cluster.wait_for("the same factor after a reconfiguration", LIMIT, as_before)?;
        cancel(cluster, blocker)?;
        cluster.wait_for_state(waiting, "COMPLETED", LIMIT)
    })
}

#[test]
fn new_weights_reach_the_jobs_that_wait() -> Outcome {
    on_cluster(by_factors(quick()), |cluster| {
        let blocker = blocker(cluster)?;
        let waiting = all_nodes(cluster, "waiting", 4, "", 600)?;
        let before = site_factor(cluster, waiting)?;
        assert!(before > 0, "{before}");
        let toml = cluster.folder().join("surgent.toml");
        let weights = "[queue]\nwait_weight = 10_000\nsize_weight = 1_000_000\n";
        fs::write(&toml, format!("{TOML}{weights}")).map_err(|error| error.to_string())?;
        cluster.wait_for("the new weights to count", 2 * LIMIT, |cluster| {
            Ok(site_factor(cluster, waiting)? > 300_000)
        })?;
        fs::write(&toml, "mode = \"off\"\n").map_err(|error| error.to_string())?;
        // Anything that wakes Surgent will do.
        cluster.sbatch(&["--hold", "--comment=urgent"], "true")?;
        cluster.wait_for("the factor to be none", 2 * LIMIT, |cluster| {
            Ok(site_factor(cluster, waiting)? == 0)
        })?;
        cancel(cluster, blocker)?;
        cluster.wait_for_state(waiting, "COMPLETED", LIMIT)?;
        cluster.controller_is_well()
    })
}

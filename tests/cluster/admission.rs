// SPDX-License-Identifier: GPL-2.0-or-later
//! Who may be urgent, how many at a time, and for how long, as sbatch and scontrol answer it.

use crate::audit::wait_for_kind;
use crate::on_cluster;
use crate::scene::{TOML, assert_undisturbed, start};
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, Training, finish};
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::SystemTime;

const URGENT: &str = "--comment=urgency=urgent";

fn ruled(rules: &str) -> Builder {
    Cluster::builder()
        .toml(&format!("{TOML}{rules}"))
        .conf("SchedulerParameters=batch_sched_delay=0")
}

/// Another surgent.toml, once Surgent has read it.
fn change_rules(cluster: &Cluster, rules: &str) -> Outcome {
    let read = |cluster: &Cluster| {
        cluster
            .log()
            .iter()
            .filter(|line| line.has(&["settings read"]))
            .count()
    };
    let before = read(cluster);
    fs::write(cluster.folder().join("surgent.toml"), format!("{TOML}{rules}"))
        .map_err(|error| error.to_string())?;
    cluster.wait_for("the new settings to be read", LIMIT, |cluster| {
        Ok(read(cluster) > before)
    })
}

/// What sbatch says where it refuses.
fn refusal(answer: Outcome<JobId>) -> String {
    match answer {
        Ok(job) => panic!("accepted as job {job}"),
        Err(refusal) => refusal.to_string(),
    }
}

fn assert_refused(answer: Outcome<JobId>, named: &[&str]) {
    let said = refusal(answer);
    for part in named.iter().chain(&["surgent: "]) {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
}

/// By which rules submissions or changes were refused, as the audit file tells: `count` of them.
fn refused_by(cluster: &Cluster, count: usize) -> Outcome<Vec<Value>> {
    let lines = wait_for_kind(cluster, "refused", count)?;
    Ok(lines.into_iter().map(|line| line["rule"].clone()).collect())
}

fn is_urgent(cluster: &Cluster, job: JobId) -> Outcome<bool> {
    let job = cluster.job(job)?;
    Ok(job.get("AdminComment").starts_with("surgent{class=urgent"))
}

fn update(cluster: &Cluster, job: JobId, change: &str) -> Outcome {
    cluster
        .ask("scontrol", &["update", &format!("JobId={job}"), change])
        .map(drop)
}

#[test]
fn only_those_who_may_are_urgent() -> Outcome {
    on_cluster(ruled("[admission]\nallow_users = [\"root\"]\n"), |cluster| {
        let held = ["--hold", URGENT];
        assert!(is_urgent(cluster, cluster.sbatch(&held, "true")?)?);
        assert_refused(
            cluster.sbatch_as_nobody(&held, "true"),
            &["admission.allow_users", "root"],
        );
        let normal = cluster.sbatch_as_nobody(&["--hold", "--comment=epochs=3"], "true")?;
        assert!(!is_urgent(cluster, normal)?);

        // Neither he nor an administrator makes his job urgent.
        let mut scontrol = cluster.command_as_nobody("scontrol");
        scontrol.args(["update", &format!("JobId={normal}"), "Comment=urgency=urgent"]);
        assert!(finish(&mut scontrol, "scontrol").is_err());
        assert!(update(cluster, normal, "Comment=urgency=urgent").is_err());
        assert_eq!(cluster.comment(normal)?, "epochs=3");
        assert_eq!(refused_by(cluster, 3)?, ["permission"; 3]);

        // A group that is a user's own does not list him.
        change_rules(cluster, "[admission]\nallow_groups = [\"nogroup\"]\n")?;
        assert!(is_urgent(cluster, cluster.sbatch_as_nobody(&held, "true")?)?);
        assert_refused(
            cluster.sbatch(&held, "true"),
            &["admission.allow_groups", "nogroup"],
        );

        // A submission that names no partition goes to the default one.
        change_rules(cluster, "[admission]\ndeny_partitions = [\"all\"]\n")?;
        assert_refused(
            cluster.sbatch(&held, "true"),
            &["partition all", "deny_partitions"],
        );

        change_rules(cluster, "[admission]\nallow_accounts = [\"vision\"]\n")?;
        assert_refused(cluster.sbatch(&held, "true"), &["--account=NAME"]);
        assert_refused(
            cluster.sbatch(&[held[0], held[1], "--account=nlp"], "true"),
            &["for the account vision only", "nlp"],
        );
        let vision = cluster.sbatch(&[held[0], held[1], "--account=vision"], "true")?;
        assert!(is_urgent(cluster, vision)?);
        cluster.controller_is_well()
    })
}

#[test]
fn who_may_not_be_urgent_can_be_made_normal_and_is_told() -> Outcome {
    let rules = "[admission]\nrefuse = \"normal\"\ndeny_users = [\"nobody\"]\n";
    on_cluster(ruled(rules), |cluster| {
        let mut sbatch = cluster.command_as_nobody("sbatch");
        sbatch.current_dir(cluster.work());
        let answer = sbatch
            .args(["--parsable", "--hold", URGENT, "--wrap=true"])
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(
            said.contains("admission.deny_users") && said.contains("so this is a normal job"),
            "sbatch said: {said}"
        );
        let number = String::from_utf8_lossy(&answer.stdout).trim().parse();
        let job = JobId(number.map_err(|_| format!("sbatch said: {said}"))?);
        assert!(!is_urgent(cluster, job)?);

        // Its comment asks for it all the same, and again: it stays normal.
        update(cluster, job, "Comment=urgency=urgent once more")?;
        assert_eq!(cluster.comment(job)?, "urgency=urgent once more");
        cluster.ask("scontrol", &["release", &job.to_string()])?;
        cluster.wait_for_state(job, "COMPLETED", LIMIT)?;
        assert!(!is_urgent(cluster, job)?);

        let told = wait_for_kind(cluster, "made_normal", 2)?;
        let jobs: Vec<_> = told.iter().map(|line| &line["job"]).collect();
        // Slurm has yet to give a submission its number.
        assert_eq!(jobs, [&Value::Null, &job.0.into()], "{told:?}");
        for line in &told {
            let sentence = line["sentence"].as_str().unwrap_or_default();
            assert_eq!(line["rule"], "permission", "{line}");
            assert!(sentence.contains("admission.deny_users"), "{line}");
        }
        Ok(())
    })
}

#[test]
fn a_burst_of_submissions_does_not_pass_a_limit() -> Outcome {
    on_cluster(
        ruled("[admission.per_user]\nrunning = 2\nnodes = 3\n"),
        |cluster| {
            // The first look has been made once anything is refused; before that nobody is.
            let first = cluster.sbatch(&[URGENT], "sleep 1000")?;
            cluster.wait_for_state(first, "RUNNING", LIMIT)?;
            let answers: Vec<Outcome<JobId>> = thread::scope(|scope| {
                let submit = || scope.spawn(|| cluster.sbatch(&[URGENT], "sleep 1000"));
                let threads: Vec<_> = (0..8).map(|_| submit()).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("a submission"))
                    .collect()
            });
            let (admitted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Outcome::is_ok);
            assert_eq!((admitted.len(), refused.len()), (1, 7));
            for answer in refused {
                assert_refused(answer, &["admission.per_user.running", "0 are left"]);
            }
            assert_eq!(refused_by(cluster, 7)?, ["limit"; 7]);

            // An array counts as all its tasks that may run at once, and another user has room of his own.
            let array = |indexes: &str| {
                let indexes = format!("--array={indexes}");
                cluster.sbatch_as_nobody(&["--hold", URGENT, &indexes], "true")
            };
            assert_refused(array("0-9%3"), &["admission.per_user.running", "counts as 3"]);
            let held = array("0-9%2")?;
            assert_refused(array("0"), &["admission.per_user.running"]);
            cluster.ask("scancel", &[&held.to_string()])?;

            // Room is there again for whoever tries again.
            cluster.ask("scancel", &[&first.to_string()])?;
            let next = cluster.wait_until("room for another urgent job", LIMIT, |cluster| {
                Ok(cluster.sbatch(&["--hold", URGENT], "true").ok())
            })?;

            // A job that is urgent does not grow beyond what it may.
            assert!(update(cluster, next, "NumNodes=3").is_err());
            update(cluster, next, "NumNodes=2")?;
            let normal = cluster.sbatch(&["--hold"], "true")?;
            assert!(update(cluster, normal, "Comment=urgency=urgent").is_err());
            cluster.controller_is_well()
        },
    )
}

#[test]
fn a_budget_that_is_used_up_stays_so_across_a_crash() -> Outcome {
    // Four GPUs use that in four seconds.
    let rules = "[admission.budget]\ngpu_hours_per_user = 0.0044\n";
    on_cluster(ruled(rules), |cluster| {
        let paid = cluster.sbatch(&[URGENT, "--gres=gpu:4"], "sleep 5")?;
        cluster.wait_for_state(paid, "COMPLETED", LIMIT)?;
        let used_up = |cluster: &Cluster| {
            cluster.wait_until("the budget to be used up", LIMIT, |cluster| {
                Ok(cluster.sbatch(&["--hold", URGENT, "--gres=gpu:1"], "true").err())
            })
        };
        let said = used_up(cluster)?.to_string();
        for part in [
            "urgent GPU-hours",
            "none are left",
            "gpu_hours_per_user",
            "0.0044",
        ] {
            assert!(said.contains(part), "{part:?} is not in: {said}");
        }
        let other = cluster.sbatch_as_nobody(&["--hold", URGENT], "true")?;
        assert!(is_urgent(cluster, other)?);

        assert_eq!(refused_by(cluster, 1)?[0], "budget");
        let charged = wait_for_kind(cluster, "budget_charged", 1)?;
        assert_eq!(charged.len(), 1, "{charged:?}");
        assert_run_was_charged(&charged[0], paid, 0.0044);

        // Slurm, too, is to know after the crash that the job has ended, or it would be charged again.
        let ended = SystemTime::now();
        let saved = cluster.folder().join("state/job_state");
        cluster.wait_for("Slurm to save its jobs", LIMIT, |cluster| {
            // A change, so that there is something to save.
            let _ = cluster.sbatch(&["--hold"], "true")?;
            Ok(fs::metadata(&saved)
                .and_then(|file| file.modified())
                .is_ok_and(|at| at > ended))
        })?;
        cluster.kill_controller()?;
        cluster.start_controller()?;
        assert_eq!(cluster.job(paid)?.state(), "COMPLETED");
        used_up(cluster)?;
        // The run is over and told of.
        assert_eq!(wait_for_kind(cluster, "budget_charged", 1)?, charged);
        change_rules(cluster, "[admission.budget]\ngpu_hours_per_user = 40\n")?;
        cluster.wait_until("the larger budget to be open", LIMIT, |cluster| {
            Ok(cluster.sbatch(&["--hold", URGENT], "true").ok())
        })?;
        cluster.controller_is_well()
    })
}

/// The line tells of a run of this job with four GPUs, and of its user's budget alone.
fn assert_run_was_charged(line: &Value, job: JobId, budget_gpu_hours: f64) {
    assert_eq!(
        (&line["urgent"], &line["user"], &line["over"]),
        (&job.0.into(), &0.into(), &true.into()),
        "{line}"
    );
    let time = |field: &str| line[field].as_i64().expect("a time");
    let gpu_hours = 4.0 * (time("until") - time("start")) as f64 / 3600.0;
    let told = line["gpu_hours"].as_f64().expect("GPU-hours");
    assert!(
        (told - gpu_hours).abs() < 1e-9 && told >= budget_gpu_hours,
        "{line}"
    );
    // Nobody else's urgent job has run.
    let user = json!({"used_gpu_hours": told, "budget_gpu_hours": budget_gpu_hours});
    assert_eq!(line["budgets"], json!({"user": user}), "{line}");
}

#[test]
fn nobody_is_stopped_for_a_job_whose_budget_ran_out_after_it_was_admitted() -> Outcome {
    let rules = "[admission.budget]\ngpu_hours_per_user = 0.004\n";
    on_cluster(ruled(rules), |cluster| {
        let names = ["b", "c", "d"];
        let trainees = start(
            cluster,
            names.map(|name| (name, Training::new(name).lasting(9, 0.1))),
        )?;
        let waits = cluster.sbatch(&["--hold", URGENT, "--exclusive", "--gres=gpu:4"], "true")?;
        let spender = cluster.sbatch(&[URGENT, "--exclusive", "--gres=gpu:4"], "sleep 1000")?;
        cluster.wait_for_state(spender, "RUNNING", LIMIT)?;
        cluster.wait_until("the budget to be used up", LIMIT, |cluster| {
            Ok(cluster.sbatch(&["--hold", URGENT, "--gres=gpu:1"], "true").err())
        })?;
        cluster.ask("scontrol", &["release", &waits.to_string()])?;
        let sentence = format!("job {waits} waits: the budget of urgent GPU-hours is used up");
        cluster.wait_for("the log to say why it waits", LIMIT, |cluster| {
            Ok(cluster.logged(&[&sentence]).is_some())
        })?;
        let rule = format!("job {waits} may not be urgent now");
        assert!(cluster.logged(&[&rule, "gpu_hours_per_user"]).is_some());
        for trainee in &trainees {
            assert_undisturbed(cluster, trainee)?;
        }
        // Who runs goes on.
        assert_eq!(cluster.job(spender)?.state(), "RUNNING");
        assert_eq!(cluster.job(waits)?.state(), "PENDING");
        Ok(())
    })
}

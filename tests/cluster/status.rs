// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent status` on a real cluster: for root on the controller, and for an ordinary user by Slurm's commands alone.

use crate::on_cluster;
use crate::scene::{TOML, four, quick, start, urgent};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training, finish, places};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// A batch script that saves once it was asked and the file `go` is there.
const PATIENT: &str = r#"
trap asked=1 USR1
echo up
while :; do
    if [ -n "$asked" ] && [ -e go ]; then
        scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch save=step saved=$(date +%s)"
        asked=
    fi
    sleep 0.2
done
"#;

fn surgent() -> Outcome<String> {
    Ok(places::surgent()?.display().to_string())
}

fn as_root(cluster: &Cluster) -> Outcome<Command> {
    Ok(cluster.command(&surgent()?))
}

fn as_nobody(cluster: &Cluster) -> Outcome<Command> {
    Ok(cluster.command_as_nobody(&surgent()?))
}

fn text(mut command: Command, arguments: &[&str]) -> Outcome<String> {
    let text = finish(command.arg("status").args(arguments), "surgent status")?;
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    Ok(text)
}

fn json(command: Command, arguments: &[&str]) -> Outcome<Value> {
    let mut command = command;
    let text = finish(
        command.args(["status", "--json"]).args(arguments),
        "surgent status --json",
    )?;
    serde_json::from_str(&text).map_err(|error| format!("{error}: {text}").into())
}

/// Exit code and what is said of why.
fn refusal(mut command: Command, arguments: &[&str]) -> Outcome<(Option<i32>, String)> {
    let output = command
        .arg("status")
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    Ok((output.status.code(), said))
}

/// Of each in a list: its number and what is asked of it.
fn each<'a>(list: &'a Value, key: &str) -> Vec<(u64, &'a Value)> {
    let rows = list.as_array().expect("a list").iter();
    let mut rows: Vec<_> = rows
        .map(|row| (row["job"].as_u64().unwrap(), row.get(key).unwrap()))
        .collect();
    rows.sort_by_key(|(job, _)| *job);
    rows
}

/// A number behind `key=` in one of a job's texts, as scontrol shows it.
fn number(cluster: &Cluster, job: JobId, field: &str, key: &str) -> Outcome<Option<f64>> {
    let job = cluster.job(job)?;
    let mut words = job.get(field).split([' ', '{', '}', ';', ',']);
    let word = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Ok(word.and_then(|word| word.split('/').next()?.parse().ok()))
}

#[test]
fn a_plan_in_progress_is_shown_to_everybody_and_what_comes_after_it() -> Outcome {
    let toml = TOML.replace("save_deadline_s = 20", "save_deadline_s = 200");
    on_cluster(quick().toml(&toml), |cluster| {
        let patient = ["p", "q"].map(|name| {
            let name = format!("--job-name={name}");
            let options = [
                "--exclusive",
                "--gres=gpu:4",
                "--comment=signal=USR1@batch save=step",
                &name,
            ];
            cluster.sbatch(&options, PATIENT)
        });
        let [p, q] = patient;
        let patient = [p?, q?];
        let trainings = ["a", "b"].map(|name| (name, Training::new(name).lasting(200, 0.1)));
        let trainees = start(cluster, trainings)?;
        for name in ["p", "q"] {
            cluster.wait_for_output(name, "up", LIMIT)?;
        }
        let urgent = urgent(cluster, "urgent", 4)?;
        let of_urgent = |status: &Value| status["plans"][0]["urgent"] == urgent.0;
        let two_have_saved = |status: &Value| {
            let victims = status["plans"][0]["victims"].as_array();
            let saved =
                victims.map(|victims| victims.iter().filter(|victim| victim["state"] == "saved").count());
            of_urgent(status) && saved == Some(2)
        };
        let seen = cluster.wait_until("two of four to have saved", LIMIT, |cluster| {
            let status = json(as_root(cluster)?, &[])?;
            Ok(two_have_saved(&status).then_some(status))
        })?;
        assert_eq!(
            (&seen["source"], &seen["settings"], &seen["mode"]),
            (&"planner".into(), &"file".into(), &"on".into())
        );
        let (waiting, plan) = (&seen["urgent"][0], &seen["plans"][0]);
        assert_eq!(
            (&waiting["job"], &waiting["state"], &waiting["name"]),
            (&urgent.0.into(), &"waiting".into(), &"urgent".into())
        );
        assert_eq!(
            (&plan["stage"], plan["nodes"].as_array().map(Vec::len)),
            (&"saving".into(), Some(4))
        );
        for trainee in &trainees {
            assert!(
                each(&plan["victims"], "state").contains(&(trainee.id.0.into(), &"saved".into())),
                "{plan:#}"
            );
        }
        for job in patient {
            assert!(
                each(&plan["victims"], "state").contains(&(job.0.into(), &"saving".into())),
                "{plan:#}"
            );
            let deadline = number(cluster, job, "AdminComment", "deadline")?.expect("a deadline");
            let shown = each(&plan["victims"], "deadline");
            assert!(
                shown.contains(&(job.0.into(), &(deadline as i64).into())),
                "{plan:#}"
            );
        }
        let shown = text(as_root(cluster)?, &[])?;
        assert!(
            shown.contains("from the planner's state") && shown.contains("saved: 2 of 4"),
            "{shown}"
        );

        // The same by Slurm's commands, where nobody may read the planner's state.
        let other = json(as_nobody(cluster)?, &[])?;
        assert_eq!(other["source"], "slurm");
        for key in ["state", "asked", "deadline"] {
            let victims = |status: &Value| format!("{:?}", each(&status["plans"][0]["victims"], key));
            assert_eq!(victims(&other), victims(&seen), "{key}");
        }
        assert_eq!(other["plans"][0]["stage"], "saving");
        assert_eq!(other["urgent"][0]["job"], urgent.0);
        let own = json(as_nobody(cluster)?, &["--me"])?;
        for list in ["urgent", "plans", "training"] {
            assert_eq!(own[list], Value::Array(vec![]), "{list}");
        }
        let saving = json(
            as_nobody(cluster)?,
            &["--user=root", "--state=saving", "--training"],
        )?;
        let ids: Vec<u64> = each(&saving["training"], "state")
            .iter()
            .map(|(job, _)| *job)
            .collect();
        assert_eq!(ids, patient.map(|job| u64::from(job.0)));

        fs::write(cluster.work().join("go"), "").map_err(|error| error.to_string())?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        afterwards(cluster, &trainees[0].name, trainees[0].id)
    })
}

/// Once the urgent job has gone: no plan is left, and the trainings train on.
fn afterwards(cluster: &Cluster, name: &str, training: JobId) -> Outcome {
    let row = |status: &Value| {
        let rows = status["training"].as_array().expect("a list").iter();
        rows.clone().find(|row| row["job"] == training.0).cloned()
    };
    let (status, row) =
        cluster.wait_until(&format!("{name} to tell its epoch again"), 2 * LIMIT, |cluster| {
            let status = json(as_root(cluster)?, &["--sort=id"])?;
            let row = row(&status).filter(|row| row["state"] == "running" && row["epoch"].is_f64());
            Ok(row
                .filter(|_| status["plans"] == Value::Array(vec![]))
                .map(|row| (status, row)))
        })?;
    assert_eq!(
        (&row["epochs"], &row["preempted"], &row["name"]),
        (&200.into(), &1.into(), &name.into())
    );
    let told = |key: &str| number(cluster, training, "Comment", key);
    // A report may come between the two looks; then it is later, and further on.
    assert!(row["reported"].as_f64() <= told("at")?, "{row:#}");
    let epoch_s = told("epoch_s")?.expect("seconds per epoch");
    let age_s = row["report_age_s"].as_f64().expect("an age");
    let epoch = told("epoch")?.expect("an epoch") + age_s / epoch_s + 1.0;
    assert!(
        row["epoch"]
            .as_f64()
            .is_some_and(|shown| shown > 0.0 && shown <= epoch),
        "{row:#}, {epoch}"
    );
    assert!(
        row["cost_gpu_s"].is_f64() || row["protected_by"].is_string(),
        "{row:#}"
    );
    assert_eq!(status["urgent"], Value::Array(vec![]));
    let shown = text(as_root(cluster)?, &[])?;
    for none in ["Urgent jobs: none", "Plans in progress: none"] {
        assert!(shown.lines().any(|line| line == none), "{shown}");
    }
    Ok(())
}

#[test]
fn a_watch_keeps_its_last_screen_while_slurmctld_is_away() -> Outcome {
    on_cluster(quick(), |cluster| {
        let mut watch = as_root(cluster)?
            .args(["status", "--watch", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let output = BufReader::new(watch.stdout.take().expect("its output"));
        let mut lines = output.lines().map_while(Result::ok);
        assert!(lines.any(|line| line == "Training jobs: none"));
        cluster.kill_controller()?;
        assert!(lines.any(|line| line.starts_with("Not of now (")));
        let (code, said) = refusal(as_root(cluster)?, &[])?;
        assert_eq!(code, Some(1));
        assert!(
            said.starts_with("surgent: Slurm does not say how things are: scontrol "),
            "{said}"
        );
        cluster.start_controller()?;
        assert!(
            lines.any(|line| line.starts_with("Cluster surgent, mode on")),
            "it goes on"
        );
        cluster.ask("kill", &["-INT", &watch.id().to_string()])?;
        let ended = watch.wait().map_err(|error| error.to_string())?;
        assert_eq!(ended.code(), Some(0));
        Ok(())
    })
}

#[test]
fn what_shadow_mode_would_have_done_is_told_and_what_happened_instead() -> Outcome {
    let toml = format!("mode = \"shadow\"\n{TOML}");
    on_cluster(quick().toml(&toml), |cluster| {
        let trainees = four(cluster, |training| training.lasting(200, 0.1))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        let story = |end: &'static str| {
            cluster.wait_until(
                &format!("the urgent job's end to be {end:?}"),
                LIMIT,
                move |cluster| {
                    let Ok(status) = json(as_root(cluster)?, &["--shadow"]) else {
                        return Ok(None);
                    };
                    let story = status["urgent"][0].clone();
                    let is_it = story["job"] == urgent.0 && story["outcome"] == "plan" && story["end"] == end;
                    Ok(is_it.then_some((status, story)))
                },
            )
        };
        let (status, waits) = story("waits")?;
        let victims = each(&waits["plan"]["victims"], "cost_gpu_s");
        assert_eq!(victims.len(), 2, "{waits:#}");
        for (job, cost) in &victims {
            assert!(
                trainees.iter().any(|trainee| u64::from(trainee.id.0) == *job) && cost.as_f64() > Some(0.0)
            );
        }
        assert_eq!(
            (&status["totals"]["urgent"], &status["totals"]["victims"]),
            (&1.into(), &2.into())
        );
        let now = json(as_root(cluster)?, &[])?;
        assert_eq!(
            (&now["mode"], &now["plans"]),
            (&"shadow".into(), &Value::Array(vec![]))
        );
        let said = now["urgent"][0]["said"].as_str().unwrap_or_default();
        assert!(
            said.starts_with(&format!("plan for job {urgent}: stop jobs ")),
            "{said}"
        );

        let (code, said) = refusal(as_nobody(cluster)?, &["--shadow"])?;
        assert_eq!(code, Some(1));
        assert!(said.contains("SlurmUser and its group"), "{said}");

        for trainee in &trainees[..2] {
            cluster.ask("scancel", &[&trainee.id.to_string()])?;
        }
        let (_, started) = story("started")?;
        let (waited, predicted) = (&started["waited_s"], &started["plan"]["waited_s"]);
        assert!(
            waited.as_f64() >= Some(0.0) && predicted.as_f64() >= Some(1.0),
            "{started:#}"
        );
        let shown = text(as_root(cluster)?, &["--shadow"])?;
        assert!(
            shown.contains("Urgent jobs: 1. Others would have made way for 1 of them: 2 jobs"),
            "{shown}"
        );
        Ok(())
    })
}

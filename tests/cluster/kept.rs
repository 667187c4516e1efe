// SPDX-License-Identifier: GPL-2.0-or-later
//! The facts behind a plan are kept, and give that plan again wherever the file is taken.

use crate::on_cluster;
use crate::scene::{TOML, four, quick, urgent, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome, places};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

/// The file with the facts behind the plan for `urgent`, once the log tells of it.
pub fn kept(cluster: &Cluster, urgent: JobId) -> Outcome<PathBuf> {
    let sentence = format!("the facts behind the plan for job {urgent} are in ");
    cluster.wait_until("the log to name the kept facts", LIMIT, |cluster| {
        let line = cluster.logged(&[&sentence]);
        Ok(line.and_then(|line| Some(PathBuf::from(line.text.split_once(&sentence)?.1))))
    })
}

/// What `surgent plan` says of a copy of the file elsewhere, in an environment that knows no cluster.
pub fn plan_again(file: &PathBuf, urgent: JobId) -> Outcome<Value> {
    let elsewhere = tempfile::tempdir().map_err(|error| error.to_string())?;
    let copy = elsewhere.path().join("facts.json");
    fs::copy(file, &copy).map_err(|error| format!("{}: {error}", file.display()))?;
    let output = Command::new(places::surgent()?)
        .env_clear()
        .current_dir(elsewhere.path())
        .args([
            "plan",
            "--snapshot",
            "facts.json",
            "--json",
            "--job",
            &urgent.to_string(),
        ])
        .output()
        .map_err(|error| format!("surgent: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string().into())
}

fn list<'a>(items: impl Iterator<Item = &'a Value>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string().replace('"', "")).collect();
    items.join(", ")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// The sentences that the log had about the plan when it was made, from the plan that was made again.
fn sentences(urgent: JobId, plan: &Value) -> Vec<String> {
    let victims = plan["victims"].as_array().unwrap();
    let head = format!(
        "plan for job {urgent}: stop jobs {} to free nodes {}; cost {:.0} GPU-s; ready in {:.0} s",
        list(victims.iter().map(|victim| &victim["job"])),
        list(plan["node_names"].as_array().unwrap().iter()),
        number(&plan["cost_gpu_s"]),
        number(&plan["ready_s"])
    );
    let terms = victims.iter().map(|victim| {
        let cost = &victim["cost"];
        let term = |name: &str| number(&cost[name]);
        let seconds = term("lost_s") + term("save_s") + term("restart_s");
        let total = term("resources") * seconds * term("priority_weight") * term("repeat_factor");
        format!(
            "plan for job {urgent}: victim {} ({:.1} GPUs): lost {:.1} s + save {:.1} s + restart {:.1} s, \
             priority weight {:.2}, repeat factor {:.0} -> {total:.0} GPU-s",
            victim["job"],
            term("resources"),
            term("lost_s"),
            term("save_s"),
            term("restart_s"),
            term("priority_weight"),
            term("repeat_factor"),
        )
    });
    [head].into_iter().chain(terms).collect()
}

fn assert_was_made(cluster: &Cluster, urgent: JobId, plan: &Value) -> Outcome {
    assert_eq!(plan["outcome"], "stop", "{plan}");
    for sentence in sentences(urgent, plan) {
        assert!(
            cluster.logged(&[&format!("surgent: {sentence}")]).is_some(),
            "not in the log: {sentence}"
        );
    }
    for victim in plan["victims"].as_array().unwrap() {
        let asked = format!(
            "asked job {} to save for job {urgent} ({})",
            victim["job"],
            victim["signal"].as_str().unwrap()
        );
        assert!(cluster.logged(&[&asked]).is_some(), "not in the log: {asked}");
    }
    let asked = cluster
        .log()
        .iter()
        .filter(|line| line.has(&["surgent: asked job", &format!("for job {urgent} (")]))
        .count();
    assert_eq!(
        asked,
        plan["victims"].as_array().unwrap().len(),
        "and nobody else was asked"
    );
    Ok(())
}

#[test]
fn the_kept_facts_give_the_plan_that_was_made() -> Outcome {
    on_cluster(
        quick().toml(&format!(
            "{TOML}[urgent]\nwait_max_s = 0\n[records]\nsnapshots = 2\n"
        )),
        |cluster| {
            let trainees = four(cluster, |training| training.lasting(60, 0.1).option("--save-s=4"))?;
            let first = urgent(cluster, "first", 1)?;
            let asked = wait_for_requests(cluster, &trainees, first, 1)?;
            // The second one's plan depends on whom the first has claimed.
            let second = urgent(cluster, "second", 2)?;
            let others = wait_for_requests(cluster, &trainees, second, 2)?;
            assert!(!others.contains(&asked[0]));
            let files = [kept(cluster, first)?, kept(cluster, second)?];
            for (urgent, file) in [first, second].into_iter().zip(&files) {
                let metadata = fs::symlink_metadata(file).map_err(|error| error.to_string())?;
                assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o600);
                assert_was_made(cluster, urgent, &plan_again(file, urgent)?)?;
            }
            let progress = plan_again(&files[1], first)?;
            assert_eq!(progress["outcome"], "in_progress", "{progress}");
            assert_eq!(progress["victims"], serde_json::json!([trainees[asked[0]].id.0]));
            cluster.wait_for_all(&[first, second], "COMPLETED")?;

            // A third plan pushes the first one's facts out.
            let third = urgent(cluster, "third", 4)?;
            let latest = kept(cluster, third)?;
            let folder = latest.parent().unwrap();
            cluster.wait_for("the oldest to be gone", LIMIT, |_| Ok(!files[0].exists()))?;
            assert!(files[1].exists() && latest.exists());
            assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
            cluster.wait_for_state(third, "COMPLETED", LIMIT)?;

            // What cannot be kept costs a line in the log and nothing else.
            let elsewhere = tempfile::tempdir().map_err(|error| error.to_string())?;
            fs::remove_dir_all(folder)
                .and_then(|()| symlink(elsewhere.path(), folder))
                .map_err(|error| error.to_string())?;
            let jobs: Vec<JobId> = trainees.iter().map(|trainee| trainee.id).collect();
            cluster.wait_for_all(&jobs, "RUNNING")?;
            let fourth = urgent(cluster, "fourth", 4)?;
            cluster.wait_for_state(fourth, "COMPLETED", LIMIT)?;
            let complaints = cluster
                .log()
                .iter()
                .filter(|line| line.has(&["surgent.plans: the facts", "not a directory"]))
                .count();
            assert_eq!(complaints, 1);
            assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
            Ok(())
        },
    )
}

/// The names of the nodes that each waiting job may use, by the kept facts.
fn usable_nodes(file: &PathBuf) -> Outcome<BTreeMap<u64, Vec<String>>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let kept: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let all = kept["facts"]["nodes"].as_array().unwrap();
    let name = |index: &Value| {
        let node = all.iter().find(|node| node["index"] == *index).unwrap();
        node["name"].as_str().unwrap().to_owned()
    };
    let waiting = kept["facts"]["waiting"].as_array().unwrap().iter();
    let of_job = |job: &Value| {
        let nodes = job["request"]["choices"][0]["nodes"].as_array().unwrap();
        (job["id"].as_u64().unwrap(), nodes.iter().map(name).collect())
    };
    Ok(waiting.map(of_job).collect())
}

#[test]
fn what_several_jobs_may_use_alike_is_not_taken_for_what_another_may_use() -> Outcome {
    on_cluster(
        quick().toml(&format!("{TOML}[urgent]\nwait_max_s = 0\n")),
        |cluster| {
            let trainees = four(cluster, |training| training.lasting(60, 0.1).option("--save-s=4"))?;
            let later = [
                "create",
                "reservation",
                "ReservationName=later",
                "StartTime=now+60minutes",
                "Duration=60",
                "Nodes=n4",
                "Users=root",
                "Flags=IGNORE_JOBS",
            ];
            cluster.ask("scontrol", &later)?;
            let held = |options: &[&str]| {
                let common = ["--hold", "-N1", "--comment=urgency=urgent"];
                cluster.sbatch(&[&common, options].concat(), "sleep 1")
            };
            let short = ["-t", "10"];
            let long = ["-t", "600"];
            let jobs = [
                (held(&short)?, &["n1", "n2", "n3", "n4"][..]),
                (held(&long)?, &["n1", "n2", "n3"]),
                (held(&[&short[..], &["-x", "n1"]].concat())?, &["n2", "n3", "n4"]),
                (held(&[&short[..], &["--reservation=later"]].concat())?, &[]),
                (held(&long)?, &["n1", "n2", "n3"]),
                (held(&short)?, &["n1", "n2", "n3", "n4"]),
            ];
            let first = urgent(cluster, "first", 1)?;
            wait_for_requests(cluster, &trainees, first, 1)?;
            let usable = usable_nodes(&kept(cluster, first)?)?;
            for (job, nodes) in jobs {
                assert_eq!(usable[&u64::from(job.0)], nodes, "{usable:?}");
            }
            Ok(())
        },
    )
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent plan`, from outside, and the pages that show what it says.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/snapshot.json");

fn surgent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surgent"))
        .arg("plan")
        .args(arguments)
        .output()
        .unwrap()
}

/// What it says of a job in a snapshot.
fn plan(snapshot: &str, job: &str, more: &[&str]) -> String {
    let output = surgent(&[&["--snapshot", snapshot, "--job", job], more].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The sentence with which it refuses.
fn refusal(snapshot: &str, job: &str) -> String {
    let output = surgent(&["--snapshot", snapshot, "--job", job]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty());
    let sentence = String::from_utf8(output.stderr).unwrap();
    assert!(
        sentence.starts_with("surgent: ") && sentence.lines().count() == 1,
        "{sentence}"
    );
    sentence
}

/// The example, changed.
fn changed(folder: &Path, change: impl FnOnce(&mut Value)) -> String {
    let mut snapshot: Value = serde_json::from_str(&std::fs::read_to_string(EXAMPLE).unwrap()).unwrap();
    change(&mut snapshot);
    written(folder, &snapshot.to_string())
}

fn written(folder: &Path, text: &str) -> String {
    let file: PathBuf = folder.join("snapshot.json");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The blocks of a page that are fenced with this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let parts = page.split("```").skip(1).step_by(2);
    parts
        .filter_map(|block| block.strip_prefix(&format!("{language}\n")))
        .collect()
}

#[test]
fn the_pages_show_what_it_says() {
    let policy = include_str!("../docs/policy.md");
    assert!(blocks(policy, "text").contains(&plan(EXAMPLE, "900", &[]).as_str()));

    let page = include_str!("../docs/plan-json.md");
    let shown: Value = serde_json::from_str(blocks(page, "json").last().unwrap()).unwrap();
    let said: Value = serde_json::from_str(&plan(EXAMPLE, "900", &["--json"])).unwrap();
    assert_eq!(shown, said);
}

#[test]
fn the_shown_snapshot_can_be_planned_for() {
    let folder = tempfile::tempdir().unwrap();
    let page = include_str!("../docs/plan-json.md");
    let snapshot = written(folder.path(), blocks(page, "json").first().unwrap());
    assert!(plan(&snapshot, "900", &[]).contains("1 job makes way"));
}

#[test]
fn what_is_not_to_be_stopped_is_said_too() {
    let folder = tempfile::tempdir().unwrap();
    let free = changed(folder.path(), |snapshot| {
        snapshot["facts"]["running"] = Value::Array(Vec::new())
    });
    assert!(plan(&free, "900", &[]).contains("fits on what is free"));

    let protected = changed(folder.path(), |snapshot| {
        for job in snapshot["facts"]["running"].as_array_mut().unwrap() {
            job["traits"]["requeue"] = Value::Bool(false);
        }
    });
    let said = plan(&protected, "900", &[]);
    assert!(
        said.contains("not_requeueable") && said.contains("101, 102, 103"),
        "{said}"
    );
    let json: Value = serde_json::from_str(&plan(&protected, "900", &["--json"])).unwrap();
    assert_eq!(json["outcome"], "no_set");

    let ending = changed(folder.path(), |snapshot| {
        for job in snapshot["facts"]["running"].as_array_mut().unwrap() {
            job["end"] = (snapshot_now() + 20).into();
        }
    });
    assert!(plan(&ending, "900", &[]).contains("have ended by themselves"));

    let component = changed(folder.path(), |snapshot| {
        snapshot["facts"]["waiting"][0]["het"] = json!({"leader": 900, "offset": 0, "of": 2});
    });
    let said = plan(&component, "900", &[]).replace("\n ", "");
    assert!(
        said.contains("not all components") && said.contains("nobody is stopped"),
        "{said}"
    );
}

#[test]
fn all_components_of_a_heterogeneous_job_are_planned_for_together() {
    let folder = tempfile::tempdir().unwrap();
    let het = changed(folder.path(), |snapshot| {
        let waiting = snapshot["facts"]["waiting"].as_array_mut().unwrap();
        waiting[0]["het"] = json!({"leader": 900, "offset": 0, "of": 2});
        let mut second = waiting[0].clone();
        second["id"] = 901.into();
        second["het"] = json!({"leader": 900, "offset": 1});
        second["request"]["min_nodes"] = 1.into();
        second["request"]["max_nodes"] = 1.into();
        waiting.push(second);
    });
    // By whichever component it is called.
    let said: Value = serde_json::from_str(&plan(&het, "901", &["--json"])).unwrap();
    assert_eq!(
        said,
        serde_json::from_str::<Value>(&plan(&het, "900", &["--json"])).unwrap()
    );
    assert_eq!((&said["outcome"], &said["urgent"]), (&json!("stop"), &json!(900)));
    let places = said["components"].as_array().unwrap();
    let nodes = |at: usize| places[at]["nodes"].as_array().unwrap().clone();
    assert_eq!((&places[0]["job"], &places[1]["job"]), (&json!(900), &json!(901)));
    assert_eq!((nodes(0).len(), nodes(1).len()), (2, 1));
    assert!(!nodes(0).contains(&nodes(1)[0]));
    assert!(plan(&het, "900", &[]).contains("For job 900: "));
}

fn snapshot_now() -> i64 {
    1_764_410_000
}

#[test]
fn settings_change_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("surgent.toml");
    std::fs::write(&file, "[urgent]\nwait_weight = 0.0\n").unwrap();
    let settings = ["--settings", file.to_str().unwrap()];
    assert_ne!(plan(EXAMPLE, "900", &settings), plan(EXAMPLE, "900", &[]));
    std::fs::write(&file, "[urgent]\nwait = 0\n").unwrap();
    let output = surgent(&["--snapshot", EXAMPLE, "--job", "900", settings[0], settings[1]]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("surgent.toml: ")
    );
}

#[test]
fn lines_are_at_most_100_columns() {
    let folder = tempfile::tempdir().unwrap();
    let many = changed(folder.path(), |snapshot| {
        let running = snapshot["facts"]["running"].as_array_mut().unwrap();
        let protected = running[2].clone();
        for id in 1000..1100 {
            let mut job = protected.clone();
            job["id"] = id.into();
            job["holdings"][0]["amounts"] = serde_json::json!({"cpus": 0, "memory_mib": 0, "gres": []});
            running.push(job);
        }
    });
    let said = plan(&many, "900", &[]);
    assert!(said.contains("1099"));
    for line in said.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn what_cannot_be_used_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    assert!(refusal(missing.to_str().unwrap(), "900").contains("missing.json: No such file"));
    assert!(refusal(&written(folder.path(), "nodes: 4"), "900").contains("no snapshot of facts"));
    assert!(refusal(&written(folder.path(), r#"{"version": 1}"#), "900").contains("missing field `facts`"));
    assert!(refusal(&written(folder.path(), r#"{"version": 99}"#), "900").contains("version 99"));
    let impossible = [
        (
            "/facts/running/1/directives/save_s",
            serde_json::json!(1e308),
            "save_s",
        ),
        (
            "/facts/running/0/directives/priority",
            serde_json::json!(101),
            "priority",
        ),
        ("/facts/running/2/id", serde_json::json!(101), "two running jobs"),
        (
            "/facts/running/0/holdings/0/node",
            serde_json::json!(77),
            "node 77",
        ),
        ("/facts/nodes/1/index", serde_json::json!(0), "two nodes"),
        (
            "/facts/nodes/0/total/memory_mib",
            serde_json::json!(u64::MAX),
            "node n1",
        ),
    ];
    for (place, value, named) in impossible {
        let file = changed(folder.path(), |snapshot| {
            *snapshot.pointer_mut(place).unwrap() = value.clone()
        });
        let sentence = refusal(&file, "900");
        assert!(
            sentence.contains("cannot be") && sentence.contains(named),
            "{place}: {sentence}"
        );
    }
    assert!(refusal(EXAMPLE, "7").contains("no job 7; urgent jobs that wait here: 900"));
    assert!(refusal(EXAMPLE, "101").contains("job 101 runs"));
    let normal = changed(folder.path(), |snapshot| {
        let parked = serde_json::json!({"id": 800, "begin": 0, "completing": false, "wanted": "normal", "record": null});
        snapshot["facts"]["parked"] = Value::Array(vec![parked]);
    });
    assert!(refusal(&normal, "800").contains("job 800 is not urgent"));
}

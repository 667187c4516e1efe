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
fn a_job_that_no_node_is_large_enough_for_is_told_from_one_that_protected_jobs_keep_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let wanting = |nodes: u32| {
        changed(folder.path(), |snapshot| {
            snapshot["facts"]["waiting"][0]["request"]["min_nodes"] = nodes.into();
            snapshot["facts"]["waiting"][0]["request"]["max_nodes"] = Value::Null;
            snapshot["settings"] = json!({"victims": {"exempt_users": ["eve"]}});
            for job in snapshot["facts"]["running"].as_array_mut().unwrap() {
                job["labels"] = json!({"user": "eve"});
            }
        })
    };
    let never = |nodes: u32| {
        let snapshot = wanting(nodes);
        let json: Value = serde_json::from_str(&plan(&snapshot, "900", &["--json"])).unwrap();
        assert_eq!(json["outcome"], "no_set", "{json:#}");
        let said = plan(&snapshot, "900", &[]).replace("\n ", "");
        assert_eq!(
            said.contains("if no job ran either"),
            json["never_fits"] == true,
            "{said}"
        );
        json["never_fits"] == true
    };
    assert!(!never(4));
    assert!(never(5), "there are four nodes");
}

/// The example, in which a change to each running job and to the settings protects all of them.
fn protected(folder: &Path, settings: Value, change: impl Fn(&mut Value)) -> String {
    changed(folder, |snapshot| {
        snapshot["settings"] = settings;
        let running = snapshot["facts"]["running"].as_array_mut().unwrap();
        running.iter_mut().for_each(change);
    })
}

#[test]
fn where_no_set_helps_the_rules_that_are_alone_in_the_way_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let exempt = |setting: &str| json!({"victims": {setting: ["eve"]}});
    let silent = |job: &mut Value| job["directives"] = json!({});
    let nothing = |_: &mut Value| {};
    type Change = fn(&mut Value);
    let of_trait: [(&str, Change); 3] = [
        ("suspended", |job| job["traits"]["suspended"] = true.into()),
        ("no_requeue", |job| job["traits"]["requeue"] = false.into()),
        ("preempt_exempt_time", |job| job["traits"]["exempt"] = true.into()),
    ];
    for (name, change) in of_trait {
        assert_helps(&protected(folder.path(), json!({}), change), &[name]);
    }
    for (name, label) in [
        ("exempt_users", "user"),
        ("exempt_accounts", "account"),
        ("exempt_qos", "qos"),
        ("exempt_partitions", "partition"),
    ] {
        let named = |job: &mut Value| job["labels"] = json!({ label: "eve" });
        assert_helps(&protected(folder.path(), exempt(name), named), &[name]);
    }
    for (name, settings) in [
        ("min_runtime_s", json!({"victims": {"min_runtime_s": 1e6}})),
        ("max_preemptions", json!({"victims": {"max_preemptions": 0}})),
    ] {
        assert_helps(&protected(folder.path(), settings, nothing), &[name]);
    }
    let ends = |job: &mut Value| job["end"] = (snapshot_now() + 4000).into();
    let settings = json!({"victims": {"nearly_done_s": 5000.0}});
    assert_helps(&protected(folder.path(), settings, ends), &["nearly_done_s"]);
    let settings = json!({"victims": {"unsavable": "stop"}});
    assert_helps(&protected(folder.path(), settings, silent), &["patience_s"]);
    assert_helps(&protected(folder.path(), json!({}), silent), &["unsavable"]);
    let slow = |job: &mut Value| {
        job["directives"] = json!({"save": "step", "save_s": 1000.0, "signal": "USR1@batch"});
    };
    let both = ["save_deadline_s", "unsavable"];
    assert_helps(&protected(folder.path(), json!({}), slow), &both);
}

/// Nobody can make way in the snapshot, and each of these would help by itself, but nothing else.
fn assert_helps(snapshot: &str, wanted: &[&str]) {
    let json: Value = serde_json::from_str(&plan(snapshot, "900", &["--json"])).unwrap();
    assert_eq!(json["outcome"], "no_set", "{wanted:?}");
    let helps = json["would_help"]
        .as_array()
        .unwrap_or_else(|| panic!("{wanted:?}: {json}"));
    let names: Vec<&str> = helps
        .iter()
        .map(|help| help["without"].as_str().unwrap())
        .collect();
    assert_eq!(names, wanted);
    for help in helps {
        assert!(!help["victims"].as_array().unwrap().is_empty(), "{help}");
    }
}

#[test]
fn a_rule_that_is_not_alone_in_the_way_is_not_named() {
    let folder = tempfile::tempdir().unwrap();
    let twice = protected(folder.path(), json!({"victims": {"min_runtime_s": 1e6}}), |job| {
        job["traits"]["requeue"] = false.into();
    });
    let json: Value = serde_json::from_str(&plan(&twice, "900", &["--json"])).unwrap();
    assert_eq!(
        (&json["outcome"], json.get("would_help")),
        (&json!("no_set"), None)
    );
    // Each protects others.
    let here_and_there = protected(
        folder.path(),
        json!({"victims": {"exempt_users": ["eve"]}}),
        |job| match job["id"].as_u64().unwrap() % 2 {
            0 => job["traits"]["requeue"] = false.into(),
            _ => job["labels"] = json!({"user": "eve"}),
        },
    );
    let json: Value = serde_json::from_str(&plan(&here_and_there, "900", &["--json"])).unwrap();
    let helps = json["would_help"].as_array().unwrap();
    let by_rule = [
        json!({"without": "no_requeue", "victims": [104]}),
        json!({"without": "exempt_users", "victims": [101, 105]}),
    ];
    assert_eq!(*helps, by_rule);
    let said = plan(&here_and_there, "900", &[]);
    assert!(
        said.contains("Without --no-requeue, job 104 would make way.\n"),
        "{said}"
    );
}

#[test]
fn a_hindrance_is_named_in_both_forms() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = |hindrance: Value| {
        changed(folder.path(), |snapshot| {
            snapshot["facts"]["waiting"][0]["blocked"] = Value::Bool(true);
            snapshot["facts"]["waiting"][0]["hindrance"] = hindrance;
        })
    };
    for (hindrance, name, words) in [
        ("licenses".into(), "licenses", "it lacks licenses"),
        ("limit".into(), "limit", "as many tasks of its array run"),
        ("held".into(), "held", "it is held"),
        (
            "admission_budget".into(),
            "admission_budget",
            "GPU-hours is used up",
        ),
        (
            "admission_limit".into(),
            "admission_limit",
            "as many urgent jobs before it",
        ),
        (
            "admission_permission".into(),
            "admission_permission",
            "it may not be urgent",
        ),
        (Value::Null, "other", "a reason that free nodes do not mend"),
    ] {
        let snapshot = blocked(hindrance);
        assert!(plan(&snapshot, "900", &[]).contains(words), "{words}");
        let json: Value = serde_json::from_str(&plan(&snapshot, "900", &["--json"])).unwrap();
        assert_eq!(
            (json["outcome"].as_str(), json["hindrance"].as_str()),
            (Some("hindered"), Some(name))
        );
        assert_eq!(
            (&json["urgent"], &json["node_names"]),
            (&900.into(), &Value::Array(Vec::new()))
        );
    }
}

/// The example with another urgent job before or behind the first.
fn with_another(folder: &Path, priority: u64, change: impl FnOnce(&mut Value)) -> String {
    changed(folder, |snapshot| {
        let waiting = snapshot["facts"]["waiting"].as_array_mut().unwrap();
        let mut other = waiting[0].clone();
        other["id"] = 901.into();
        other["priority"] = priority.into();
        waiting.push(other);
        change(snapshot);
    })
}

#[test]
fn urgent_jobs_are_planned_for_in_the_order_of_the_queue() {
    let folder = tempfile::tempdir().unwrap();
    let victims = |snapshot: &str, job: &str| {
        let json: Value = serde_json::from_str(&plan(snapshot, job, &["--json"])).unwrap();
        let victims = json["victims"].as_array().unwrap().iter();
        victims
            .map(|victim| victim["job"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    // Both want what only job 104 gives so cheaply.
    let behind = with_another(folder.path(), 1, |_| {});
    assert_eq!(
        (victims(&behind, "900"), victims(&behind, "901")),
        (vec![104], vec![102, 105])
    );
    let before = with_another(folder.path(), u64::from(u32::MAX), |_| {});
    assert_eq!(
        (victims(&before, "900"), victims(&before, "901")),
        (vec![102, 105], vec![104])
    );
    // Slurm has yet to try the first: the planner waits for that, and whoever asks about it need not.
    let untested = with_another(folder.path(), u64::from(u32::MAX), |snapshot| {
        snapshot["facts"]["waiting"][1]["tested"] = Value::Bool(false);
    });
    assert_eq!(
        (victims(&untested, "900"), victims(&untested, "901")),
        (vec![104], vec![104])
    );
}

#[test]
fn what_is_under_way_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let asked = with_another(folder.path(), 1, |snapshot| {
        snapshot["facts"]["running"][3]["record"] = serde_json::json!({
            "class": "normal", "first": null, "ask": 900, "asked": snapshot_now() - 5,
            "deadline": snapshot_now() + 300, "preempted": 0, "by": null, "waits_for": [], "unknown": []
        });
    });
    let json: Value = serde_json::from_str(&plan(&asked, "900", &["--json"])).unwrap();
    assert_eq!(
        (&json["outcome"], &json["phase"], &json["victims"]),
        (&"in_progress".into(), &"saving".into(), &serde_json::json!([104]))
    );
    let said = plan(&asked, "900", &[]);
    assert!(
        said.contains("plan for job 900 already") && said.contains("jobs 104"),
        "{said}"
    );
    assert!(plan(&asked, "901", &[]).contains("Protected (claimed): 104"));
}

#[test]
fn each_task_of_an_array_has_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let array = changed(folder.path(), |snapshot| {
        snapshot["facts"]["waiting"][0]["tasks"] = 2.into()
    });
    let json: Value = serde_json::from_str(&plan(&array, "900", &["--json"])).unwrap();
    assert_eq!(json["victims"][0]["job"], 104);
    assert_eq!(json["further_tasks"][0]["victims"].as_array().unwrap().len(), 2);
    assert_eq!(json["further_tasks"].as_array().unwrap().len(), 1);
    assert_eq!(plan(&array, "900", &[]).matches("For job 900: ").count(), 2);
}

#[test]
fn how_long_a_save_takes_is_said_where_the_job_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let silent = changed(folder.path(), |snapshot| {
        snapshot["facts"]["running"][3]["directives"]["save_s"] = Value::Null;
    });
    let said = plan(&silent, "900", &[]);
    assert!(said.contains("Save time (same_user): 104"), "{said}");
}

#[test]
fn settings_in_the_snapshot_hold_unless_others_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let cost = |snapshot: &str, more: &[&str]| {
        let json: Value =
            serde_json::from_str(&plan(snapshot, "900", &[&["--json"], more].concat())).unwrap();
        json["victims"][0]["cost"]["restart_s"].as_f64().unwrap()
    };
    let kept = changed(folder.path(), |snapshot| {
        snapshot["settings"] = serde_json::json!({"mode": "off", "victims": {"restart_s": 7.0}});
    });
    assert_eq!(cost(&kept, &[]), 7.0);
    let file = folder.path().join("surgent.toml");
    std::fs::write(&file, "[victims]\nrestart_s = 8\n").unwrap();
    assert_eq!(cost(&kept, &["--settings", file.to_str().unwrap()]), 8.0);
    let newer = changed(folder.path(), |snapshot| {
        snapshot["settings"] = serde_json::json!({"victims": {"restart_of_tomorrow": 7.0}});
    });
    assert!(refusal(&newer, "900").contains("restart_of_tomorrow"));
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

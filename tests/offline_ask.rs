// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent explain`, and `surgent plan` for sbatch's options, from outside and on saved snapshots; and the page that shows
//! what they say.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use surgent::policy::record::Record;
use surgent::slurm::submit::forms;
use tempfile::TempDir;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/snapshot.json");

fn surgent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surgent"))
        .args(arguments)
        .env("TZ", "UTC")
        .output()
        .unwrap()
}

fn said(arguments: &[&str]) -> String {
    let output = surgent(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The sentence with which it refuses, and the exit code.
fn refusal(arguments: &[&str]) -> (String, Option<i32>) {
    let output = surgent(arguments);
    assert!(output.stdout.is_empty() && !output.status.success(), "{output:?}");
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

fn explain(snapshot: &str, job: &str) -> String {
    explain_with(&["--snapshot", snapshot, job])
}

fn explain_with(arguments: &[&str]) -> String {
    let text = said(&[&["explain"], arguments].concat());
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(long.is_empty(), "{long:?}");
    // Where lines end is another matter.
    text.replace('\n', " ")
}

fn explained(snapshot: &str, job: &str) -> Value {
    serde_json::from_str(&said(&["explain", "--snapshot", snapshot, "--json", job])).unwrap()
}

/// The example, changed.
fn changed(folder: &Path, change: impl FnOnce(&mut Value)) -> String {
    let mut snapshot: Value = serde_json::from_str(&std::fs::read_to_string(EXAMPLE).unwrap()).unwrap();
    change(&mut snapshot);
    let file = folder.join("snapshot.json");
    std::fs::write(&file, snapshot.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A running job of the example.
fn job(snapshot: &mut Value, id: u32) -> &mut Value {
    let running = snapshot["facts"]["running"].as_array_mut().unwrap();
    running.iter_mut().find(|job| job["id"] == id).unwrap()
}

fn rule<'a>(told: &'a Value, name: &str) -> &'a Value {
    let rules = told["exposure"]["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["rule"] == name).unwrap()
}

const NOW: i64 = 1_764_410_000;

#[test]
fn the_page_shows_what_it_says() {
    let page = include_str!("../docs/ask.md");
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let shown = format!("text\n{}", said(&["explain", "--snapshot", EXAMPLE, "105"]));
    assert!(blocks.contains(&shown.as_str()), "{shown}");
}

#[test]
fn rules_say_what_they_look_at_and_all_that_protect_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = changed(folder.path(), |snapshot| {
        snapshot["settings"] = json!({"victims": {"exempt_qos": ["High"], "max_preemptions": 2}});
        let job = job(snapshot, 104);
        job["start"] = (NOW - 90).into();
        job["labels"] = json!({"user": "eve\u{1b}[31m", "account": null, "qos": "high", "partition": "gpu"});
        job["admin_comment"] = "surgent{class=normal preempted=2 by=70 stopped=1764409900 saved=yes}".into();
        job["record"] = json!({
            "class": "normal", "first": null, "ask": null, "asked": null, "deadline": null, "place": null,
            "preempted": 2, "by": 70, "stopped": NOW - 100, "saved": true, "waits_for": [], "unknown": []
        });
    });
    let told = explained(&snapshot, "104");
    let protects = json!(["exempt_qos", "restarted_recently", "max_preemptions"]);
    assert_eq!(told["exposure"]["protected_by"], protects);
    assert_eq!(told["exposure"]["rank"], Value::Null);
    assert_eq!(rule(&told, "exempt_qos")["value"], "high");
    assert_eq!(rule(&told, "below_min_runtime")["value_s"], 90.0);
    let restarted = rule(&told, "restarted_recently");
    assert_eq!(
        (&restarted["value_s"], &restarted["limit_s"]),
        (&90.0.into(), &180.0.into())
    );
    assert_eq!(told["preempted"]["by"], 70);
    assert_eq!(told["preempted"]["still_left_alone_s"], 90.0);
    // It would cost three times as much as the first time.
    assert_eq!(told["exposure"]["ways"][0]["cost"]["repeat_factor"], 3.0);

    let text = explain(&snapshot, "104");
    for words in [
        "by the rule exempt_qos, restarted_recently, max_preemptions",
        "stopped for job 70 100s ago",
        "It had saved.",
        "left alone for another 90s, 3m in all",
        "90s of at least 60s",
        "2 of 2",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        text.contains(r"eve\u{1b}[31m") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn the_plan_and_the_explanation_name_the_same_rule() {
    let plan: Value =
        serde_json::from_str(&said(&["plan", "--snapshot", EXAMPLE, "--json", "--job", "900"])).unwrap();
    for (job, rule) in plan["refused"].as_object().unwrap() {
        assert_eq!(explained(EXAMPLE, job)["exposure"]["protected_by"][0], *rule);
    }
    let told = explained(EXAMPLE, "900");
    assert_eq!(told["outlook"][0]["victims"], plan["victims"]);
    assert_eq!(told["class"], "urgent");
}

#[test]
fn a_victim_is_told_for_whom_and_until_when() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = changed(folder.path(), |snapshot| {
        snapshot["book"] = json!({"campaigns": [{
            "urgent": 900, "phase": {"name": "saving"}, "nodes": [2, 3], "missed": [105], "widened": 0,
            "nudged": 0, "hopeless_since": null,
            "victims": [{"job": 104, "start": job(snapshot, 104)["start"], "signal": "USR1@batch",
                "asked": NOW - 20, "deadline": NOW + 100, "saved": null, "stance": "victim"}]
        }]});
    });
    let urgent = explain(&snapshot, "900");
    assert!(
        urgent.contains("Job 104 was asked to make way for job 900 20s ago; it has 100s left to save"),
        "{urgent}"
    );
    let victim = explained(&snapshot, "104");
    assert_eq!(victim["asked"]["deadline"], NOW + 100);
    assert_eq!(rule(&victim, "claimed")["urgent"], 900);
    assert_eq!(
        rule(&explained(&snapshot, "105"), "missed_deadline")["urgent"],
        900
    );
}

#[test]
fn of_a_victim_that_waits_already_it_is_not_said_that_it_was_never_asked() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "surgent{class=normal first=1764390000 ask=900 asked=1764409990 deadline=1764410290}";
    let snapshot = changed(folder.path(), |snapshot| {
        let running = snapshot["facts"]["running"].as_array_mut().unwrap();
        running.retain(|job| job["id"] != 104);
        let record = Record::read(asked.as_bytes());
        snapshot["facts"]["parked"] = json!([{"id": 104, "begin": NOW + 100, "completing": false, "wanted": null,
            "record": record, "admin_comment": asked}]);
        snapshot["book"] = json!({"campaigns": [{
            "urgent": 900, "phase": {"name": "open", "since": NOW}, "nodes": [2], "missed": [], "widened": 0, "nudged": 0,
            "hopeless_since": null,
            "victims": [{"job": 104, "start": 1_764_390_000, "signal": "USR1@batch", "asked": 1_764_409_990,
                "deadline": 1_764_410_290, "saved": 1_764_409_995, "stance": "victim"}]
        }]});
    });
    let told = explain(&snapshot, "104");
    assert!(told.contains("was asked to make way for job 900"), "{told}");
    assert!(!told.contains("never asked"), "{told}");
}

#[test]
fn who_is_protected_is_not_called_unprotected() {
    let text = said(&["plan", "--snapshot", EXAMPLE, "-N2", "--gres=gpu:4"]).replace("\n  ", " ");
    assert!(
        text.contains("makes it fit (protected there: 1 cannot_save, 1 claimed)"),
        "{text}"
    );
    assert!(text.contains("Protected (cannot_save): 103"), "{text}");
}

#[test]
fn the_audit_file_adds_what_it_cost_and_knows_those_whom_slurm_forgot() {
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit.jsonl");
    let cost = json!({"resources": 4.0, "lost_s": 1.0, "lost_by": "one_step", "confidence": null, "save_s": 10.0,
        "save_by": "told", "restart_s": 60.0, "priority_weight": 1.0, "repeat_factor": 1.0, "ready_s": 10.0});
    let lines = [
        json!({"v": 1, "at": NOW - 50, "kind": "plan", "urgent": 70, "user": 1001, "victims": [{"job": 55, "start": 5, "cost": cost}]}),
        json!({"v": 1, "at": NOW - 30, "kind": "stopped", "urgent": 70, "job": 55, "start": 5, "asked": NOW - 50, "saved": NOW - 40}),
        json!({"v": 1, "at": NOW - 29, "kind": "started", "urgent": 70, "start": NOW - 29, "waited_s": 21.0, "nodes": ["n1"]}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(&audit, text.join("\n") + "\n").unwrap();
    let audit = audit.to_str().unwrap();
    let victim = explain_with(&["--snapshot", EXAMPLE, "--audit", audit, "55"]);
    for words in [
        "Slurm does not know it any more",
        "job 70 of user 1001",
        "4.7 GPU-min",
        "It had saved.",
    ] {
        assert!(victim.contains(words), "{words}: {victim}");
    }
    let urgent = explain_with(&["--snapshot", EXAMPLE, "--audit", audit, "70"]);
    assert!(
        urgent.contains("Stopped for it: job 55 (30s ago, after it had saved)."),
        "{urgent}"
    );
    let (sentence, code) = refusal(&[
        "explain",
        "--snapshot",
        EXAMPLE,
        "--audit",
        "/nowhere/audit",
        "55",
    ]);
    assert!(
        code == Some(1) && sentence.contains("/nowhere/audit"),
        "{sentence}"
    );
}

#[test]
fn where_the_mode_keeps_it_from_happening_that_is_said() {
    let folder = TempDir::new().expect("a folder");
    let settings = folder.path().join("surgent.toml");
    for (mode, note) in [
        ("on", None),
        ("shadow", Some("the mode is shadow")),
        ("off", Some("the mode is off")),
    ] {
        std::fs::write(&settings, format!("mode = \"{mode}\"\n")).expect("it can be written");
        let settings = settings.to_str().expect("UTF-8");
        for asked in [["explain", "900"], ["plan", "--job=900"]] {
            let common = ["--snapshot", EXAMPLE, "--settings", settings];
            let text = said(&[&asked[..], &common].concat());
            match note {
                Some(note) => assert!(text.contains(note) && text.contains("make way"), "{text}"),
                None => assert!(!text.contains("the mode is"), "{text}"),
            }
            let json: Value =
                serde_json::from_str(&said(&[&asked[..], &common, &["--json"]].concat())).expect("JSON");
            assert_eq!(
                json["notes"].to_string().contains("the mode is"),
                note.is_some(),
                "{json}"
            );
        }
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_none() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full");
    let output = Command::new(env!("CARGO_BIN_EXE_surgent"))
        .args(["explain", "--snapshot", EXAMPLE, "900"])
        .stdout(full)
        .output()
        .expect("surgent can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("standard output: No space left"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    for (arguments, sentence) in [
        (
            &["run", "--saved-line", "", "--", "true"][..],
            "it matches every line",
        ),
        (
            &["run", "--saved-line", "x*", "--", "true"],
            "it matches every line",
        ),
        (
            &["run", "--save", "none", "--save-signal", "USR1", "--", "true"],
            "--save none says that the program never saves, --save-signal how it does",
        ),
        (
            &["run", "--save=none", "--checkpoint=*.pt", "--", "true"],
            "--checkpoint how it does",
        ),
        (&["run", "--epochs", "-3", "--", "true"], "-3 is not in 1.."),
        (&["drill", "abc"], "names no job"),
        (&["drill", ""], "names no job"),
    ] {
        let (said, code) = refusal(arguments);
        assert!(said.contains(sentence), "{arguments:?}: {said}");
        assert_eq!(code, Some(2), "{arguments:?}");
    }
}

#[test]
fn what_is_not_there_gets_a_sentence() {
    for (arguments, words, code) in [
        (
            &["explain", "--snapshot", EXAMPLE, "7"][..],
            "there is no job 7 in this snapshot",
            1,
        ),
        (&["explain", "--snapshot", EXAMPLE, "x"], "names no job", 2),
        (&["plan", "--snapshot", EXAMPLE], "name a job with --job", 2),
        (
            &["plan", "--snapshot", EXAMPLE, "--job", "900", "-N2"],
            "not both",
            2,
        ),
        (
            &["plan", "--snapshot", EXAMPLE, "-p", "gpu"],
            "--partition: a snapshot does not have",
            1,
        ),
        (
            &["plan", "--snapshot", EXAMPLE, "-w", "n9"],
            "--nodelist: there is no node \"n9\"",
            1,
        ),
        (&["plan", "--snapshot", EXAMPLE, "-w", "./hosts"], "is a file", 1),
        (
            &["plan", "--snapshot", EXAMPLE, "-G1", "-N2"],
            "fewer gpu than nodes",
            1,
        ),
        (
            &["plan", "--snapshot", EXAMPLE, "--mem=4X"],
            "no amount of memory",
            2,
        ),
        (
            &["plan", "--snapshot", EXAMPLE, "--mem=4G", "--mem-per-cpu=1G"],
            "cannot be used with",
            2,
        ),
        (
            &["plan", "--snapshot", EXAMPLE, "--begin=now"],
            "unexpected argument",
            2,
        ),
    ] {
        let (sentence, exit) = refusal(arguments);
        assert!(sentence.contains(words), "{arguments:?}: {sentence}");
        assert_eq!(exit, Some(code), "{arguments:?}");
    }
}

#[test]
fn options_make_the_job_that_the_snapshot_has() {
    // Alone in the queue, so that nobody is claimed by the other.
    let folder = tempfile::tempdir().unwrap();
    let alone = changed(folder.path(), |snapshot| snapshot["facts"]["waiting"] = json!([]));
    let plan = |snapshot: &str, arguments: &[&str]| -> Value {
        let arguments = [&["plan", "--snapshot", snapshot, "--json"], arguments].concat();
        serde_json::from_str(&said(&arguments)).unwrap()
    };
    let of_job = plan(EXAMPLE, &["--job", "900"]);
    for options in [
        &["--nodes=2", "--gres=gpu:2", "--mem=32000"][..],
        &[
            "-N",
            "2-2",
            "--gpus-per-node",
            "2",
            "--mem",
            "32000M",
            "--job-name=x",
            "-o",
            "%x.out",
        ],
        &[
            "-N2",
            "--gres",
            "gpu:2",
            "--mem",
            "32000",
            "--exclude=n[1-2]",
            "--no-requeue",
        ],
    ] {
        let of_options = plan(&alone, options);
        assert_eq!(of_options["victims"], of_job["victims"], "{options:?}");
        assert_eq!(of_options["as_if"], "submitted");
    }
    assert!(
        said(&["plan", "--snapshot", &alone, "-n1"])
            .starts_with("If this were submitted now as an urgent job")
    );
}

proptest! {
    #[test]
    fn no_text_breaks_a_form(text in "[-0-9a-zA-Z:,=%@ \\[\\]]{0,12}") {
        for refused in [
            forms::nodes(&text).err(), forms::memory_mib(&text).err(), forms::gres(&text).err(),
            forms::gpus(&text).err(), forms::time_limit_s(&text).err(), forms::array(&text).err(),
        ].into_iter().flatten() {
            prop_assert!(refused.contains("write") && refused.lines().count() == 1);
        }
    }

    #[test]
    fn what_is_written_as_sbatch_wants_it_is_read(least in 1u32..5000, more in 0u32..5000, gib in 0u64..5000) {
        let nodes = forms::nodes(&format!("{least}-{}", least + more)).unwrap();
        prop_assert_eq!((nodes.min, nodes.max), (least, Some(least + more)));
        prop_assert_eq!(forms::memory_mib(&format!("{gib}G")), Ok(gib * 1024));
        prop_assert_eq!(forms::memory_mib(&format!("{}K", gib * 1024)), Ok(gib));
        let tasks = forms::array(&format!("{least}-{}%{least}", least + more)).unwrap();
        prop_assert_eq!(tasks.tasks, more + 1);
        prop_assert_eq!(tasks.at_once, least.min(more + 1));
        let seconds = forms::time_limit_s(&format!("1-{}:{}", more % 24, least % 60)).unwrap();
        prop_assert_eq!(seconds.unwrap().0, f64::from(86_400 + more % 24 * 3600 + least % 60 * 60));
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent status`, from outside, without Slurm.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/snapshot.json");
const AUDIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/shadow.audit.jsonl");

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_surgent"));
    command
        .arg("status")
        .args(arguments)
        .env("TZ", "UTC")
        // There is no Slurm, wherever this runs.
        .env("PATH", "/nonexistent")
        .stdin(Stdio::null());
    command
}

fn status(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn told(arguments: &[&str]) -> String {
    let output = status(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The sentence with which it refuses.
fn refusal(arguments: &[&str], code: i32) -> String {
    let output = status(arguments);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_snapshot_is_shown_in_both_forms() {
    let text = told(&["--snapshot", EXAMPLE]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!text.contains('\u{1b}'), "colours are for terminals");
    let json: Value = serde_json::from_str(&told(&["--snapshot", EXAMPLE, "--json"])).unwrap();
    assert_eq!(
        (&json["version"], &json["source"]),
        (&1.into(), &"snapshot".into())
    );
    let training = json["training"].as_array().unwrap();
    for row in training {
        assert!(text.contains(&format!("{} ", row["job"])), "{text}");
    }
    // What `surgent plan` says of the same facts: 102 and 104 make way, at these costs.
    let cost = |job: u32| {
        let row = training.iter().find(|row| row["job"] == job).unwrap();
        row["cost_gpu_s"].as_f64().unwrap()
    };
    let plan = Command::new(env!("CARGO_BIN_EXE_surgent"))
        .args(["plan", "--snapshot", EXAMPLE, "--job", "900", "--json"])
        .output()
        .unwrap();
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    let planned: f64 = plan["victims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|victim| cost(victim["job"].as_u64().unwrap() as u32))
        .sum();
    assert_eq!(Some(planned), plan["cost_gpu_s"].as_f64());

    let only: Value = serde_json::from_str(&told(&["--snapshot", EXAMPLE, "--json", "--urgent"])).unwrap();
    assert_eq!(
        (only["urgent"].as_array().unwrap().len(), &only["training"]),
        (1, &Value::Array(vec![]))
    );
    assert!(!told(&["--snapshot", EXAMPLE, "--training"]).contains("Urgent jobs"));
}

#[test]
fn what_cannot_be_done_is_said_in_a_sentence() {
    let unanswered = refusal(&[], 1);
    assert!(
        unanswered.starts_with("surgent: Slurm does not say how things are: "),
        "{unanswered}"
    );
    assert_eq!(unanswered.lines().count(), 1, "{unanswered}");
    // At first there is no screen to keep.
    assert_eq!(refusal(&["--watch"], 1), unanswered);
    assert!(refusal(&["--snapshot", "/nonexistent/file"], 1).contains("/nonexistent/file"));
    for (arguments, word) in [
        (&["--sort", "price"][..], "cost"),
        (&["--state", "dreaming"], "saving"),
        (&["--watch", "0"], "1..=86400"),
        (&["--me", "--user", "eve"], "--user"),
        (&["--since", "1d"], "--shadow"),
        (&["--shadow", "--since", "yesterday"], "12h"),
        (&["--shadow", "--watch"], "--watch"),
    ] {
        let said = refusal(arguments, 2);
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    let said = refusal(&["--shadow", "--audit", "/nonexistent/audit"], 1);
    assert!(
        said.contains("/nonexistent/audit: there is no audit file here"),
        "{said}"
    );
    let said = refusal(
        &["--shadow", "--audit", EXAMPLE, "--since", "2025-11-29T00:00"],
        1,
    );
    assert!(
        said.contains("snapshot.json: not a line of an audit file"),
        "{said}"
    );
    let said = refusal(&["--shadow", "--audit", "/dev/null"], 1);
    assert!(said.contains("no regular file"), "{said}");
    assert!(refusal(&["--shadow"], 1).contains("--audit"));
}

#[test]
fn a_name_that_no_job_has_is_said() {
    let told = told(&[
        "--snapshot",
        EXAMPLE,
        "--user",
        "1000",
        "--user",
        "ewe",
        "--partition",
        "gpoo",
    ]);
    let said = |words: &str| told.contains(words);
    assert!(
        said("is of user ewe") && said("is in partition gpoo") && !said("of user 1000"),
        "{told}"
    );
}

#[test]
fn the_page_shows_what_shadow_mode_would_have_done() {
    let text = told(&["--shadow", "--audit", AUDIT, "--since", "2025-11-29T00:00"]);
    let head = text.lines().next().unwrap();
    assert!(
        head.starts_with("Shadow mode, 2025-11-29 00:00:00 UTC to "),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = include_str!("../docs/status.md");
    let below = text.split_once("\n\n").unwrap().1;
    assert!(
        page.contains(&format!("```text\n{below}```\n")),
        "docs/status.md does not show this:\n{below}"
    );
}

#[test]
fn files_that_were_put_aside_are_read_as_far_as_they_are_of_that_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit");
    let aside = |number: u32| folder.path().join(format!("audit.{number}"));
    let lines = std::fs::read_to_string(AUDIT).unwrap();
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let (old, new) = lines.split_at(lines.len() / 2);
    std::fs::write(aside(1), old.concat()).unwrap();
    // The last line is being written.
    std::fs::write(&file, new.concat() + "{\"v\":1,").unwrap();
    let json = |file: &Path| -> Value {
        let file = file.to_str().unwrap();
        let since = "2025-11-29T00:00";
        serde_json::from_str(&told(&["--shadow", "--audit", file, "--since", since, "--json"])).unwrap()
    };
    let (parts, whole) = (json(&file), json(Path::new(AUDIT)));
    let ended = |json: &Value| -> Vec<Value> {
        let urgent = json["urgent"].as_array().unwrap().iter();
        urgent.filter(|job| job["end"] != "waits").cloned().collect()
    };
    assert!(!ended(&whole).is_empty());
    assert_eq!(ended(&parts), ended(&whole));
    assert_eq!(
        (&parts["totals"]["victims"], &parts["notes"]),
        (&whole["totals"]["victims"], &whole["notes"])
    );
    // It was last written to before that time.
    let since = std::fs::File::options().append(true).open(aside(1)).unwrap();
    since.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_ne!(json(&file)["urgent"], whole["urgent"]);
}

#[test]
fn what_the_audit_file_does_not_tell_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit");
    let waits =
        r#"{"v":1,"at":1764406801,"shadow":true,"kind":"waits","urgent":3,"tasks":1,"submit":1764406800}"#;
    let changed = r#"{"v":1,"at":1764406900,"kind":"started","urgent":3,"start":1764406900}"#;
    let lost = r#"{"v":1,"at":1764407000,"kind":"lost","lines":4}"#;
    std::fs::write(&file, [waits, changed, lost, "{", ""].join("\n")).unwrap();
    let file = file.to_str().unwrap();
    let told = told(&[
        "--shadow",
        "--audit",
        file,
        "--since",
        "2025-11-29T00:00",
        "--json",
    ]);
    let json: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        json["notes"],
        serde_json::json!([
            "1 events are not counted, as Surgent was not in shadow mode",
            "4 events are missing, as slurmctld could not write them",
            "1 lines cannot be read",
        ])
    );
    assert_eq!(
        json["urgent"],
        serde_json::json!([{
            "job": 3, "user": null, "submitted": 1764406800, "tasks": 1, "outcome": "not_needed", "plan": null,
            "changed": 0, "protected": {}, "end": "waits", "waited_s": 100.0,
        }])
    );
}

fn watch(more: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command(&[&["--snapshot", EXAMPLE, "--watch", "1"], more].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_watch_that_goes_into_a_pipe_prints_one_after_the_other_until_it_is_ended() {
    for name in ["INT", "TERM"] {
        let (mut child, mut output) = watch(&["--json"]);
        for _ in 0..2 {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let json: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(json["training"].as_array().unwrap().len(), 6);
        }
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{name}");
    }
    let (mut child, mut output) = watch(&[]);
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(0), "nobody reads it any more");
}

/// Runs it on a terminal of its own, presses `keys` once it has drawn, and gives what it wrote there.
fn on_terminal(keys: &[u8]) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_surgent");
    // Ctrl-C is for the shell, too.
    let line = format!(
        "trap : INT; stty rows 12 cols 90; '{program}' status --snapshot '{EXAMPLE}' --watch 3600; echo ended $?; stty -a"
    );
    let mut child = Command::new("script")
        .args(["-qfec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .env("TZ", "UTC")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut written = Vec::new();
    while !String::from_utf8_lossy(&written).contains("q: end") {
        let available = output.fill_buf().unwrap();
        assert!(!available.is_empty(), "{}", String::from_utf8_lossy(&written));
        let count = available.len();
        written.extend_from_slice(available);
        output.consume(count);
    }
    input.write_all(keys).unwrap();
    input.flush().unwrap();
    std::io::Read::read_to_end(&mut output, &mut written).unwrap();
    (
        child.wait().unwrap().code(),
        String::from_utf8_lossy(&written).into_owned(),
    )
}

#[test]
fn on_a_terminal_q_and_ctrl_c_end_it_and_leave_the_terminal_as_it_was() {
    for keys in [&b"q"[..], b"\x03"] {
        let (code, written) = on_terminal(keys);
        assert_eq!(code, Some(0), "{written}");
        assert!(written.contains("ended 0"), "{written}");
        let (drawn, after) = written.split_once("\u{1b}[?1049l").expect("it leaves its screen");
        assert!(
            drawn.contains("\u{1b}[?1049h") && drawn.contains("\u{1b}[1m"),
            "{drawn:?}"
        );
        assert!(
            drawn.contains("more lines"),
            "12 rows are too few for all: {drawn:?}"
        );
        for mode in [" icanon", " echo "] {
            assert!(after.contains(mode), "{after}");
        }
    }
}

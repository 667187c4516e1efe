// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent progress` from outside.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn surgent(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_surgent"))
        .arg("progress")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("surgent can be started");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // It may have ended already, over its arguments.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn json_has_every_field_and_null_for_the_unknown() {
    let output = surgent(&["-", "--json"], b"Epoch: [3][ 50/100]\tTime 0.5 (0.4)\n");
    assert!(output.status.success());
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["epochs_done"], 3);
    assert_eq!(json["fraction_in_epoch"], 0.5);
    assert_eq!(json["seconds_per_epoch"], 40.0);
    for name in ["epochs_total", "overall_fraction", "finished"] {
        assert!(
            json.as_object().expect("an object").contains_key(name) && json[name].is_null(),
            "{name}: {json}"
        );
    }
}

#[test]
fn text_fits_a_terminal_and_never_says_0_percent_for_the_unknown() {
    for (input, part) in [
        (&b"Epoch 3/90\n"[..], "2 of 90"),
        (b"iter 50: loss 0.4, time 100ms\n", "50, of an unknown number"),
        (b"nothing of the kind\n", "No progress was recognised"),
    ] {
        let output = surgent(&["-"], input);
        let shown = text(&output.stdout);
        assert!(shown.contains(part), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        assert_eq!(output.status.success(), !shown.starts_with("No progress"));
    }
    let unknown = text(&surgent(&["-"], b"iter 50: loss 0.4\n").stdout);
    assert!(
        !unknown.contains("0.0 %") && unknown.contains("unknown"),
        "{unknown}"
    );
}

#[test]
fn a_pattern_and_a_total_of_the_users_own() {
    let output = surgent(
        &["-", "--json", "--epochs", "8", "--pattern", r"lap (?P<epoch>\d+)"],
        b"lap 1\nlap 2\nEpoch 7/9\n",
    );
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&json["epochs_done"], &json["overall_fraction"], &json["format"]),
        (&2.into(), &0.25.into(), &"pattern".into())
    );
    let output = surgent(&["-", "--pattern", "lap (\\d+)"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("no named group"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = surgent(&["/surgent/no/such/file"], b"");
    assert_eq!(output.status.code(), Some(1));
    let sentence = text(&output.stderr);
    assert!(
        sentence.starts_with("surgent: /surgent/no/such/file: No such file"),
        "{sentence}"
    );
}

#[test]
fn a_line_without_end_takes_no_memory_without_end() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_surgent"))
        .args(["progress", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("surgent can be started");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    let block = b"Epoch 1: 12/90 [no end ".repeat(4096);
    for _ in 0..500 {
        stdin.write_all(&block).expect("it reads");
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("Linux");
    drop(stdin);
    child.wait().expect("it ends");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("it is there");
    let peak_kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(
        peak_kib < 20 * 1024,
        "{peak_kib} KiB after 47 MB without a newline"
    );
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent replay` as it is typed.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const HEADER: &str = "u_id,user,gpu_num,cpu_num,node_num,interval,run_time,wall_time,new_status\n";

pub struct Bench(tempfile::TempDir);

impl Bench {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// So many jobs on a machine that they fill, in the form of the Helios extract.
    pub fn trace(&self, jobs: u32) {
        let mut text = HEADER.to_owned();
        for job in 0..jobs {
            let (gpus, run_s) = (1 + job % 4, 200 + job * 37 % 3000);
            writeln!(
                text,
                "{job},{},{gpus},8,1,{},{run_s},0,Pass",
                job % 7,
                job % 60 + 100
            )
            .unwrap();
        }
        fs::write(self.path("trace"), text).unwrap();
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_surgent"));
        let machine = ["--nodes", "4", "--gpus-per-node", "4"];
        command
            .current_dir(self.0.path())
            .args(["replay", "trace"])
            .args(machine);
        command.args(options).stdin(Stdio::null());
        command
    }

    pub fn run(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_same_command_gives_the_same_bytes_and_another_seed_others() {
    let bench = Bench::new();
    bench.trace(300);
    let options = ["--json", "--urgent", "10%", "--html", "page.html"];
    let run = |options: &[&str]| {
        let output = bench.run(options);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (
            text(&output.stdout),
            fs::read_to_string(bench.path("page.html")).unwrap(),
        )
    };
    let first = run(&options);
    assert_eq!(first, run(&options));
    assert_ne!(first.0, run(&[&options[..], &["--seed", "2"]].concat()).0);

    let json: Value = serde_json::from_str(&first.0).unwrap();
    let policies = json["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 15);
    let surgent = &policies[0];
    assert_eq!(surgent["policy"], "surgent");
    assert!(surgent["victims"].as_u64().unwrap() > 0, "{surgent:#}");
    assert_eq!(json["jobs"].as_u64().unwrap(), 300);
    // A page that needs nothing else.
    let page = first.1;
    assert!(page.matches("<svg").count() == 3 && page.ends_with("</html>"));
    for needed in ["<script", "<link", "<img", "src=", "url(", "@import"] {
        assert!(!page.contains(needed), "{needed}");
    }
}

#[test]
fn the_table_fits_a_terminal_and_names_what_was_asked_for() {
    let bench = Bench::new();
    bench.trace(50);
    let output = bench.run(&["--policies", "never,youngest-saved"]);
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let names: Vec<&str> = out
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(name, _)| name.trim())
        .filter(|name| !["", "policy"].contains(name))
        .collect();
    assert_eq!(names, ["never", "youngest-saved"]);
}

#[test]
fn what_cannot_be_used_is_said_in_one_line() {
    let bench = Bench::new();
    let fails = |options: &[&str], code: i32, words: &str| {
        let output = bench.run(options);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains(words), "{err}");
        assert!(output.stdout.is_empty());
        err
    };
    assert_eq!(fails(&[], 1, "trace: No such file").lines().count(), 1);
    fs::write(bench.path("trace"), format!("{HEADER}0,7,4,8,1,0,50\n")).unwrap();
    assert_eq!(fails(&[], 1, "trace: line 2: 7 fields").lines().count(), 1);
    fs::write(bench.path("trace"), format!("{HEADER}0,7,400,8,1,0,50,0,Pass\n")).unwrap();
    fails(&[], 1, "no job of the trace fits on 4 nodes with 4 GPUs each");
    bench.trace(5);
    fails(&["--urgent", "500%"], 2, "a share is a number");
    fails(&["--policies", "best"], 2, "there is no policy \"best\"");
    fails(&["--settings", "missing.toml"], 1, "missing.toml");
    fails(&["--html", "no/folder/page.html"], 1, "no/folder/page.html: ");
}

#[test]
fn after_ctrl_c_there_is_what_there_is() {
    let bench = Bench::new();
    bench.trace(200_000);
    let mut command = bench.command(&["--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    // SAFETY: only a signal is ignored between fork and exec. Ctrl-C is not to end it before it can catch that.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut out = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut out).unwrap();
        out
    });
    let pid = Pid::from_child(&child);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        kill_process(pid, Signal::INT).unwrap();
        sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    let json: Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert_eq!(json["is_partial"], true);
    assert!(json["policies"].as_array().unwrap().len() < 15);
}

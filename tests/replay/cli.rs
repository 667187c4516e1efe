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
        self.command_for("trace", options)
    }

    fn command_for(&self, trace: &str, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_surgent"));
        let machine = ["--nodes", "4", "--gpus-per-node", "4"];
        command
            .current_dir(self.0.path())
            .args(["replay", trace])
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
    let output = bench.run(&["--policies", "never,youngest-saved,never"]);
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

    let output = bench.run(&["--policies", "never", "--urgent", "0"]);
    let out = text(&output.stdout);
    let row = out.lines().find(|line| line.starts_with("never")).unwrap();
    let urgent: Vec<&str> = row.split('|').skip(1).take(2).collect();
    let figures: Vec<&str> = urgent.iter().flat_map(|part| part.split_whitespace()).collect();
    assert_eq!(figures, ["-"; 4], "no urgent job has started: {row}");
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
    fails(&["--html", "trace"], 1, "trace: the page would overwrite");
    fails(
        &["--shadow", "trace"],
        1,
        "trace: line 1: not a line of an audit file",
    );
    fails(
        &["--shadow", "missing"],
        1,
        "missing: there is no audit file here",
    );
    fs::write(
        bench.path("on"),
        "{\"v\":1,\"at\":9,\"kind\":\"waits\",\"urgent\":1,\"tasks\":1,\"submit\":9}\n",
    )
    .unwrap();
    fails(&["--shadow", "on"], 1, "on: no line was written in shadow mode");
    fs::remove_file(bench.path("trace")).unwrap();
    fs::create_dir(bench.path("trace")).unwrap();
    fails(&[], 1, "trace: a directory, and no trace");
}

/// However large a file is, no more of it is kept than a line. A sparse file takes no room on the disk.
#[test]
fn a_gigabyte_of_nothing_is_refused_at_its_first_line() {
    let bench = Bench::new();
    fs::File::create(bench.path("trace"))
        .and_then(|file| file.set_len(1 << 30))
        .unwrap();
    let mut command = bench.command(&[]);
    // SAFETY: only a limit is set between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 256 << 20,
                rlim_max: 256 << 20,
            };
            match libc::setrlimit(libc::RLIMIT_AS, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = command.output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("trace: line 1: the line is longer than"), "{err}");
}

#[test]
fn a_trace_may_come_by_a_pipe() {
    let bench = Bench::new();
    bench.trace(20);
    let by_name = bench.run(&["--policies", "surgent, never"]);
    let mut piped = bench.command_for("-", &["--policies", "surgent, never"]);
    piped.stdin(fs::File::open(bench.path("trace")).unwrap());
    let piped = text(&piped.output().unwrap().stdout);
    assert_eq!(piped.replacen("-:", "trace:", 1), text(&by_name.stdout));
}

const AUDIT: &str = r#"{"v":1,"time":"","at":1000,"shadow":true,"kind":"waits","urgent":4,"user":7,"partitions":[],"min_nodes":1,"tasks":1,"submit":998}
{"v":1,"time":"","at":1002,"shadow":true,"kind":"plan","urgent":4,"user":7,"why":"first","nodes":["n0"],"cost_gpu_s":360.0,"ready_s":29.0,"victims":[{"job":2,"user":1,"start":5,"signal":"URG@full","deadline":1302,"cost_gpu_s":360.0,"cost":{"resources":4.0,"lost_s":1.0,"lost_by":"one_step","confidence":null,"save_s":29.0,"save_by":"configured","restart_s":60.0,"priority_weight":1.0,"repeat_factor":1.0,"ready_s":29.0}}],"protected":{}}
{"v":1,"time":"","at":8200,"shadow":true,"kind":"started","urgent":4,"user":7,"start":8198,"waited_s":7200.0,"nodes":["n0"]}
{"v":1,"time":"","at":8200,"shadow":true,"kind":"waits","urgent":5,"user":7,"partitions":[],"min_nodes":9,"tasks":1,"submit":8199}
{"v":1,"time":"","at":8201,"shadow":true,"kind":"no_set","urgent":5,"protected":{"cannot_save":2}}
{"v":1,"time":"","at":8300,"kind":"asked","urgent":6,"job":9,"signal":null,"asked":8300,"deadline":8400}
"#;

#[test]
fn what_was_decided_in_shadow_mode_is_shown_beside_the_replay() {
    let bench = Bench::new();
    bench.trace(20);
    fs::write(bench.path("audit"), AUDIT).unwrap();
    let options = ["--policies", "never", "--shadow", "audit"];
    let out = text(&bench.run(&options).stdout);
    for words in [
        "Decided in shadow mode, by audit",
        "urgent jobs                    2 in 2.0h, 1 started",
        "their real wait                p50 2.0h, p95 2.0h",
        "made way     for 1: 1 stop of 1 job",
        "for each urgent start          0.100 GPU-h, 1.00 victims",
        "wait by those plans            p50 33s, p95 33s",
        "no set of jobs was enough      for 1",
        "lines of another mode          1",
    ] {
        assert!(out.contains(words), "{words}\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");

    let output = bench.run(&[&options[..], &["--json", "--html", "page.html"]].concat());
    let json: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let shadow = &json["shadow"];
    assert_eq!(
        (&shadow["planned"], &shadow["victims"], &shadow["lines_on"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert_eq!(shadow["foreseen_wait_s"]["p50"], 33.0);
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("Decided in shadow mode") && page.contains("p50 33s, p95 33s"));
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

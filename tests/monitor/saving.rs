// SPDX-License-Identifier: GPL-2.0-or-later
//! How a request reaches a program: past launchers, by a command, by what is found out.

use crate::bench::{Bench, Running};
use rustix::process::{Pid, Signal, test_kill_process};

/// Starts two ranks of the script that it is given, and has a helper.
const TORCHRUN: &str = include_str!("../support/torchrun.py");

/// A rank with a worker of its data loader, forked and with the rank's own handler.
const RANK: &str = r#"
import json, os, signal, sys, time
bench, rank = os.environ["BENCH"], os.environ["LOCAL_RANK"]
def tell(what):
    with open(bench + "/story", "a") as story:
        story.write(what + "\n")
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
worker = os.fork()
who = "rank " + rank
if worker == 0:
    who = "worker of " + rank
tell("start " + who)
while not os.path.exists(bench + "/end"):
    time.sleep(0.01)
    if asked:
        asked.clear()
        tell("asked " + who)
        if rank == "0" and worker:
            with open(os.environ["SURGENT_REPORT"], "a") as reports:
                reports.write(json.dumps({"saved": True}) + "\n")
if worker == 0:
    os._exit(0)
os.waitpid(worker, 0)
"#;

/// Lets the program end after its save, and Slurm take what is held then; what was said.
fn end_held(bench: &Bench, running: Running) -> String {
    bench.write("end", "");
    running.signal(Signal::TERM);
    let (code, _, err) = running.end();
    assert_eq!(code, 143, "{err}");
    err
}

#[test]
fn behind_a_launcher_all_ranks_are_asked_and_nobody_else() {
    let bench = Bench::in_job("");
    bench.write("torchrun", TORCHRUN);
    bench.write("rank.py", RANK);
    let args = [
        "run",
        "--save-signal",
        "USR1",
        "--",
        "python3",
        "torchrun",
        "rank.py",
    ];
    let running = Running::start(&mut bench.surgent(&args));
    for who in ["rank 0", "rank 1", "worker of 0", "worker of 1"] {
        bench.until_story_has(&format!("start {who}"));
    }
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    bench.until_story_has("asked rank 1");
    let helper = bench.read("helper").parse().ok().and_then(Pid::from_raw);
    test_kill_process(helper.expect("a process id")).expect("the launcher's helper lives");
    end_held(&bench, running);
    let story = bench.read("story");
    assert_eq!(story.matches("asked rank").count(), 2, "{story}");
    assert!(!story.contains("asked worker"), "{story}");
}

#[test]
fn a_shell_script_that_starts_the_program_is_seen_through() {
    let bench = Bench::in_job("");
    bench.write(
        "run.sh",
        "sleep 1000 & python3 train.py; code=$?; kill $!; exit $code\n",
    );
    let running = Running::start(&mut bench.surgent(&["run", "--save-signal", "USR1", "--", "sh", "run.sh"]));
    bench.until_story_has("start");
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    end_held(&bench, running);
}

#[test]
fn which_signal_a_python_program_handles_is_found_out() {
    let bench = Bench::in_job("");
    let running = bench.train(&[]);
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    let err = end_held(&bench, running);
    assert!(err.contains("handles SIGUSR1"), "{err}");
}

#[test]
fn a_framework_is_known_by_its_command_line() {
    let bench = Bench::in_job("");
    std::fs::create_dir_all(bench.path("submitit/core")).expect("its own folder");
    let program = bench.read("train.py").replace("SIGUSR1", "SIGUSR2");
    bench.write("submitit/core/_submit.py", program);
    let args = ["run", "--", "python3", "-m", "submitit.core._submit"];
    let running = Running::start(&mut bench.surgent(&args));
    bench.until_story_has("start");
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    let err = end_held(&bench, running);
    assert!(err.contains("submitit saves when it gets SIGUSR2"), "{err}");
}

/// Saves when its model is wanted by a file, as a program that a command has to ask.
const PASSIVE: &str = r#"
import os, time
bench = os.environ["BENCH"]
open(bench + "/story", "w").write("start")
while not os.path.exists(bench + "/end"):
    time.sleep(0.01)
"#;

fn passive(bench: &Bench, options: &[&str]) -> Running {
    bench.write("passive.py", PASSIVE);
    let args = [&["run"], options, &["--", "python3", "passive.py"]].concat();
    let running = Running::start(&mut bench.surgent(&args));
    bench.until_story_has("start");
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    running
}

#[test]
fn a_command_of_the_users_own_saves() {
    let bench = Bench::in_job("");
    bench.command(
        "take-image",
        "#!/bin/sh\nkill -0 $SURGENT_PID && echo \"$@\" > $BENCH/image\n",
    );
    let running = passive(&bench, &["--save-command", "take-image 'a b' $HOME"]);
    bench.until_comment_has("saved=");
    assert_eq!(bench.read("image"), "a b $HOME\n");
    end_held(&bench, running);
}

#[test]
fn a_command_that_fails_or_takes_too_long_has_not_saved() {
    for (script, limit, said) in [
        ("exit 7", "60", "failed (exit code 7)"),
        ("sleep 1000", "0.2", "had not finished after 0.2 s"),
    ] {
        let bench = Bench::in_job("");
        bench.command("take-image", &format!("#!/bin/sh\n: > $BENCH/tried\n{script}\n"));
        let running = passive(
            &bench,
            &["--save-command", "take-image", "--save-command-limit", limit],
        );
        bench.until("it is tried", || bench.path("tried").exists());
        // What is reported after it is published after it.
        std::thread::sleep(std::time::Duration::from_millis(500));
        bench.write("end", "");
        let (_, _, err) = running.end();
        assert!(err.contains(said), "{err}");
        assert!(
            !bench.read("comment").contains("saved="),
            "{}",
            bench.read("comment")
        );
    }
}

#[test]
fn a_drill_is_answered_and_the_training_goes_on() {
    let bench = Bench::in_job("");
    // The worst case: the program ends after each save.
    bench.write("exit-after-save", "");
    let running = bench.train(&["--save-signal", "USR1"]);
    bench.until_comment_has("signal=URG@full");
    running.signal_all(Signal::WINCH);
    bench.until_comment_has("saved=");
    bench.until_comment_has("save_s=");
    bench.until_story_has("start resume=1");
    bench.write("end", "");
    let (code, _, err) = running.end();
    assert_eq!(code, 3);
    assert!(err.contains("for a drill"), "{err}");
}

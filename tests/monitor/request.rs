// SPDX-License-Identifier: GPL-2.0-or-later
//! The life of a request to save.

use crate::bench::{Bench, Running, now};
use rustix::process::{Signal, test_kill_process};

const SAVEABLE: [&str; 2] = ["--save-signal", "USR1"];

#[test]
fn the_program_alone_is_asked_and_its_save_is_acknowledged() {
    let bench = Bench::in_job("mine");
    // Neither the shell around surgent nor what else it started may be hurt by what Slurm sends to them all.
    let script =
        "sleep 1000 & echo $! > bystander; \"$@\" & wait $!; code=$?; kill $(cat bystander); exit $code";
    let surgent = bench.surgent(&[]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(surgent.get_program());
    shell
        .args(["run", "--save-signal", "USR1", "--", "python3", "train.py"])
        .current_dir(bench.path(""));
    for (name, value) in surgent.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let running = Running::start(&mut shell);
    bench.until_story_has("start");
    bench.until_comment_has("signal=URG@full save=step");
    bench.ask();
    let before = now();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    let comment = bench.read("comment");
    let saved = comment
        .split("saved=")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let saved: u64 = saved.expect("a value").parse().expect("a time");
    assert!((before..=now()).contains(&saved), "{comment}");
    assert!(
        comment.starts_with("mine ") && comment.contains("save_s="),
        "{comment}"
    );
    let bystander = bench
        .read("bystander")
        .trim()
        .parse()
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    test_kill_process(bystander.expect("a process id")).expect("the bystander lives");
    // The program goes on; its end is its own.
    bench.finish();
    let (code, _, err) = running.end();
    assert_eq!(code, 3, "{err}");
    assert_eq!(bench.read("story"), "start resume=no\nasked\nend\n");
    assert!(err.contains("urgent job 99"), "{err}");
}

#[test]
fn a_program_that_does_not_handle_the_signal_yet_is_not_killed_by_it() {
    let bench = Bench::in_job("");
    // A shell blocks signals for the moment of a fork: that is not handling them.
    let script = ": > ready; while [ ! -e go ]; do sleep 0.01; done; \
                  i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done; \
                  trap 'echo saved; echo \"{\\\"saved\\\": true}\" >> $SURGENT_REPORT' USR1; \
                  while [ ! -e end ]; do sleep 0.01; done; \
                  echo '{\"epoch\": 1, \"epochs\": 1}' >> $SURGENT_REPORT";
    let running =
        Running::start(&mut bench.surgent(&["run", "--save-signal", "USR1", "--", "sh", "-c", script]));
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    let looks = || bench.read("squeue.log").matches("admin_comment").count();
    let before = looks();
    running.signal_all(Signal::URG);
    bench.until("surgent has seen the request", || looks() > before);
    bench.write("go", "");
    bench.until_comment_has("saved=");
    bench.write("end", "");
    let (code, out, err) = running.end();
    assert_eq!((code, out.as_str()), (0, "saved\n"), "{err}");
}

#[test]
fn a_request_from_before_the_start_is_found() {
    let bench = Bench::in_job("");
    bench.ask();
    let _running = bench.train(&SAVEABLE);
    bench.until_comment_has("saved=");
}

#[test]
fn after_its_save_the_allocation_is_held_until_slurm_takes_it() {
    let bench = Bench::in_job("");
    bench.write("exit-after-save", "");
    let mut running = bench.train(&SAVEABLE);
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_story_has("exit");
    bench.until_comment_has("saved=");
    // Asked again: acknowledged again, by surgent alone.
    let updates = || bench.read("updates").lines().count();
    let before = updates();
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until("it is acknowledged again", || updates() > before);
    assert!(!running.has_ended());
    running.signal_all(Signal::TERM);
    assert_eq!(running.end().0, 143);
    assert_eq!(bench.read("story"), "start resume=no\nasked\nexit\n");
}

/// Between its save and its end a program answers nobody any more, for seconds where much has to be put away.
#[test]
fn a_request_to_a_program_on_its_way_out_is_answered_by_the_save_before() {
    let bench = Bench::in_job("");
    bench.write("exit-after-save", "");
    bench.write("linger", "");
    let stderr = std::fs::File::create(bench.path("stderr")).expect("its own folder");
    let args = [&["run"], &SAVEABLE[..], &["--", "python3", "train.py"]].concat();
    let mut running = Running::start_with_stderr(&mut bench.surgent(&args), stderr);
    bench.until_story_has("start");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_story_has("exit");
    bench.until_comment_has("saved=");
    bench.ask();
    running.signal_all(Signal::URG);
    let asked = || bench.read("stderr").matches("asked the program to save").count();
    bench.until("it is passed on", || asked() == 2);
    let before = bench.read("updates").lines().count();
    std::fs::remove_file(bench.path("linger")).expect("it is there");
    bench.until("it is acknowledged again", || {
        bench.read("updates").lines().count() > before
    });
    assert!(!running.has_ended());
    running.signal_all(Signal::TERM);
    assert_eq!(running.end().0, 143);
}

#[test]
fn a_request_that_is_called_off_lets_the_training_go_on() {
    let bench = Bench::in_job("");
    bench.write("exit-after-save", "");
    let running = bench.train(&SAVEABLE);
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_story_has("exit");
    bench.until_comment_has("saved=");
    bench.write("admin", "surgent{class=normal} by hand");
    running.signal_all(Signal::URG);
    bench.until_story_has("start resume=1");
    bench.write("end", "");
    assert_eq!(running.end().0, 3);
}

#[test]
fn what_is_acknowledged_is_ended_at_once_when_slurm_takes_the_resources() {
    let bench = Bench::in_job("");
    let running = bench.train(&SAVEABLE);
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    // The update is in the comment a moment before surgent knows that scontrol has succeeded. A second one tells that
    // the first is through.
    bench.write("epoch", "1");
    bench.until_comment_has("epoch=1");
    // The program would ignore it for ever.
    running.signal_all(Signal::TERM);
    assert_eq!(running.end().0, 143);
    assert!(!bench.read("story").contains("end"));
}

#[test]
fn without_a_save_the_program_may_end_by_itself_when_slurm_takes_the_resources() {
    let bench = Bench::in_job("");
    let running = bench.train(&SAVEABLE);
    running.signal_all(Signal::TERM);
    bench.until_story_has("term");
    bench.write("end", "");
    assert_eq!(running.end().0, 143);
    assert_eq!(
        bench.read("story").matches("term").count(),
        1,
        "surgent does not send what Slurm sends"
    );
}

#[test]
fn a_training_that_finishes_after_its_save_is_finished() {
    let bench = Bench::in_job("");
    let running = bench.train(&SAVEABLE);
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    bench.finish();
    assert_eq!(running.end().0, 3);
    assert!(bench.read("comment").contains("epoch=90 epochs=90"));
}

#[test]
fn in_a_container_without_slurms_commands_the_signal_is_the_request() {
    let bench = Bench::in_job("");
    // A search path with python3 alone on it, wherever that really is.
    let python = std::process::Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let python = String::from_utf8(python.expect("installed").stdout).expect("a path");
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", python.trim());
    bench.command("python3", &script);
    for name in ["squeue", "scontrol"] {
        std::fs::remove_file(bench.path("bin").join(name)).expect("its own file");
    }
    let running = bench.train_with(&SAVEABLE, |surgent| _ = surgent.env("PATH", bench.path("bin")));
    for count in 1..=2 {
        running.signal_all(Signal::URG);
        bench.until("it is asked", || {
            bench.read("story").matches("asked").count() == count
        });
    }
    bench.finish();
    let (code, _, err) = running.end();
    assert_eq!(code, 3);
    assert_eq!(err.matches("does not say why").count(), 1, "{err}");
    assert_eq!(err.matches("could not be updated").count(), 1, "{err}");
}

#[test]
fn a_rank_other_than_the_first_passes_the_signal_on_and_says_nothing() {
    let bench = Bench::in_job("");
    let running = bench.train_with(&SAVEABLE, |surgent| {
        surgent
            .env("SLURM_STEP_ID", "0")
            .env("SLURM_STEP_NUM_TASKS", "2")
            .env("SLURM_PROCID", "1");
    });
    running.signal_all(Signal::URG);
    bench.until_story_has("asked");
    bench.write("end", "");
    assert_eq!(running.end().0, 3);
    assert_eq!(
        (bench.read("squeue.log"), bench.read("updates")),
        (String::new(), String::new())
    );
}

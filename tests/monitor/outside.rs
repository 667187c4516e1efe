// SPDX-License-Identifier: GPL-2.0-or-later
//! Outside Slurm a program runs as if `surgent run` were not there.

use crate::bench::{Bench, Running, parts};
use rustix::process::Signal;

fn run(bench: &Bench, args: &[&str]) -> (i32, String, String) {
    parts(&bench.surgent(args).output().expect("surgent can be started"))
}

#[test]
fn output_and_exit_code_are_the_programs_own() {
    let bench = Bench::outside();
    let run = run(
        &bench,
        &["run", "--", "sh", "-c", "printf out; printf err >&2; exit 42"],
    );
    assert_eq!(run, (42, "out".to_owned(), "err".to_owned()));
}

#[test]
fn arguments_reach_the_program_as_they_are() {
    let bench = Bench::outside();
    let (code, out, _) = run(
        &bench,
        &[
            "run", "--", "printf", "%s|", "a b", "$HOME", "--epochs", "*", "--",
        ],
    );
    assert_eq!((code, out.as_str()), (0, "a b|$HOME|--epochs|*|--|"));
}

#[test]
fn a_program_that_a_signal_ends_gives_the_code_of_a_shell() {
    let bench = Bench::outside();
    assert_eq!(run(&bench, &["run", "--", "sh", "-c", "kill -SEGV $$"]).0, 139);
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let bench = Bench::outside();
    let (code, _, err) = run(&bench, &["run", "--", "no-such-program"]);
    assert_eq!(code, 127);
    assert!(err.starts_with("surgent: no-such-program"), "{err}");
    let (code, _, err) = run(&bench, &["run", "--", "./train.py"]);
    assert_eq!(code, 126);
    assert!(err.contains("./train.py") && err.lines().count() == 1, "{err}");
}

#[test]
fn the_programs_environment_speaks_of_reports_and_not_of_an_outer_run() {
    let bench = Bench::outside();
    let script = "echo ${SURGENT_RESUME-unset} $SURGENT_RESTART_COUNT; test -f $SURGENT_REPORT && dirname $SURGENT_REPORT";
    let mut surgent = bench.surgent(&["run", "--", "sh", "-c", script]);
    surgent
        .env("SURGENT_RESUME", "1")
        .env("SURGENT_RESTART_COUNT", "7")
        .env("SURGENT_REPORT", "/no");
    let (code, out, err) = parts(&surgent.output().expect("surgent can be started"));
    let (first, folder) = out.trim_end().split_once('\n').expect("two lines");
    assert_eq!((code, first, err.as_str()), (0, "unset 0", ""));
    assert!(!std::path::Path::new(folder).exists(), "{folder} is left behind");
}

#[test]
fn signals_to_surgent_reach_the_program() {
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::INT, "INT"),
        (Signal::HUP, "HUP"),
        (Signal::USR1, "USR1"),
    ] {
        let bench = Bench::outside();
        let script = format!("trap 'echo got; exit 5' {name}; : > ready; while :; do sleep 0.01; done");
        let running = Running::start(&mut bench.surgent(&["run", "--", "sh", "-c", &script]));
        bench.until("the trap is set", || bench.path("ready").exists());
        running.signal(signal);
        assert_eq!(running.end(), (5, "got\n".to_owned(), String::new()), "{name}");
    }
}

#[test]
fn a_program_without_a_handler_is_ended_by_the_signal() {
    let bench = Bench::outside();
    let running =
        Running::start(&mut bench.surgent(&["run", "--", "sh", "-c", ": > ready; exec sleep 1000"]));
    bench.until("it runs", || bench.path("ready").exists());
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, 143);
}

#[test]
fn slurms_question_is_nothing_outside_slurm() {
    let bench = Bench::outside();
    let running = bench.train(&["--save-signal", "USR1"]);
    running.signal_all(Signal::URG);
    bench.write("end", "");
    assert_eq!(running.end(), (3, String::new(), String::new()));
    assert!(!bench.read("story").contains("asked"));
}

#[test]
fn the_command_line_is_checked() {
    let bench = Bench::outside();
    let table: [(&[&str], &str); 6] = [
        (&["run"], "COMMAND"),
        (&["run", "--"], "COMMAND"),
        (
            &["run", "--save-signal", "KILL", "--", "true"],
            "cannot be caught",
        ),
        (&["run", "--save-signal", "USR9", "--", "true"], "USR9"),
        (&["run", "--save", "often", "--", "true"], "step"),
        (&["run", "--epochs", "0", "--", "true"], "epochs"),
    ];
    for (args, part) in table {
        let (code, _, err) = run(&bench, args);
        assert_eq!(code, 2, "{args:?}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

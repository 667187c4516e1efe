// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that use the Python module `surgent`, and the module's own tests.

use crate::bench::{Bench, Running, parts};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Four epochs, each as long as the test wants, through the module alone: no signal, no output that says anything.
const LOOP: &str = r#"
import os, sys, time
import surgent
bench = os.environ["BENCH"]
model = bench + "/model"
def tell(what):
    with open(bench + "/story", "a") as story:
        story.write(what + "\n")
done = int(open(model).read()) if surgent.resuming() and os.path.exists(model) else 0
tell(f"start {done} {surgent.resuming()}")
while os.path.exists(bench + "/hold"):
    time.sleep(0.01)
for epoch in surgent.epochs(4, start=done):
    tell(f"epoch {epoch}")
    while True:
        time.sleep(0.01)
        if surgent.should_save():
            with open(model + ".part", "w") as file:
                file.write(str(epoch))
            os.replace(model + ".part", model)
            tell("save")
            surgent.saved(model)
            if os.path.exists(bench + "/exit-after-save"):
                sys.exit(75)
        if os.path.exists(f"{bench}/end-{epoch}"):
            break
tell("end")
sys.exit(3)
"#;

fn module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/python")
}

fn with_module(command: &mut Command) {
    command
        .env("PYTHONPATH", module().join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
}

fn start(bench: &Bench, options: &[&str]) -> Running {
    bench.write("train.py", LOOP);
    bench.train_with(options, with_module)
}

fn end_epochs(bench: &Bench, epochs: std::ops::Range<u32>) {
    for epoch in epochs {
        bench.write(format!("end-{epoch}"), "");
    }
}

fn saves(bench: &Bench) -> usize {
    bench.read("story").matches("save\n").count()
}

#[test]
fn a_program_is_asked_without_signals_and_saves_once_for_each_request() {
    let bench = Bench::in_job("mine");
    let running = start(&bench, &[]);
    bench.until_comment_has("signal=URG@full");
    bench.until_comment_has("save=step");
    end_epochs(&bench, 0..2);
    bench.until_story_has("epoch 2");
    for request in 1..=2 {
        bench.ask();
        running.signal_all(Signal::URG);
        bench.until("it is saved", || saves(&bench) == request);
        bench.until_comment_has("saved=");
        bench.write("comment", "mine");
    }
    end_epochs(&bench, 2..4);
    let (code, out, err) = running.end();
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert_eq!(
        bench.read("story"),
        "start 0 False\nepoch 0\nepoch 1\nepoch 2\nsave\nsave\nepoch 3\nend\n"
    );
    assert!(
        bench.read("comment").contains("epoch=4 epochs=4"),
        "{}",
        bench.read("comment")
    );
    assert!(!err.contains("report"), "{err}");
}

#[test]
fn a_request_that_is_older_than_the_first_look_is_heard() {
    let bench = Bench::in_job("");
    bench.write("hold", "");
    bench.ask();
    let running = start(&bench, &[]);
    bench.until_comment_has("save=none");
    std::fs::remove_file(bench.path("hold")).expect("it is there");
    bench.until_comment_has("saved=");
    end_epochs(&bench, 0..4);
    assert_eq!(running.end().0, 3);
    assert_eq!(saves(&bench), 1);
}

#[test]
fn a_program_that_is_started_again_goes_on_from_its_save_and_is_asked_anew() {
    // With a signal as well: who looks for requests gets none.
    let bench = Bench::in_job("");
    bench.write("exit-after-save", "");
    let running = start(&bench, &["--save-signal", "USR1"]);
    end_epochs(&bench, 0..1);
    bench.until_story_has("epoch 1");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    bench.write("admin", "(null)");
    running.signal_all(Signal::URG);
    bench.until_story_has("start 1 True\nepoch 1");
    assert_eq!(saves(&bench), 1);
    std::fs::remove_file(bench.path("exit-after-save")).expect("it is there");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until("it is saved again", || saves(&bench) == 2);
    end_epochs(&bench, 1..4);
    let (code, _, err) = running.end();
    assert_eq!(code, 3, "{err}");
    assert_eq!(
        bench.read("story"),
        "start 0 False\nepoch 0\nepoch 1\nsave\nstart 1 True\nepoch 1\nsave\nepoch 2\nepoch 3\nend\n"
    );
}

#[test]
fn ranks_other_than_the_first_report_nothing() {
    let bench = Bench::in_job("");
    let script = "for rank in 1 0; do RANK=$rank WORLD_SIZE=2 python3 -c \
                  \"import surgent; surgent.report(epoch=$rank + 1, epochs=9); surgent.saved()\"; done; \
                  cat $SURGENT_REPORT";
    let mut surgent = bench.surgent(&["run", "--", "sh", "-c", script]);
    with_module(&mut surgent);
    let (code, out, err) = parts(&surgent.output().expect("surgent can be started"));
    assert_eq!(
        (code, out.as_str()),
        (0, "{\"epoch\": 1, \"epochs\": 9}\n{\"saved\": true}\n"),
        "{err}"
    );
}

#[test]
fn the_modules_own_tests_pass() {
    let mut python = Command::new("python3");
    python
        .args(["-W", "error", "-m", "unittest", "discover", "-s", "tests"])
        .current_dir(module())
        .env("SURGENT_BIN", env!("CARGO_BIN_EXE_surgent"));
    with_module(&mut python);
    let (code, _, err) = parts(&python.output().expect("python3 can be started"));
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("\nOK\n") && err.contains("Ran "),
        "not all was run:\n{err}"
    );
}

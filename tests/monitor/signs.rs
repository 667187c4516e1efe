// SPDX-License-Identifier: GPL-2.0-or-later
//! What is taken for a save and what never is, with programs of every kind.

use crate::bench::{Bench, Running, parts};
use rustix::process::Signal;

/// Does on USR1 what its argument says. `whole` is a file that NumPy's archives are like.
const ACTOR: &str = r#"
import json, os, signal, sys, time, zipfile
bench, does = os.environ["BENCH"], sys.argv[1]
def tell(what):
    with open(bench + "/story", "a") as story:
        story.write(what + "\n")
def report(**values):
    with open(os.environ["SURGENT_REPORT"], "a") as reports:
        reports.write(json.dumps(values) + "\n")
def exists(name):
    return os.path.exists(bench + "/" + name)
def wait_for(name):
    while not exists(name):
        time.sleep(0.01)
def whole():
    with zipfile.ZipFile(bench + "/whole", "w") as archive:
        archive.writestr("weights", os.urandom(100000))
    return open(bench + "/whole", "rb").read()
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
if exists("early"):
    print("model written", flush=True)
    time.sleep(0.6)
if exists("progress"):
    report(epoch=3, epochs=90)
tell("start resume=" + os.environ.get("SURGENT_RESUME", "no"))
while not exists("end"):
    time.sleep(0.01)
    if not asked:
        continue
    asked.clear()
    tell("asked")
    if does == "ignore":
        continue
    if does == "die":
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGUSR1)
    if does.startswith("exit"):
        sys.exit(int(does[4:]))
    if does == "finish":
        report(epoch=90, epochs=90)
        sys.exit(0)
    if does == "print":
        print("model written", flush=True)
    if does == "print-last":
        print("model written", end="", flush=True)
        sys.exit(0)
    if does in ("half", "whole", "whole-and-exit", "half-and-exit"):
        content = whole()
        with open(bench + "/model.npz", "wb") as model:
            model.write(content[:len(content) // 2])
            model.flush()
            if does == "half":
                tell("hangs")
                wait_for("go on")
            if does != "half-and-exit":
                model.write(content[len(content) // 2:])
        tell("written")
        if does.endswith("exit"):
            sys.exit(0)
sys.exit(3)
"#;

fn act(bench: &Bench, does: &str, options: &[&str]) -> Running {
    bench.write("actor.py", ACTOR);
    let args = [
        &["run", "--save-signal", "USR1"],
        options,
        &["--", "python3", "actor.py", does],
    ]
    .concat();
    let running = Running::start(&mut bench.surgent(&args));
    bench.until_story_has("start");
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_story_has("asked");
    running
}

#[track_caller]
fn assert_not_saved(bench: &Bench) {
    let comment = bench.read("comment");
    assert!(!comment.contains("saved="), "{comment}");
}

const MODEL: [&str; 2] = ["--checkpoint", "model*.npz"];

#[test]
fn a_program_that_ignores_the_request_goes_on_and_has_not_saved() {
    let bench = Bench::in_job("");
    let running = act(&bench, "ignore", &MODEL);
    bench.write("end", "");
    assert_eq!(running.end().0, 3);
    assert_not_saved(&bench);
}

#[test]
fn a_program_that_dies_on_the_signal_has_not_saved() {
    let bench = Bench::in_job("");
    let (code, _, err) = act(&bench, "die", &MODEL).end();
    assert_eq!(code, 138);
    assert!(err.contains("no save was seen"), "{err}");
    assert_not_saved(&bench);
}

#[test]
fn a_drill_that_kills_the_program_does_not_kill_the_job() {
    let bench = Bench::in_job("");
    bench.write("actor.py", ACTOR);
    let args = ["run", "--save-signal", "USR1", "--", "python3", "actor.py", "die"];
    let running = Running::start(&mut bench.surgent(&args));
    bench.until_comment_has("signal=URG@full");
    running.signal_all(Signal::WINCH);
    bench.until_story_has("start resume=1");
    bench.write("end", "");
    assert_eq!(running.end().0, 3);
    assert_not_saved(&bench);
}

#[test]
fn half_a_checkpoint_is_none_and_a_whole_one_is_one() {
    let bench = Bench::in_job("");
    let mut command = bench.surgent(&[]);
    let stderr = std::fs::File::create(bench.path("stderr")).expect("its own folder");
    bench.write("actor.py", ACTOR);
    command
        .args(["run", "--save-signal", "USR1"])
        .args(MODEL)
        .args(["--", "python3", "actor.py", "half"]);
    let running = Running::start_with_stderr(&mut command, stderr);
    bench.until_comment_has("signal=URG@full");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_story_has("hangs");
    // It has lain still for long enough to be looked at, and was found wanting.
    bench.until("it is refused", || {
        bench.read("stderr").contains("not taken for a save: model.npz")
    });
    assert_not_saved(&bench);
    bench.write("go on", "");
    bench.until_comment_has("saved=");
    bench.until_comment_has("save_s=");
    bench.write("end", "");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, 143);
}

#[test]
fn half_a_checkpoint_of_a_program_that_ends_is_none_even_with_exit_code_0() {
    let bench = Bench::in_job("");
    let (code, _, err) = act(&bench, "half-and-exit", &MODEL).end();
    assert_eq!(code, 0);
    assert!(
        err.contains("model.npz") && err.contains("no save was seen"),
        "{err}"
    );
    assert_not_saved(&bench);
}

#[test]
fn a_checkpoint_is_seen_although_its_program_ends_at_once() {
    let bench = Bench::in_job("");
    let running = act(&bench, "whole-and-exit", &MODEL);
    bench.until_comment_has("saved=");
    // Held until Slurm takes the resources.
    running.signal_all(Signal::TERM);
    assert_eq!(running.end().0, 143);
}

#[test]
fn a_checkpoint_from_before_the_request_does_not_count() {
    let bench = Bench::in_job("");
    let old = std::process::Command::new("python3")
        .args([
            "-c",
            "import zipfile; zipfile.ZipFile('model.npz', 'w').writestr('weights', 'old')",
        ])
        .current_dir(bench.path(""))
        .status();
    assert!(old.expect("python3 runs").success());
    let (code, _, _) = act(&bench, "exit0", &MODEL).end();
    assert_eq!(code, 0);
    assert_not_saved(&bench);
}

#[test]
fn a_line_counts_if_it_was_named_and_comes_after_the_request() {
    let bench = Bench::in_job("");
    let running = act(&bench, "print", &["--saved-line", "^model w"]);
    bench.until_comment_has("saved=");
    bench.write("end", "");
    running.signal(Signal::TERM);
    let (code, out, _) = running.end();
    assert_eq!((code, out.as_str()), (143, "model written\n"));

    for (does, line) in [("print", "^weights w"), ("ignore", "^model w")] {
        let bench = Bench::in_job("");
        bench.write("early", "");
        let running = act(&bench, does, &["--saved-line", line]);
        bench.write("end", "");
        assert_eq!(running.end().0, 3, "{does}");
        assert_not_saved(&bench);
    }
}

#[test]
fn the_last_line_counts_although_its_end_is_missing() {
    let bench = Bench::in_job("");
    let running = act(&bench, "print-last", &["--saved-line", "^model written$"]);
    bench.until_comment_has("saved=");
    running.signal_all(Signal::TERM);
    let (code, out, _) = running.end();
    assert_eq!((code, out.as_str()), (143, "model written"));
}

#[test]
fn an_exit_code_counts_only_if_it_was_set_aside() {
    let aside = ["--saved-exit", "75", "--saved-exit", "85"];
    let bench = Bench::in_job("");
    let running = act(&bench, "exit85", &aside);
    bench.until_comment_has("saved=");
    running.signal_all(Signal::TERM);
    assert_eq!(running.end().0, 143);
    for (does, expected) in [("exit0", 0), ("exit76", 76)] {
        let bench = Bench::in_job("");
        assert_eq!(act(&bench, does, &aside).end().0, expected, "{does}");
        assert_not_saved(&bench);
    }
}

#[test]
fn exit_code_0_with_epochs_left_puts_the_job_back_and_claims_no_save() {
    let bench = Bench::in_job("");
    bench.write("progress", "");
    let running = act(&bench, "exit0", &[]);
    bench.until("the job is requeued", || {
        bench.read("other").contains("requeue 17")
    });
    running.signal_all(Signal::TERM);
    assert_eq!(running.end().0, 143);
    assert_not_saved(&bench);
}

#[test]
fn a_program_that_finishes_just_when_it_is_asked_is_finished() {
    let bench = Bench::in_job("");
    let (code, _, err) = act(&bench, "finish", &[]).end();
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains("no save was seen"), "{err}");
    assert!(bench.read("comment").contains("epoch=90 epochs=90"));
    // Slurm may have taken it all the same: then it ends at once.
    let mut again = bench.surgent(&["run", "--save-signal", "USR1", "--", "touch", "trained"]);
    let again = again.env("SLURM_RESTART_COUNT", "1").output();
    let (code, _, err) = parts(&again.expect("surgent can be started"));
    assert!(code == 0 && err.contains("nothing to do"), "{err}");
    assert!(!bench.path("trained").exists());
}

#[test]
fn the_training_outlives_a_monitor_that_is_killed() {
    let bench = Bench::in_job("");
    let running = bench.train(&["--save-signal", "USR1"]);
    running.signal(Signal::KILL);
    bench.write("end", "");
    bench.until_story_has("end");
}

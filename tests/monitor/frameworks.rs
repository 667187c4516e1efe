// SPDX-License-Identifier: GPL-2.0-or-later
//! The callbacks of the Python module in the real frameworks: asked in the middle of an epoch, stopped after the save,
//! started again, and done with all epochs in the end. Run by `make check-frameworks`, where $SURGENT_PYTHON is a
//! python3 that has the frameworks.

use crate::bench::{Bench, Running};
use crate::python::{module, with_module};
use rustix::process::Signal;

/// As in `pace.py`.
const EPOCHS: usize = 4;
const BATCHES: usize = 6;

/// Starts the training, for the time after so many restarts.
fn start(bench: &Bench, program: &str, args: &[&str], restarts: u32) -> Running {
    let python = std::env::var("SURGENT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let path = module().join("tests/frameworks").join(program);
    let path = path.to_str().expect("text");
    let mut surgent = bench.surgent(&[&["run", "--", python.as_str(), path], args].concat());
    with_module(&mut surgent);
    surgent.env("SLURM_RESTART_COUNT", restarts.to_string());
    Running::start(&mut surgent)
}

fn is_preempted_and_goes_on(program: &str, args: &[&str]) {
    let bench = Bench::in_job("");
    let first = start(&bench, program, args, 0);
    bench.until_story_has("middle");
    bench.until_comment_has("save=step");
    bench.ask();
    first.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    bench.until("the acknowledgement is known", || {
        bench.read("story").contains("beyond")
    });
    // As Slurm does it where SIGTERM ends nobody.
    drop(first);
    let steps = || bench.read("story").matches("step ").count();
    let steps_first = steps();
    bench.write("admin", "(null)");
    let second = start(&bench, program, args, 1);
    let (code, _, err) = second.end();
    assert_eq!(code, 0, "{err}");
    let (story, comment) = (bench.read("story"), bench.read("comment"));
    assert!(story.ends_with("end\n"), "{story}");
    assert!(
        comment.contains("epoch=4") && comment.contains("epochs=4"),
        "{comment}"
    );
    let (done, all) = (steps(), EPOCHS * BATCHES);
    println!(
        "{program} {args:?}: {steps_first} steps, then {}; {} of {all} were done twice",
        done - steps_first,
        done as i64 - all as i64
    );
    // From the save on, which lay in the second of four epochs, and not from the beginning.
    assert!(done - steps_first <= 3 * BATCHES && done >= all, "{story}");
}

#[test]
#[ignore = "needs Keras and JAX: make check-frameworks"]
fn keras() {
    is_preempted_and_goes_on("train_keras.py", &[]);
}

#[test]
#[ignore = "needs Lightning: make check-frameworks"]
fn lightning() {
    is_preempted_and_goes_on("train_lightning.py", &["lightning.pytorch"]);
}

#[test]
#[ignore = "needs Lightning: make check-frameworks"]
fn pytorch_lightning() {
    is_preempted_and_goes_on("train_lightning.py", &["pytorch_lightning"]);
}

#[test]
#[ignore = "needs Transformers: make check-frameworks"]
fn transformers() {
    is_preempted_and_goes_on("train_transformers.py", &[]);
}

#[test]
#[ignore = "needs torch: make check-frameworks"]
fn ranks_of_torch_save_in_the_same_step() {
    let bench = Bench::in_job("");
    let running = start(&bench, "train_ranks.py", &[], 0);
    bench.until_comment_has("save=step");
    bench.until_comment_has("epoch=0");
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_story_has("end");
    bench.until_comment_has("saved=");
    // Its resources would be kept now until Slurm takes them.
    drop(running);
    let story = bench.read("story");
    let saves: Vec<_> = story.lines().filter(|line| line.starts_with("save in")).collect();
    assert!(saves.len() == 2 && saves[0] == saves[1], "{story}");
    let comment = bench.read("comment");
    assert!(
        comment.contains("saved=") && !comment.contains("epoch=1"),
        "{comment}"
    );
}

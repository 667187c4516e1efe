// SPDX-License-Identifier: GPL-2.0-or-later
//! What is submitted: trainings of 20 to 120 s of several kinds, short jobs, and urgent ones of 1 to 5 s.

use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// A job to be submitted.
pub struct Submission {
    pub arguments: Vec<String>,
    pub script: String,
}

/// What the names of urgent jobs begin with.
pub const URGENT: &str = "u-";
/// That of those of one part, which start when one place is free.
pub const PLAIN_URGENT: &str = "u-plain";

impl Submission {
    fn new(name: &str, script: String) -> Self {
        let arguments = [&format!("--job-name={name}"), "--output=%j.out", "--time=10"];
        Self {
            arguments: arguments.map(str::to_owned).into(),
            script,
        }
    }

    fn with(mut self, options: &[&str]) -> Self {
        self.arguments
            .extend(options.iter().map(|option| (*option).to_owned()));
        self
    }
}

/// A job that is not urgent. `surgent` is the program to run trainings under.
pub fn normal(random: &mut ChaCha8Rng, surgent: &Path) -> Submission {
    let job = match random.random_range(0..100) {
        0..40 => monitored(random, surgent),
        40..60 => by_trap(random, "step"),
        60..70 => by_trap(random, "epoch"),
        70..78 => {
            let last = random.random_range(2..=3);
            by_trap(random, "step").with(&[&format!("--array=1-{last}")])
        }
        78..88 => short(random),
        88..96 => {
            let last = random.random_range(2..=6);
            short(random).with(&[&format!("--array=1-{last}%3")])
        }
        _ => monitored(random, surgent).with(&["--no-requeue"]),
    };
    match random.random_range(0..10) {
        0 => job.with(&["--nodes=2", "--gres=gpu:4", "--exclusive"]),
        1..4 => job.with(&["--nodes=1", "--gres=gpu:4"]),
        4..7 => job.with(&["--nodes=1", "--gres=gpu:2"]),
        _ => job.with(&["--nodes=1", "--gres=gpu:1"]),
    }
}

/// Its steps, and the seconds of its save.
fn training(random: &mut ChaCha8Rng) -> (u32, f64) {
    // Of two the shorter: most trainings are.
    let epochs: u32 = random.random_range(4..=24).min(random.random_range(4..=24));
    (epochs * 10, f64::from(random.random_range(2..30u32)) / 10.0)
}

fn monitored(random: &mut ChaCha8Rng, surgent: &Path) -> Submission {
    let (steps, save_s) = training(random);
    let surgent = surgent.display();
    let script = format!("'{surgent}' run --save-signal USR1 -- bash training.sh {steps} {save_s} report");
    Submission::new("n-monitored", script)
}

fn by_trap(random: &mut ChaCha8Rng, save: &str) -> Submission {
    let (steps, save_s) = training(random);
    let (epochs, priority) = (steps / 10, random.random_range(0..=100));
    let comment = format!(
        "--comment=signal=USR1@batch save={save} save_s={save_s} epochs={epochs} epoch_s=5 priority={priority}"
    );
    let script = format!(". ./training.sh {steps} {save_s} {save}");
    Submission::new(&format!("n-{save}"), script).with(&[&comment])
}

fn short(random: &mut ChaCha8Rng) -> Submission {
    let seconds = random.random_range(1..=8);
    Submission::new("n-short", format!("sleep {seconds}"))
}

/// An urgent job, of part of a node up to three nodes. It writes down when it has started.
pub fn urgent(random: &mut ChaCha8Rng) -> Submission {
    let seconds = f64::from(random.random_range(10..50u32)) / 10.0;
    let script = format!("date +%s.%N > $SLURM_JOB_ID.started; sleep {seconds}");
    let plain = |options: &[&str]| Submission::new(PLAIN_URGENT, script.clone()).with(options);
    let job = match random.random_range(0..100) {
        0..30 => plain(&["--nodes=1", "--gres=gpu:1"]),
        30..50 => plain(&["--nodes=1", "--gres=gpu:2"]),
        50..70 => plain(&["--nodes=1", "--gres=gpu:4", "--exclusive"]),
        70..82 => plain(&["--nodes=2", "--gres=gpu:4", "--exclusive"]),
        82..86 => plain(&["--nodes=3", "--gres=gpu:2"]),
        86..96 => Submission::new("u-array", script.clone()).with(&["--gres=gpu:2", "--array=1-2"]),
        _ => {
            let part = ["--nodes=1", "--gres=gpu:2", "--comment=urgency=urgent"];
            let first = Submission::new("u-het", script.clone()).with(&part);
            return first.with(&[":", "--job-name=u-het", "--time=10"]).with(&part);
        }
    };
    job.with(&["--comment=urgency=urgent"])
}

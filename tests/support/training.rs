// SPDX-License-Identifier: GPL-2.0-or-later
//! Training jobs: `tests/demo/train.py` in a batch script, and what its log of steps tells an onlooker.

use super::{Cluster, JobId, LIMIT, Outcome, places};
use std::collections::BTreeSet;
use std::fs;

/// A training job to be submitted: one whole node, eight epochs of three seconds, saves at any step.
#[derive(Clone)]
pub struct Training {
    name: String,
    epochs: u32,
    step_s: f64,
    options: Vec<String>,
    sbatch: Vec<String>,
    /// Makes a batch script of the program's command line; `None`: `surgent run` runs the program.
    script: Option<fn(&str) -> String>,
}

/// Steps of one epoch of train.py.
pub const STEPS_PER_EPOCH: u32 = 30;

impl Training {
    /// `name` is the job's name, by which its output and its log of steps are found.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            epochs: 8,
            step_s: 0.1,
            options: Vec::new(),
            sbatch: ["--nodes=1", "--exclusive", "--gres=gpu:4"]
                .map(str::to_owned)
                .into(),
            script: None,
        }
    }

    /// Total epochs, and the seconds that each of an epoch's [`STEPS_PER_EPOCH`] steps takes.
    pub fn lasting(mut self, epochs: u32, step_s: f64) -> Self {
        (self.epochs, self.step_s) = (epochs, step_s);
        self
    }

    /// A further option of train.py.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// A further option of sbatch; a later one wins over an earlier.
    pub fn sbatch(mut self, option: &str) -> Self {
        self.sbatch.push(option.to_owned());
        self
    }

    /// The option of sbatch that holds its comment, or nothing.
    pub fn comment(&self) -> &str {
        self.sbatch
            .iter()
            .find(|option| option.starts_with("--comment="))
            .map_or("", String::as_str)
    }

    /// Without `surgent run` around the program.
    pub fn unmonitored(self) -> Self {
        self.scripted(str::to_owned)
    }

    /// Without `surgent run`: `script` makes a batch script of the program's command line.
    pub fn scripted(mut self, script: fn(&str) -> String) -> Self {
        self.script = Some(script);
        self
    }

    /// Submits it.
    pub fn submit(&self, cluster: &Cluster) -> Outcome<JobId> {
        let name = format!("--job-name={}", self.name);
        let arguments: Vec<&str> = self
            .sbatch
            .iter()
            .map(String::as_str)
            .chain([name.as_str()])
            .collect();
        cluster.sbatch(&arguments, &self.script(cluster)?)
    }

    fn script(&self, cluster: &Cluster) -> Outcome<String> {
        let work = cluster.work();
        let at = |suffix: &str| format!("'{}'", work.join(format!("{}.{suffix}", self.name)).display());
        let program = format!(
            "/usr/bin/python3 '{trainer}' '{data}' --save {save} --steps-log {log} --epochs {epochs} --step-s {step_s} {options}",
            trainer = places::trainer().display(),
            data = places::digits()?.display(),
            save = at("npz"),
            log = at("steps"),
            epochs = self.epochs,
            step_s = self.step_s,
            options = self.options.join(" "),
        );
        let script = match self.script {
            Some(script) => script(&program),
            None => format!(
                "'{}' run --save-signal USR1 -- {program}",
                places::surgent()?.display()
            ),
        };
        // One thread each: four of these share the machine with a whole cluster.
        Ok(format!("export OPENBLAS_NUM_THREADS=1\n{script}"))
    }
}

/// One line of a training's log of steps.
#[derive(Clone, Debug)]
pub struct Event {
    /// Unix seconds.
    pub at_s: f64,
    /// How often the job had been requeued.
    pub run: u32,
    /// `started`, `step`, `asked`, `saving`, `saved`, `resumed` or `finished`; of the frameworks' programs also `waiting`
    /// and `epoch`.
    pub kind: String,
    /// The steps done by then, counted over all runs; with `started` and `resumed` those that are in the model, with
    /// `epoch` the epochs.
    pub step: u32,
}

/// A training's log of steps so far.
pub struct Steps(Vec<Event>);

impl Steps {
    /// All events of one kind, in order.
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Event> {
        self.0.iter().filter(move |event| event.kind == kind)
    }

    /// The first event of one kind in the given run.
    pub fn first(&self, kind: &str, run: u32) -> Option<&Event> {
        self.of(kind).find(|event| event.run == run)
    }

    /// The last step done so far, 0 before the first.
    pub fn last(&self) -> u32 {
        self.of("step").last().map_or(0, |event| event.step)
    }

    /// Steps that were computed and are not in the model from which the training then went on.
    pub fn lost(&self) -> usize {
        let (mut lost, mut in_model) = (0, 0);
        for event in &self.0 {
            match event.kind.as_str() {
                "step" => in_model += 1,
                "started" | "resumed" => {
                    lost += in_model - event.step as usize;
                    in_model = event.step as usize;
                }
                _ => {}
            }
        }
        lost
    }

    /// Steps that were done more than once: those that were lost, and those that are in the model and were done again
    /// because the program goes on with the beginning of an epoch.
    pub fn repeated(&self) -> usize {
        self.of("step").count() - self.distinct().len()
    }

    /// Whether every step from the first to the last was done.
    pub fn complete(&self) -> bool {
        self.distinct().len() == self.last() as usize
    }

    fn distinct(&self) -> BTreeSet<u32> {
        self.of("step").map(|event| event.step).collect()
    }
}

impl Cluster {
    /// The log of steps of the training named `name`.
    pub fn steps(&self, name: &str) -> Steps {
        let text = fs::read_to_string(self.work().join(format!("{name}.steps"))).unwrap_or_default();
        let event = |line: &str| {
            let mut words = line.split(' ');
            Some(Event {
                at_s: words.next()?.parse().ok()?,
                run: words.next()?.parse().ok()?,
                kind: words.next()?.to_owned(),
                step: words.next()?.parse().ok()?,
            })
        };
        Steps(text.lines().filter_map(event).collect())
    }

    /// Waits until the training named `name` has done `count` steps.
    pub fn wait_for_steps(&self, name: &str, count: u32) -> Outcome {
        self.wait_for(&format!("{name} to do {count} steps"), LIMIT, |cluster| {
            Ok(cluster.steps(name).last() >= count)
        })
    }

    /// The accuracy that the training named `name` ended with.
    pub fn accuracy(&self, name: &str) -> Option<String> {
        let output = self.output(name);
        let (_, rest) = output.rsplit_once("finished: ")?;
        Some(rest.split_once("accuracy ")?.1.split(',').next()?.to_owned())
    }

    /// The digest of the weights that the training named `name` ended with.
    pub fn weights(&self, name: &str) -> Option<String> {
        let output = self.output(name);
        Some(
            output
                .rsplit_once("weights ")?
                .1
                .split_whitespace()
                .next()?
                .to_owned(),
        )
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent run`: what it needs before the program is started.

use super::direct::own_job;
use super::environment::{JobEnvironment, REPORT};
use super::reports::Reports;
use super::saving;
use super::say::say;
use super::shell::{Happening, Shell};
use super::signals;
use crate::policy::directives::{self, SaveKind};
use crate::progress::pattern::Pattern;
use crate::slurm::job::Job;
use std::ffi::OsString;
use std::sync::mpsc::channel;

/// How often a job that was started again looks for its own comment.
const FINISHED_ATTEMPTS: u32 = 3;

/// What to run, and what its user says of it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program and its arguments; not empty.
    pub command: Vec<OsString>,
    /// How the program is made to save, and how that is seen.
    pub saving: saving::Options,
    /// When the program saves.
    pub save: Option<SaveKind>,
    /// Epochs in all.
    pub epochs: Option<u32>,
    /// Whether progress is read from the program's output.
    pub reads_output: bool,
    /// What the output looks like, where it is none of the known formats.
    pub pattern: Option<Pattern>,
}

/// Runs the program to its end; the exit code for this process.
pub fn run(run: &Run, environment: &JobEnvironment) -> u8 {
    let job = own_job(environment);
    let restarted = job.as_ref().filter(|_| environment.restarts > 0);
    if let Some(done) = restarted.and_then(what_was_finished) {
        say(&format!(
            "nothing to do: {done} were done before this job was started again (to train on, take epoch= out of its \
             comment)"
        ));
        return 0;
    }
    let (sender, happenings) = channel();
    let to_main = sender.clone();
    let caught = signals::catch(move |received| _ = to_main.send(Happening::Signal(received)));
    if let Err(error) = caught {
        say(&format!(
            "signals cannot be caught ({error}); the program runs, and Slurm cannot ask it to save"
        ));
    }
    let reports = Reports::create();
    match &reports {
        Ok(reports) => {
            let to_main = sender.clone();
            reports.watch(move || _ = to_main.send(Happening::ReportsChanged));
        }
        Err(error) => say(&format!(
            "no folder for reports ({error}); the program runs without {REPORT}"
        )),
    }
    Shell::new(run, environment, job, reports.ok(), sender).run(&happenings)
}

/// The epochs that a job which was started again had done, if these are all.
fn what_was_finished(job: &Job) -> Option<String> {
    let comment = (0..FINISHED_ATTEMPTS).find_map(|_| job.comment().ok())?;
    let there = directives::parse(&comment).ok()?;
    let (epoch, epochs) = (there.epoch?, there.epochs?);
    (epoch >= f64::from(epochs)).then(|| format!("all {epochs} epochs"))
}

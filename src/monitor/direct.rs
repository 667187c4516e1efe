// SPDX-License-Identifier: GPL-2.0-or-later
//! Changing the directives in the job's own comment.

use super::environment::JobEnvironment;
use super::machine::Ask;
use super::progress::Progress;
use super::report::Report;
use super::time::{Clock, unix_now};
use crate::policy::directives::{self, EditError, Key, SaveKind, SaveSignal};
use crate::policy::record::Record;
use crate::slurm::command::{CommandError, Environment};
use crate::slurm::job::{Job, JobError};
use std::time::Duration;

/// What `surgent run` says of its program at the start, in the job's comment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Introduction {
    /// How Slurm is to ask for a save; `None` if nothing makes the program save.
    pub signal: Option<SaveSignal>,
    /// When the program saves, where its user said so on the command line.
    pub save: Option<SaveKind>,
    /// Epochs in all, where its user said so on the command line.
    pub epochs: Option<u32>,
}

/// Why the comment could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Slurm's commands.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The comment that is there, or its length.
    #[error("the job's comment cannot take it: {0}")]
    Edit(#[from] EditError),
}

impl PublishError {
    /// Whether slurmctld did not answer, as opposed to "answered no".
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Job(JobError::Command(error)) if error.is_transient())
    }

    /// Whether Slurm's commands are not there, as in a container.
    pub fn is_without_slurm(&self) -> bool {
        matches!(self, Self::Job(JobError::Command(CommandError::Start { .. })))
    }
}

impl Introduction {
    /// The changes to a comment that says `there`. What its user wrote by hand stays, except where this knows better.
    fn changes(&self, there: &directives::Directives) -> Vec<(Key, String)> {
        let mut changes = Vec::new();
        match self.signal {
            Some(signal) => {
                changes.push((Key::Signal, signal.to_string()));
                // "none" beside a signal was true of another program in the same job.
                let by_hand = there.save.filter(|save| *save != SaveKind::None);
                let save = self.save.or(by_hand).unwrap_or(SaveKind::Step);
                changes.push((Key::Save, save.to_string()));
            }
            // Asked by a hand-written trap.
            None if there.signal.is_some_and(|signal| !is_own(signal)) => {
                changes.extend(self.save.map(|save| (Key::Save, save.to_string())));
            }
            None => changes.push((Key::Save, SaveKind::None.to_string())),
        }
        changes.extend(self.epochs.map(|epochs| (Key::Epochs, epochs.to_string())));
        changes
    }
}

/// Whether `surgent run` published this, rather than a person.
pub fn is_own(signal: SaveSignal) -> bool {
    signal.signal.as_str() == super::signals::ASK_SIGNAL_NAME
}

/// This process's own job, through Slurm's commands.
pub fn own_job(environment: &JobEnvironment) -> Option<Job> {
    Some(Job::new(
        environment.job?,
        environment.array,
        Environment::of_user(std::env::vars_os()),
    ))
}

/// The request in the job's AdminComment.
pub fn read_ask(job: &Job) -> Result<Option<Ask>, JobError> {
    let record = Record::read(&job.admin_comment()?);
    Ok(record.and_then(|record| {
        Some(Ask {
            by: record.ask?,
            asked: record.asked,
            deadline: record.deadline,
        })
    }))
}

/// Sets directives in the job's comment as it is now, the most important first; as many as there is room for.
///
/// With `is_told` the comment is written even where it already says so: an acknowledgement is heard only then.
pub fn publish(
    job: &Job,
    introduction: Option<&Introduction>,
    changes: &[(Key, String)],
    is_told: bool,
) -> Result<(), PublishError> {
    let comment = job.comment()?;
    let mut all = changes.to_vec();
    if let Some(introduction) = introduction {
        let there = directives::parse(&comment).unwrap_or_default();
        all.extend(introduction.changes(&there));
    }
    let (edited, dropped) = directives::edit_fitting(&comment, &all);
    if dropped == all.len() && !all.is_empty() {
        directives::edit(&comment, &all[..1])?;
    }
    if edited != comment || is_told {
        job.set_comment(edited)?;
    }
    Ok(())
}

/// Publishes a report that reaches no `surgent run`, as one made by a hand-written trap.
///
/// # Errors
///
/// Where slurmctld does not answer within half a minute or so, or refuses.
pub fn publish_report(job: &Job, report: &Report) -> Result<(), PublishError> {
    const PAUSES_S: [u64; 4] = [0, 1, 2, 4];
    let mut progress = Progress::new(None, Duration::ZERO);
    if let (None, None, None) = (report.epoch, report.epochs, &report.saved) {
        return Ok(());
    }
    progress.report(report.epoch, report.total(), Duration::ZERO);
    let has_saved = report.saved.is_some();
    if has_saved {
        let asked = read_ask(job).ok().flatten().and_then(|ask| ask.asked);
        let now = unix_now();
        progress.save(asked.map_or(now, |asked| asked.max(now)));
    }
    let changes = progress.publish(Clock::start().now());
    let mut result = Ok(());
    for pause_s in PAUSES_S {
        std::thread::sleep(Duration::from_secs(pause_s));
        result = publish(job, None, &changes, has_saved);
        if !matches!(&result, Err(error) if error.is_transient()) {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_introductions() {
        let asked = |save| Introduction {
            signal: Some("URG@full".parse().expect("known")),
            save,
            epochs: None,
        };
        let unasked = Introduction {
            epochs: Some(9),
            ..Introduction::default()
        };
        let table = [
            (asked(None), "", "signal=URG@full save=step"),
            (
                asked(Some(SaveKind::Epoch)),
                "save=step",
                "signal=URG@full save=epoch",
            ),
            (
                asked(None),
                "free text signal=USR1@batch save=epoch",
                "signal=URG@full save=epoch",
            ),
            (asked(None), "save=none", "signal=URG@full save=step"),
            (unasked, "", "save=none epochs=9"),
            (unasked, "signal=USR1@batch save=step", "epochs=9"),
            (unasked, "signal=URG@full save=step", "save=none epochs=9"),
        ];
        for (introduction, comment, expected) in table {
            let there = directives::parse(comment.as_bytes()).expect("right");
            let changes = introduction.changes(&there);
            let words: Vec<_> = changes
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            assert_eq!(words.join(" "), expected, "{introduction:?} {comment}");
        }
    }
}

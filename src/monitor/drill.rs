// SPDX-License-Identifier: GPL-2.0-or-later
//! Asking a running job for a save that nobody needs, to see whether it can.
//!
//! Nothing is written: who may signal a job may drill it. `surgent run` tells a drill from a request by the signal, and
//! publishes its answer where every save is published, so that the planner sees one more save and nothing else. A
//! hand-written trap gets the signal that its comment names.

use super::direct::{is_own, read_ask};
use super::signals::DRILL_SIGNAL;
use crate::policy::directives::{self, Directives, SaveKind, SaveSignal};
use crate::policy::ids::JobId;
use crate::policy::units::{Seconds, UnixTime};
use crate::slurm::job::{Job, JobError, Look};
use std::thread;
use std::time::{Duration, Instant};

/// How often the job is looked at, at first and later.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
const LOOK_INTERVAL_LATER: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(30);

/// What came of a drill.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What happened.
    pub end: End,
    /// How long it was waited after the job was asked; zero if it was not.
    pub waited: Duration,
    /// The urgent job for which the job was asked meanwhile, or instead.
    pub urgent: Option<JobId>,
}

/// How a drill ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// The job saved.
    Saved {
        /// When, by the clock of its node.
        saved: UnixTime,
        /// How long the save took, as the job says.
        save_s: Option<Seconds>,
    },
    /// It did not, in the time that was given.
    TimedOut,
    /// It ended before it had.
    Ended,
    /// It went back into the queue before it had.
    Requeued,
}

/// Why a job could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// Slurm's commands, or no such job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// It waits, or has ended.
    #[error("job {0} does not run (it is {1}); only a running job can save")]
    NotRunning(JobId, String),
    /// Nothing is known of how it saves.
    #[error(
        "job {0} does not say how it is asked to save, so it cannot be (its comment has no signal=); start its \
         program by `surgent run --save-signal ...`"
    )]
    NoSignal(JobId),
    /// It says that it cannot.
    #[error("job {0} says that it cannot save (save=none in its comment)")]
    CannotSave(JobId),
    /// Its comment cannot be read.
    #[error("the comment of job {0} cannot be understood: {1}")]
    Comment(JobId, String),
    /// It was busy with a real request for all the time that was given.
    #[error(
        "job {0} is being asked to save for the urgent job {1}; a drill would only disturb that, try again later"
    )]
    Busy(JobId, JobId),
}

/// What is told while it lasts.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A real request is under way; the drill waits until it is over.
    WaitsFor(JobId),
    /// The job was asked.
    Asked(SaveSignal),
    /// It is still waited for, for so long now.
    Waiting(Duration),
}

/// Asks `job` to save, and waits for `limit` at most. `tell` gets to know how it goes.
///
/// # Errors
///
/// Where the job could not be asked.
pub fn drill(job: &Job, limit: Duration, tell: &mut dyn FnMut(News)) -> Result<Answer, DrillError> {
    let begun = Instant::now();
    let id = job.id();
    let look_running = || match job.look()? {
        look if look.state == "RUNNING" => Ok(look),
        look => Err(DrillError::NotRunning(id, look.state)),
    };
    look_running()?;
    wait_for_request(job, limit, tell)?;
    // The request may have ended the run.
    let before = look_running()?;
    let says = directives_of(&before).map_err(|error| DrillError::Comment(id, error))?;
    let signal = says.signal.ok_or(DrillError::NoSignal(id))?;
    if says.save == Some(SaveKind::None) {
        return Err(DrillError::CannotSave(id));
    }
    let number = DRILL_SIGNAL.as_raw().to_string();
    let name = if is_own(signal) {
        number.as_str()
    } else {
        signal.signal.as_str()
    };
    job.signal(name, signal.target)?;
    tell(News::Asked(signal));
    Ok(await_save(job, &before, says.saved, begun + limit, tell))
}

/// A real request comes first: waits until there is none.
fn wait_for_request(job: &Job, limit: Duration, tell: &mut dyn FnMut(News)) -> Result<(), DrillError> {
    let begun = Instant::now();
    let mut told = None;
    while let Some(ask) = read_ask(job)? {
        if begun.elapsed() >= limit {
            return Err(DrillError::Busy(job.id(), ask.by));
        }
        if told != Some(ask.by) {
            tell(News::WaitsFor(ask.by));
            told = Some(ask.by);
        }
        thread::sleep(LOOK_INTERVAL_LATER.min(limit));
    }
    Ok(())
}

fn await_save(
    job: &Job,
    before: &Look,
    saved_before: Option<UnixTime>,
    until: Instant,
    tell: &mut dyn FnMut(News),
) -> Answer {
    let asked = Instant::now();
    let end = loop {
        // An answer that cannot be had now may be had later; slurmctld may be away for a moment.
        if let Ok(look) = job.look() {
            let says = directives_of(&look).unwrap_or_default();
            match says.saved {
                Some(saved) if Some(saved) != saved_before => {
                    let save_s = says.save_s;
                    break End::Saved { saved, save_s };
                }
                _ => {}
            }
            let waits = ["PENDING", "REQUEUED", "REQUEUE_HOLD", "CONFIGURING"].contains(&look.state.as_str());
            if waits || (look.state == "RUNNING" && look.start != before.start) {
                break End::Requeued;
            }
            // One that is completing may have said its last word a moment ago; that is in its comment by then.
            if look.state != "RUNNING" {
                break End::Ended;
            }
        }
        if Instant::now() >= until {
            break End::TimedOut;
        }
        tell(News::Waiting(asked.elapsed()));
        let interval = match asked.elapsed() > LATER {
            true => LOOK_INTERVAL_LATER,
            false => LOOK_INTERVAL,
        };
        thread::sleep(interval.min(until.saturating_duration_since(Instant::now())));
    };
    let waited = asked.elapsed();
    let urgent = read_ask(job).ok().flatten().map(|ask| ask.by);
    Answer { end, waited, urgent }
}

fn directives_of(look: &Look) -> Result<Directives, String> {
    directives::parse(&look.comment).map_err(|error| error.to_string())
}

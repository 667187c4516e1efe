// SPDX-License-Identifier: GPL-2.0-or-later
//! What can happen to a program and its requests, and what can be done about it.

use crate::policy::directives::SaveKind;
use crate::policy::ids::JobId;
use crate::policy::units::{Seconds, UnixTime};
use std::time::Duration;

/// What does not change while the program runs.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// Whether Slurm can be asked and told: in a job, and the first of a step's processes.
    pub speaks: bool,
    /// Whether this process alone may start the program again; not one of many ranks.
    pub is_alone: bool,
    /// Whether there is a way to make the program save, from its start on.
    pub can_ask: bool,
    /// When the program saves.
    pub save: SaveKind,
}

/// A request to save, as the job's AdminComment states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The urgent job.
    pub by: JobId,
    /// When it was made.
    pub asked: Option<UnixTime>,
    /// When the save is to be finished.
    pub deadline: Option<UnixTime>,
}

/// Why AdminComment was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Slurm signalled.
    Signal,
    /// At the start, or while the allocation is held.
    Check,
}

/// What the look said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is a request.
    Asked(Ask),
    /// There is none.
    NotAsked,
    /// Slurm did not tell.
    Unknown,
}

/// How far the training is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Training {
    /// Its last epoch is done.
    Finished,
    /// There are epochs left.
    Unfinished,
    /// The program does not say.
    Unknown,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Slurm's signal that something about the request has changed.
    AskSignal,
    /// Somebody wants to see whether the program saves; nobody is to make way.
    Drill,
    /// The answer to [`Action::Look`].
    Looked(Cause, Answer),
    /// There is a way to ask the program now.
    CanSave,
    /// The program can be asked now; only while [`Machine::is_waiting`].
    Ready,
    /// A save is complete.
    Saved {
        /// Since so long.
        ago: Duration,
    },
    /// The program reported progress.
    Progressed,
    /// slurmctld took the acknowledgement.
    Acknowledged,
    /// The program ended.
    Exited {
        /// The exit code; 128 and the number of the signal that ended it.
        code: u8,
        /// How far its training was.
        training: Training,
    },
    /// Slurm takes the allocation away.
    Terminate,
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Look at the job's AdminComment and answer with [`Event::Looked`].
    Look(Cause),
    /// Ask the program to save.
    Pass,
    /// Tell Slurm that the model is saved.
    Acknowledge {
        /// When.
        saved: UnixTime,
        /// How long it took, where that was measured.
        save_s: Option<Seconds>,
    },
    /// Remember a save that nobody asked for.
    NoteSave,
    /// Start the program again, from its save.
    Resume,
    /// Have Slurm put the whole job back into the queue.
    Requeue,
    /// End the program at once.
    Kill,
    /// End with this exit code.
    End(u8),
    /// Tell the person who reads the job's output.
    Say(String),
}

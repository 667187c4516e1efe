// SPDX-License-Identifier: GPL-2.0-or-later
//! A request to save as the machine remembers it.

use super::event::Ask;
use std::time::Duration;

/// A request to save, and how far it has got.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// `None` where only the signal is known.
    pub ask: Option<Ask>,
    pub phase: Phase,
    pub is_called_off: bool,
    /// A drill waits for the answer, whether or not an urgent job does.
    pub is_drilled: bool,
    /// When the program saved for the request before this one. It may be about to end because of that one, and does
    /// not answer this one then: as long as it has reported no progress since, that save is the answer.
    pub saved_before: Option<Duration>,
}

impl Request {
    /// Nobody but a drill waits for the answer.
    pub fn is_drill(&self) -> bool {
        self.is_drilled && self.is_called_off
    }

    pub fn is_answered(&self) -> bool {
        self.saved_at().is_some()
    }

    pub fn saved_at(&self) -> Option<Duration> {
        match self.phase {
            Phase::Saved { at, .. } => Some(at),
            Phase::Waiting | Phase::Passed { .. } => None,
        }
    }

    /// The last save that nothing was computed after, as far as is known.
    pub fn last_save(&self) -> Option<Duration> {
        self.saved_at().or(self.saved_before)
    }
}

/// How far a request has got.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// The program cannot be asked yet.
    Waiting,
    /// The signal went out.
    Passed { at: Duration },
    /// The model is saved.
    Saved { at: Duration, is_acknowledged: bool },
}

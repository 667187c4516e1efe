// SPDX-License-Identifier: GPL-2.0-or-later
//! What a check has found.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Surgent works, but not as well as it could, or not for everybody.
    Warning,
    /// Surgent does not work, or is not safe.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What was looked at: a key of slurm.conf, a file.
    pub about: String,
    /// What is the case.
    pub found: String,
    /// What to do about it.
    pub change: Option<String>,
}

impl Finding {
    /// All is well with it.
    pub fn ok(about: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Ok, about, found, None)
    }

    /// Worth knowing.
    pub fn note(about: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(Level::Note, about, found, None)
    }

    /// To be changed some time.
    pub fn warning(about: impl Into<String>, found: impl Into<String>, change: impl Into<String>) -> Self {
        Self::new(Level::Warning, about, found, Some(change.into()))
    }

    /// To be changed.
    pub fn error(about: impl Into<String>, found: impl Into<String>, change: impl Into<String>) -> Self {
        Self::new(Level::Error, about, found, Some(change.into()))
    }

    fn new(level: Level, about: impl Into<String>, found: impl Into<String>, change: Option<String>) -> Self {
        Self {
            level,
            about: about.into(),
            found: found.into(),
            change,
        }
    }
}

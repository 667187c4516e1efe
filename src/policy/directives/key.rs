// SPDX-License-Identifier: GPL-2.0-or-later
//! The names of the directives.

use std::fmt;

/// The key of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// `urgency`
    Urgency,
    /// `epochs`
    Epochs,
    /// `epoch`
    Epoch,
    /// `epoch_s`
    EpochS,
    /// `at`
    At,
    /// `save`
    Save,
    /// `save_s`
    SaveS,
    /// `saved`
    Saved,
    /// `signal`
    Signal,
    /// `priority`
    Priority,
}

impl Key {
    /// Every key, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Urgency,
        Self::Epochs,
        Self::Epoch,
        Self::EpochS,
        Self::At,
        Self::Save,
        Self::SaveS,
        Self::Saved,
        Self::Signal,
        Self::Priority,
    ];

    /// The key as it is written in a comment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgency => "urgency",
            Self::Epochs => "epochs",
            Self::Epoch => "epoch",
            Self::EpochS => "epoch_s",
            Self::At => "at",
            Self::Save => "save",
            Self::SaveS => "save_s",
            Self::Saved => "saved",
            Self::Signal => "signal",
            Self::Priority => "priority",
        }
    }

    /// The key that `name` is, upper and lower case alike.
    pub(super) fn find(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|key| name.eq_ignore_ascii_case(key.as_str().as_bytes()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

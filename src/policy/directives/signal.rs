// SPDX-License-Identifier: GPL-2.0-or-later
//! How a program is asked to save: which signal, and to whom.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The signals that `scancel --signal` knows by name in every Slurm since 22.05, without the two that no program
/// can catch.
const NAMES: [&str; 14] = [
    "HUP", "INT", "QUIT", "ABRT", "ALRM", "TERM", "USR1", "USR2", "URG", "CONT", "TSTP", "TTIN", "TTOU",
    "XCPU",
];

/// Known to scancel, and of no use: they end or freeze a program before it can save.
const UNCATCHABLE: [&str; 2] = ["KILL", "STOP"];

/// The name of a signal that `scancel` and `kill` know and that a program can catch, such as `USR1`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignalName(&'static str);

/// Who gets the signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignalTarget {
    /// The batch shell alone (`scancel --batch`).
    #[default]
    Batch,
    /// Every process of every step, not the batch shell (`scancel` as it comes).
    Steps,
    /// The batch shell and the processes of its group (`scancel --full`).
    Full,
}

/// A signal and who gets it: `USR1@batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SaveSignal {
    /// Which signal.
    pub signal: SignalName,
    /// Who gets it.
    pub target: SignalTarget,
}

/// Why a text does not say how to ask for a save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// No name that scancel knows.
    #[error("is not a signal that scancel knows by name")]
    Unknown,
    /// The program would be gone before it could save.
    #[error("cannot be caught, so that the program could not save")]
    Uncatchable,
    /// What stands behind the `@`.
    #[error("goes to nobody that Surgent knows")]
    Target,
}

impl SignalName {
    /// The name without `SIG`, in capitals.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Every name that is accepted, separated by blanks.
    pub(super) fn all() -> String {
        NAMES.join(" ")
    }
}

impl SignalTarget {
    /// Every target, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Batch, Self::Steps, Self::Full];

    /// The target as it is written behind the `@`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Steps => "steps",
            Self::Full => "full",
        }
    }
}

impl FromStr for SignalName {
    type Err = SignalError;

    /// Accepts the name with or without `SIG`, in any case.
    fn from_str(text: &str) -> Result<Self, SignalError> {
        let bare = match text.get(..3) {
            Some(sig) if sig.eq_ignore_ascii_case("SIG") => &text[3..],
            _ => text,
        };
        if UNCATCHABLE.iter().any(|name| bare.eq_ignore_ascii_case(name)) {
            return Err(SignalError::Uncatchable);
        }
        let name = NAMES.into_iter().find(|name| bare.eq_ignore_ascii_case(name));
        name.map(Self).ok_or(SignalError::Unknown)
    }
}

impl FromStr for SignalTarget {
    type Err = SignalError;

    fn from_str(text: &str) -> Result<Self, SignalError> {
        let target = Self::ALL
            .into_iter()
            .find(|target| text.eq_ignore_ascii_case(target.as_str()));
        target.ok_or(SignalError::Target)
    }
}

impl FromStr for SaveSignal {
    type Err = SignalError;

    fn from_str(text: &str) -> Result<Self, SignalError> {
        match text.split_once('@') {
            Some((signal, target)) => Ok(Self {
                signal: signal.parse()?,
                target: target.parse()?,
            }),
            None => Ok(Self {
                signal: text.parse()?,
                target: SignalTarget::default(),
            }),
        }
    }
}

impl TryFrom<String> for SaveSignal {
    type Error = SignalError;

    fn try_from(text: String) -> Result<Self, SignalError> {
        text.parse()
    }
}

impl From<SaveSignal> for String {
    fn from(signal: SaveSignal) -> Self {
        signal.to_string()
    }
}

impl fmt::Debug for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for SignalTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SaveSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.signal, self.target)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a comment is refused, in sentences for the user who wrote it.

use super::key::Key;
use std::fmt::{self, Write};

/// How much of a user's value a sentence shows, in characters after escaping.
const SHOWN_MAX_CHARS: usize = 60;

/// Why a comment is refused. Displays as one sentence: what, what is wrong with it, what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DirectiveError {
    /// A value that its key cannot have.
    #[error("{key}={value} {wrong}; {right}")]
    Value {
        /// The key in question.
        key: Key,
        /// Its value.
        value: Shown,
        /// What is wrong with the value.
        wrong: String,
        /// What would be right.
        right: String,
    },
    /// Two directives that cannot both be meant.
    #[error("{}={} and {}={} contradict each other; write only one of them", .first.0, .first.1, .second.0, .second.1)]
    Contradiction {
        /// Key and value of the one that stands first.
        first: (Key, Shown),
        /// Key and value of the other.
        second: (Key, Shown),
    },
    /// More epochs done than there are.
    #[error(
        "epoch={epoch} is more than epochs={epochs}; write the epochs completed so far, at most the total"
    )]
    BeyondTotal {
        /// Epochs said to be completed.
        epoch: f64,
        /// Epochs in all.
        epochs: u32,
    },
    /// A comment that begins as JSON, is none, and names a directive.
    #[error(
        "the comment begins with {{ and names {key}, but it is not one JSON object ({fault}); mend the JSON, or \
         write {key}=... as text that does not begin with {{"
    )]
    BrokenJson {
        /// The first directive that it names.
        key: Key,
        /// What is wrong, and where.
        fault: String,
    },
}

impl DirectiveError {
    pub(super) fn value(key: Key, value: &[u8], wrong: impl Into<String>, right: impl Into<String>) -> Self {
        Self::Value {
            key,
            value: Shown::new(value),
            wrong: wrong.into(),
            right: right.into(),
        }
    }

    pub(super) fn contradiction(first: (Key, &[u8]), second: (Key, &[u8])) -> Self {
        let shown = |(key, value)| (key, Shown::new(value));
        Self::Contradiction {
            first: shown(first),
            second: shown(second),
        }
    }
}

/// A user's bytes made fit for a sentence: quoted, escaped (no control character, no newline, no byte that is not
/// UTF-8), and cut if long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut shown = String::from("\"");
        let mut escapes = escapes(bytes);
        for _ in 0..SHOWN_MAX_CHARS {
            match escapes.next() {
                Some(escape) => shown.push_str(&escape),
                None => break,
            }
        }
        shown.push_str(if escapes.next().is_some() { "\"..." } else { "\"" });
        Self(shown)
    }
}

/// Each character or stray byte of `bytes`, escaped. Lazy: only what is shown is escaped.
fn escapes(bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| c.escape_debug().to_string());
        let stray = chunk.invalid().iter().map(|byte| {
            let mut escape = String::new();
            // Writing to a String cannot fail.
            let _ = write!(escape, "\\x{byte:02x}");
            escape
        });
        valid.chain(stray)
    })
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

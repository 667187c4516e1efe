// SPDX-License-Identifier: GPL-2.0-or-later
//! `--urgency`, the option of sbatch, srun and salloc that says the same as the directive.

use super::{DirectiveError, EditError, Key, Shown, Urgency, edit, parse};
use std::borrow::Cow;

/// What `--urgency` says in one submission, as the user's side sent it; nothing of it was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct UrgencyOption<'a> {
    /// Its value, if it was given.
    pub value: Option<&'a [u8]>,
    /// A different value that was sent, too. Slurm's own commands send one only.
    pub other: Option<&'a [u8]>,
}

/// Why a submission with `--urgency` is refused. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// A value that the option cannot have.
    #[error("--urgency={0} is not known; write --urgency=urgent or --urgency=normal")]
    Unknown(Shown),
    /// Two values were sent.
    #[error("--urgency={0} and --urgency={1} contradict each other; give it once")]
    Twice(Shown, Shown),
    /// The comment says something else.
    #[error(
        "--urgency={option} and the comment, which says urgency={comment}, contradict each other; write only one of them"
    )]
    Contradiction {
        /// What the option says.
        option: Urgency,
        /// What the comment says.
        comment: Urgency,
    },
    /// The comment is malformed.
    #[error(transparent)]
    Comment(#[from] DirectiveError),
    /// The comment has no room for the directive.
    #[error("--urgency={option} is kept in the job's comment: {error}")]
    NoRoom {
        /// What the option says.
        option: Urgency,
        /// Why it cannot be written.
        error: EditError,
    },
}

impl UrgencyOption<'_> {
    /// The comment as it would be if it said what the option says: from then on only the comment counts, which
    /// everybody can see and its user can change.
    ///
    /// # Errors
    /// See [`OptionError`].
    pub fn write_into<'c>(&self, comment: &'c [u8]) -> Result<Cow<'c, [u8]>, OptionError> {
        let Some(value) = self.value else {
            return Ok(Cow::Borrowed(comment));
        };
        if let Some(other) = self.other {
            return Err(OptionError::Twice(Shown::new(value), Shown::new(other)));
        }
        let known = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        let option: Urgency = known.ok_or_else(|| OptionError::Unknown(Shown::new(value)))?;
        match parse(comment)?.urgency {
            Some(said) if said == option => Ok(Cow::Borrowed(comment)),
            Some(said) => Err(OptionError::Contradiction {
                option,
                comment: said,
            }),
            None => edit(comment, &[(Key::Urgency, option.to_string())])
                .map(Cow::Owned)
                .map_err(|error| OptionError::NoRoom { option, error }),
        }
    }
}

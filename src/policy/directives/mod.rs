// SPDX-License-Identifier: GPL-2.0-or-later
//! Directives: what a job's comment says to Surgent.
//!
//! A comment is free text that may hold `key=value` directives, or one JSON object that has directives among its
//! members. [`parse`] reads them, [`edit`] sets some and keeps every other byte. `docs/directives.md` describes
//! the same for users.
//!
//! The comment is a user's: any bytes, any length. Nothing here panics on it, and all of it takes time in
//! proportion to its length.

mod edit;
mod error;
mod form;
mod json;
mod key;
mod option;
mod signal;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use edit::{COMMENT_MAX_BYTES, EditError, edit, edit_fitting};
pub use error::{DirectiveError, Shown};
pub use key::Key;
pub use option::{OptionError, UrgencyOption};
pub use signal::{SaveSignal, SignalError, SignalName, SignalTarget};
pub use value::{EPOCHS_MAX, SECONDS_MAX, SaveKind, TIME_MAX, UnknownUrgency, Urgency};

use crate::policy::units::{Seconds, UnixTime};
use form::{Comment, Place};
use serde::{Deserialize, Serialize};

/// What one comment says; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Directives {
    /// The urgency class that the user asks for.
    pub urgency: Option<Urgency>,
    /// Epochs of the whole training, 1 to [`EPOCHS_MAX`].
    pub epochs: Option<u32>,
    /// Epochs completed so far, may be fractional; 0 or more, and at most `epochs` where that is known.
    pub epoch: Option<f64>,
    /// Seconds that an epoch takes; above 0 and at most [`SECONDS_MAX`].
    pub epoch_s: Option<Seconds>,
    /// When the progress was reported; at most [`TIME_MAX`].
    pub at: Option<UnixTime>,
    /// When the program can save.
    pub save: Option<SaveKind>,
    /// Seconds that a save takes; 0 to [`SECONDS_MAX`].
    pub save_s: Option<Seconds>,
    /// When the last save was finished; at most [`TIME_MAX`].
    pub saved: Option<UnixTime>,
    /// How the program is asked to save.
    pub signal: Option<SaveSignal>,
    /// How much the job is worth keeping, 0 to 100.
    pub priority: Option<u8>,
}

impl Directives {
    /// Whether the comment holds no directive at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what `more` says; the key about which the two differ, if they do.
    fn merge(&mut self, more: &Self) -> Result<(), Key> {
        merge_one(&mut self.urgency, more.urgency, Key::Urgency)?;
        merge_one(&mut self.epochs, more.epochs, Key::Epochs)?;
        merge_one(&mut self.epoch, more.epoch, Key::Epoch)?;
        merge_one(&mut self.epoch_s, more.epoch_s, Key::EpochS)?;
        merge_one(&mut self.at, more.at, Key::At)?;
        merge_one(&mut self.save, more.save, Key::Save)?;
        merge_one(&mut self.save_s, more.save_s, Key::SaveS)?;
        merge_one(&mut self.saved, more.saved, Key::Saved)?;
        merge_one(&mut self.signal, more.signal, Key::Signal)?;
        merge_one(&mut self.priority, more.priority, Key::Priority)
    }
}

fn merge_one<T: Copy + PartialEq>(known: &mut Option<T>, more: Option<T>, key: Key) -> Result<(), Key> {
    match (*known, more) {
        (Some(old), Some(new)) if old != new => Err(key),
        (None, Some(_)) => {
            *known = more;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Reads the directives in a comment.
///
/// # Errors
///
/// A directive that cannot be meant, two that contradict each other, or broken JSON that names a directive. The
/// error displays as one sentence for the user, without a newline and of bounded length.
pub fn parse(comment: &[u8]) -> Result<Directives, DirectiveError> {
    let comment = Comment::read(comment)?;
    let mut all = Directives::default();
    if comment.is_bare_urgent() {
        all.urgency = Some(Urgency::Urgent);
    }
    for (index, place) in comment.places.iter().enumerate() {
        let one = value::read(place.key, &place.value)?;
        all.merge(&one)
            .map_err(|key| contradiction(&comment.places[..index], place, key))?;
    }
    check_total(&all)?;
    Ok(all)
}

/// The sentence about `place`, which says of `key` something else than a place before it.
fn contradiction(before: &[Place], place: &Place, key: Key) -> DirectiveError {
    let first = before
        .iter()
        .find(|earlier| earlier.speaks_of(key))
        .unwrap_or(place);
    DirectiveError::contradiction((first.key, &first.value), (place.key, &place.value))
}

fn check_total(all: &Directives) -> Result<(), DirectiveError> {
    match (all.epoch, all.epochs) {
        (Some(epoch), Some(epochs)) if epoch > f64::from(epochs) => {
            Err(DirectiveError::BeyondTotal { epoch, epochs })
        }
        _ => Ok(()),
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Setting directives in a comment that has other text.

use super::error::DirectiveError;
use super::form::{Comment, Form, Place};
use super::key::Key;
use super::value::split_epoch;
use super::{json, parse, value};
use std::borrow::Cow;

/// The longest comment that Slurm accepts, in bytes.
pub const COMMENT_MAX_BYTES: usize = 1024;

/// Why a comment could not be edited.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EditError {
    /// There is no room beside the user's own text.
    #[error(
        "with these directives the comment would be {bytes} bytes long, and Slurm takes {COMMENT_MAX_BYTES} at \
         most; shorten its other text"
    )]
    TooLong {
        /// How long the comment would be.
        bytes: usize,
    },
    /// A new value cannot be meant, or the comment would be refused afterwards.
    #[error(transparent)]
    Refused(#[from] DirectiveError),
}

/// Sets directives in a comment, in the order given, and keeps every other byte.
///
/// A directive that is there gets the new value in its place, everywhere if it stands there more than once. One that is
/// not there is added:
/// - text: one blank and `key=value` at the end (no blank if the comment is empty);
/// - a JSON object: `,"key":value` before the closing brace, numbers as numbers and all else as strings;
/// - the one word `urgent`: ` urgency=urgent` is added first, because `urgent` among other words is free text;
/// - text that begins with `{` and is no JSON: `key=value` and one blank at the front, because behind it the
///   directive would be taken for a part of broken JSON.
///
/// The total in `epoch=12/90` is a place of `epochs`: a new `epoch` leaves it there, a new `epochs` replaces it.
///
/// # Errors
///
/// A value that its key cannot have, a comment that [`parse`] would refuse afterwards, and one that would be longer
/// than [`COMMENT_MAX_BYTES`].
pub fn edit(comment: &[u8], changes: &[(Key, String)]) -> Result<Vec<u8>, EditError> {
    let mut edited = comment.to_vec();
    for (key, new) in changes {
        edited = set(&edited, *key, new)?;
    }
    parse(&edited)?;
    if edited.len() > COMMENT_MAX_BYTES {
        return Err(EditError::TooLong { bytes: edited.len() });
    }
    Ok(edited)
}

/// [`edit`] with as many of the changes as it accepts, counted from the first, which is the most important.
///
/// Returns the comment and how many changes, counted from the last, were dropped. If not even the first can be made,
/// the comment comes back as it was; [`edit`] says why.
pub fn edit_fitting(comment: &[u8], changes: &[(Key, String)]) -> (Vec<u8>, usize) {
    let edited = (1..=changes.len()).rev().find_map(|kept| {
        let edited = edit(comment, &changes[..kept]).ok()?;
        Some((edited, changes.len() - kept))
    });
    edited.unwrap_or_else(|| (comment.to_vec(), changes.len()))
}

/// Sets one directive.
fn set(comment: &[u8], key: Key, new: &str) -> Result<Vec<u8>, DirectiveError> {
    let says = value::read(key, new.as_bytes())?;
    let Comment { form, places } = Comment::read(comment)?;
    let is_json = matches!(form, Form::Json { .. });
    // A new epoch with a total also speaks of epochs wherever they stand.
    let total = says.epochs.map(|epochs| epochs.to_string());
    let mut edited = Vec::with_capacity(comment.len() + new.len() + 32);
    let mut copied = 0;
    let mut is_there = false;
    for place in &places {
        let replaced = match &total {
            _ if place.key == key => Some(replace(place, new)),
            Some(total) if place.speaks_of(Key::Epochs) => Some(replace_total(place, total)),
            _ => None,
        };
        is_there |= place.speaks_of(key);
        if let Some(value) = replaced {
            edited.extend_from_slice(&comment[copied..place.span.start]);
            edited.extend_from_slice(&encode(&value, is_json));
            copied = place.span.end;
        }
    }
    edited.extend_from_slice(&comment[copied..]);
    if !is_there {
        add(&mut edited, &form, key, new);
    }
    Ok(edited)
}

/// What `place`, which has the key to set, is to say.
fn replace<'a>(place: &Place, new: &'a str) -> Cow<'a, [u8]> {
    match split_epoch(&place.value).1 {
        Some(total) if place.key == Key::Epoch && !new.contains('/') => {
            Cow::Owned([new.as_bytes(), b"/", total].concat())
        }
        _ => Cow::Borrowed(new.as_bytes()),
    }
}

/// What `place`, which names the total, is to say.
fn replace_total<'a>(place: &Place, total: &'a str) -> Cow<'a, [u8]> {
    match place.key {
        Key::Epoch => Cow::Owned([split_epoch(&place.value).0, b"/", total.as_bytes()].concat()),
        _ => Cow::Borrowed(total.as_bytes()),
    }
}

fn encode(value: &[u8], is_json: bool) -> Cow<'_, [u8]> {
    if !is_json {
        return Cow::Borrowed(value);
    }
    // In JSON the parts of a value come from strings, and are UTF-8.
    Cow::Owned(json::encode(&String::from_utf8_lossy(value)).into_bytes())
}

/// Adds a directive that the comment lacks.
fn add(comment: &mut Vec<u8>, form: &Form, key: Key, new: &str) {
    match *form {
        Form::Json { tail_bytes, is_empty } => {
            let comma = if is_empty { "" } else { "," };
            let member = format!("{comma}\"{key}\":{}", json::encode(new));
            let close = comment.len() - tail_bytes;
            comment.splice(close..close, member.into_bytes());
        }
        Form::Braced => {
            comment.splice(0..0, format!("{key}={new} ").into_bytes());
        }
        Form::Text | Form::BareUrgent => {
            if *form == Form::BareUrgent && key != Key::Urgency {
                append(comment, Key::Urgency, "urgent");
            }
            append(comment, key, new);
        }
    }
}

fn append(comment: &mut Vec<u8>, key: Key, value: &str) {
    let blank = if comment.is_empty() { "" } else { " " };
    comment.extend_from_slice(format!("{blank}{key}={value}").as_bytes());
}

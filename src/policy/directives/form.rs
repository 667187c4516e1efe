// SPDX-License-Identifier: GPL-2.0-or-later
//! Where in a comment its directives stand.

use super::error::DirectiveError;
use super::key::Key;
use super::value::split_epoch;
use super::{json, text};
use std::borrow::Cow;
use std::ops::Range;

/// The form a comment has, which decides how a directive is added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Free text and `key=value` directives.
    Text,
    /// The one word `urgent`.
    BareUrgent,
    /// Free text that begins with `{` and is no JSON. Behind such a text a directive would make it broken JSON.
    Braced,
    /// One JSON object.
    Json {
        /// How many bytes there are from its closing brace to the end of the comment.
        tail_bytes: usize,
        /// Whether it has no members.
        is_empty: bool,
    },
}

/// One directive where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) key: Key,
    /// What it says, without quotes and escapes.
    pub(super) value: Cow<'a, [u8]>,
    /// The bytes to replace if it is to say something else.
    pub(super) span: Range<usize>,
}

impl Place<'_> {
    /// Whether it says something about `key`: `epoch=12/90` also speaks of `epochs`.
    pub(super) fn speaks_of(&self, key: Key) -> bool {
        self.key == key
            || (key == Key::Epochs && self.key == Key::Epoch && split_epoch(&self.value).1.is_some())
    }
}

/// A comment taken apart. Values are not checked yet.
pub(super) struct Comment<'a> {
    pub(super) form: Form,
    pub(super) places: Vec<Place<'a>>,
}

impl<'a> Comment<'a> {
    /// Takes a comment apart; an error only for broken JSON that names a directive.
    pub(super) fn read(comment: &'a [u8]) -> Result<Self, DirectiveError> {
        let trimmed = comment.trim_ascii();
        if trimmed.eq_ignore_ascii_case(b"urgent") {
            return Ok(Self {
                form: Form::BareUrgent,
                places: Vec::new(),
            });
        }
        if !trimmed.starts_with(b"{") {
            return Ok(Self {
                form: Form::Text,
                places: text::places(comment),
            });
        }
        let start = comment.len() - comment.trim_ascii_start().len();
        match json::read(comment, start..start + trimmed.len()) {
            Ok(comment) => Ok(comment),
            Err(fault) => match text::mentioned(trimmed) {
                Some(key) => Err(DirectiveError::BrokenJson { key, fault }),
                None => Ok(Self {
                    form: Form::Braced,
                    places: Vec::new(),
                }),
            },
        }
    }

    /// Whether the comment is the one word `urgent`.
    pub(super) fn is_bare_urgent(&self) -> bool {
        self.form == Form::BareUrgent
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Directives in free text.

use super::form::Place;
use super::key::Key;
use std::borrow::Cow;

/// What separates directives from one another and from other text.
fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b';')
}

/// Each token `key=value` whose key is known.
pub(super) fn places(comment: &[u8]) -> Vec<Place<'_>> {
    let mut places = Vec::new();
    let mut start = 0;
    for token in comment.split(|&byte| is_separator(byte)) {
        let end = start + token.len();
        let equals = token.iter().position(|&byte| byte == b'=');
        if let Some((equals, key)) = equals.and_then(|at| Some((at, Key::find(&token[..at])?))) {
            let value = Cow::Borrowed(&token[equals + 1..]);
            places.push(Place {
                key,
                value,
                span: start + equals + 1..end,
            });
        }
        start = end + 1;
    }
    places
}

/// The first key that `text` gives a value in the manner of JSON or of a directive: `"epoch" :`, `epoch:`, `epoch=`.
///
/// Whatever [`places`] would find in `text` counts as mentioned too.
pub(super) fn mentioned(text: &[u8]) -> Option<Key> {
    let mut from = 0;
    while let Some(offset) = text[from..].iter().position(|byte| matches!(byte, b':' | b'=')) {
        // Only what stands since the last `:` or `=` is looked at, so that all looks together are one pass.
        if let Some(key) = last_word(&text[from..from + offset]).and_then(Key::find) {
            return Some(key);
        }
        from += offset + 1;
    }
    None
}

/// The word at the end of `text`, bare or in quotes, blanks behind it left out.
fn last_word(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii_end();
    let Some(quote @ (b'"' | b'\'')) = text.last() else {
        let start = text
            .iter()
            .rposition(|byte| !is_word(*byte))
            .map_or(0, |before| before + 1);
        return Some(&text[start..]);
    };
    let text = &text[..text.len() - 1];
    let start = text.iter().rposition(|byte| byte == quote)? + 1;
    Some(&text[start..])
}

/// A byte that a bare word goes on with, so that `last_epoch` does not mention `epoch`.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii()
}

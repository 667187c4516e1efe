// SPDX-License-Identifier: GPL-2.0-or-later
//! Where in a `surgent.toml` a mistake is: line and column, for the person who is to mend it.

use super::check::Fault;
use std::ops::Range;
use toml::de::{DeTable, DeValue, Error};

/// What the parser says, in one line that begins with the place.
pub fn of_error(text: &str, error: &Error) -> String {
    let message = error.message().trim().replace('\n', ", ");
    placed(text, error.span(), &message)
}

/// What is wrong with a value, with the place of that value. A key that the file leaves out has none.
pub fn of_fault(text: &str, fault: &Fault) -> String {
    // The text was read a moment ago, so it parses again.
    let span = DeTable::parse(text).ok().and_then(|table| {
        let mut keys = fault.keys.iter();
        keys.find_map(|key| find(table.get_ref(), key))
    });
    placed(text, span, &fault.to_string())
}

/// The place of the value of `victims.step_s`, say, however the file writes that.
fn find(table: &DeTable<'_>, key: &str) -> Option<Range<usize>> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    let value = table.get(first)?;
    match (value.get_ref(), rest) {
        (DeValue::Table(inner), Some(rest)) => find(inner, rest),
        _ => Some(value.span()),
    }
}

/// Both from 1 on; a column is a character, as editors count.
fn placed(text: &str, span: Option<Range<usize>>, message: &str) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return message.to_owned();
    };
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    format!("line {line}, column {}: {message}", last.chars().count() + 1)
}

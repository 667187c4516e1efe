// SPDX-License-Identifier: GPL-2.0-or-later
//! Directives as members of a JSON object.

use super::form::{Comment, Form, Place};
use super::key::Key;
use bstr::ByteSlice;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A JSON object as pairs of key and untouched value, in order, repeated keys included.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// Reads the object that stands at `span` in the comment; what is wrong with it if it is no JSON object.
pub(super) fn read(comment: &[u8], span: Range<usize>) -> Result<Comment<'_>, String> {
    let text = comment[span.clone()]
        .to_str()
        .map_err(|error| error.to_string())?;
    let Members(members) = serde_json::from_str(text).map_err(|error| error.to_string())?;
    // The text begins with `{` and is one JSON value: its last byte is the closing brace.
    let form = Form::Json {
        tail_bytes: comment.len() - span.end + 1,
        is_empty: members.is_empty(),
    };
    let places = members.into_iter().filter_map(|(key, raw)| {
        let key = Key::find(key.as_bytes())?;
        let raw = raw.get();
        // `raw` borrows from `text`: its distance from the start of `text` is its place there.
        let from = span.start + (raw.as_ptr().addr() - text.as_ptr().addr());
        Some(Place {
            key,
            value: decode(raw),
            span: from..from + raw.len(),
        })
    });
    Ok(Comment {
        form,
        places: places.collect(),
    })
}

/// What a raw value says: a string without quotes and escapes, anything else as it is written.
fn decode(raw: &str) -> Cow<'_, [u8]> {
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(raw.as_bytes()),
    }
}

/// `value` as JSON: a number as a number, anything else as a string.
pub(super) fn encode(value: &str) -> String {
    match serde_json::from_str::<f64>(value) {
        Ok(_) => value.to_owned(),
        Err(_) => serde_json::Value::from(value).to_string(),
    }
}

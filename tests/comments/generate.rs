// SPDX-License-Identifier: GPL-2.0-or-later
//! Comments as users, monitors and accidents write them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use surgent::policy::directives::Key;

/// A key and its new value.
pub type Change = (Key, String);

/// In how many ways [`change_written`] writes a value.
const WAYS: usize = 12;

/// A key with a value that it can have, in the nth way in which a value can be written.
fn change_written(way: usize) -> BoxedStrategy<Change> {
    let any_of = |key: Key, values: &'static [&'static str]| {
        select(values)
            .prop_map(move |value| (key, value.to_owned()))
            .boxed()
    };
    let time = 0..4_102_444_800_u64;
    match way {
        0 => any_of(Key::Urgency, &["urgent", "normal", "Urgent"]),
        1 => (1..200_u32)
            .prop_map(|total| (Key::Epochs, total.to_string()))
            .boxed(),
        2 => (0..200_u32)
            .prop_map(|done| (Key::Epoch, done.to_string()))
            .boxed(),
        3 => (0..200_u32, 0..100_u32)
            .prop_map(|(done, part)| (Key::Epoch, format!("{done}.{part}")))
            .boxed(),
        4 => (0..100_u32, 100..200_u32)
            .prop_map(|(done, all)| (Key::Epoch, format!("{done}/{all}")))
            .boxed(),
        5 => (1..100_000_u32)
            .prop_map(|ms| (Key::EpochS, format!("{ms}e-3")))
            .boxed(),
        6 => time.prop_map(|time| (Key::At, time.to_string())).boxed(),
        7 => time.prop_map(|time| (Key::Saved, time.to_string())).boxed(),
        8 => any_of(Key::Save, &["step", "epoch", "none"]),
        9 => (0..9_999_u32)
            .prop_map(|seconds| (Key::SaveS, seconds.to_string()))
            .boxed(),
        10 => any_of(Key::Signal, &["USR1", "sigterm@steps", "Int@FULL"]),
        _ => (0..=100_u8)
            .prop_map(|value| (Key::Priority, format!("{value:03}")))
            .boxed(),
    }
}

pub fn change() -> impl Strategy<Value = Change> {
    (0..WAYS).prop_flat_map(change_written)
}

pub fn changes() -> impl Strategy<Value = Vec<Change>> {
    vec(change(), 1..6)
}

/// Two changes of one key, written alike.
pub fn two_changes() -> impl Strategy<Value = (Change, Change)> {
    (0..WAYS).prop_flat_map(|way| (change_written(way), change_written(way)))
}

/// One of these texts as it is; proptest takes a bare string for a regular expression.
fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(texts).prop_map(str::to_owned)
}

/// Keys as users write them.
fn spelled(key: Key) -> impl Strategy<Value = String> {
    prop_oneof![4 => Just(key.to_string()), 1 => Just(key.to_string().to_uppercase())]
}

fn directive() -> impl Strategy<Value = String> {
    let good =
        change().prop_flat_map(|(key, value)| spelled(key).prop_map(move |key| format!("{key}={value}")));
    let bad = one_of(&["epochs=-3", "epoch=nan", "signal=FOO", "urgency=urgnt", "at="]);
    prop_oneof![20 => good, 1 => bad, 1 => "[a-z_]{1,8}=\\PC{0,8}"]
}

fn token() -> impl Strategy<Value = Vec<u8>> {
    let words = one_of(&["urgent", "lr=0.1", "epoch", "{draft}", "{note:", ":", "=", ""]);
    prop_oneof![
        3 => directive().prop_map(String::into_bytes),
        1 => "[a-zäöü{}:=\"]{0,8}".prop_map(String::into_bytes),
        1 => words.prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..8),
    ]
}

/// Free text with directives. Ends with a separator if it is not empty.
pub fn text() -> impl Strategy<Value = Vec<u8>> {
    let separator = one_of(&[" ", ",", ";", "\n", "\t", "  ", ", ", "\r\n"]);
    let part = (token(), separator).prop_map(|(token, separator)| [&token, separator.as_bytes()].concat());
    vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn json_value() -> impl Strategy<Value = String> {
    let leaf = one_of(&[
        "null",
        "true",
        "-1.5e3",
        r#""epoch=nan""#,
        r#""\u00e9{}=\"""#,
        r#"" , epochs:3 ""#,
    ]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(" , "))),
            inner.prop_map(|value| format!("{{\"epoch\":{value}}}")),
        ]
    })
}

fn json_member() -> impl Strategy<Value = String> {
    let known = change().prop_flat_map(|(key, value)| {
        let is_number = serde_json::from_str::<f64>(&value).is_ok();
        let raw = if is_number { value } else { format!("{value:?}") };
        spelled(key).prop_map(move |key| format!("\"{key}\": {raw}"))
    });
    let unknown = ("[a-zé ]{0,6}", json_value()).prop_map(|(key, value)| format!("\"x{key}\":{value}"));
    prop_oneof![known, unknown]
}

fn json() -> impl Strategy<Value = Vec<u8>> {
    let blank = || one_of(&["", " ", "\n"]);
    let parts = (blank(), vec(json_member(), 0..5), blank(), blank());
    parts.prop_map(|(before, members, inside, after)| {
        format!("{before}{{{inside}{}{inside}}}{after}", members.join(",")).into_bytes()
    })
}

/// Any comment.
pub fn comment() -> impl Strategy<Value = Vec<u8>> {
    let broken = (json(), any::<Index>()).prop_map(|(mut json, at)| {
        json.truncate(at.index(json.len() + 1));
        json
    });
    prop_oneof![
        4 => text(),
        4 => json(),
        1 => broken,
        1 => one_of(&["urgent", " URGENT\n", ""]).prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..1100),
    ]
}

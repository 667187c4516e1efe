// SPDX-License-Identifier: GPL-2.0-or-later
//! The outputs in the folder `fixtures`, made by hand in the formats of many programs, and the right reading of each.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use surgent::progress::{Reader, Reading};

/// Seconds per epoch are an estimate.
const SECONDS_TOLERANCE: f64 = 0.03;
const TOLERANCE: f64 = 0.001;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/progress/fixtures")
}

/// Every output with its name.
pub fn outputs(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut outputs: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, fs::read(path).expect("it can be read"))
        })
        .collect();
    outputs.sort();
    outputs
}

pub fn read(bytes: &[u8]) -> Reading {
    let mut reader = Reader::new(None);
    reader.feed(bytes);
    reader.last_reading()
}

/// What is wrong with a reading.
fn differences(reading: &Reading, expected: &Value) -> Vec<String> {
    let read = serde_json::to_value(reading).expect("numbers");
    let expected = expected.as_object().expect("an object");
    let is_right = |name: &str, value: &Value| match (value.as_f64(), read[name].as_f64()) {
        (Some(expected), Some(found)) => {
            let tolerance = if name == "seconds_per_epoch" {
                SECONDS_TOLERANCE * expected
            } else {
                TOLERANCE
            };
            (expected - found).abs() <= tolerance
        }
        _ => *value == read[name],
    };
    let wrong = expected.iter().filter(|(name, value)| !is_right(name, value));
    wrong
        .map(|(name, value)| format!("{name}: {} instead of {value}", read[name]))
        .collect()
}

#[test]
fn every_fixture_is_read_right() {
    let outputs = outputs(&folder());
    assert!(outputs.len() > 70, "only {} fixtures", outputs.len());
    let mut wrong = Vec::new();
    for (name, bytes) in outputs {
        let text = fs::read_to_string(folder().join(format!("{name}.json"))).expect("its reading is there");
        let right: Value = serde_json::from_str(&text).expect("JSON");
        let mut check = |what: String, bytes: &[u8], expected: &Value| {
            let differences = differences(&read(bytes), expected);
            if !differences.is_empty() {
                wrong.push(format!("{what}: {}", differences.join(", ")));
            }
        };
        check(name.clone(), &bytes, &right["expect"]);
        for prefix in right["prefixes"].as_array().expect("a list") {
            let after = prefix["after"].as_str().expect("a text").as_bytes();
            let at = bytes
                .windows(after.len())
                .position(|window| window == after)
                .expect("it is there")
                + after.len();
            check(format!("{name} up to byte {at}"), &bytes[..at], &prefix["expect"]);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

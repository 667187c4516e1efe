// SPDX-License-Identifier: GPL-2.0-or-later
//! Real outputs that are not part of this project: those of the folder `$SURGENT_PROGRESS_SAMPLES`, where there is one.

use crate::fixtures::read;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use surgent::progress::Reading;

const FRACTION_TOLERANCE: f64 = 0.005;

pub fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/progress-samples");
    let folder = std::env::var_os("SURGENT_PROGRESS_SAMPLES").map_or(beside, PathBuf::from);
    let is_there = folder.join("index.json").exists();
    if !is_there {
        println!(
            "skipped: there are no samples in {} (set SURGENT_PROGRESS_SAMPLES)",
            folder.display()
        );
    }
    is_there.then_some(folder)
}

/// What is wrong with a reading, by the words of the samples' index. What the index leaves out cannot be known; of that
/// only epochs and fractions of the whole are looked at.
fn differences(reading: &Reading, right: &Value) -> Vec<String> {
    let number = |name: &str| right[name].as_f64();
    let fraction = number("fraction_in_epoch");
    let is_complete = fraction.is_some_and(|fraction| fraction >= 1.0);
    let inside = number("epoch")
        .zip(number("epoch_base"))
        .map(|(epoch, base)| epoch - base);
    let done = number("epoch_float").or(inside.map(|done| if is_complete { done + 1.0 } else { done }));
    let mut wrong = Vec::new();
    let mut check = |name: &str, found: Option<f64>, right: Option<f64>, tolerance: f64| {
        let is_right = match (found, right) {
            (Some(found), Some(right)) => (found - right).abs() <= tolerance,
            (found, right) => found.is_none() && right.is_none(),
        };
        if !is_right {
            wrong.push(format!("{name}: {found:?} instead of {right:?}"));
        }
    };
    check("epochs_done", reading.epochs_done, done, 1e-9);
    check("epochs_total", reading.epochs_total, number("epoch_total"), 0.0);
    if number("overall_fraction").is_some() || number("epoch_total").is_none() {
        check(
            "overall_fraction",
            reading.overall_fraction,
            number("overall_fraction"),
            FRACTION_TOLERANCE,
        );
    }
    if fraction.is_some() {
        check(
            "fraction_in_epoch",
            reading.fraction_in_epoch,
            fraction,
            FRACTION_TOLERANCE,
        );
    }
    let (step, steps) = (
        number("step_in_epoch").or(number("global_step")),
        number("steps_per_epoch").or(number("total_steps")),
    );
    if step.is_some() {
        // Of timm either is right.
        check(
            "step",
            reading.step,
            step,
            if right["epoch_total"] == 310 { 1.0 } else { 0.0 },
        );
        check("steps_total", reading.steps_total, steps, 0.0);
    }
    let epoch_s = number("sec_per_step")
        .zip(number("steps_per_epoch"))
        .map(|(step_s, steps)| step_s * steps);
    if let Some(epoch_s) = epoch_s {
        check(
            "seconds_per_epoch",
            reading.seconds_per_epoch,
            Some(epoch_s),
            0.1 * epoch_s,
        );
    }
    if reading.finished != right["finished"].as_bool() {
        wrong.push(format!("finished: {:?}", reading.finished));
    }
    wrong
}

#[test]
fn every_sample_is_read_right() {
    let Some(folder) = folder() else { return };
    let text = fs::read_to_string(folder.join("index.json")).expect("it can be read");
    let index: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert!(!index.is_empty());
    let mut wrong = Vec::new();
    for sample in &index {
        let name = sample["name"].as_str().expect("a name");
        let bytes = fs::read(folder.join(sample["file"].as_str().expect("a file"))).expect("it can be read");
        let whole = (bytes.len(), &sample["expect"]);
        let prefixes = sample["prefixes"].as_array().expect("a list").iter();
        let prefixes = prefixes.map(|prefix| {
            (
                prefix["upto_bytes"].as_u64().expect("a number") as usize,
                &prefix["expect"],
            )
        });
        for (length, right) in prefixes.chain([whole]) {
            let found = differences(&read(&bytes[..length]), right);
            if !found.is_empty() {
                wrong.push(format!("{name} up to byte {length}: {}", found.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of the Shockwave artifact: separated by tabs, with model and batch size of each job.

use super::table::Row;
use super::{COUNT_MAX, Collected, TIME_MAX_S, TraceError, TraceJob, Training};

/// The columns that are read.
pub const NEEDED: [&str; 5] = [
    "job_type",
    "total_steps",
    "scale_factor",
    "duration",
    "arrival_time",
];

/// Samples in an epoch, by what the job's command names.
const DATA_SETS: [(&str, f64); 5] = [
    ("cifar10", 50_000.0),
    ("imagenet", 100_000.0),
    ("translation", 10_000.0),
    ("wikitext", 59_675.0),
    ("ml-20m", 117_907.0),
];

pub fn read(row: &Row<'_>, collected: &mut Collected) -> Result<(), TraceError> {
    let training = training(row)?;
    let user = collected.user("");
    collected.add(TraceJob {
        line: row.line(),
        user,
        submit_s: row.number("arrival_time", 0.0..=TIME_MAX_S as f64)? as i64,
        run_s: row.number("duration", 1.0..=TIME_MAX_S as f64)?.ceil() as i64,
        limit_s: None,
        nodes: None,
        gpus: row.whole("scale_factor", 1..=COUNT_MAX)? as u32,
        training,
        is_urgent: None,
    })
}

/// Epochs from steps, batch size and data set; `None` where one of these is not known.
fn training(row: &Row<'_>) -> Result<Option<Training>, TraceError> {
    const STEPS_MAX: i64 = 1_000_000_000_000;
    let steps = row.whole("total_steps", 1..=STEPS_MAX)? as f64;
    let places = [row.text("command"), row.text("working_directory")];
    let is_named = |name: &str| places.iter().any(|place| place.contains(name));
    let samples = DATA_SETS.iter().find(|(name, _)| is_named(name));
    let batch = row
        .text("job_type")
        .split_once("batch size ")
        .and_then(|(_, after)| after.trim_end_matches(')').parse::<f64>().ok())
        .filter(|batch| *batch >= 1.0);
    Ok(samples.zip(batch).map(|((_, samples), batch)| {
        let steps_per_epoch = (samples / batch).ceil().max(1.0);
        Training {
            epochs: (steps / steps_per_epoch).ceil().min(1e6) as u32,
        }
    }))
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of the Muri artifact: comma-separated, times in milliseconds.

use super::table::Row;
use super::{COUNT_MAX, Collected, TIME_MAX_S, TraceError, TraceJob};

/// The columns that are read.
pub const NEEDED: [&str; 4] = ["num_gpu", "submit_time", "iterations", "iteration_time"];

/// Nobody iterates more often.
const ITERATIONS_MAX: i64 = 1_000_000_000_000;

pub fn read(row: &Row<'_>, collected: &mut Collected) -> Result<(), TraceError> {
    let time_max_ms = TIME_MAX_S as f64 * 1000.0;
    let submit_ms = row.number("submit_time", 0.0..=time_max_ms)?;
    let iterations = row.whole("iterations", 1..=ITERATIONS_MAX)?;
    let iteration_ms = row.number("iteration_time", 0.0..=time_max_ms)?;
    let run_s = (iterations as f64 * iteration_ms / 1000.0).ceil();
    if run_s > TIME_MAX_S as f64 {
        return Err(row.fault(
            "iterations",
            format!("such that the job ends within {TIME_MAX_S} s"),
        ));
    }
    let user = collected.user("");
    collected.add(TraceJob {
        line: row.line(),
        user,
        submit_s: (submit_ms / 1000.0) as i64,
        run_s: (run_s as i64).max(1),
        limit_s: None,
        nodes: None,
        gpus: row.whole("num_gpu", 1..=COUNT_MAX)? as u32,
        training: None,
        is_urgent: match row.get("priority") {
            None => None,
            Some(_) => Some(row.whole("priority", 0..=1)? == 1),
        },
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The published extracts of the Helios and Philly traces, as DIR-LAB's Gen-Parallel-Workloads has them: comma-separated,
//! with the time since the submission before instead of a moment.

use super::table::Row;
use super::{COUNT_MAX, Collected, TIME_MAX_S, TraceError, TraceJob};

/// The columns that are read.
pub const NEEDED: [&str; 5] = ["user", "gpu_num", "node_num", "interval", "run_time"];

pub fn read(row: &Row<'_>, collected: &mut Collected) -> Result<(), TraceError> {
    let submit_s = collected.submit_s + row.whole("interval", 0..=TIME_MAX_S)?;
    if submit_s > TIME_MAX_S {
        return Err(row.fault(
            "interval",
            format!("such that all together are below {TIME_MAX_S}"),
        ));
    }
    collected.submit_s = submit_s;
    let gpus = row.whole("gpu_num", 0..=COUNT_MAX)?;
    let nodes = row.whole("node_num", 0..=COUNT_MAX)?;
    let run_s = row.whole("run_time", 0..=TIME_MAX_S)?;
    if gpus == 0 {
        collected.skip("held no GPU");
        return Ok(());
    }
    if run_s == 0 {
        collected.skip("ran for no time");
        return Ok(());
    }
    let user = collected.user(row.text("user"));
    collected.add(TraceJob {
        line: row.line(),
        user,
        submit_s,
        run_s,
        limit_s: None,
        nodes: u32::try_from(nodes).ok().filter(|nodes| *nodes > 0),
        gpus: gpus as u32,
        training: None,
        is_urgent: None,
    })
}

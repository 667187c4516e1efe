// SPDX-License-Identifier: GPL-2.0-or-later
//! What `sacct -P` prints of jobs.

use super::table::{COMMENT, Row};
use super::{COUNT_MAX, Collected, TIME_MAX_S, TraceError, TraceJob, Training};
use crate::policy::directives::{self, Urgency};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The columns that are needed. `TimelimitRaw` and `Comment` are read where they are there; a comment has to be the last
/// column, as it may hold the separator.
pub const NEEDED: [&str; 6] = ["JobID", "User", "Submit", "ElapsedRaw", "NNodes", "AllocTRES"];

/// What makes such a trace.
pub const COMMAND: &str = "SLURM_TIME_FORMAT=%s sacct -a -X -P -S 2026-01-01 \
                           -o JobID,User,Submit,ElapsedRaw,NNodes,AllocTRES,TimelimitRaw,Comment";

pub fn read(row: &Row<'_>, collected: &mut Collected) -> Result<(), TraceError> {
    if row.text("JobID").contains('.') {
        collected.skip("a step of a job");
        return Ok(());
    }
    if row.text("Submit") == "Unknown" {
        collected.skip("without a submit time");
        return Ok(());
    }
    let submit_s = submit_s(row)?;
    let run_s = row.whole("ElapsedRaw", 0..=TIME_MAX_S)?;
    let gpus = gpus(row.text("AllocTRES"))
        .ok_or_else(|| row.fault("AllocTRES", "a list such as cpu=8,gres/gpu=4,node=1"))?;
    if run_s == 0 {
        collected.skip("ran for no time");
        return Ok(());
    }
    if gpus == 0 {
        collected.skip("held no GPU");
        return Ok(());
    }
    let said = row
        .get(COMMENT)
        .and_then(|comment| directives::parse(comment.as_bytes()).ok());
    let user = collected.user(row.text("User"));
    collected.add(TraceJob {
        line: row.line(),
        user,
        submit_s,
        run_s,
        // Minutes, or a word such as UNLIMITED.
        limit_s: row
            .get("TimelimitRaw")
            .and_then(|limit| limit.parse::<i64>().ok())
            .filter(|limit| (1..=TIME_MAX_S / 60).contains(limit))
            .map(|limit| limit * 60),
        nodes: u32::try_from(row.whole("NNodes", 0..=COUNT_MAX)?)
            .ok()
            .filter(|nodes| *nodes > 0),
        gpus,
        training: said
            .and_then(|said| said.epochs)
            .map(|epochs| Training { epochs }),
        is_urgent: said.map(|said| said.urgency == Some(Urgency::Urgent)),
    })
}

/// Seconds since 1970, or a local time, of which only the distances matter.
fn submit_s(row: &Row<'_>) -> Result<i64, TraceError> {
    let text = row.text("Submit");
    if let Ok(seconds) = text.parse::<i64>()
        && (0..=100 * TIME_MAX_S).contains(&seconds)
    {
        return Ok(seconds);
    }
    let time = text.parse::<DateTime>().ok();
    let time = time.and_then(|time| time.to_zoned(TimeZone::UTC).ok());
    time.map(|time| time.timestamp().as_second())
        .ok_or_else(|| row.fault("Submit", "a time such as 2026-01-31T12:00:00 or 1769860800"))
}

/// The GPUs in a list of TRES: those without a model, which Slurm counts for all models together, else all models.
fn gpus(tres: &str) -> Option<u32> {
    let mut all = None;
    let mut of_models: u64 = 0;
    for entry in tres.split(',').filter(|entry| !entry.is_empty()) {
        let (name, count) = entry.split_once('=')?;
        if name == "gres/gpu" {
            all = Some(count.parse::<u64>().ok()?);
        } else if name.starts_with("gres/gpu:") {
            of_models = of_models.checked_add(count.parse::<u64>().ok()?)?;
        }
    }
    let count = all.unwrap_or(of_models);
    (count <= COUNT_MAX as u64).then_some(count as u32)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Ends of runs that a killed slurmctld had not written down.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What the next slurmctld makes of those that were stopped, and of which it knows nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// It hears that they have ended, and takes them for failed.
    Heard,
    /// It takes them for running on nodes that are idle.
    ShownByNodes,
    /// On nodes that are allocated, until these register.
    Missed,
}

/// Runs of which Surgent has seen that they have made way, as its state file in the round's `folder` has it: the job, and its
/// start.
pub fn seen_to_end(folder: &Path) -> BTreeSet<(u32, i64)> {
    let text = fs::read_to_string(folder.join("state/surgent.state")).unwrap_or_default();
    let state: Value = serde_json::from_str(&text).unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let under_way = list(&state["book"]["campaigns"])
        .into_iter()
        .flat_map(|campaign| list(&campaign["victims"]));
    let over = list(&state["book"]["stops"])
        .into_iter()
        .map(|run| run["asked"].clone());
    let has_made_way = |asked: &Value| asked["gone"].is_i64() && asked["saved"].is_i64();
    let run = |asked: Value| Some((asked["job"].as_u64()?.try_into().ok()?, asked["start"].as_i64()?));
    under_way
        .chain(over)
        .filter(has_made_way)
        .filter_map(run)
        .collect()
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A snapshot of facts is a file that somebody hands to `surgent plan`.

use surgent::policy::snapshot::{Snapshot, SnapshotView};
use surgent::policy::step::step;

/// Larger clusters take longer than a fuzzer has.
const JOBS_MAX: usize = 12;

/// The whole of the input is a snapshot.
pub fn snapshot(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut snapshot = match Snapshot::parse(&text) {
        Ok(snapshot) => snapshot,
        Err(error) => return assert!(!error.to_string().chars().any(char::is_control), "{error}"),
    };
    let settings = snapshot.settings.clone().unwrap_or_default();
    let view = SnapshotView::of(&snapshot.facts, &settings, &snapshot.book);
    let written = serde_json::to_string(&view).expect("what was read can be written");
    let again = Snapshot::parse(&written).expect("and read again");
    assert_eq!((&again.facts, &again.book), (&snapshot.facts, &snapshot.book));
    if snapshot.facts.waiting.len() + snapshot.facts.running.len() <= JOBS_MAX {
        step(&mut snapshot.book, &snapshot.facts, &settings);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The state file is Surgent's own; a disk may have made anything of it.

use std::sync::LazyLock;
use surgent::host::state::Kept;
use surgent::policy::admission::ledger::Accountant;
use surgent::policy::facts::Facts;
use surgent::policy::settings::Settings;
use surgent::policy::snapshot::Snapshot;
use surgent::policy::step::step;

/// The cluster that is found after a restart.
static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let text = include_str!("../../../docs/examples/snapshot.json");
    Snapshot::parse(text)
        .expect("the example in docs is a good one")
        .facts
});

/// The whole of the input is a state file.
pub fn state(bytes: &[u8]) {
    let kept = match Kept::parse(bytes) {
        Ok(kept) => kept,
        // With whatever was in the file: the log makes one line of it.
        Err(sentence) => return assert!(!sentence.is_empty()),
    };
    let written = kept.to_bytes().expect("what was read can be written");
    assert_eq!(Kept::parse(&written), Ok(kept.clone()));

    let settings = Settings::default();
    let mut book = kept.book.after_restart();
    for _ in 0..3 {
        step(&mut book, &FACTS, &settings);
    }
    let mut accountant = Accountant::with(kept.ledger);
    accountant.look(&FACTS, 1.0, 168);
    accountant.ledger().spent(FACTS.now, 168);
}

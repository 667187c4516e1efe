// SPDX-License-Identifier: GPL-2.0-or-later
//! The checks of `make fuzz`, on the inputs in `cases`: what fuzzing found once, and beginnings for it to go on from.

mod checks {
    pub mod comment;
    pub mod progress;
    pub mod record;
    pub mod settings;
    pub mod show;
    pub mod shown;
    pub mod snapshot;
    pub mod state;
    pub mod trace;
    pub mod views;
}

use std::path::Path;

/// Checks every case of one target.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/cases")
        .join(target);
    let mut cases: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    for case in cases {
        // Shown where a check fails.
        println!("{}", case.display());
        check(&std::fs::read(&case).unwrap());
    }
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name), checks::$name::$name);
        })*
    };
}

targets!(
    comment, progress, record, settings, show, shown, snapshot, state, trace, views
);

// SPDX-License-Identifier: GPL-2.0-or-later
//! What whoever runs the tests asks for, and is told.

use super::Outcome;
use std::io::Write as _;

/// A whole number from the environment.
pub fn number(variable: &str, default: u64) -> Outcome<u64> {
    match std::env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => text
            .parse()
            .map_err(|_| format!("{variable}={text:?} is no whole number").into()),
    }
}

/// Prints a line even where the test passes, whose output by `println!` nobody would see.
pub fn tell(line: &str) {
    // Nobody to hear it is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{line}");
}

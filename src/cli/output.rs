// SPDX-License-Identifier: GPL-2.0-or-later
//! How subcommands give their answers.

use crate::monitor;
use serde::Serialize;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// Writes `text` to standard output. A reader that has seen enough, such as head, is no fault.
///
/// # Errors
///
/// A sentence: half an answer, on a disk that is full, is not to be taken for one.
fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

/// Prints an answer, or says why there is none.
pub(super) fn end(answer: Result<String, String>) -> ExitCode {
    match answer.and_then(|text| print(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            monitor::say(&sentence);
            ExitCode::FAILURE
        }
    }
}

/// `value` as JSON for people's eyes, too; `what` is what the sentence calls it where that fails.
///
/// # Errors
///
/// A sentence; none is known to happen.
pub(super) fn json(what: &str, value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string_pretty(value)
        .map(|json| json + "\n")
        .map_err(|error| format!("{what} cannot be written as JSON: {error}"))
}

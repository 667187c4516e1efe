// SPDX-License-Identifier: GPL-2.0-or-later
//! How a bench is run.

use crate::support::Outcome;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs a bench, of the name that `make` has for it. The flag is set by Ctrl-C, and is for its clusters: what it was
/// waiting for then fails, and they end.
pub fn run(name: &str, bench: impl FnOnce(Arc<AtomicBool>) -> Outcome) -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::clone(&interrupted)) {
            eprintln!("{name}: signals cannot be handled: {error}");
            return ExitCode::FAILURE;
        }
    }
    match bench(interrupted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The number in an environment variable.
pub fn number(variable: &str, default: u32) -> Outcome<u32> {
    match std::env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{variable}={text:?} is not a number above 0").into())
        }
    }
}

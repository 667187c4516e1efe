// SPDX-License-Identifier: GPL-2.0-or-later
//! Signals to the monitor itself.

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGURG, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use std::io;
use std::thread;

/// What Slurm signals when something about the request to save has changed. Slurm signals whole process groups and
/// containers; this one is ignored by every process that does not ask for it.
pub const ASK_SIGNAL_NAME: &str = "URG";

/// How a user asks for a save without preemption: by its number, because scancel knows no name for SIGWINCH. No other
/// signal is both ignored by whoever does not handle it and free: terminals send this one, and that is told apart.
pub const DRILL_SIGNAL: Signal = Signal::WINCH;

/// A signal that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Which.
    pub signal: Signal,
    /// Whether it came out of the terminal, which gives it to the program as well.
    pub is_from_terminal: bool,
}

/// Catches every signal that could be meant for the program and would end the monitor, from now on, and hands them to
/// `take` on a thread of its own.
pub fn catch(take: impl Fn(Received) + Send + 'static) -> io::Result<()> {
    let caught = [
        SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGURG, SIGUSR1, SIGUSR2, SIGWINCH,
    ];
    let mut signals = SignalsInfo::<WithOrigin>::new(caught)?;
    thread::spawn(move || {
        for origin in signals.forever() {
            if let Some(signal) = Signal::from_named_raw(origin.signal) {
                take(Received {
                    signal,
                    is_from_terminal: origin.process.is_none(),
                });
            }
        }
    });
    Ok(())
}

/// The signal of that name.
pub fn by_name(name: &str) -> Option<Signal> {
    let number = (1..32).find(|number| {
        let known = signal_hook::low_level::signal_name(*number);
        known.is_some_and(|known| known.strip_prefix("SIG") == Some(name))
    })?;
    Signal::from_named_raw(number)
}

/// Its name without `SIG`.
pub fn name_of(signal: Signal) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal.as_raw())?.strip_prefix("SIG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_a_directive_may_have_is_a_signal() {
        let names = "HUP INT QUIT ABRT ALRM TERM USR1 USR2 URG CONT TSTP TTIN TTOU XCPU";
        for name in names.split(' ') {
            assert!(by_name(name).is_some(), "{name}");
        }
        assert_eq!(by_name("USR1"), Some(Signal::USR1));
        assert_eq!(by_name("TERM"), Some(Signal::TERM));
        assert_eq!(by_name("NO"), None);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The small process between a program and the pipe that it would write to.
//!
//! A process of its own, so that the program's output goes on if the monitor dies. It hands on every byte first, and a copy
//! to the monitor only as far as the monitor keeps up.

use crate::progress::PASSED_OVER;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How much of the copy waits for the monitor.
const COPY_BYTES: usize = 256 * 1024;

/// How the relay is called, as a subcommand that is not for people.
const NAME: &str = "relay";

/// Signals that end a program and are meant for others: the relay ends with its program's output.
const LEFT_ALONE: [i32; 8] = [
    signal_hook::consts::SIGHUP,
    signal_hook::consts::SIGINT,
    signal_hook::consts::SIGQUIT,
    signal_hook::consts::SIGTERM,
    signal_hook::consts::SIGUSR1,
    signal_hook::consts::SIGUSR2,
    signal_hook::consts::SIGALRM,
    signal_hook::consts::SIGXCPU,
];

/// A relay that was started.
#[derive(Debug)]
pub struct Relay {
    /// What the monitor reads.
    pub copy: PipeReader,
    /// Its process, which ends when nobody can write to its input any more.
    pub process: Child,
}

/// Starts a relay in front of `output`; what the program is to write to comes with it.
pub fn start(output: BorrowedFd<'_>) -> io::Result<(PipeWriter, Relay)> {
    let (from_program, input) = io::pipe()?;
    let (copy, to_monitor) = io::pipe()?;
    fcntl_setfl(&to_monitor, fcntl_getfl(&to_monitor)? | OFlags::NONBLOCK)?;
    // A smaller one does as well.
    let _ = fcntl_setpipe_size(&to_monitor, COPY_BYTES);
    // The path of this program may have been replaced by a newer one since.
    let process = Command::new("/proc/self/exe")
        .arg0("surgent")
        .arg(NAME)
        .process_group(0)
        .stdin(from_program)
        .stdout(output.try_clone_to_owned()?)
        .stderr(to_monitor)
        .spawn()?;
    Ok((input, Relay { copy, process }))
}

/// Is the relay: from standard input to standard output, with a copy to standard error.
///
/// # Errors
///
/// Where the output cannot be written; the program then hears of it as it would have without a relay.
pub fn serve() -> io::Result<()> {
    for signal in LEFT_ALONE {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let (input, output, copy) = (io::stdin(), io::stdout(), io::stderr());
    let mut copy = Copy {
        to: copy.as_fd(),
        is_wanted: true,
        has_missed: false,
    };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match rustix::io::read(&input, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => {
                wait(input.as_fd(), PollFlags::IN);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        hand_on(output.as_fd(), &buffer[..count])?;
        copy.offer(&buffer[..count]);
    }
}

fn hand_on(output: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // Others have the same pipe and may have made it so.
            Err(Errno::AGAIN) => wait(output, PollFlags::OUT),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait(on: BorrowedFd<'_>, what: PollFlags) {
    let _ = poll(&mut [PollFd::from_borrowed_fd(on, what)], None);
}

/// What the monitor gets.
struct Copy<'a> {
    to: BorrowedFd<'a>,
    is_wanted: bool,
    has_missed: bool,
}

impl Copy<'_> {
    /// Hands over what there is room for, and says so where something was left out.
    fn offer(&mut self, bytes: &[u8]) {
        if self.has_missed && self.is_wanted {
            self.has_missed = self.write(&[PASSED_OVER]) == 0;
        }
        if self.is_wanted && !self.has_missed {
            self.has_missed = self.write(bytes) < bytes.len();
        }
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        match rustix::io::write(self.to, bytes) {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => 0,
            // The monitor is gone; the output goes on.
            Err(_) => {
                self.is_wanted = false;
                0
            }
        }
    }
}

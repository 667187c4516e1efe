// SPDX-License-Identifier: GPL-2.0-or-later
//! The training program as a process.

use super::output::Streams;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;

/// The program, started and not yet reaped, so that its process id is its own.
#[derive(Debug)]
pub struct Program {
    child: Child,
    pid: Pid,
}

/// Why the program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such file, or its first line names an interpreter that is not there.
    #[error("{0} was not found, or the interpreter that its first line names")]
    NotFound(String),
    /// It cannot be executed.
    #[error("{name} cannot be executed: {source}")]
    NotExecutable {
        /// The program as it was given.
        name: String,
        /// What the system said.
        source: io::Error,
    },
}

impl StartError {
    /// The exit code that a shell gives: 127 for a command that is not there, 126 for one that cannot be executed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) => 127,
            Self::NotExecutable { .. } => 126,
        }
    }
}

impl Program {
    /// Starts `command` with everything of this process's own but for `environment`, in which `None` unsets, and for
    /// `streams`. Calls `exited` once when the program has ended.
    pub fn start(
        command: &[OsString],
        environment: &[(&str, Option<OsString>)],
        streams: Streams,
        exited: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StartError> {
        let empty = OsString::new();
        let (name, args) = command.split_first().unwrap_or((&empty, &[]));
        let name_shown = || name.to_string_lossy().into_owned();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => StartError::NotFound(name_shown()),
            _ => StartError::NotExecutable {
                name: name_shown(),
                source,
            },
        };
        let mut builder = Command::new(name);
        builder.args(args);
        if let Some(out) = streams.out {
            builder.stdout(out);
        }
        if let Some(err) = streams.err {
            builder.stderr(err);
        }
        for (variable, value) in environment {
            match value {
                Some(value) => builder.env(variable, value),
                None => builder.env_remove(variable),
            };
        }
        let child = builder.spawn().map_err(failed)?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| failed(io::Error::other("it has no process id")))?;
        thread::spawn(move || {
            // Without reaping: until `reap` the process id cannot become another process's.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
            exited();
        });
        Ok(Self { child, pid })
    }

    /// Sends a signal to the program alone. Nothing happens where it has ended.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(self.pid, signal);
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The exit code of a program that has ended.
    pub fn reap(mut self) -> u8 {
        self.child.wait().map_or(u8::MAX, exit_code)
    }
}

/// As a shell has it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(0x0300)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A task of a job, which Slurm has started, and what its outputs lead to, as /proc shows them.

use crate::progress::Stream;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, File};
use std::io::{self, Read};

/// Longer than any of the files in /proc that are read here.
const READ_BYTES_MAX: u64 = 4096;

/// A process that Slurm has started: a batch script, or one of a step's processes.
#[derive(Debug)]
pub struct Task {
    pid: Pid,
    /// Its folder in /proc: of this process, and of no later one that gets the same number.
    folder: OwnedFd,
}

/// Where one of the task's outputs goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Not to be seen: it is closed, or Slurm is still about to make the process the user's.
    Hidden,
    /// To a file.
    File(FileId),
    /// To a pipe or a device.
    Other,
}

/// A file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl Task {
    /// The process with that number.
    ///
    /// # Errors
    ///
    /// Where there is none, or it is hidden so far.
    pub fn find(pid: Pid) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, format!("/proc/{pid}"), flags, Mode::empty())?;
        Ok(Self { pid, folder })
    }

    /// Whether it has not ended yet.
    pub fn runs(&self) -> bool {
        match self.text("stat") {
            Ok(stat) => !is_ended(&stat),
            // Where /proc is mounted with hidepid it is hidden until Slurm has made it the user's. If there is a process
            // of this number that is not hidden, it is another one by now.
            Err(_) => exists(self.pid) && fs::read(format!("/proc/{}/stat", self.pid)).is_err(),
        }
    }

    /// Where the output goes at this moment.
    pub fn sink(&self, stream: Stream) -> Sink {
        let Ok(status) = statat(&self.folder, output(stream), AtFlags::empty()) else {
            return Sink::Hidden;
        };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Sink::File(FileId {
                device: status.st_dev,
                inode: status.st_ino,
            }),
            _ => Sink::Other,
        }
    }

    /// Opens the file that the output goes to.
    pub fn open(&self, stream: Stream) -> io::Result<File> {
        // It may have become a pipe since it was looked at.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(openat(&self.folder, output(stream), flags, Mode::empty())?.into())
    }

    /// Whether the task appends to what the file held when it got it.
    pub fn appends(&self, stream: Stream) -> bool {
        let info = format!("fdinfo/{}", number(stream));
        self.text(&info).is_ok_and(|info| has_append_flag(&info))
    }

    fn text(&self, name: &str) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.folder, name, flags, Mode::empty())?);
        let mut bytes = Vec::new();
        file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
        // The name of a process may hold anything.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Whether there is a process with that number, hidden or not, that this one may signal.
pub fn exists(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}

fn number(stream: Stream) -> u8 {
    match stream {
        Stream::Out => 1,
        Stream::Err => 2,
    }
}

fn output(stream: Stream) -> String {
    format!("fd/{}", number(stream))
}

/// What `PID (name) state …` says, where the name may hold anything.
fn is_ended(stat: &str) -> bool {
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}

/// What the line `flags: 0102001`, in octal, says.
fn has_append_flag(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| flags & OFlags::APPEND.bits() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_ended_once_it_is_a_zombie() {
        assert!(!is_ended("12 (a) Z) S 7 12"));
        assert!(is_ended("12 (a) S) Z 7 12"));
        assert!(is_ended(""));
    }

    #[test]
    fn flags_tell_who_appends() {
        assert!(has_append_flag("pos:\t0\nflags:\t0102001\nmnt_id:\t2\n"));
        assert!(!has_append_flag("pos:\t0\nflags:\t0100001\nmnt_id:\t2\n"));
        assert!(!has_append_flag(""));
    }

    #[test]
    fn this_process_runs_and_one_that_is_not_there_is_not_found() {
        let this = rustix::process::getpid();
        assert!(exists(this) && Task::find(this).expect("it is there").runs());
        assert!(Task::find(Pid::from_raw(i32::MAX).expect("not 0")).is_err());
    }
}

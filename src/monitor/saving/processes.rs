// SPDX-License-Identifier: GPL-2.0-or-later
//! The processes of the program, as /proc shows them.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::fs;

/// Longer command lines and environments are cut off.
const READ_BYTES_MAX: u64 = 256 * 1024;

/// By these variables a launcher tells a process which rank it is.
const RANK_VARIABLES: [&str; 6] = [
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MPI_LOCALRANKID",
    "HOROVOD_LOCAL_RANK",
];

/// What a signal would do to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// End it, or nothing.
    No,
    /// Call its handler.
    Caught,
    /// Wait. For good if one of its threads takes it out of the queue, as srun does; but shells also block signals
    /// for the moment of a fork, and are ended by them right after.
    Blocked,
}

/// What is to be known of processes in order to choose whom to signal.
pub trait Processes {
    /// Those that `pid` has started and that still run.
    fn children(&self, pid: Pid) -> Vec<Pid>;
    /// Its command line.
    fn args(&self, pid: Pid) -> Vec<String>;
    /// What the signal would do to it.
    fn readiness(&self, pid: Pid, signal: Signal) -> Readiness;
    /// Whether it was started as one rank of several.
    fn is_rank(&self, pid: Pid) -> bool;
}

/// The real ones.
#[derive(Clone, Copy, Debug)]
pub struct Proc;

impl Processes for Proc {
    fn children(&self, pid: Pid) -> Vec<Pid> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return Vec::new();
        };
        let of_task =
            |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let lists: Vec<String> = tasks.flatten().map(of_task).collect();
        let words = lists.iter().flat_map(|list| list.split_whitespace());
        words
            .filter_map(|word| Pid::from_raw(word.parse().ok()?))
            .collect()
    }

    fn args(&self, pid: Pid) -> Vec<String> {
        words(pid, "cmdline")
    }

    fn readiness(&self, pid: Pid, signal: Signal) -> Readiness {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        status.map_or(Readiness::No, |status| readiness(&status, signal))
    }

    fn is_rank(&self, pid: Pid) -> bool {
        words(pid, "environ").iter().any(|variable| {
            let name = variable.split('=').next().unwrap_or_default();
            RANK_VARIABLES.contains(&name)
        })
    }
}

/// The words of a file in the process's folder in which each ends in a zero byte; none where it cannot be read.
pub fn words(pid: Pid, file: &str) -> Vec<String> {
    let read = || {
        let mut bytes = Vec::new();
        let file = fs::File::open(format!("/proc/{pid}/{file}")).ok()?;
        std::io::Read::read_to_end(&mut std::io::Read::take(file, READ_BYTES_MAX), &mut bytes).ok()?;
        Some(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Signals a process that is not a child of this one and may have ended since it was found: whoever has its number by
/// now gets the signal only if it handles it too.
pub fn signal(pid: Pid, signal: Signal) {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            if Proc.readiness(pid, signal) != Readiness::No {
                let _ = pidfd_send_signal(&process, signal);
            }
        }
        // Before Linux 5.3, or forbidden in a container.
        Err(Errno::NOSYS | Errno::PERM) => _ = kill_process(pid, signal),
        Err(_) => {}
    }
}

/// What a signal would do, by the text of `/proc/PID/status`, which speaks of the main thread.
fn readiness(status: &str, signal: Signal) -> Readiness {
    let has_bit = |field: &str, signal: Signal| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let mask = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
        mask.is_some_and(|mask| mask & (1_u64 << (signal.as_raw() - 1)) != 0)
    };
    if has_bit("SigCgt:", signal) {
        Readiness::Caught
    // Whoever blocks this one as well blocks everything, as the C library does for the moment of a fork.
    } else if has_bit("SigBlk:", signal) && !has_bit("SigBlk:", Signal::SEGV) {
        Readiness::Blocked
    } else {
        Readiness::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_readiness() {
        let none = "0000000000000000";
        let table = [
            (none, "0000000000000200", Readiness::Caught),
            ("fffffffe7ffbfeff", "0000000000000200", Readiness::Caught),
            ("0000000008027a07", none, Readiness::Blocked),
            ("fffffffe7ffbfeff", none, Readiness::No),
            (none, "0000000000000800", Readiness::No),
            (none, none, Readiness::No),
        ];
        for (blocked, caught, expected) in table {
            let status = format!("Name:\tpython3\nSigBlk:\t{blocked}\nSigIgn:\t0200\nSigCgt:\t{caught}\n");
            assert_eq!(readiness(&status, Signal::USR1), expected, "{status}");
        }
        assert_eq!(readiness("", Signal::USR1), Readiness::No);
    }
}

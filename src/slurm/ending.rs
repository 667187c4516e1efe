// SPDX-License-Identifier: GPL-2.0-or-later
//! How a job that is over ended, as squeue shows it for as long as slurmctld remembers the job.

use super::command::{Bounds, CommandError, Environment, run};
use crate::policy::ids::{ArrayTask, JobId};
use std::ffi::{OsStr, OsString};

/// Wide enough for all that squeue puts into these columns; it cuts what is longer.
const COLUMNS: &str = "JobID:12,ArrayJobID:12,ArrayTaskID:12,State:24,exit_code:12";

/// What Slurm sends to who is to go, and then to who stays.
const TERM: u32 = 15;
const KILL: u32 = 9;

/// What a shell adds to a signal's number when it ends because a program of it was killed.
const BY_SIGNAL: u32 = 128;

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// How the job is named in commands.
    pub address: String,
    state: String,
    status: u32,
    signal: u32,
}

impl Ending {
    /// The end of `job`; `None` if Slurm does not list it.
    ///
    /// # Errors
    ///
    /// Where `squeue` does not answer within `bounds`.
    pub fn of(
        job: JobId,
        squeue: &OsStr,
        environment: &Environment,
        bounds: &Bounds<'_>,
    ) -> Result<Option<Self>, CommandError> {
        let id = job.to_string();
        let args = ["--noheader", "--states=all", "--jobs", &id, "--Format", COLUMNS];
        let listed = run(squeue, &args.map(OsString::from), environment, bounds)?;
        let listed = String::from_utf8_lossy(&listed);
        Ok(listed.lines().find_map(|line| read(line, job)))
    }

    /// Whether its script died of what Slurm sends to stop a job, and Slurm holds that for a failure of the job's own.
    pub fn is_of_a_kill(&self) -> bool {
        let by = |signal| self.signal == signal || self.status == BY_SIGNAL + signal;
        self.state == "FAILED" && (by(TERM) || by(KILL))
    }
}

/// One line, if it is of `job`: of an array, squeue lists all tasks.
fn read(line: &str, job: JobId) -> Option<Ending> {
    let mut words = line.split_whitespace();
    let mut number = || words.next().map(|word| word.parse::<u32>().ok());
    (number()?? == job.0).then_some(())?;
    let array = number()?.zip(number()?);
    let address = match array {
        Some((array, task)) => ArrayTask {
            array: JobId(array),
            task,
        }
        .to_string(),
        None => job.to_string(),
    };
    let state = words.next()?.to_owned();
    let (status, signal) = exit(words.next()?)?;
    Some(Ending {
        address,
        state,
        status,
        signal,
    })
}

/// Exit code and signal: `0:15`, or in older releases the bare number that wait(2) gives.
fn exit(text: &str) -> Option<(u32, u32)> {
    match text.split_once(':') {
        Some((status, signal)) => Some((status.parse().ok()?, signal.parse().ok()?)),
        None => {
            let wait: u32 = text.parse().ok()?;
            Some((wait >> 8 & 0xff, wait & 0x7f))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(line: &str) -> Option<Ending> {
        read(line, JobId(17))
    }

    #[test]
    fn a_killed_script_is_told_from_one_that_failed() {
        let kills = [
            "17          17          N/A         FAILED                  15          ",
            "17 17 N/A FAILED 0:15",
            "17 17 N/A FAILED 0:9",
            "17 17 N/A FAILED 143:0",
            "17 17 N/A FAILED 36608",
        ];
        for line in kills {
            assert!(ending(line).expect("a line").is_of_a_kill(), "{line}");
        }
        let others = [
            "17 17 N/A FAILED 1:0",
            "17 17 N/A FAILED 256",
            "17 17 N/A COMPLETED 0:0",
            "17 17 N/A CANCELLED 0:15",
            "17 17 N/A TIMEOUT 0:15",
            "17 17 N/A COMPLETING 0:15",
        ];
        for line in others {
            assert!(!ending(line).expect("a line").is_of_a_kill(), "{line}");
        }
        for line in ["", "18 18 N/A FAILED 0:15", "17 17", "slurm_load_jobs error: x"] {
            assert_eq!(ending(line), None, "{line}");
        }
    }

    #[test]
    fn a_task_goes_by_its_array() {
        let address = |line| ending(line).expect("a line").address;
        assert_eq!(address("17 17 N/A FAILED 0:15"), "17");
        assert_eq!(address("17 15 4 FAILED 0:15"), "15_4");
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a `surgent run` is at work in the job.

use super::saving::processes::{Proc, Processes, words};
use crate::policy::ids::JobId;
use rustix::process::Pid;
use std::fs;
use std::path::Path;

/// Whether one runs on this node. The whole of /proc is read for that.
pub fn runs_in(job: JobId) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    let pid = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    let job = format!("SLURM_JOB_ID={job}");
    processes
        .flatten()
        .filter_map(pid)
        .any(|pid| is_run(&Proc.args(pid)) && words(pid, "environ").contains(&job))
}

fn is_run(args: &[String]) -> bool {
    let name = args.first().and_then(|path| Path::new(path).file_name());
    name.is_some_and(|name| name == "surgent") && args.get(1).is_some_and(|word| word == "run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_its_command_line() {
        let is_run = |line: &str| is_run(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is_run("/usr/bin/surgent run -- python train.py"));
        assert!(is_run("surgent run --epochs 3 -- sh"));
        assert!(!is_run("surgent follow"));
        assert!(!is_run("python surgent run"));
    }
}

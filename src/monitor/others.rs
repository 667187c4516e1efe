// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a `surgent run` is at work in the job.

use super::saving::processes::{Proc, Processes, words};
use crate::policy::ids::JobId;
use rustix::process::Pid;
use std::fs;
use std::path::Path;

/// Where the configuration of the cluster is, if that is no default.
const CONF: &str = "SLURM_CONF";

/// Whether one runs on this node. The whole of /proc is read for that.
pub fn runs_in(job: JobId) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return false;
    };
    let pid = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    let conf = std::env::var(CONF).ok();
    processes
        .flatten()
        .filter_map(pid)
        .any(|pid| is_run(&Proc.args(pid)) && is_of_job(&words(pid, "environ"), job, conf.as_deref()))
}

/// Whether these are variables of a process in that job of the cluster with the configuration `conf`.
fn is_of_job(variables: &[String], job: JobId, conf: Option<&str>) -> bool {
    let value = |name| {
        let assigned = |variable: &str| variable.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        variables.iter().find_map(|variable| assigned(variable))
    };
    // Several clusters may share a machine, and use the same numbers.
    let is_elsewhere = conf.zip(value(CONF)).is_some_and(|(conf, other)| conf != other);
    value("SLURM_JOB_ID") == Some(job.to_string()) && !is_elsewhere
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

    #[test]
    fn a_job_is_known_by_its_number_and_its_cluster() {
        let is_ours = |words: &str, conf| {
            let variables: Vec<_> = words.split(' ').map(str::to_owned).collect();
            is_of_job(&variables, JobId(17), conf)
        };
        assert!(is_ours("A=1 SLURM_JOB_ID=17", Some("/a")));
        assert!(is_ours("SLURM_CONF=/a SLURM_JOB_ID=17", Some("/a")));
        assert!(is_ours("SLURM_CONF=/a SLURM_JOB_ID=17", None));
        assert!(!is_ours("SLURM_CONF=/b SLURM_JOB_ID=17", Some("/a")));
        assert!(!is_ours("SLURM_JOB_ID=170", None));
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Jobs as Slurm's own commands show them.

use super::{Cluster, Failure, LIMIT, Outcome, finish};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Slurm's number of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobId(pub u32);

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// `scontrol show job`, taken apart.
pub struct Job(BTreeMap<String, String>);

impl Job {
    /// Takes one line of `scontrol show job -o -d`. A value may hold blanks; a new field begins where a word
    /// looks like one of scontrol's keys, which begin with a capital letter (directives do not).
    pub fn parse(line: &str) -> Self {
        let mut fields: BTreeMap<String, String> = BTreeMap::new();
        let mut last = String::new();
        for word in line.split(' ') {
            match word.split_once('=') {
                Some((key, value)) if key.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    // Details of nodes repeat their keys: the first is kept, with what follows it.
                    fields.entry(key.to_owned()).or_insert_with(|| value.to_owned());
                    last = key.to_owned();
                }
                _ => {
                    if let Some(value) = fields.get_mut(&last) {
                        *value += " ";
                        *value += word;
                    }
                }
            }
        }
        Self(fields)
    }

    /// A field by scontrol's name for it; empty where Slurm shows none.
    pub fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", |value| value.as_str())
    }

    pub fn state(&self) -> &str {
        self.get("JobState")
    }

    pub fn id(&self) -> Option<JobId> {
        self.get("JobId").parse().ok().map(JobId)
    }

    pub fn restarts(&self) -> u32 {
        self.get("Restarts").parse().unwrap_or(0)
    }
}

impl Cluster {
    /// Submits a batch script from the work folder. Output goes to `work/NAME.out`, appended over restarts.
    /// The failure holds sbatch's words.
    pub fn sbatch(&self, arguments: &[&str], script: &str) -> Outcome<JobId> {
        self.submit(self.command("sbatch"), arguments, script)
    }

    /// The same as an ordinary user.
    pub fn sbatch_as_nobody(&self, arguments: &[&str], script: &str) -> Outcome<JobId> {
        self.submit(self.command_as_nobody("sbatch"), arguments, script)
    }

    /// The same by an sbatch that is prepared already, as any user.
    pub fn submit(&self, mut sbatch: Command, arguments: &[&str], script: &str) -> Outcome<JobId> {
        let file = tempfile::Builder::new()
            .prefix("script-")
            .tempfile_in(self.work())
            .map_err(|error| format!("no file for the script: {error}"))?;
        fs::write(file.path(), format!("#!/bin/bash\n{script}\n"))
            .map_err(|error| format!("the script: {error}"))?;
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(file.path(), readable).map_err(|error| format!("the script: {error}"))?;
        sbatch
            .args(["--parsable", "--output=%x.out", "--open-mode=append"])
            .args(arguments)
            .arg(file.path());
        let answer = finish(&mut sbatch, &format!("sbatch {}", arguments.join(" ")))?;
        answer
            .trim()
            .parse()
            .map(JobId)
            .map_err(|_| format!("sbatch answered {answer:?} instead of a job's number").into())
    }

    /// The job as `scontrol show job` has it now.
    pub fn job(&self, id: JobId) -> Outcome<Job> {
        self.ask("scontrol", &["show", "job", "-o", "-d", &id.to_string()])
            .map(|line| Job::parse(line.trim_end()))
    }

    /// All jobs that slurmctld knows, in one look.
    pub fn jobs(&self) -> Outcome<Vec<Job>> {
        let answer = self.ask("scontrol", &["show", "job", "-o", "-d"])?;
        let lines = answer.lines().filter(|line| line.starts_with("JobId="));
        Ok(lines.map(Job::parse).collect())
    }

    /// The comment as squeue prints it.
    pub fn comment(&self, id: JobId) -> Outcome<String> {
        let answer = self.ask("squeue", &["-h", "-t", "all", "-j", &id.to_string(), "-o", "%k"])?;
        Ok(answer.strip_suffix('\n').map(str::to_owned).unwrap_or(answer))
    }

    /// Waits until the job is in `state`.
    pub fn wait_for_state(&self, id: JobId, state: &str, limit: Duration) -> Outcome {
        self.wait_for(&format!("job {id} to be {state}"), limit, |cluster| {
            Ok(cluster.job(id)?.state() == state)
        })
    }

    /// Waits until all of `jobs` are in `state`.
    pub fn wait_for_all(&self, jobs: &[JobId], state: &str) -> Outcome {
        jobs.iter()
            .try_for_each(|job| self.wait_for_state(*job, state, LIMIT))
    }

    /// What the job named `name` has written so far.
    pub fn output(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(format!("{name}.out"))).unwrap_or_default()
    }

    /// Waits until the output of the job named `name` holds `text`.
    pub fn wait_for_output(&self, name: &str, text: &str, limit: Duration) -> Outcome {
        self.wait_for(&format!("{text:?} in the output of {name}"), limit, |cluster| {
            Ok(cluster.output(name).contains(text))
        })
        .map_err(|failure| Failure::from(format!("{failure}\nThe output of {name}:\n{}", self.output(name))))
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A round under way: its jobs, what has been logged since it began, and its story for whoever has to read it.

use crate::rounds::round::Round;
use crate::rounds::sight::{Account, Sight};
use crate::support::{Cluster, Job, JobId, LIMIT, Outcome};
use crate::victims::Victim;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(25);

/// See above.
pub struct Field<'a> {
    pub cluster: &'a mut Cluster,
    pub round: &'a Round,
    /// Where scontrol and scancel are that Surgent is told to use.
    pub commands: &'a Path,
    pub victims: Vec<Victim>,
    pub urgent: Vec<JobId>,
    /// Jobs whose run ends by the fault itself, or by their users.
    pub excused: BTreeSet<JobId>,
    /// Jobs that Slurm may have been stopping when slurmctld was killed.
    pub interrupted: BTreeSet<JobId>,
    /// What Slurm itself did that it should not have.
    pub remarks: Vec<String>,
    /// The node that the fault took away.
    pub lost_node: Option<String>,
    log_from: u64,
    audit_from: u64,
    begun: Instant,
    story: Vec<String>,
}

impl<'a> Field<'a> {
    pub fn new(cluster: &'a mut Cluster, round: &'a Round, commands: &'a Path) -> Self {
        let length = |path: PathBuf| path.metadata().map_or(0, |meta| meta.len());
        Self {
            log_from: length(cluster.folder().join("slurmctld.log")),
            audit_from: length(cluster.state().join("surgent.audit.jsonl")),
            cluster,
            round,
            commands,
            victims: Vec::new(),
            urgent: Vec::new(),
            excused: BTreeSet::new(),
            interrupted: BTreeSet::new(),
            remarks: Vec::new(),
            lost_node: None,
            begun: Instant::now(),
            story: Vec::new(),
        }
    }

    /// Notes what happens.
    pub fn tell(&mut self, sentence: impl Into<String>) {
        let at_s = self.begun.elapsed().as_secs_f64();
        self.story.push(format!("{at_s:6.2} s  {}", sentence.into()));
    }

    pub fn story(&self) -> String {
        self.story.iter().map(|line| format!("\n  {line}")).collect()
    }

    /// slurmctld's log since the round began.
    pub fn log(&self) -> String {
        since(&self.cluster.folder().join("slurmctld.log"), self.log_from)
    }

    /// The audit file since the round began.
    pub fn audit(&self) -> String {
        since(&self.cluster.state().join("surgent.audit.jsonl"), self.audit_from)
    }

    /// All that can be seen of the round.
    pub fn sight(&self) -> Outcome<Sight> {
        let account = |victim: &Victim| Account {
            id: victim.id,
            events: victim.events(self.cluster),
        };
        let lost = self
            .victims
            .iter()
            .filter(|victim| victim.lost_script(self.cluster).is_some());
        let mut excused = self.excused.clone();
        excused.extend(lost.map(|victim| victim.id));
        Ok(Sight {
            fault: self.round.fault,
            jobs: self.jobs()?,
            victims: self.victims.iter().map(account).collect(),
            urgent: self.urgent.clone(),
            excused,
            interrupted: self.interrupted.clone(),
            log: self.log(),
            audit: self.audit(),
            state: self.cluster.state(),
        })
    }

    /// Waits until the log since the round's begin has one of these.
    pub fn wait_for_line(&self, any: &[&str]) -> Outcome {
        self.wait_quickly(&format!("{any:?} in the log"), |field| {
            let log = field.log();
            any.iter().any(|part| log.contains(part))
        })
    }

    /// Looks often: the next step may come within moments.
    pub fn wait_quickly(&self, what: &str, condition: impl Fn(&Self) -> bool) -> Outcome {
        let begun = Instant::now();
        while !condition(self) {
            if begun.elapsed() > LIMIT {
                return Err(format!("waited {} s in vain for {what}", LIMIT.as_secs()).into());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Those who were asked so far, by the log.
    pub fn asked(&self) -> Vec<&Victim> {
        let log = self.log();
        let is_asked = |victim: &&Victim| log.contains(&format!("asked job {} to save", victim.id));
        self.victims.iter().filter(is_asked).collect()
    }

    /// A victim that runs, one that was asked where there is any; else any at all.
    pub fn target(&self) -> Outcome<Victim> {
        let jobs = self.cluster.jobs()?;
        let runs = |victim: &&&Victim| {
            let job = jobs.iter().find(|job| job.id() == Some(victim.id));
            job.is_some_and(|job| job.state() == "RUNNING")
        };
        let asked = self.asked();
        let all: Vec<&Victim> = self.victims.iter().collect();
        let choices = [
            asked.iter().filter(runs).copied().collect::<Vec<_>>(),
            all.iter().filter(runs).copied().collect(),
            all.clone(),
        ];
        let among = choices.iter().find(|among| !among.is_empty());
        let among = among.ok_or("the round has no victims")?;
        Ok(among[self.round.die as usize % among.len()].clone())
    }

    /// The first node that a job holds.
    pub fn node_of(&self, victim: &Victim) -> Outcome<String> {
        let job = self.cluster.job(victim.id)?;
        let list = job.get("NodeList").to_owned();
        let list = if list.is_empty() || list == "(null)" {
            "n1".to_owned()
        } else {
            list
        };
        let names = self.cluster.ask("scontrol", &["show", "hostnames", &list])?;
        Ok(names.lines().next().unwrap_or("n1").to_owned())
    }

    /// All jobs of this round by their names.
    pub fn jobs(&self) -> Outcome<Vec<Job>> {
        let prefix = format!("r{}-", self.round.seed);
        let mut jobs = self.cluster.jobs()?;
        jobs.retain(|job| job.get("JobName").starts_with(&prefix));
        Ok(jobs)
    }
}

fn since(path: &Path, from: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path) {
        // What cannot be read is not there.
        let _ = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| file.read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

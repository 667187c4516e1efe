// SPDX-License-Identifier: GPL-2.0-or-later
//! A cluster full of jobs that save at once when asked, and urgent jobs of all shapes that need their place.

use crate::support::{Cluster, JobId, LIMIT, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Saves when asked, at once, and stays.
const SAVER: &str = r#"
save() { scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$(date +%s)"; }
trap save USR1
sleep 100000 &
echo "up restart ${SLURM_RESTART_COUNT:-0}"
while kill -0 $!; do wait $!; done
"#;

/// Longer than Surgent's own patience, so that a shape that Slurm does not start is seen as such.
const START_LIMIT: Duration = Duration::from_secs(40);

/// One job of the crowd.
pub struct Member {
    name: String,
    options: Vec<String>,
}

impl Member {
    pub fn new<T: Into<String>>(name: &str, options: impl IntoIterator<Item = T>) -> Self {
        Self {
            name: name.to_owned(),
            options: options.into_iter().map(Into::into).collect(),
        }
    }
}

/// What an urgent job asks for, and what is to become of it.
pub struct Shape {
    name: &'static str,
    options: Vec<&'static str>,
    starts: bool,
}

impl Shape {
    pub fn starts(name: &'static str, options: &[&'static str]) -> Self {
        Self {
            name,
            options: options.to_vec(),
            starts: true,
        }
    }

    /// No set of victims helps, so nobody is to hear of it.
    pub fn asks_nobody(name: &'static str, options: &[&'static str]) -> Self {
        Self {
            starts: false,
            ..Self::starts(name, options)
        }
    }
}

/// All jobs of the crowd, running.
pub struct Crowd<'a> {
    cluster: &'a Cluster,
    names: BTreeMap<JobId, String>,
}

impl<'a> Crowd<'a> {
    /// Submits all members and waits until they run.
    pub fn gather(cluster: &'a Cluster, members: Vec<Member>) -> Outcome<Self> {
        let mut names = BTreeMap::new();
        for member in members {
            let name = format!("--job-name={}", member.name);
            let mut options = vec![name.as_str(), "--comment=signal=USR1@batch"];
            options.extend(member.options.iter().map(String::as_str));
            names.insert(cluster.sbatch(&options, SAVER)?, member.name);
        }
        let crowd = Self { cluster, names };
        crowd.settle()?;
        Ok(crowd)
    }

    /// Waits until everybody runs and can be asked.
    pub fn settle(&self) -> Outcome {
        for (job, name) in &self.names {
            self.cluster.wait_for_state(*job, "RUNNING", LIMIT)?;
            let up = format!("up restart {}\n", self.cluster.job(*job)?.restarts());
            self.cluster.wait_for_output(name, &up, LIMIT)?;
        }
        Ok(())
    }

    /// Tries all shapes one after the other; the failure tells of every shape that went wrong.
    pub fn try_all(&self, shapes: &[Shape]) -> Outcome {
        let only = std::env::var("SURGENT_SHAPE").unwrap_or_default();
        let mut faults = Vec::new();
        for shape in shapes.iter().filter(|shape| shape.name.contains(&only)) {
            match self.try_shape(shape) {
                Ok(told) => println!("{:45} {told}", shape.name),
                Err(fault) => {
                    println!("{:45} WRONG: {fault}", shape.name);
                    faults.push(shape.name);
                }
            }
            self.settle()?;
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(format!("{} shapes went wrong: {}", faults.len(), faults.join(", ")).into()),
        }
    }

    fn try_shape(&self, shape: &Shape) -> Outcome<String> {
        let before = self.restarts()?;
        let mut options = vec!["--job-name=urgent", "--comment=urgency=urgent"];
        options.extend(&shape.options);
        let urgent = self.cluster.sbatch(&options, "sleep 100000")?;
        let outcome = match shape.starts {
            true => self.expect_start(urgent, &before),
            false => self.expect_nobody(urgent, &before),
        };
        self.cluster.ask("scancel", &[&urgent.to_string()])?;
        self.cluster
            .wait_for_state(urgent, "CANCELLED", LIMIT)?;
        outcome
    }

    fn expect_start(&self, urgent: JobId, before: &BTreeMap<JobId, u32>) -> Outcome<String> {
        self.cluster.wait_for_state(urgent, "RUNNING", START_LIMIT)?;
        let stopped = self.stopped_since(before)?;
        let planned = self.named_in(&format!("gate open for job {urgent}: jobs "));
        let asked = self.asked_for(urgent);
        let unexpected = self.cluster.logged(&[&format!("does not start job {urgent} ")]);
        if stopped != planned || asked != planned || unexpected.is_some() {
            let lines: String = self
                .cluster
                .log()
                .iter()
                .filter(|line| line.has(&["surgent:", &urgent.to_string()]))
                .map(|line| format!("\n  {line}"))
                .collect();
            return Err(format!(
                "asked {}, gate open to {}, stopped {}{lines}",
                self.list(&asked),
                self.list(&planned),
                self.list(&stopped),
            )
            .into());
        }
        Ok(self.list(&stopped))
    }

    fn expect_nobody(&self, urgent: JobId, before: &BTreeMap<JobId, u32>) -> Outcome<String> {
        let waits = format!("job {urgent} waits");
        let line = self
            .cluster
            .wait_until("the log to say why", START_LIMIT, |cluster| {
                Ok(cluster.logged(&[&waits]))
            })?;
        let asked = self.asked_for(urgent);
        let stopped = self.stopped_since(before)?;
        match asked.is_empty() && stopped.is_empty() {
            true => Ok(line.text),
            false => Err(format!("asked {}, stopped {}", self.list(&asked), self.list(&stopped)).into()),
        }
    }

    fn restarts(&self) -> Outcome<BTreeMap<JobId, u32>> {
        self.names
            .keys()
            .map(|job| Ok((*job, self.cluster.job(*job)?.restarts())))
            .collect()
    }

    fn stopped_since(&self, before: &BTreeMap<JobId, u32>) -> Outcome<BTreeSet<JobId>> {
        let now = self.restarts()?;
        Ok(now
            .into_iter()
            .filter(|(job, restarts)| before.get(job) != Some(restarts))
            .map(|(job, _)| job)
            .collect())
    }

    /// The jobs that a line of the log lists after `head`.
    fn named_in(&self, head: &str) -> BTreeSet<JobId> {
        let line = self.cluster.logged(&[head]);
        let list = line.as_ref().and_then(|line| line.text.split_once(head));
        list.map_or("", |(_, jobs)| jobs)
            .split(", ")
            .filter_map(|job| job.parse().ok().map(JobId))
            .collect()
    }

    fn asked_for(&self, urgent: JobId) -> BTreeSet<JobId> {
        let whom = format!(" to save for job {urgent} ");
        self.cluster
            .log()
            .iter()
            .filter_map(|line| line.text.split_once(&whom)?.0.rsplit(' ').next()?.parse().ok())
            .map(JobId)
            .collect()
    }

    fn list(&self, jobs: &BTreeSet<JobId>) -> String {
        let names: Vec<_> = jobs.iter().map(|job| self.names[job].as_str()).collect();
        match names.is_empty() {
            true => "nobody".to_owned(),
            false => names.join(" "),
        }
    }
}

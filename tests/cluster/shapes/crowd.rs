// SPDX-License-Identifier: GPL-2.0-or-later
//! A cluster full of jobs that save at once when asked, and urgent jobs of all shapes that need their place.

use crate::scene::SAVER;
use crate::support::{Cluster, JobId, LIMIT, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

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

    /// With a priority: the larger, the dearer.
    pub fn worth(mut self, priority: u8) -> Self {
        self.options
            .push(format!("--comment=signal=USR1@batch priority={priority}"));
        self.options.push(format!("--export=ALL,PRIORITY={priority}"));
        self
    }

    /// With a further option of sbatch.
    pub fn with(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }
}

/// What an urgent job asks for, and what is to become of it.
pub struct Shape {
    name: String,
    options: Vec<String>,
    end: End,
    by_nobody: bool,
}

/// What is to become of an urgent job.
enum End {
    /// All of its tasks start on victims.
    Starts { tasks: usize },
    /// It waits, nobody hears of it, and the log says why: in these words.
    Waits { because: &'static str },
    /// Slurm does not take it.
    Refused,
    /// Any of these, and nothing between.
    Any,
}

impl Shape {
    /// It starts on the plan's victims and on no one else.
    pub fn starts(name: &str, options: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            end: End::Starts { tasks: 1 },
            by_nobody: false,
        }
    }

    /// So do all tasks of this array.
    pub fn array(name: &str, tasks: usize, options: &[&str]) -> Self {
        Self {
            end: End::Starts { tasks },
            ..Self::starts(name, options)
        }
    }

    /// No set of victims helps: it waits, and nobody hears of it. The log says why, in words that hold `because`.
    pub fn waits(name: &str, because: &'static str, options: &[&str]) -> Self {
        Self {
            end: End::Waits { because },
            ..Self::starts(name, options)
        }
    }

    /// It could never run, so that Slurm does not take it.
    pub fn refused(name: &str, options: &[&str]) -> Self {
        Self {
            end: End::Refused,
            ..Self::starts(name, options)
        }
    }

    /// Whatever becomes of it, it is to be one of the above.
    pub fn any(options: Vec<String>) -> Self {
        Self {
            name: options.join(" "),
            options,
            end: End::Any,
            by_nobody: false,
        }
    }

    /// Submitted by another user than the crowd's.
    pub fn by_nobody(self) -> Self {
        Self {
            by_nobody: true,
            ..self
        }
    }
}

/// All jobs of the crowd, running.
pub struct Crowd<'a> {
    cluster: &'a Cluster,
    names: BTreeMap<JobId, String>,
    suspended: BTreeSet<JobId>,
}

impl<'a> Crowd<'a> {
    /// Submits all members and waits until they run.
    pub fn gather(cluster: &'a Cluster, members: Vec<Member>) -> Outcome<Self> {
        let nobody = Self {
            cluster,
            names: BTreeMap::new(),
            suspended: BTreeSet::new(),
        };
        nobody.join(members)
    }

    /// Further members.
    pub fn join(mut self, members: Vec<Member>) -> Outcome<Self> {
        let cluster = self.cluster;
        for member in members {
            let name = format!("--job-name={}", member.name);
            let mut options = vec![name.as_str(), "--comment=signal=USR1@batch"];
            options.extend(member.options.iter().map(String::as_str));
            let job = cluster.sbatch(&options, SAVER)?;
            cluster.wait_for_state(job, "RUNNING", LIMIT)?;
            for task in tasks_of(cluster, job)? {
                self.names.insert(task, member.name.clone());
            }
        }
        self.settle()?;
        Ok(self)
    }

    /// Waits until everybody runs and can be asked, but for those who are suspended.
    pub fn settle(&self) -> Outcome {
        for (job, name) in self.names.iter().filter(|(job, _)| !self.suspended.contains(job)) {
            self.cluster.wait_for_state(*job, "RUNNING", LIMIT)?;
            // The tasks of an array write into one file.
            let up = format!("{job} up restart {}\n", self.cluster.job(*job)?.restarts());
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
                    faults.push(shape.name.as_str());
                }
            }
            self.settle()?;
        }
        match faults.is_empty() {
            true => Ok(()),
            false => Err(format!("{} shapes went wrong: {}", faults.len(), faults.join(", ")).into()),
        }
    }

    /// Tries one shape; who made way, or what the log says.
    pub fn try_one(&self, shape: &Shape) -> Outcome<String> {
        let told = self.try_shape(shape)?;
        self.settle()?;
        Ok(told)
    }

    /// This member ends.
    pub fn leave(&mut self, name: &str) -> Outcome {
        let leaving: Vec<JobId> = self.numbers(name);
        for job in leaving {
            self.cluster.ask("scancel", &[&job.to_string()])?;
            self.names.remove(&job);
        }
        Ok(())
    }

    /// An administrator suspends this member.
    pub fn suspend(&mut self, name: &str) -> Outcome {
        for job in self.numbers(name) {
            self.cluster.ask("scontrol", &["suspend", &job.to_string()])?;
            self.cluster.wait_for_state(job, "SUSPENDED", LIMIT)?;
            self.suspended.insert(job);
        }
        Ok(())
    }

    /// He lets it go on.
    pub fn resume(&mut self, name: &str) -> Outcome {
        for job in self.numbers(name) {
            self.cluster.ask("scontrol", &["resume", &job.to_string()])?;
            self.suspended.remove(&job);
        }
        self.settle()
    }

    /// The numbers of the member's jobs.
    pub fn numbers(&self, name: &str) -> Vec<JobId> {
        let of_it = self.names.iter().filter(|(_, known)| *known == name);
        of_it.map(|(job, _)| *job).collect()
    }

    /// The same, but waits for nobody to be back.
    pub fn try_shape(&self, shape: &Shape) -> Outcome<String> {
        let before = self.restarts()?;
        let mut options = vec![
            "--job-name=urgent",
            "--comment=urgency=urgent",
            "--output=/dev/null",
        ];
        options.extend(shape.options.iter().map(String::as_str));
        let submitted = match shape.by_nobody {
            true => self.cluster.sbatch_as_nobody(&options, "sleep 100000"),
            false => self.cluster.sbatch(&options, "sleep 100000"),
        };
        let urgent = match (submitted, &shape.end) {
            (Err(refusal), End::Refused | End::Any) => return Ok(refusal.to_string()),
            (submitted, _) => submitted?,
        };
        let outcome = match shape.end {
            End::Starts { tasks } => self.expect_start(urgent, tasks, &before),
            End::Waits { because } => self.expect_wait(urgent, because, &before),
            End::Refused => Err("Slurm took it".into()),
            End::Any => self.expect_any(urgent, &before),
        };
        self.cluster.ask("scancel", &[&urgent.to_string()])?;
        self.cluster
            .wait_for("the urgent job to be gone", LIMIT, |cluster| {
                let left = cluster.ask("squeue", &["-h", "-n", "urgent", "-o", "%i"])?;
                Ok(left.trim().is_empty())
            })?;
        outcome
    }

    fn expect_start(&self, urgent: JobId, tasks: usize, before: &BTreeMap<JobId, u32>) -> Outcome<String> {
        self.cluster
            .wait_for("the urgent job to run", START_LIMIT, |cluster| {
                let running = cluster.ask("squeue", &["-h", "-n", "urgent", "-t", "RUNNING", "-o", "%i"])?;
                Ok(running.lines().count() == tasks)
            })?;
        let stopped = self.stopped_since(before)?;
        let planned = self.behind_gate_of(urgent);
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

    fn expect_wait(&self, urgent: JobId, because: &str, before: &BTreeMap<JobId, u32>) -> Outcome<String> {
        let waits = format!("job {urgent} waits: ");
        let line = self
            .cluster
            .wait_until("the log to say why", START_LIMIT, |cluster| {
                Ok(cluster.logged(&[&waits, because]))
            })?;
        let asked = self.asked_for(urgent);
        let stopped = self.stopped_since(before)?;
        match asked.is_empty() && stopped.is_empty() {
            true => Ok(line.text),
            false => Err(format!("asked {}, stopped {}", self.list(&asked), self.list(&stopped)).into()),
        }
    }

    fn expect_any(&self, urgent: JobId, before: &BTreeMap<JobId, u32>) -> Outcome<String> {
        let waits = format!("job {urgent} waits: ");
        let starts =
            self.cluster
                .wait_until("a start, or the log to say why not", START_LIMIT, |cluster| {
                    if cluster.job(urgent)?.state() == "RUNNING" {
                        return Ok(Some(true));
                    }
                    Ok(cluster.logged(&[&waits]).map(|_| false))
                })?;
        match starts {
            true => self.expect_start(urgent, 1, before),
            false => self.expect_wait(urgent, "", before),
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

    /// The jobs that the log names as behind an open gate of `urgent`: of each task of an array in turn.
    fn behind_gate_of(&self, urgent: JobId) -> BTreeSet<JobId> {
        let head = format!("gate open for job {urgent}: jobs ");
        self.cluster
            .log()
            .iter()
            .filter_map(|line| Some(line.text.split_once(&head)?.1.to_owned()))
            .flat_map(|jobs| {
                jobs.split(", ")
                    .filter_map(|job| job.parse().ok())
                    .collect::<Vec<_>>()
            })
            .map(JobId)
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

/// The numbers of a job's tasks, which is its own number where it is no array.
fn tasks_of(cluster: &Cluster, job: JobId) -> Outcome<Vec<JobId>> {
    let numbers = cluster.ask("squeue", &["-h", "-r", "-j", &job.to_string(), "-o", "%A"])?;
    Ok(numbers
        .lines()
        .filter_map(|line| line.trim().parse().ok().map(JobId))
        .collect())
}

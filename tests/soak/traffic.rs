// SPDX-License-Identifier: GPL-2.0-or-later
//! Who submits, when, and what users do to their jobs. What is submitted in which order follows from the seed; when, and to
//! whom something is done, from how quickly the cluster works: a queue of bounded length is kept busy.

use crate::jobs::{self, PLAIN_URGENT, Submission, URGENT};
use crate::support::{Cluster, JobId, Outcome};
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const USERS: [&str; 4] = ["daemon", "bin", "mail", "man"];
/// Jobs that wait, tasks of arrays each, beyond which nobody submits one.
const NORMAL_WAIT_MAX: usize = 12;
const URGENT_WAIT_MAX: usize = 5;
/// Between urgent jobs, on average.
const URGENT_GAP_S: f64 = 6.0;
/// How often a user does something to a job, for each second.
const DISTURB_RATE: f64 = 1.0 / 15.0;

/// A line of squeue.
struct Queued {
    /// As commands take it: `17` or `17_2`.
    id: String,
    state: String,
    name: String,
    user: String,
}

impl Queued {
    fn waits(&self) -> bool {
        self.state == "PENDING"
    }

    fn is_urgent(&self) -> bool {
        self.name.starts_with(URGENT)
    }
}

/// See above.
pub struct Traffic {
    surgent: PathBuf,
    /// Added to each urgent submission.
    urgent_options: &'static [&'static str],
    normal: ChaCha8Rng,
    urgent: ChaCha8Rng,
    disturb: ChaCha8Rng,
    next_urgent: Instant,
    held: Vec<(Instant, String, String)>,
    /// Plain urgent jobs whose start is still to be seen, with when they were submitted, in Unix seconds.
    pub awaited: BTreeMap<JobId, f64>,
    disturbed: BTreeSet<String>,
    /// Seconds from submission to start of those to which nobody did anything, in the order in which they were seen.
    pub latencies: Vec<f64>,
    pub normal_submitted: usize,
    pub urgent_submitted: usize,
    pub disturbances: usize,
}

impl Traffic {
    pub fn new(seed: u64, surgent: PathBuf, urgent_options: &'static [&'static str]) -> Self {
        let random = |stream| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(stream);
            random
        };
        Self {
            surgent,
            urgent_options,
            // Each with a stream of its own, so that when one is asked does not change what the others say.
            normal: random(1),
            urgent: random(2),
            disturb: random(3),
            next_urgent: Instant::now(),
            held: Vec::new(),
            awaited: BTreeMap::new(),
            disturbed: BTreeSet::new(),
            latencies: Vec::new(),
            normal_submitted: 0,
            urgent_submitted: 0,
            disturbances: 0,
        }
    }

    /// What happens in one second.
    pub fn tick(&mut self, cluster: &Cluster) -> Outcome {
        let queue = queue(cluster)?;
        let waiting = |urgent| {
            let those = queue
                .iter()
                .filter(|job| job.waits() && job.is_urgent() == urgent);
            those.count()
        };
        if waiting(false) < NORMAL_WAIT_MAX {
            let job = jobs::normal(&mut self.normal, &self.surgent);
            let user = self.normal.random_range(0..USERS.len());
            submit(cluster, USERS[user], &job)?;
            self.normal_submitted += 1;
        }
        if Instant::now() >= self.next_urgent && waiting(true) < URGENT_WAIT_MAX {
            self.submit_urgent(cluster)?;
        }
        self.release(cluster, |until| Instant::now() >= until);
        if self.disturb.random_bool(DISTURB_RATE) {
            self.disturb(cluster, &queue);
        }
        self.see_starts(cluster);
        Ok(())
    }

    fn submit_urgent(&mut self, cluster: &Cluster) -> Outcome {
        let mut job = jobs::urgent(&mut self.urgent);
        let options = self.urgent_options.iter().map(|option| (*option).to_owned());
        job.arguments.splice(0..0, options);
        let user = self.urgent.random_range(0..USERS.len());
        let gap_s = -URGENT_GAP_S * (1.0 - self.urgent.random::<f64>()).ln();
        self.next_urgent = Instant::now() + Duration::from_secs_f64(gap_s);
        let begun = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |time| time.as_secs_f64());
        let id = submit(cluster, USERS[user], &job)?;
        self.urgent_submitted += 1;
        if job
            .arguments
            .iter()
            .any(|word| *word == format!("--job-name={PLAIN_URGENT}"))
        {
            self.awaited.insert(id, begun);
        }
        Ok(())
    }

    /// Something that a user does to a job of his own. That Slurm refuses is part of it: a job may just have ended.
    fn disturb(&mut self, cluster: &Cluster, queue: &[Queued]) {
        let Some(job) = queue.choose(&mut self.disturb) else {
            return;
        };
        let user = job.user.as_str();
        let job_id = format!("JobId={}", job.id);
        let update = |what: &str| ask_as(cluster, user, "scontrol", &["update", &job_id, what]);
        let is_done = match self.disturb.random_range(0..6) {
            0 => ask_as(cluster, user, "scancel", &[&job.id]),
            1 => ask_as(cluster, user, "scontrol", &["requeue", &job.id]),
            2 => update("TimeLimit=9"),
            3 if job.waits() => {
                let until = Instant::now() + Duration::from_secs(self.disturb.random_range(5..30));
                self.held.push((until, user.to_owned(), job.id.clone()));
                ask_as(cluster, user, "scontrol", &["hold", &job.id])
            }
            4 if job.waits() && job.is_urgent() => update("Comment=urgency=normal"),
            4 if job.waits() => update("Comment=urgency=urgent"),
            _ if job.waits() => update("NumNodes=1"),
            _ => update("Comment=my own words, and nothing else"),
        };
        self.disturbed.insert(job.id.clone());
        self.disturbances += usize::from(is_done);
    }

    /// Lets go of jobs that are held until `is_due`.
    fn release(&mut self, cluster: &Cluster, is_due: impl Fn(Instant) -> bool) {
        for (_, user, id) in self.held.extract_if(.., |(until, _, _)| is_due(*until)) {
            ask_as(cluster, &user, "scontrol", &["release", &id]);
        }
    }

    fn see_starts(&mut self, cluster: &Cluster) {
        let (disturbed, latencies) = (&self.disturbed, &mut self.latencies);
        self.awaited.retain(|id, submitted| {
            if disturbed.contains(&id.to_string()) {
                return false;
            }
            let file = cluster.work().join(format!("{id}.started"));
            let text = fs::read_to_string(file).unwrap_or_default();
            let started = text.trim().parse::<f64>();
            latencies.extend(started.iter().map(|started| started - *submitted));
            started.is_err()
        });
    }

    /// Lets go of all jobs that are held; nothing is submitted any more.
    pub fn stop(&mut self, cluster: &Cluster) {
        self.release(cluster, |_| true);
        self.see_starts(cluster);
    }
}

fn queue(cluster: &Cluster) -> Outcome<Vec<Queued>> {
    let answer = cluster.ask("squeue", &["-h", "-r", "-o", "%i|%T|%j|%u"])?;
    let job = |line: &str| {
        let mut words = line.split('|').map(str::to_owned);
        Some(Queued {
            id: words.next()?,
            state: words.next()?,
            name: words.next()?,
            user: words.next()?,
        })
    };
    Ok(answer.lines().filter_map(job).collect())
}

fn submit(cluster: &Cluster, user: &str, job: &Submission) -> Outcome<JobId> {
    let arguments: Vec<&str> = job.arguments.iter().map(String::as_str).collect();
    cluster.submit(cluster.command_as(user, user, "sbatch"), &arguments, &job.script)
}

/// Whether the command did what it was to.
fn ask_as(cluster: &Cluster, user: &str, name: &str, arguments: &[&str]) -> bool {
    let done = cluster.command_as(user, user, name).args(arguments).output();
    done.is_ok_and(|output| output.status.success())
}

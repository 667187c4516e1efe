// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld says that submissions took it.

use crate::support::{Cluster, Outcome};
use std::ops::{Add, Sub};

/// Submissions, and what they took by sdiag.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    submissions: u64,
    total_us: u64,
}

impl Add for Spent {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            submissions: self.submissions + more.submissions,
            total_us: self.total_us + more.total_us,
        }
    }
}

impl Sub for Spent {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            submissions: self.submissions - earlier.submissions,
            total_us: self.total_us - earlier.total_us,
        }
    }
}

/// What sdiag says since slurmctld was started.
pub fn spent(cluster: &Cluster) -> Outcome<Spent> {
    let answer = cluster.ask("sdiag", &[])?;
    // REQUEST_SUBMIT_BATCH_JOB ( 4003) count:5 ave_time:567 total_time:2839
    let Some(line) = answer
        .lines()
        .find(|line| line.contains("REQUEST_SUBMIT_BATCH_JOB "))
    else {
        return Ok(Spent::default());
    };
    match (after(line, "count:"), after(line, "total_time:")) {
        (Some(submissions), Some(total_us)) => Ok(Spent {
            submissions,
            total_us,
        }),
        _ => Err(format!("sdiag does not say what submissions took: {line}").into()),
    }
}

/// What was seen of one cluster, in microseconds, by kind.
pub struct Seen {
    name: &'static str,
    /// sdiag's average.
    average_us: Vec<f64>,
    /// What each submission took, from the log, sorted.
    taken_us: Vec<Vec<u64>>,
}

impl Seen {
    /// `of_each` jobs of each kind were submitted in turn, from the first job on.
    pub fn read(name: &'static str, cluster: &Cluster, spent: &[Spent], of_each: usize) -> Outcome<Self> {
        let mut taken_us = vec![Vec::new(); spent.len()];
        for line in cluster.log() {
            // _slurm_rpc_submit_batch_job: JobId=1 InitPrio=0 usec=403
            if line.has(&["_slurm_rpc_submit_batch_job: "])
                && let (Some(job), Some(us)) = (after(&line.text, "JobId="), after(&line.text, "usec="))
            {
                taken_us[(job as usize - 1) / of_each % spent.len()].push(us);
            }
        }
        if taken_us.iter().any(Vec::is_empty) {
            return Err(
                cluster.with_logs("slurmctld's log does not say what each submission took".to_owned())
            );
        }
        taken_us.iter_mut().for_each(|of_kind| of_kind.sort_unstable());
        let average_us = spent
            .iter()
            .map(|spent| spent.total_us as f64 / spent.submissions as f64);
        Ok(Self {
            name,
            average_us: average_us.collect(),
            taken_us,
        })
    }
}

/// The number behind `name`.
fn after(line: &str, name: &str) -> Option<u64> {
    let value = line.split_whitespace().find_map(|word| word.strip_prefix(name))?;
    value.parse().ok()
}

/// All clusters side by side; the first is what the others are compared with.
pub fn print<const N: usize>(seen: &[Seen], kinds: [&str; N]) {
    for (kind, name) in kinds.iter().enumerate() {
        println!("\n{name:10} sdiag's average   each, from the log: quartiles");
        for one in seen {
            let average_x = one.average_us[kind] / seen[0].average_us[kind];
            let of = |seen: &Seen, quarters| quantile(&seen.taken_us[kind], quarters);
            let quarters = [1, 2, 3].map(|quarters| of(one, quarters));
            let xs = [1, 2, 3].map(|quarters| of(one, quarters) as f64 / of(&seen[0], quarters) as f64);
            println!(
                "  {:9} {:5.0} us {average_x:.2} x   {:5} {:5} {:5} us   {:.2} {:.2} {:.2} x   ({} jobs)",
                one.name,
                one.average_us[kind],
                quarters[0],
                quarters[1],
                quarters[2],
                xs[0],
                xs[1],
                xs[2],
                one.taken_us[kind].len()
            );
        }
    }
}

/// So many quarters through sorted values.
fn quantile(sorted: &[u64], quarters: usize) -> u64 {
    sorted[(sorted.len() - 1) * quarters / 4]
}

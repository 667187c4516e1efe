// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld says that submissions took it.

use crate::support::{Cluster, Outcome};

/// What was seen of one cluster.
pub struct Seen {
    name: &'static str,
    /// sdiag's average of all submissions, in microseconds.
    average_us: f64,
    /// What each submission took, by kind; from the log, sorted, in microseconds.
    taken_us: Vec<Vec<u64>>,
}

impl Seen {
    /// Kinds were submitted in turn, from the first job on.
    pub fn read(name: &'static str, cluster: &Cluster, kinds: usize) -> Outcome<Self> {
        let answer = cluster.ask("sdiag", &[])?;
        // REQUEST_SUBMIT_BATCH_JOB ( 4003) count:5 ave_time:567 total_time:2839
        let line = answer
            .lines()
            .find(|line| line.contains("REQUEST_SUBMIT_BATCH_JOB "));
        let average_us = line
            .and_then(|line| after(line, "ave_time:"))
            .ok_or_else(|| format!("sdiag does not say what submissions took:\n{answer}"))?;
        let mut taken_us = vec![Vec::new(); kinds];
        for line in cluster.log() {
            // _slurm_rpc_submit_batch_job: JobId=1 InitPrio=0 usec=403
            if line.has(&["_slurm_rpc_submit_batch_job: "])
                && let (Some(job), Some(us)) = (after(&line.text, "JobId="), after(&line.text, "usec="))
            {
                taken_us[(job as usize - 1) % kinds].push(us);
            }
        }
        if taken_us.iter().any(Vec::is_empty) {
            return Err(
                cluster.with_logs("slurmctld's log does not say what each submission took".to_owned())
            );
        }
        taken_us.iter_mut().for_each(|of_kind| of_kind.sort_unstable());
        Ok(Self {
            name,
            average_us: average_us as f64,
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
    println!("\nall submissions, sdiag's average");
    for one in seen {
        let x = one.average_us / seen[0].average_us;
        println!("  {:9} {:7.0} us   {x:.3} x", one.name, one.average_us);
    }
    for (kind, name) in kinds.iter().enumerate() {
        println!(
            "\n{name}; each submission, from slurmctld's log: a quarter took less, half, three quarters"
        );
        for one in seen {
            let quarters = [1, 2, 3].map(|quarter| quantile(&one.taken_us[kind], quarter));
            let xs = [1, 2, 3].map(|quarter| {
                quantile(&one.taken_us[kind], quarter) as f64
                    / quantile(&seen[0].taken_us[kind], quarter) as f64
            });
            println!(
                "  {:9} {:7} {:7} {:7} us   {:.3} {:.3} {:.3} x   ({} jobs)",
                one.name,
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

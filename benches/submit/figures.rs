// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld says that submissions took it.

use crate::common::{Rpc, after, quantile};
use crate::support::{Cluster, Outcome};

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
    pub fn read(name: &'static str, cluster: &Cluster, spent: &[Rpc], of_each: usize) -> Outcome<Self> {
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
        let average_us = spent.iter().map(|spent| spent.average_us());
        Ok(Self {
            name,
            average_us: average_us.collect(),
            taken_us,
        })
    }
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

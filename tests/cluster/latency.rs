// SPDX-License-Identifier: GPL-2.0-or-later
//! How long things take. Printed, not asserted: the machine decides.

use crate::scene::{TOML, four, urgent, wait_for_requests};
use crate::support::{Cluster, LIMIT, LogLine, Outcome};
use crate::{on_cluster, tell};

#[test]
fn latency_with_slurms_defaults() -> Outcome {
    measure("Slurm's defaults", "# as it comes")
}

#[test]
fn latency_without_delay_of_scheduling() -> Outcome {
    measure("batch_sched_delay=0", "SchedulerParameters=batch_sched_delay=0")
}

fn measure(title: &str, line: &str) -> Outcome {
    on_cluster(Cluster::builder().toml(TOML).conf(line), |cluster| {
        let trainees = four(cluster, |training| training.lasting(4, 0.1))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.wait_for_state(urgent, "RUNNING", LIMIT)?;
        let log = cluster.log();
        let submitted = last(
            &log,
            &["_slurm_rpc_submit_batch_job: ", &format!("JobId={urgent} ")],
        )?;
        let asked = last(&log, &["surgent: asked job ", &format!(" for job {urgent} ")])?;
        let acknowledged = last(&log, &[&format!(" has saved for job {urgent}")])?;
        let started = last(&log, &["Allocate ", &format!("JobId={urgent} ")])?;
        tell(&format!(
            "latency with {title}: sbatch to the last request {} ms, last acknowledgement to start {} ms",
            ms(submitted, asked),
            ms(acknowledged, started)
        ));
        Ok(())
    })
}

fn last<'a>(log: &'a [LogLine], parts: &[&str]) -> Outcome<&'a LogLine> {
    log.iter()
        .rfind(|line| line.has(parts))
        .ok_or_else(|| format!("no line with {parts:?} in slurmctld.log").into())
}

fn ms(from: &LogLine, to: &LogLine) -> i64 {
    to.at.as_millisecond() - from.at.as_millisecond()
}

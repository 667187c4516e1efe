// SPDX-License-Identifier: GPL-2.0-or-later
//! One turn of a site: what is asked of its slurmctld meanwhile, and what that took.

use crate::common::{Sdiag, after, cpu_s, looks, planner_cpu_s, quantile, rss_mib};
use crate::jobs;
use crate::site::Sites;
use crate::support::{Cluster, LogLine, Outcome};
use jiff::Timestamp;
use std::fmt;
use std::time::{Duration, Instant};

/// All jobs are asked for so often,
const SQUEUE_EVERY_S: u64 = 10;
/// and, where urgent jobs come, one of them comes so often. A training comes every second.
const URGENT_EVERY_S: u64 = 10;

/// Looks are read from the log for so many urgent jobs.
const URGENT_TO_LOOK_AT: u32 = 3;

/// What one turn took, and what came of it.
pub struct Turn {
    pub main_cycle_ms: f64,
    pub main_cycle_most_ms: f64,
    pub main_cycles: u64,
    pub backfill_cycle_ms: f64,
    pub backfill_cycle_most_ms: f64,
    pub backfill_cycles: u64,
    /// A submission, by sdiag's average.
    pub submit_average_ms: f64,
    /// The same by the log, the median.
    pub submit_median_ms: f64,
    /// One squeue, as its user waits for it, the median.
    pub squeue_ms: f64,
    /// CPU time of slurmctld in each second.
    pub cpu_percent: f64,
    /// That of Surgent's planner in it.
    pub planner_cpu_percent: f64,
    pub rss_mib: f64,
    /// Jobs that were stopped for others.
    pub stopped: usize,
}

impl Turn {
    /// Measures the site that there is now, which urgent jobs come to or not.
    pub fn measure(sites: &Sites, urgent: bool) -> Outcome<Self> {
        let cluster = &sites.cluster;
        cluster.ask("sdiag", &["--reset"])?;
        let (begin, begin_s) = (Instant::now(), Timestamp::now());
        let (cpu_before_s, planner_before_s) = (cpu_s(cluster)?, planner_cpu_s(cluster)?);
        let mut squeues_ms = Vec::new();
        for second in 0..sites.size.turn.as_secs() {
            sites.pause(Duration::from_secs(second).saturating_sub(begin.elapsed()))?;
            jobs::submit_training(cluster)?;
            if urgent && second.is_multiple_of(URGENT_EVERY_S) {
                jobs::submit_urgent(cluster)?;
            }
            if second % SQUEUE_EVERY_S == SQUEUE_EVERY_S / 2 {
                squeues_ms.push(squeue_ms(cluster)?);
            }
        }
        sites.pause(sites.size.turn.saturating_sub(begin.elapsed()))?;
        let diagnosis = Sdiag::ask(cluster)?;
        let percent = |used_s: f64| 100.0 * used_s / begin.elapsed().as_secs_f64();
        let cpu_percent = percent(cpu_s(cluster)? - cpu_before_s);
        let planner_cpu_percent = percent(planner_cpu_s(cluster)? - planner_before_s);
        let rss_mib = rss_mib(cluster)? as f64;
        let log: Vec<LogLine> = cluster
            .log()
            .into_iter()
            .filter(|line| line.at >= begin_s)
            .collect();
        squeues_ms.sort_by(f64::total_cmp);
        let main = |name| diagnosis.number("Main schedule statistics", name);
        let backfill = |name| diagnosis.number("Backfilling stats", name);
        let ms = |us: u64| us as f64 / 1e3;
        Ok(Self {
            main_cycle_ms: ms(main("Mean cycle")?),
            main_cycle_most_ms: ms(main("Max cycle")?),
            main_cycles: main("Total cycles")?,
            backfill_cycle_ms: ms(backfill("Mean cycle")?),
            backfill_cycle_most_ms: ms(backfill("Max cycle")?),
            backfill_cycles: backfill("Total cycles")?,
            submit_average_ms: diagnosis.rpc("REQUEST_SUBMIT_BATCH_JOB")?.average_us() / 1e3,
            submit_median_ms: submit_median_ms(&log)?,
            squeue_ms: quantile(&squeues_ms, 2),
            cpu_percent,
            planner_cpu_percent,
            rss_mib,
            stopped: log
                .iter()
                .filter(|line| line.has(&["preempted JobId=", " has been requeued "]))
                .count(),
        })
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} scheduler cycles of {:.1} ms, {} backfill cycles of {:.0} ms, submissions of {:.2} ms, squeue in {:.0} ms, {} \
             jobs stopped",
            self.main_cycles,
            self.main_cycle_ms,
            self.backfill_cycles,
            self.backfill_cycle_ms,
            self.submit_median_ms,
            self.squeue_ms,
            self.stopped
        )
    }
}

/// For how long each of some looks of Surgent's at the site that there is now held Slurm's locks, in milliseconds. In a
/// turn of their own, as slurmctld says it only at a log level at which it says much else.
pub fn under_locks_ms(sites: &Sites) -> Outcome<Vec<f64>> {
    let cluster = &sites.cluster;
    let begin_s = Timestamp::now();
    cluster.ask("scontrol", &["setdebug", "debug"])?;
    for _ in 0..URGENT_TO_LOOK_AT {
        jobs::submit_urgent(cluster)?;
        sites.pause(Duration::from_secs(URGENT_EVERY_S))?;
    }
    cluster.ask("scontrol", &["setdebug", "verbose"])?;
    let log: Vec<LogLine> = cluster
        .log()
        .into_iter()
        .filter(|line| line.at >= begin_s)
        .collect();
    Ok(looks(&log).iter().map(|look| look.under_locks_ms).collect())
}

fn squeue_ms(cluster: &Cluster) -> Outcome<f64> {
    let begin = Instant::now();
    cluster.ask("squeue", &["-h", "-r", "-o", "%i"])?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

fn submit_median_ms(log: &[LogLine]) -> Outcome<f64> {
    // _slurm_rpc_submit_batch_job: JobId=1 InitPrio=0 usec=403
    let submissions = log
        .iter()
        .filter(|line| line.has(&["_slurm_rpc_submit_batch_job: "]));
    let mut taken_us: Vec<u64> = submissions
        .filter_map(|line| after(&line.text, "usec="))
        .collect();
    taken_us.sort_unstable();
    match taken_us.is_empty() {
        true => Err("slurmctld's log does not say what submissions took".into()),
        false => Ok(quantile(&taken_us, 2) as f64 / 1e3),
    }
}

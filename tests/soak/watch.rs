// SPDX-License-Identifier: GPL-2.0-or-later
//! A line each minute.

use crate::audit;
use crate::figures::quantile;
use crate::log::Log;
use crate::process::Process;
use crate::support::{Cluster, Outcome, tell};
use crate::traffic::Traffic;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(60);

/// What one line says of memory.
pub struct Row {
    pub at_s: f64,
    pub jobs: usize,
    pub process: Process,
}

/// See above.
pub struct Watch {
    begun: Instant,
    next: Instant,
    latencies_told: usize,
    pub log: Log,
    pub rows: Vec<Row>,
}

impl Watch {
    pub fn new() -> Self {
        tell(
            "    s  normal urgent   timed asked stopped known |  RSS   PSS  anon. MiB thr files | start p50  p95 s | locks p50  max ms \
             looks | state  audit  log KiB | load",
        );
        Self {
            begun: Instant::now(),
            next: Instant::now() + EVERY,
            latencies_told: 0,
            log: Log::default(),
            rows: Vec::new(),
        }
    }

    /// Says a line if it is time.
    pub fn tick(&mut self, cluster: &Cluster, traffic: &Traffic) -> Outcome {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next += EVERY;
        self.log.read(cluster);
        let process = Process::of_controller(cluster)?;
        let at_s = self.begun.elapsed().as_secs_f64();
        let latencies = &traffic.latencies[self.latencies_told..];
        self.latencies_told = traffic.latencies.len();
        let looks_ms = std::mem::take(&mut self.log.looks_ms);
        let shown = |values: &[f64], part| {
            quantile(values, part).map_or("-".to_owned(), |value| format!("{value:.2}"))
        };
        let known = cluster
            .ask("squeue", &["-h", "-t", "all", "-o", "%i"])?
            .lines()
            .count();
        tell(&format!(
            "{at_s:5.0} {:7} {:6} {:7} {:5} {:7} {known:5} | {:5.1} {:5.1} {:5.1}     {:3} {:5} | {:9} {:>7} | {:>9} {:>7} {:5} | {:5} {:6} {:8} | {}",
            traffic.normal_submitted,
            traffic.urgent_submitted,
            traffic.latencies.len(),
            self.log.asked,
            self.log.preempted.values().sum::<usize>(),
            process.rss_mib,
            process.pss_mib,
            process.anonymous_mib,
            process.threads,
            process.files,
            shown(latencies, 0.5),
            shown(latencies, 0.95),
            shown(&looks_ms, 0.5),
            shown(&looks_ms, 1.0),
            self.log.looks,
            kib([cluster.state().join("surgent.state")]),
            kib(audit::files(cluster)),
            kib([cluster.folder().join("slurmctld.log")]),
            std::fs::read_to_string("/proc/loadavg")
                .unwrap_or_default()
                .split(' ')
                .next()
                .unwrap_or_default(),
        ));
        self.rows.push(Row {
            at_s,
            jobs: traffic.normal_submitted + traffic.urgent_submitted,
            process,
        });
        Ok(())
    }
}

fn kib(paths: impl IntoIterator<Item = PathBuf>) -> u64 {
    let lengths = paths
        .into_iter()
        .map(|path| path.metadata().map_or(0, |meta| meta.len()));
    lengths.sum::<u64>().div_ceil(1024)
}

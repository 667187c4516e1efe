// SPDX-License-Identifier: GPL-2.0-or-later
//! What must be true in the end. No time is judged: figures are for whoever reads them.

use crate::audit::{Audit, saved_runs};
use crate::figures::{quantile, slope};
use crate::log::Log;
use crate::process::Process;
use crate::support::{Cluster, Outcome, tell};
use crate::traffic::Traffic;
use crate::watch::Row;

/// slurmctld may grow by this much while idle before and after; whoever leaks needs no more than an hour for it.
const GROWTH_MAX: f64 = 1.5;

/// Nobody is asked more often than this for the same urgent job. Once is the rule; a set may change and change back.
const ASKS_MAX: usize = 5;

/// What is wrong with the jobs that were asked and stopped.
pub fn stops(cluster: &Cluster, log: &Log) -> Outcome<Vec<String>> {
    let audit = Audit::read(cluster)?;
    tell(&format!("The audit file: {:?}", audit.kinds));
    let mut wrong = Vec::new();
    for ((job, urgent), count) in audit.asks.iter().filter(|(_, count)| **count > ASKS_MAX) {
        wrong.push(format!("job {job} was asked {count} times for job {urgent}"));
    }
    for job in &audit.unsaved {
        wrong.push(format!("by the audit file job {job} was stopped unsaved"));
    }
    let of_log = log
        .preempted
        .iter()
        .map(|(job, count)| (job, "Slurm's log", count));
    let of_audit = audit
        .stops
        .iter()
        .map(|(job, count)| (job, "the audit file", count));
    for (job, by, count) in of_log.chain(of_audit) {
        let saved = saved_runs(cluster, *job);
        if *count > saved {
            wrong.push(format!(
                "by {by} job {job} was stopped {count} times, and has saved when asked in {saved} runs"
            ));
        }
    }
    let jobs = audit.stops.keys().chain(log.preempted.keys());
    for job in jobs.filter(|job| !audit.by_command.contains(job)) {
        let (told, seen) = (audit.stops.get(job), log.preempted.get(job));
        if told != seen {
            wrong.push(format!(
                "job {job} was stopped {seen:?} times by Slurm's log, {told:?} by the audit file"
            ));
        }
    }
    Ok(wrong)
}

/// What must have happened for the rest to mean anything, and urgent jobs that never ran although nobody touched them.
pub fn work(log: &Log, traffic: &Traffic) -> Vec<String> {
    let mut wrong = Vec::new();
    for (what, count) in [
        ("asked", log.asked),
        ("stopped", log.preempted.len()),
        ("looked at", log.looks),
    ] {
        if count == 0 {
            wrong.push(format!("nobody was {what}: this says nothing"));
        }
    }
    for job in traffic.awaited.keys() {
        wrong.push(format!("urgent job {job} has ended and never run"));
    }
    wrong
}

/// What slurmctld has kept that it had not when it was idle after the warm-up.
pub fn process(before: &Process, after: &Process) -> Vec<String> {
    let mut wrong = Vec::new();
    for (what, before, after) in [
        ("threads", before.threads, after.threads),
        ("open files", before.files, after.files),
    ] {
        if after > before {
            wrong.push(format!(
                "slurmctld has {after} {what}, and had {before} after the warm-up"
            ));
        }
    }
    if after.rss_mib > before.rss_mib * GROWTH_MAX {
        wrong.push(format!(
            "slurmctld has grown from {:.1} to {:.1} MiB",
            before.rss_mib, after.rss_mib
        ));
    }
    wrong
}

/// Says how memory grew, `rows` being those since the warm-up.
pub fn tell_memory(before: &Process, after: &Process, rows: &[Row]) {
    let ratio = |of: fn(&Process) -> f64| {
        format!(
            "{:.1} to {:.1} MiB ({:.2})",
            of(before),
            of(after),
            of(after) / of(before)
        )
    };
    tell(&format!(
        "Idle slurmctld, after the warm-up and in the end: RSS {}, PSS {}, anonymous {}; threads {} and {}, open files {} and {}",
        ratio(|process| process.rss_mib),
        ratio(|process| process.pss_mib),
        ratio(|process| process.anonymous_mib),
        before.threads,
        after.threads,
        before.files,
        after.files,
    ));
    let each = |x: fn(&Row) -> f64| {
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (x(row), row.process.rss_mib)).collect();
        slope(&points).map_or("-".to_owned(), |slope| format!("{slope:.2}"))
    };
    tell(&format!(
        "RSS under load since then, median slope: {} MiB an hour, {} MiB for 1,000 submissions",
        each(|row| row.at_s / 3600.0),
        each(|row| row.jobs as f64 / 1000.0),
    ));
}

/// Says how long urgent jobs took to start, in each quarter of the time.
pub fn tell_latencies(traffic: &Traffic) {
    let latencies = &traffic.latencies;
    let quarter = latencies.len().div_ceil(4).max(1);
    for (at, part) in latencies.chunks(quarter).enumerate() {
        let shown = |at| quantile(part, at).unwrap_or_default();
        tell(&format!(
            "Submission to start, quarter {} of {} urgent jobs: median {:.2} s, p95 {:.2} s, most {:.2} s",
            at + 1,
            latencies.len(),
            shown(0.5),
            shown(0.95),
            shown(1.0),
        ));
    }
}

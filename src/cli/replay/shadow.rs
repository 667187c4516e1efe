// SPDX-License-Identifier: GPL-2.0-or-later
//! What Surgent in shadow mode decided for the real jobs, beside what a replay makes of them.

use super::text::{counted, fill, time};
use crate::cli::audit_file;
use crate::policy::audit::summary::{Summary, Totals, UrgentJob};
use crate::policy::units::Seconds;
use crate::replay::figures::Spread;
use serde::Serialize;
use std::path::Path;

/// The figures of an audit file. Where the names are those of a policy's figures they mean the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Shadow {
    audit_file: String,
    /// The first and the last line written in shadow mode, in Unix seconds.
    from: i64,
    until: i64,
    urgent_jobs: u64,
    urgent_starts: u64,
    /// How long urgent jobs waited, as nobody made way.
    urgent_wait_s: Spread,
    /// Urgent jobs for which others would have made way; for which nobody would, as jobs ended by themselves; for which no
    /// set of jobs did.
    planned: u64,
    others_end: u64,
    no_set: u64,
    victims: u64,
    /// Different jobs among the victims.
    jobs_stopped: u64,
    lost_gpu_h: f64,
    lost_gpu_h_per_start: f64,
    victims_per_start: f64,
    /// Of those with a plan that have started: how long they waited, and how long they would have.
    planned_wait_s: Spread,
    foreseen_wait_s: Spread,
    /// Lines that were not written in shadow mode, and events that could not be written.
    lines_on: u64,
    lines_lost: u64,
}

impl Shadow {
    /// Of the audit file at `path`.
    ///
    /// # Errors
    ///
    /// One line that names the file; also where nothing in it is of shadow mode.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let summary = audit_file::shadow(path)?;
        Self::of(path.display().to_string(), &summary)
            .ok_or_else(|| format!("{}: no line was written in shadow mode", path.display()))
    }

    fn of(audit_file: String, summary: &Summary) -> Option<Self> {
        let (from, until) = summary.span?;
        let Totals {
            urgent,
            starts,
            planned,
            others_end,
            no_set,
            victims,
            jobs_stopped,
            lost_gpu_h,
        } = summary.totals();
        let spread =
            |waits: &mut dyn Iterator<Item = Seconds>| Spread::of(waits.map(|wait| wait.0).collect());
        // Only these can be compared with what was foreseen.
        let both = |job: &UrgentJob| job.started == 1 && job.foreseen_wait_s().is_some();
        let jobs = || summary.urgent.iter();
        let per_start = |value: f64| value / starts.max(1) as f64;
        Some(Self {
            audit_file,
            from: from.0,
            until: until.0,
            urgent_jobs: urgent,
            urgent_starts: starts,
            urgent_wait_s: spread(&mut jobs().flat_map(|job| job.waited_s.iter().copied())),
            planned,
            others_end,
            no_set,
            victims,
            jobs_stopped,
            lost_gpu_h,
            lost_gpu_h_per_start: per_start(lost_gpu_h),
            victims_per_start: per_start(victims as f64),
            planned_wait_s: spread(
                &mut jobs()
                    .filter(|job| both(job))
                    .flat_map(|job| job.waited_s.iter().copied()),
            ),
            foreseen_wait_s: spread(
                &mut jobs()
                    .filter(|job| both(job))
                    .filter_map(UrgentJob::foreseen_wait_s),
            ),
            lines_on: summary.lines_on,
            lines_lost: summary.lines_lost,
        })
    }

    /// What is said of it, line by line.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let wait = |spread: &Spread| format!("p50 {}, p95 {}", time(spread.p50), time(spread.p95));
        let mut rows = vec![
            (
                "urgent jobs",
                format!(
                    "{} in {}, {} started",
                    self.urgent_jobs,
                    time((self.until - self.from) as f64),
                    self.urgent_starts
                ),
            ),
            ("their real wait", wait(&self.urgent_wait_s)),
            (
                "others would have made way",
                format!(
                    "for {}: {} of {}",
                    self.planned,
                    counted(self.victims, "stop"),
                    counted(self.jobs_stopped, "job")
                ),
            ),
            ("lost by that", format!("{:.3} GPU-h", self.lost_gpu_h)),
            (
                "for each urgent start",
                format!(
                    "{:.3} GPU-h, {:.2} victims",
                    self.lost_gpu_h_per_start, self.victims_per_start
                ),
            ),
            ("real wait where planned", wait(&self.planned_wait_s)),
            ("wait by those plans", wait(&self.foreseen_wait_s)),
            (
                "jobs ended soon by themselves",
                format!("for {}", self.others_end),
            ),
            ("no set of jobs was enough", format!("for {}", self.no_set)),
        ];
        for (what, lines) in [
            ("lines of another mode", self.lines_on),
            ("events that were not written", self.lines_lost),
        ] {
            if lines > 0 {
                rows.push((what, lines.to_string()));
            }
        }
        rows
    }

    /// What it is of.
    pub(super) fn title(&self) -> String {
        format!("Decided in shadow mode, by {}", self.audit_file)
    }

    /// For people.
    pub(super) fn describe(&self) -> String {
        let rows = self.rows();
        let rows = rows.iter().map(|(what, value)| format!("  {what:30} {value}\n"));
        format!("\n{}{}", fill(&self.title()), rows.collect::<String>())
    }
}

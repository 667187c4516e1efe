// SPDX-License-Identifier: GPL-2.0-or-later
//! All urgent jobs together.

use super::urgent::{Outcome, UrgentJob};
use std::collections::BTreeSet;

/// All urgent jobs together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Urgent jobs.
    pub urgent: u64,
    /// Starts of urgent jobs or of their tasks.
    pub starts: u64,
    /// Urgent jobs for which others would have made way.
    pub planned: u64,
    /// Urgent jobs that waited, and for which nobody would have made way as jobs end by themselves.
    pub others_end: u64,
    /// Urgent jobs that waited, and for which no set of jobs would have done.
    pub no_set: u64,
    /// Stops, each counted.
    pub victims: u64,
    /// Different runs among these.
    pub runs_stopped: u64,
    /// Different jobs among these.
    pub jobs_stopped: u64,
    /// What the plans cost, with the weights by which victims are compared.
    pub cost_gpu_s: f64,
    /// GPU-hours that the victims would have lost.
    pub lost_gpu_h: f64,
}

impl Totals {
    /// Of these.
    pub fn of(urgent: &[UrgentJob]) -> Self {
        let mut totals = Self::default();
        let mut runs = BTreeSet::new();
        for job in urgent {
            totals.urgent += 1;
            totals.starts += u64::from(job.started);
            match job.outcome {
                Outcome::Plan => totals.planned += 1,
                Outcome::OthersEnd => totals.others_end += 1,
                Outcome::NoSet => totals.no_set += 1,
                Outcome::NotNeeded => {}
            }
            if let Some(plan) = &job.plan {
                totals.victims += plan.victims.len() as u64;
                totals.cost_gpu_s += plan.cost_gpu_s;
                totals.lost_gpu_h += plan.lost_gpu_h();
                runs.extend(plan.victims.iter().map(|victim| (victim.job, victim.start)));
            }
        }
        totals.runs_stopped = runs.len() as u64;
        let jobs: BTreeSet<_> = runs.into_iter().map(|(job, _)| job).collect();
        totals.jobs_stopped = jobs.len() as u64;
        totals
    }
}

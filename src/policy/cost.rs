// SPDX-License-Identifier: GPL-2.0-or-later
//! What it costs to stop a job, in GPU-seconds of work that must be done again or that nobody does meanwhile.

use super::eligibility::SaveWay;
use super::facts::{Facts, RunningJob};
use super::settings::Settings;
use super::units::Seconds;
use serde::{Deserialize, Serialize};

/// The cost of one victim, term by term.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// GPUs that it holds; for a job without GPUs its CPUs times `cpu_weight`.
    pub resources: f64,
    /// Training that must be done again.
    pub lost_s: Seconds,
    /// Time that its save takes.
    pub save_s: Seconds,
    /// Time until it trains again, once restarted.
    pub restart_s: Seconds,
    /// From its `priority`: 1 at 50, 10 at 100, 1/10 at 0.
    pub priority_weight: f64,
    /// 1, and 1 more for each time that it was stopped before.
    pub repeat_factor: f64,
    /// How long until it is ready to be stopped.
    pub ready_s: Seconds,
}

impl Cost {
    /// All terms together, in GPU-seconds.
    pub fn total_gpu_s(&self) -> f64 {
        let seconds = self.lost_s + self.save_s + self.restart_s;
        self.resources * seconds.0 * self.priority_weight * self.repeat_factor
    }
}

/// The cost of stopping `job`. `unreported_age_s` is what [`typical_save_age`] gives.
pub fn cost(
    job: &RunningJob,
    way: &SaveWay,
    facts: &Facts,
    settings: &Settings,
    unreported_age_s: Option<Seconds>,
) -> Cost {
    let victims = &settings.victims;
    let directives = job.directives.as_ref();
    let told_save_s = directives.and_then(|directives| directives.save_s);
    let save_s = told_save_s.unwrap_or(victims.save_s);
    let (lost_s, save_s, ready_s) = match way {
        SaveWay::AtStep(_) => (victims.step_s, save_s, save_s),
        SaveWay::AtEpochEnd { wait_s, .. } => (Seconds::ZERO, save_s, *wait_s + save_s),
        SaveWay::Unsaved => (
            unsaved_age(job, facts, unreported_age_s),
            Seconds::ZERO,
            Seconds::ZERO,
        ),
    };
    let priority = directives
        .and_then(|directives| directives.priority)
        .unwrap_or(50);
    let preempted = job.record.as_ref().map_or(0, |record| record.preempted);
    Cost {
        resources: resources(job, facts, victims.cpu_weight),
        lost_s,
        save_s,
        restart_s: victims.restart_s,
        priority_weight: 10f64.powf((f64::from(priority) - 50.0) / 50.0),
        repeat_factor: 1.0 + f64::from(preempted),
        ready_s,
    }
}

/// The median age of the last save of the jobs that report one; `None` where none does.
///
/// A job that reports nothing is taken to be like the others, so that silence never protects it.
pub fn typical_save_age(facts: &Facts) -> Option<Seconds> {
    let mut ages: Vec<f64> = facts
        .running
        .iter()
        .filter_map(|job| job.directives.as_ref()?.saved)
        .map(|saved| (facts.now - saved).0.max(0.0))
        .collect();
    ages.sort_by(f64::total_cmp);
    ages.get(ages.len() / 2).copied().map(Seconds)
}

fn unsaved_age(job: &RunningJob, facts: &Facts, unreported_age_s: Option<Seconds>) -> Seconds {
    let running_s = (facts.now - job.start).0.max(0.0);
    let saved = job.directives.as_ref().and_then(|directives| directives.saved);
    match (saved, unreported_age_s) {
        (Some(saved), _) => Seconds((facts.now - saved).0.clamp(0.0, running_s)),
        (None, Some(typical)) => Seconds(typical.0.min(running_s)),
        (None, None) => Seconds(running_s),
    }
}

fn resources(job: &RunningJob, facts: &Facts, cpu_weight: f64) -> f64 {
    let held = job.held();
    match facts.gres.total_of(&held, "gpu") {
        0 => f64::from(held.cpus) * cpu_weight,
        // Exact: nobody has 2^53 GPUs.
        gpus => gpus as f64,
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What came of a replay, in figures.

use super::sim::{Loss, Phase, Replayed};
use super::workload::{Job, Machine};
use serde::Serialize;

/// The slowdown of a job that is shorter than this is counted as if it took so long, in seconds (bounded slowdown,
/// Feitelson and Rudolph, "Metrics and benchmarking for parallel job scheduling", 1998).
const SLOWDOWN_BOUND_S: i64 = 10;

/// The middle, and what all but a twentieth stay below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The mean.
    pub mean: f64,
}

impl Spread {
    /// Of `values`; all zero of none. Percentiles are values that occur (nearest rank).
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let rank = |share: f64| {
            let at = (share * values.len() as f64).ceil() as usize;
            values.get(at.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self {
            p50: rank(0.50),
            p95: rank(0.95),
            mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
        }
    }
}

/// GPU-hours lost by those who were stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lost {
    /// Training that was done again.
    pub redone_gpu_h: f64,
    /// Saving, and waiting for others to have saved.
    pub saving_gpu_h: f64,
    /// Starting again.
    pub restart_gpu_h: f64,
}

impl Lost {
    /// All of it.
    pub fn total_gpu_h(&self) -> f64 {
        self.redone_gpu_h + self.saving_gpu_h + self.restart_gpu_h
    }

    fn add(&mut self, job: &Job, loss: Loss) {
        let gpu_h = |seconds: i64| (seconds * job.gpus()) as f64 / 3600.0;
        self.redone_gpu_h += gpu_h(loss.redone_s);
        self.saving_gpu_h += gpu_h(loss.saving_s);
        self.restart_gpu_h += gpu_h(loss.restart_s);
    }
}

/// The figures of one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Urgent jobs that started.
    pub urgent_starts: u64,
    /// Urgent jobs that have not.
    pub urgent_unstarted: u64,
    /// How long they waited, in seconds.
    pub urgent_wait_s: Spread,
    /// Jobs that were stopped, each time counted.
    pub victims: u64,
    /// What they lost.
    pub lost: Lost,
    /// The same in all for each urgent job that started.
    pub lost_gpu_h_per_start: f64,
    /// Jobs that were stopped for each urgent job that started.
    pub victims_per_start: f64,
    /// Normal jobs that are done.
    pub normal_done: u64,
    /// How long a normal job was under way without training, from its first submission to its end, in seconds.
    pub normal_wait_s: Spread,
    /// Time from submission to end in run times, at least 10 s each.
    pub normal_slowdown: Spread,
    /// The share of the GPU-hours between first submission and last end that trained, and was not done again.
    pub utilisation: f64,
    /// When the last event was, in seconds after the first submission.
    pub end_s: i64,
    /// It was ended before all jobs were done.
    pub is_partial: bool,
}

impl Figures {
    /// Of a replay of `jobs` on `machine`.
    pub fn of(jobs: &[Job], machine: Machine, replayed: &Replayed) -> Self {
        let waits = replayed
            .services
            .iter()
            .map(|service| (service.start_s - jobs[service.urgent].submit_s) as f64);
        let mut lost = Lost::default();
        for (job, life) in jobs.iter().zip(&replayed.lives) {
            lost.add(job, life.loss);
        }
        let stopped = replayed
            .services
            .iter()
            .map(|service| service.stopped.len() as u64);
        let victims: u64 = stopped.sum();
        let starts = replayed.services.len() as u64;
        let (mut normal_wait_s, mut normal_slowdown) = (Vec::new(), Vec::new());
        let mut worked_gpu_s = 0;
        for (job, life) in jobs.iter().zip(&replayed.lives) {
            worked_gpu_s += life.done_s * job.gpus();
            if let (false, Phase::Done(end_s)) = (job.is_urgent, &life.phase) {
                let turnaround_s = end_s - job.submit_s;
                normal_wait_s.push((turnaround_s - job.work_s) as f64);
                normal_slowdown.push(
                    turnaround_s.max(SLOWDOWN_BOUND_S) as f64 / job.work_s.max(SLOWDOWN_BOUND_S) as f64,
                );
            }
        }
        let machine_gpu_s =
            i64::from(machine.nodes) * i64::from(machine.gpus_per_node) * replayed.end_s.max(1);
        let urgent = jobs.iter().filter(|job| job.is_urgent).count() as u64;
        let per_start = |value: f64| value / starts.max(1) as f64;
        Self {
            urgent_starts: starts,
            urgent_unstarted: urgent - starts.min(urgent),
            urgent_wait_s: Spread::of(waits.collect()),
            victims,
            lost_gpu_h_per_start: per_start(lost.total_gpu_h()),
            victims_per_start: per_start(victims as f64),
            lost,
            normal_done: normal_wait_s.len() as u64,
            normal_wait_s: Spread::of(normal_wait_s),
            normal_slowdown: Spread::of(normal_slowdown),
            utilisation: worked_gpu_s as f64 / machine_gpu_s as f64,
            end_s: replayed.end_s,
            is_partial: replayed.is_partial,
        }
    }
}

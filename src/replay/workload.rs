// SPDX-License-Identifier: GPL-2.0-or-later
//! Jobs to replay: those of a trace, and what the trace does not tell of them, drawn by a seed.

use super::trace::{Trace, TraceJob};
use crate::policy::directives::SaveKind;
use crate::policy::ids::{JobId, UserId};
use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// The machine on which the jobs are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Nodes, all alike.
    pub nodes: u32,
    /// GPUs of each.
    pub gpus_per_node: u32,
}

/// What a replay takes for true where the trace does not tell. Draws are log-uniform between two bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// The same seed draws the same.
    pub seed: u64,
    /// The share of jobs that are urgent, 0 to 1.
    pub urgent_share: f64,
    /// The share of jobs that save at an epoch's end only, 0 to 1; the others save at any step.
    pub epoch_savers_share: f64,
    /// How many epochs a training has.
    pub epochs: (u32, u32),
    /// No drawn epoch is shorter, in seconds.
    pub epoch_min_s: i64,
    /// How long a save takes, in seconds.
    pub save_s: (i64, i64),
    /// A job's time limit, in run times.
    pub limit_factor: f64,
}

impl Default for Assumptions {
    fn default() -> Self {
        Self {
            seed: 1,
            urgent_share: 0.05,
            epoch_savers_share: 0.5,
            epochs: (3, 100),
            epoch_min_s: 10,
            save_s: (5, 60),
            limit_factor: 2.0,
        }
    }
}

/// A job to replay. Times are whole seconds, counted from the submission of the first job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its number, its place in the workload and one more.
    pub id: JobId,
    /// Whose it is.
    pub user: UserId,
    /// When it is submitted.
    pub submit_s: i64,
    /// How much training it needs, at least 1.
    pub work_s: i64,
    /// Its time limit, no less than `work_s`.
    pub limit_s: i64,
    /// How many nodes it needs, at least 1.
    pub nodes: u32,
    /// GPUs on each of them, at least 1.
    pub gpus_per_node: u32,
    /// How long an epoch takes, at least 1. The last one may be shorter.
    pub epoch_s: i64,
    /// When it can save.
    pub save: SaveKind,
    /// How long that takes.
    pub save_s: i64,
    /// Whether it is urgent.
    pub is_urgent: bool,
}

impl Job {
    /// GPUs in all.
    pub fn gpus(&self) -> i64 {
        i64::from(self.nodes) * i64::from(self.gpus_per_node)
    }

    /// Epochs in all.
    pub fn epochs(&self) -> u32 {
        // The readers and the draws bound it.
        u32::try_from(divided_up(self.work_s, self.epoch_s)).unwrap_or(u32::MAX)
    }
}

/// Jobs to replay, and which of a trace are not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// By submission.
    pub jobs: Vec<Job>,
    /// So many jobs of the trace need more than the machine has.
    pub too_large: u64,
    /// So many jobs have their epochs from the trace; those of the others are drawn.
    pub epochs_told: u64,
    /// So many jobs have their class from the trace.
    pub class_told: u64,
}

impl Workload {
    /// The jobs of `trace` that fit on `machine`.
    pub fn new(trace: &Trace, machine: Machine, assumptions: &Assumptions) -> Self {
        let mut workload = Self::default();
        let mut random = ChaCha8Rng::seed_from_u64(assumptions.seed);
        let first_s = trace.jobs.first().map_or(0, |job| job.submit_s);
        for told in &trace.jobs {
            // Drawn for every job, so that a larger machine changes nothing for the jobs that fit on a smaller one.
            let drawn = Drawn::new(told, assumptions, &mut random);
            let Some((nodes, gpus_per_node)) = spread(told, machine) else {
                workload.too_large += 1;
                continue;
            };
            workload.epochs_told += u64::from(told.training.is_some());
            workload.class_told += u64::from(told.is_urgent.is_some());
            let epochs = told.training.map_or(drawn.epochs, |training| training.epochs);
            // There are at most JOBS_MAX.
            let id = JobId(u32::try_from(workload.jobs.len() + 1).unwrap_or(u32::MAX));
            let limit_s = (told.run_s as f64 * assumptions.limit_factor) as i64;
            workload.jobs.push(Job {
                id,
                user: told.user,
                submit_s: told.submit_s - first_s,
                work_s: told.run_s,
                limit_s: told.limit_s.unwrap_or(limit_s).max(told.run_s),
                nodes,
                gpus_per_node,
                epoch_s: divided_up(told.run_s, i64::from(epochs.max(1))),
                save: drawn.save,
                save_s: drawn.save_s,
                is_urgent: told.is_urgent.unwrap_or(drawn.is_urgent),
            });
        }
        workload
    }
}

struct Drawn {
    epochs: u32,
    save: SaveKind,
    save_s: i64,
    is_urgent: bool,
}

impl Drawn {
    fn new(told: &TraceJob, assumptions: &Assumptions, random: &mut impl Rng) -> Self {
        let (least, most) = assumptions.epochs;
        let longest = told.run_s / assumptions.epoch_min_s.max(1);
        let epochs = between(random, i64::from(least), i64::from(most)).min(longest.max(1));
        Self {
            epochs: u32::try_from(epochs).unwrap_or(most),
            save: match random.random::<f64>() < assumptions.epoch_savers_share {
                true => SaveKind::Epoch,
                false => SaveKind::Step,
            },
            save_s: between(random, assumptions.save_s.0, assumptions.save_s.1),
            is_urgent: random.random::<f64>() < assumptions.urgent_share,
        }
    }
}

/// Of two positive numbers.
fn divided_up(whole: i64, part: i64) -> i64 {
    (whole + part - 1) / part
}

fn between(random: &mut impl Rng, least: i64, most: i64) -> i64 {
    let (low, high) = ((least.max(1) as f64).ln(), (most.max(1) as f64).ln());
    let drawn = (low + (high - low) * random.random::<f64>()).exp().round();
    (drawn as i64).clamp(least, most.max(least))
}

/// Nodes, and GPUs on each; `None` where the machine has not as many. Nodes are as many as the trace says, more where
/// those have fewer GPUs here.
fn spread(told: &TraceJob, machine: Machine) -> Option<(u32, u32)> {
    let needed = told.gpus.div_ceil(machine.gpus_per_node);
    let nodes = told.nodes.unwrap_or(1).min(told.gpus).max(needed);
    (nodes <= machine.nodes).then(|| (nodes, told.gpus.div_ceil(nodes)))
}

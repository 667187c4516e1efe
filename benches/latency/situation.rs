// SPDX-License-Identifier: GPL-2.0-or-later
//! What an urgent job meets: the same for everyone, from a seed.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::fmt;

/// Seconds that each step of a training takes.
pub const STEP_S: f64 = 0.1;

/// A training that runs when the urgent job comes.
#[derive(Clone, Copy)]
pub struct TrainingPlan {
    /// Whole nodes that it holds.
    pub nodes: u32,
    /// Seconds that its save takes.
    pub save_s: f64,
}

/// Trainings on all four nodes, and an urgent job.
pub struct Situation {
    /// From 1 on.
    pub number: u32,
    pub trainings: Vec<TrainingPlan>,
    /// Whole nodes that the urgent job asks for.
    pub urgent_nodes: u32,
}

impl Situation {
    /// The same for the same seed and number.
    pub fn new(seed: u64, number: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(number));
        let nodes: &[u32] = [&[1, 1, 1, 1][..], &[2, 1, 1], &[2, 2]][rng.random_range(0..3)];
        let training = |nodes: &u32| TrainingPlan {
            nodes: *nodes,
            save_s: f64::from(rng.random_range(3..=30)) / 10.0,
        };
        Self {
            number,
            trainings: nodes.iter().map(training).collect(),
            urgent_nodes: rng.random_range(1..=3),
        }
    }

    /// The shortest GraceTime in which the slowest training surely saves. It may have to end a step first, and Slurm
    /// counts whole seconds from the beginning of the second in which it decides.
    pub fn grace_s(&self) -> u32 {
        let slowest_s = self
            .trainings
            .iter()
            .fold(0.0, |slowest: f64, training| slowest.max(training.save_s));
        (slowest_s + STEP_S).ceil() as u32 + 1
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trainings: Vec<_> = self
            .trainings
            .iter()
            .map(|training| format!("{} ({:.1} s)", training.nodes, training.save_s))
            .collect();
        write!(
            out,
            "{} of 4 nodes, held by trainings of {} nodes (save)",
            self.urgent_nodes,
            trainings.join(", ")
        )
    }
}

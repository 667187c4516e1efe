// SPDX-License-Identifier: GPL-2.0-or-later
//! What a round is, from its seed.

use super::fault::Fault;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::time::Duration;

/// How far the story is when the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The urgent job has just been submitted.
    Submitted,
    /// A victim has been asked to save.
    Asked,
    /// A victim has saved.
    Saved,
    /// All have saved and may be stopped.
    GateOpen,
    /// A victim is being requeued.
    Requeued,
    /// The urgent job runs.
    Running,
    /// A victim has its place back.
    Restored,
}

impl Step {
    pub const ALL: [Self; 7] = [
        Self::Submitted,
        Self::Asked,
        Self::Saved,
        Self::GateOpen,
        Self::Requeued,
        Self::Running,
        Self::Restored,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Asked => "asked",
            Self::Saved => "one saved",
            Self::GateOpen => "gate open",
            Self::Requeued => "requeued",
            Self::Running => "urgent runs",
            Self::Restored => "restored",
        }
    }

    /// The parts of slurmctld's log of which any shows that it is reached; none where another sign does.
    pub fn signs(self) -> &'static [&'static str] {
        match self {
            Self::Submitted | Self::Running => &[],
            Self::Asked => &["surgent: asked job"],
            Self::Saved => &[" has saved for job "],
            Self::GateOpen => &["surgent: gate open", "surgent: requeueing jobs"],
            Self::Requeued => &[" has been requeued to reclaim", "Requeuing JobId="],
            Self::Restored => &[" was requeued for job "],
        }
    }
}

/// What asks for the victims' nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One job of so many whole nodes.
    Plain(u32),
    /// An array of two tasks, of a whole node each.
    Array,
    /// A heterogeneous job of two components, of a whole node each.
    Het,
}

/// A job that may have to make way.
#[derive(Clone, Debug)]
pub struct VictimPlan {
    /// Whole nodes that it holds.
    pub nodes: u32,
    /// Under `surgent run`; else its script saves by a trap and says so itself.
    pub monitored: bool,
    /// What its save takes.
    pub save_s: f64,
}

/// One round.
#[derive(Clone, Debug)]
pub struct Round {
    pub seed: u64,
    pub fault: Fault,
    pub step: Step,
    pub shape: Shape,
    pub victims: Vec<VictimPlan>,
    /// For how long the fault lasts.
    pub lasts: Duration,
    /// Decides between equals: whom it strikes, in which direction.
    pub die: u64,
}

impl Round {
    /// The round with this seed, with one of `faults`.
    pub fn of(seed: u64, faults: &[Fault]) -> Self {
        let all = Fault::at_steps(faults);
        // Coprime to the number of pairs: seeds that follow one another have different faults, and as many of them as there
        // are pairs meet each once.
        let stride = (57..)
            .find(|stride| gcd(*stride, all.len() as u64) == 1)
            .unwrap_or(1);
        let (fault, step) = all[(seed.wrapping_mul(stride) % all.len() as u64) as usize];
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let shape = match random.random_range(0..5) {
            0 => Shape::Array,
            1 => Shape::Het,
            2 => Shape::Plain(1),
            3 => Shape::Plain(3),
            _ => Shape::Plain(2),
        };
        let shape = match shape {
            Shape::Array | Shape::Het if fault.wants_plain() => Shape::Plain(2),
            shape => shape,
        };
        let nodes: &[u32] = if random.random_bool(0.25) {
            &[2, 1, 1]
        } else {
            &[1; 4]
        };
        let victims = nodes.iter().map(|nodes| VictimPlan {
            nodes: *nodes,
            monitored: fault == Fault::MonitorKilled || random.random_bool(0.5),
            save_s: f64::from(random.random_range(2..25u32)) / 10.0,
        });
        Self {
            seed,
            fault,
            step,
            shape,
            victims: victims.collect(),
            lasts: Duration::from_millis(random.random_range(200..3500)),
            die: random.random(),
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let victims = self.victims.iter().map(|victim| {
            let kind = if victim.monitored { "run" } else { "trap" };
            format!("{}x{kind}/{}s", victim.nodes, victim.save_s)
        });
        write!(
            out,
            "seed {}: {} at '{}' for {:.1} s, urgent {:?}, victims {}",
            self.seed,
            self.fault.name(),
            self.step.name(),
            self.lasts.as_secs_f64(),
            self.shape,
            victims.collect::<Vec<_>>().join(" "),
        )
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Ways of serving urgent jobs that can be compared.

mod order;
mod surgent;

use super::sim::{Campaign, Life, Room, Rules, Shape, Stop};
use super::workload::{Job, Machine};
use crate::policy::settings::Settings;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A way of serving urgent jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nobody is stopped; urgent jobs stand at the head of the queue.
    Never,
    /// Surgent's own policy.
    Surgent {
        /// Whether victims save when asked.
        saves: bool,
    },
    /// Victims in an order, one after the other, as Slurm's select/cons_tres takes them.
    InOrder {
        /// Who comes first.
        order: Order,
        /// What becomes of their work.
        saves: Saves,
    },
}

/// Who is stopped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Who started last: Slurm's `preempt_youngest_first`.
    Youngest,
    /// Who holds the fewest nodes: the order of preempt/partition_prio within a partition.
    FewestNodes,
    /// Who has had the fewest GPU-seconds so far (least attained service).
    LeastService,
    /// Anybody.
    Random,
}

/// What becomes of the work of a victim that is chosen by its place in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saves {
    /// It is killed at once: Slurm's GraceTime=0.
    Never,
    /// It is killed after the grace time, and does not use that to save.
    GraceOnly,
    /// It saves within the grace time if it can, and makes way then.
    InGrace,
}

/// All ways, in the order in which they are shown.
pub const WAYS: [Way; 15] = {
    const fn in_order(order: Order, saves: Saves) -> Way {
        Way::InOrder { order, saves }
    }
    [
        Way::Surgent { saves: true },
        Way::Surgent { saves: false },
        in_order(Order::Youngest, Saves::Never),
        in_order(Order::Youngest, Saves::GraceOnly),
        in_order(Order::Youngest, Saves::InGrace),
        in_order(Order::FewestNodes, Saves::Never),
        in_order(Order::FewestNodes, Saves::GraceOnly),
        in_order(Order::FewestNodes, Saves::InGrace),
        in_order(Order::LeastService, Saves::Never),
        in_order(Order::LeastService, Saves::GraceOnly),
        in_order(Order::LeastService, Saves::InGrace),
        in_order(Order::Random, Saves::Never),
        in_order(Order::Random, Saves::GraceOnly),
        in_order(Order::Random, Saves::InGrace),
        Way::Never,
    ]
};

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.pad("never"),
            Self::Surgent { saves: true } => f.pad("surgent"),
            Self::Surgent { saves: false } => f.pad("surgent-unsaved"),
            Self::InOrder { order, saves } => {
                let order = match order {
                    Order::Youngest => "youngest",
                    Order::FewestNodes => "fewest-nodes",
                    Order::LeastService => "least-service",
                    Order::Random => "random",
                };
                let saves = match saves {
                    Saves::Never => "",
                    Saves::GraceOnly => "-grace",
                    Saves::InGrace => "-saved",
                };
                f.pad(&format!("{order}{saves}"))
            }
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        WAYS.into_iter()
            .find(|way| way.to_string() == name.trim())
            .ok_or_else(|| {
                let names = WAYS.map(|way| way.to_string());
                format!("there is no policy {name:?}; there are {}", names.join(", "))
            })
    }
}

/// The machine at the moment at which an urgent job needs room.
pub struct Scene<'a> {
    /// The moment.
    pub now_s: i64,
    /// What it has.
    pub machine: Machine,
    /// All jobs of the workload.
    pub jobs: &'a [Job],
    /// What became of each.
    pub lives: &'a [Life],
    /// Places of those that run.
    pub running: &'a BTreeSet<usize>,
    /// What is free.
    pub room: &'a Room,
    /// For whom others make way already.
    pub campaigns: &'a [Campaign],
    /// What is the same for all jobs.
    pub rules: Rules,
    /// Surgent's settings. The time that a victim has for its save is the grace time of all ways.
    pub settings: &'a Settings,
}

/// What is to be done for an urgent job.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Stop these jobs, by place; it starts on these nodes.
    Stop {
        /// Whom, and how.
        victims: Vec<(usize, Stop)>,
        /// Where it starts.
        nodes: Vec<u32>,
    },
    /// Nothing for the moment; until this time, if that is known.
    Wait {
        /// When to ask again.
        until_s: Option<i64>,
    },
}

impl Scene<'_> {
    /// How long a victim has for its save.
    pub fn grace_s(&self) -> i64 {
        // Settings bound it.
        self.settings.victims.save_deadline_s.0 as i64
    }

    /// Who might be stopped: normal jobs that run and do not make way already.
    pub fn candidates(&self) -> impl Iterator<Item = usize> {
        self.running.iter().copied().filter(|at| {
            let is_stopping = self.lives[*at].run().is_none_or(|run| run.stop.is_some());
            !is_stopping && !self.jobs[*at].is_urgent
        })
    }

    /// What the urgent job takes.
    pub fn shape(&self, at: usize) -> Shape {
        Shape::of(&self.jobs[at])
    }
}

impl Way {
    /// What is to be done for the urgent job at place `urgent`, which does not fit on what is free.
    pub fn choose(self, scene: &Scene<'_>, urgent: usize, random: &mut ChaCha8Rng) -> Verdict {
        match self {
            Self::Never => Verdict::Wait { until_s: None },
            Self::Surgent { saves } => surgent::choose(scene, urgent, saves),
            Self::InOrder { order, saves } => order::choose(scene, urgent, order, saves, random),
        }
    }
}

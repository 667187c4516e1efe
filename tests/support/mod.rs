// SPDX-License-Identifier: GPL-2.0-or-later
//! A real Slurm cluster on one machine, for the cluster tests and the demo: munged, slurmctld and four slurmd in a
//! folder of their own, on free ports. Needs root, no systemd, and nothing under /etc.

mod accounting;
mod backup;
mod builder;
mod cluster;
mod command;
mod conf;
mod failure;
mod job;
pub mod leftovers;
mod log;
pub mod places;
mod runner;
mod training;
mod wait;

pub use builder::Builder;
pub use cluster::Cluster;
pub use command::{finish, write_program};
pub use conf::Preempt;
pub use failure::{Failure, Outcome};
pub use job::{Job, JobId};
pub use log::LogLine;
pub use runner::{number, tell};
pub use training::{Event, STEPS_PER_EPOCH, Steps, Training};
pub use wait::LIMIT;

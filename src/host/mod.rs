// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent inside slurmctld: everything between the C shims and the pure policy.
//!
//! The only part of the project with `unsafe`. What holds throughout:
//! - every function that C calls goes through [`guard`]; a panic becomes the answer that Slurm would give itself;
//! - hooks never block, do no I/O, and take no lock of Slurm's;
//! - the planner thread takes Slurm's locks only inside `snapshot`, and holds none while it runs a command;
//! - what C lends is copied before the call returns.

pub mod abi;
pub mod act;
pub mod admission;
pub mod audit;
pub mod config;
pub mod core;
pub mod exports;
pub mod gate;
pub mod guard;
pub mod kept_file;
pub mod logger;
pub mod metrics;
pub mod people;
pub mod planner;
pub mod queue;
pub mod reclass;
pub mod records;
pub mod state;
pub mod views;
pub mod wake;

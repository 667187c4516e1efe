// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurm as seen through its own commands: scontrol, squeue, scancel.
#![forbid(unsafe_code)]

pub mod command;
pub mod config;
pub mod ending;
pub mod job;
pub mod show;
pub mod submit;

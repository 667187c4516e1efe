// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent: urgent jobs for Slurm.
//!
//! [`policy`] decides (pure), [`host`] carries decisions out inside slurmctld, [`slurm`] talks to Slurm's own
//! commands, [`progress`] reads the output of training programs (pure), [`monitor`] follows one from inside its job, [`cli`] is
//! what people type.
//!
//! Who may use whom: `policy` and `progress` nobody; `host`, `slurm`, `monitor` use `policy` (`host` and `monitor` also
//! `slurm`, `monitor` also `progress`);
//! `cli` uses all of them. `tests/tidy.rs` holds the tree to this.

pub mod cli;
pub mod host;
pub mod monitor;
pub mod policy;
pub mod progress;
pub mod replay;
pub mod slurm;

// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurm's own commands.

pub mod command;

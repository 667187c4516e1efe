// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent replay`: what a way of serving urgent jobs would have done to a trace of jobs.
//!
//! [`trace`] reads what a cluster recorded, [`workload`] adds what a trace does not tell (drawn by a seed), [`sim`] runs
//! that under a [`way`] of choosing victims, and [`figures`] sums up what came of it. No clock and no input or output but
//! the reading of the trace: the same trace, assumptions and seed give the same figures.

pub mod figures;
pub mod sim;
pub mod timeline;
pub mod trace;
pub mod way;
pub mod workload;

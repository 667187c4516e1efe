// SPDX-License-Identifier: GPL-2.0-or-later
//! Decisions, and nothing else: facts in, decisions out.
//!
//! No clock, no I/O, no threads, no unsafe: the same facts give the same answer, byte for byte, in slurmctld, in
//! the tools and in the tests.
#![forbid(unsafe_code)]

pub mod directives;
pub mod ids;
pub mod record;
pub mod units;

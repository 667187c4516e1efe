// SPDX-License-Identifier: GPL-2.0-or-later
//! Decisions, and nothing else: facts in, decisions out.
//!
//! No clock, no I/O, no threads, no unsafe: the same facts give the same answer, byte for byte, in slurmctld, in
//! the tools and in the tests.
#![forbid(unsafe_code)]

pub mod admission;
pub mod adopt;
pub mod advance;
mod ahead;
pub mod audit;
pub mod belief;
pub mod book;
pub mod cost;
pub mod decision;
pub mod demand;
pub mod directives;
pub mod eligibility;
pub mod facts;
pub mod features;
pub mod fit;
pub mod het;
pub mod ids;
pub mod labels;
pub mod line;
pub mod looks;
pub mod metrics;
pub mod node_set;
pub mod notes;
pub mod outlook;
pub mod party;
pub mod places;
pub mod plan;
pub mod queue;
pub mod record;
pub mod request;
pub mod resources;
pub mod round;
pub mod select;
pub mod settings;
mod settle;
pub mod snapshot;
pub mod stake;
pub mod step;
pub mod stops;
pub mod together;
pub mod tries;
mod turn;
pub mod units;
pub mod wait;
mod waits;

// SPDX-License-Identifier: GPL-2.0-or-later
//! Follows a training program from inside its job: `surgent run`, `surgent report` and `surgent follow`.
//!
//! [`machine`] decides what to do when something happens, [`progress`] what is worth publishing and when; both are
//! pure. [`shell`] carries it out: it owns the program, and hears of everything through one channel. Whatever talks to
//! Slurm does so on a thread of its own, so that a slow slurmctld delays neither the training nor a save.
#![forbid(unsafe_code)]

mod direct;
pub mod drill;
mod environment;
mod follow;
mod machine;
pub mod onlooker;
mod others;
mod output;
mod place;
mod program;
mod progress;
mod publisher;
pub mod relay;
pub mod report;
mod reports;
mod requests;
pub mod run;
pub mod saving;
mod say;
pub mod send;
mod shell;
mod signals;
mod task;
mod time;
mod told;
mod voice;

pub use environment::JobEnvironment;
pub use say::say;

// SPDX-License-Identifier: GPL-2.0-or-later
//! Seeing by its files that the program has saved.
//!
//! A checkpoint counts if it was written since the program was asked, has lain still for a while, has no temporary
//! name and nothing unfinished in it, and is neither empty, nor broken by its own format, nor much less than the one
//! before it. What is in doubt is never taken for a save: then the job is not stopped, which costs less than the save.

mod format;
mod judge;
mod names;
mod scan;
mod watch;

pub use format::{Fault, check};
pub use watch::{Places, Sight, Watch};

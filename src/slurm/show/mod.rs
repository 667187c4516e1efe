// SPDX-License-Identifier: GPL-2.0-or-later
//! The cluster as Slurm's own commands show it, on any node and to any user.
//!
//! `squeue` lists the jobs: in one table all that no user writes ([`list`]), in another, of fixed width, names and comments
//! ([`fixed`]), so that no text can pass for a job or for a field. `scontrol show job -d -o` adds what only it tells, and is
//! believed as far as it cannot be forged ([`details`]). Nodes, partitions and reservations are nobody's to write but an
//! administrator's ([`places`]). [`assemble`] makes facts of all this.
//!
//! Slurm's commands show less than the planner sees in slurmctld. What is not shown is taken so that a plan is rather too
//! large than too small:
//!
//! - fewest nodes of a waiting job: Slurm's estimate of how many it will get;
//! - `--gpus` with as many tasks as nodes: the tasks were not asked for (this one may make a plan too small);
//! - `--overcommit`: not asked for;
//! - CPUs and memory that a partition gives with each GPU by default: none;
//! - a reservation that a job may borrow, floats, or takes whole partitions: its nodes are not to be had;
//! - a job that is cleaned up after a requeue: ended, until it waits;
//! - a job whose CPUs on each node cannot be told: all that it holds, spread evenly over its nodes.

mod ask;
pub mod assemble;
pub mod defaults;
pub mod details;
pub mod fields;
pub mod fixed;
pub mod gres;
pub mod hostlist;
pub mod list;
pub mod places;
mod running;
pub mod texts;
pub mod waiting;

use super::command::CommandError;
use crate::policy::facts::{Component, Facts};
use crate::policy::ids::{ArrayTask, JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
pub use ask::{look, look_as, partition_names};

/// The cluster at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The same that the planner knows, as far as it is shown: see the module's own words for what is not.
    pub facts: Facts,
    /// Every job that Slurm shows, sorted by number.
    pub jobs: Vec<SeenJob>,
    /// The host that runs slurmctld, or is to run it.
    pub controller: String,
    /// Slurm's release, such as `22.05.8`.
    pub version: String,
    /// What keeps this from being the whole picture, each in one sentence: what the site hides, what could not be read.
    pub gaps: Vec<String>,
}

impl Seen {
    /// The job with this number.
    pub fn job(&self, id: JobId) -> Option<&SeenJob> {
        let at = self.jobs.binary_search_by_key(&id, |job| job.id).ok()?;
        self.jobs.get(at)
    }
}

/// A job, as Slurm lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenJob {
    /// Its number. The tasks of an array that still wait are one job, which goes by the array's number.
    pub id: JobId,
    /// Which task of which array it is; `None` for tasks that still wait together.
    pub array: Option<ArrayTask>,
    /// Which component of a heterogeneous job it is.
    pub het: Option<Component>,
    /// Its name, which may be any text, made UTF-8.
    pub name: String,
    /// Its user's login name; the number where this host knows none.
    pub user: String,
    /// Its user's number.
    pub user_id: UserId,
    /// The account that it is charged to.
    pub account: Option<String>,
    /// Its quality of service.
    pub qos: Option<String>,
    /// Its partition; several with commas between them while it waits.
    pub partition: Option<String>,
    /// Slurm's word, such as `RUNNING`.
    pub state: String,
    /// Why it waits or ended, in Slurm's words, such as `Resources`.
    pub reason: Option<String>,
    /// When it was submitted, or last requeued.
    pub submit: Option<UnixTime>,
    /// From when on it may start.
    pub eligible: Option<UnixTime>,
    /// When it started; of a waiting job when Slurm expects that.
    pub start: Option<UnixTime>,
    /// When it ended, or will at the latest.
    pub end: Option<UnixTime>,
    /// `None` without a limit, or where its partition's holds.
    pub time_limit_s: Option<Seconds>,
    /// Larger is sooner; 0 is held.
    pub priority: Option<u32>,
    /// Names of its nodes, as Slurm abbreviates them; empty while it has none.
    pub nodes: String,
    /// How many nodes it has, or asks for.
    pub node_count: u32,
    /// Its comment, byte for byte.
    pub comment: Vec<u8>,
    /// Its AdminComment, byte for byte.
    pub admin_comment: Vec<u8>,
    /// How often it was requeued.
    pub restarts: u32,
    /// When its preemption began, if it did.
    pub preempt_time: Option<UnixTime>,
}

/// Why nothing could be seen.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// One of Slurm's commands gave no answer, or refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// squeue did not print what it was asked for.
    #[error(
        "squeue did not print the table that it was asked for; is it Slurm's own, of release 22.05 or later?"
    )]
    NoTable,
}

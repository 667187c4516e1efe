// SPDX-License-Identifier: GPL-2.0-or-later
//! What is written down already, so that it is written once.

use crate::policy::ids::JobId;
use crate::policy::units::UnixTime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What the audit has told. It is part of the book, so a restart repeats nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Urgent jobs that wait.
    pub waiting: BTreeSet<JobId>,
    /// Urgent jobs that run, and since when.
    pub running: BTreeMap<JobId, UnixTime>,
    /// What was decided for each urgent job at last; several things for the tasks of an array.
    pub decided: BTreeMap<JobId, Vec<Gist>>,
}

/// What tells one decision about an urgent job from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gist {
    /// To stop these runs of these jobs.
    Stop(Vec<(JobId, UnixTime)>),
    /// To wait for these.
    Wait(Vec<JobId>),
    /// That nothing helps.
    NoSet,
}

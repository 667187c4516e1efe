// SPDX-License-Identifier: GPL-2.0-or-later
//! A job that would be urgent, as the rules see it.

use crate::policy::demand::Demand;
use crate::policy::ids::{GroupId, JobId, UserId};
use crate::policy::labels::{Labels, Name};
use crate::policy::request::Request;
use crate::policy::resources::GresTable;
use crate::policy::units::Seconds;
use serde::{Deserialize, Serialize};

/// A name of the job, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label<'a> {
    /// It is this.
    Is(&'a str),
    /// The job has none.
    Absent,
    /// Its user did not say, and Slurm fills in what it likes later.
    Unsaid,
    /// It has one, which is not to be seen from here; the planner will see it.
    Unseen,
}

impl<'a> Label<'a> {
    /// The name, where it is known.
    pub fn name(self) -> Option<&'a str> {
        match self {
            Self::Is(name) => Some(name),
            Self::Absent | Self::Unsaid | Self::Unseen => None,
        }
    }
}

/// What a job would take, all its parts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Need {
    /// Jobs that wait: the tasks of an array each count.
    pub waiting: u64,
    /// Of these, so many may run at once.
    pub at_once: u64,
    /// GPUs of each.
    pub gpus: u64,
    /// Nodes of each.
    pub nodes: u64,
    /// CPUs of each.
    pub cpus: u64,
    /// The time limit of each; `None` without one.
    pub time_limit_s: Option<Seconds>,
}

impl Need {
    /// GPUs of all that may run at once.
    pub fn gpus_at_once(&self) -> u64 {
        self.gpus.saturating_mul(self.at_once)
    }

    /// Nodes of all that may run at once.
    pub fn nodes_at_once(&self) -> u64 {
        self.nodes.saturating_mul(self.at_once)
    }
}

/// A job that would be urgent.
#[derive(Clone, Copy, Debug)]
pub struct Applicant<'a> {
    /// Whose it is.
    pub user: UserId,
    /// The group that it runs as.
    pub group: Option<GroupId>,
    /// The account that it is charged to.
    pub account: Label<'a>,
    /// Its QOS.
    pub qos: Label<'a>,
    /// Its partition, or several separated by commas.
    pub partition: Label<'a>,
    /// What it would take.
    pub need: Need,
}

/// What the rules want to know of a job that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Application {
    /// Whose it is.
    pub user: UserId,
    /// The group that it runs as.
    pub group: Option<GroupId>,
    /// See [`Labels`].
    pub labels: Labels,
    /// The array that it is of.
    pub array: Option<JobId>,
    /// What it would take.
    pub need: Need,
}

impl Application {
    /// The job as the rules see it.
    pub fn applicant(&self) -> Applicant<'_> {
        Applicant {
            user: self.user,
            group: self.group,
            account: known(&self.labels.account),
            qos: known(&self.labels.qos),
            partition: known(&self.labels.partition),
            need: self.need,
        }
    }
}

fn known(name: &Option<Name>) -> Label<'_> {
    name.as_ref()
        .map_or(Label::Absent, |name| Label::Is(name.as_str()))
}

/// What a waiting job takes by its `request`: `waiting` tasks, of which `at_once` may run at a time.
pub fn need_of(
    request: &Request,
    gres: &GresTable,
    (waiting, at_once): (u32, u32),
    time_limit_s: Option<Seconds>,
) -> Need {
    let demand = Demand::of(request);
    Need {
        waiting: u64::from(waiting),
        at_once: u64::from(at_once),
        gpus: gres.total_of(&demand.total, "gpu"),
        nodes: demand.min_nodes as u64,
        cpus: u64::from(demand.total.cpus),
        time_limit_s,
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Whose a job is, and by what names it goes.

use crate::policy::facts::RunningJob;
use crate::policy::ids::{ArrayTask, JobId, UserId};
use crate::policy::labels::Name;
use crate::slurm::show::SeenJob;
use serde::Serialize;

/// By what people know a job.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Who {
    pub job: JobId,
    /// `17_4`, of a task of an array.
    pub task: Option<String>,
    pub user_id: Option<UserId>,
    /// Login name.
    pub user: Option<String>,
    pub account: Option<String>,
    pub partition: Option<String>,
    /// The job's name, which may be any text.
    pub name: Option<String>,
}

impl Who {
    /// Nothing is known but its number.
    pub(in crate::cli) fn unknown(job: JobId) -> Self {
        Self {
            job,
            task: None,
            user_id: None,
            user: None,
            account: None,
            partition: None,
            name: None,
        }
    }

    /// A job that Slurm lists.
    pub(in crate::cli) fn seen(job: &SeenJob) -> Self {
        Self {
            job: job.id,
            task: task(job.array),
            user_id: Some(job.user_id),
            user: Some(job.user.clone()),
            account: job.account.clone(),
            partition: job.partition.clone(),
            name: Some(job.name.clone()),
        }
    }

    /// A job of which only the facts are there, as in a snapshot.
    pub(in crate::cli) fn running(job: &RunningJob) -> Self {
        let text = |name: &Option<Name>| name.as_ref().map(|name| name.as_str().to_owned());
        Self {
            job: job.id,
            task: task(job.array),
            user_id: Some(job.user),
            user: text(&job.labels.user),
            account: text(&job.labels.account),
            partition: text(&job.labels.partition),
            name: None,
        }
    }

    /// As Slurm's commands address it.
    pub(in crate::cli) fn address(&self) -> String {
        self.task.clone().unwrap_or_else(|| self.job.to_string())
    }

    /// Its user's name, or number.
    pub(in crate::cli) fn user(&self) -> String {
        let number = || self.user_id.map(|id| id.0.to_string());
        self.user
            .clone()
            .or_else(number)
            .unwrap_or_else(|| "-".to_owned())
    }

    /// Its name.
    pub(in crate::cli) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("-")
    }

    /// Whether it is of this user, by name or number.
    pub(in crate::cli) fn is_of(&self, user: &str) -> bool {
        let number = self.user_id.map(|id| id.0.to_string());
        self.user.as_deref() == Some(user) || number.as_deref() == Some(user)
    }

    /// Whether it is in this partition; a waiting job may name several.
    pub(in crate::cli) fn is_in(&self, partition: &str) -> bool {
        let mut partitions = self.partition.as_deref().unwrap_or_default().split(',');
        partitions.any(|name| name == partition)
    }
}

fn task(array: Option<ArrayTask>) -> Option<String> {
    array.map(|task| task.to_string())
}

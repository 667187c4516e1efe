// SPDX-License-Identifier: GPL-2.0-or-later
//! An urgent job as it is shown.

use crate::policy::audit::summary::{Fate, Foreseen, Outcome, UrgentJob};
use crate::policy::ids::{JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
use serde::Serialize;
use std::collections::BTreeMap;

/// What would have been done for an urgent job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Plan {
    #[serde(flatten)]
    pub foreseen: Foreseen,
    /// From the job's submission until the last victim would have been ready; `None` where the submission is not in the
    /// file.
    pub waited_s: Option<Seconds>,
}

/// What became of an urgent job in reality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// It, or the first task of it.
    Started,
    /// Cancelled, or over between two looks.
    Withdrawn,
    /// It waits still, as far as the file tells of shadow mode.
    Waits,
}

/// All about one urgent job; of an array, about all its tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Story {
    pub job: JobId,
    pub user: Option<UserId>,
    pub submitted: Option<UnixTime>,
    /// Tasks of an array; 1 for others.
    pub tasks: u32,
    pub outcome: Outcome,
    pub plan: Option<Plan>,
    /// How often the plan changed afterwards.
    pub changed: u32,
    /// Where no set helped: how many jobs each rule protected, when that was told last.
    pub protected: BTreeMap<String, u64>,
    pub end: End,
    /// How long it waited in reality; of an array, its first task.
    pub waited_s: Option<Seconds>,
}

impl Story {
    /// Of this job, as it is at `now`.
    pub(super) fn of(job: UrgentJob, now: UnixTime) -> Self {
        let foreseen_wait_s = job.foreseen_wait_s();
        Self {
            waited_s: job.real_wait_s(now),
            end: match job.fate {
                _ if job.started > 0 => End::Started,
                Some((Fate::Withdrawn, _)) => End::Withdrawn,
                Some((Fate::Started | Fate::ModeChanged, _)) | None => End::Waits,
            },
            job: job.id,
            user: job.user,
            submitted: job.submit,
            tasks: job.tasks,
            outcome: job.outcome,
            plan: job.plan.map(|foreseen| Plan {
                foreseen,
                waited_s: foreseen_wait_s,
            }),
            changed: job.changed,
            protected: job.protected,
        }
    }
}

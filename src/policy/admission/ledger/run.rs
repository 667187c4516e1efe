// SPDX-License-Identifier: GPL-2.0-or-later
//! A run of an urgent job, and what it was charged.

use super::HOUR_S;
use crate::policy::ids::{JobId, UserId};
use crate::policy::labels::Name;
use crate::policy::units::UnixTime;
use serde::{Deserialize, Serialize};

/// Who pays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Payer {
    /// Whose job it is.
    pub user: UserId,
    /// The account that it is charged to.
    #[serde(default)]
    pub account: Option<Name>,
}

/// A job that runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Open {
    #[serde(flatten)]
    pub(super) payer: Payer,
    /// Tells this run from the next.
    pub(super) start: UnixTime,
    /// GPUs; of a job without any, its CPUs by their weight.
    pub(super) gpus: f64,
    /// Written down up to here.
    pub(super) charged_until: UnixTime,
    /// What was written down for this run.
    #[serde(default)]
    pub(super) charged_gpu_s: f64,
}

/// What was charged for a run of an urgent job.
#[derive(Clone, Debug, PartialEq)]
pub struct Charged {
    /// Which.
    pub job: JobId,
    /// To whom.
    pub payer: Payer,
    /// When the run began.
    pub start: UnixTime,
    /// Until when it is charged.
    pub until: UnixTime,
    /// Whether it is over.
    pub over: bool,
    /// For all of it until then, in GPU-hours.
    pub gpu_h: f64,
}

impl Open {
    pub(super) fn new(payer: Payer, start: UnixTime, gpus: f64, charged_from: UnixTime) -> Self {
        Self {
            payer,
            start,
            gpus,
            charged_until: charged_from,
            charged_gpu_s: 0.0,
        }
    }

    /// Whole hours of the run that are charged.
    pub(super) fn hours(&self) -> i64 {
        (self.charged_until.0 - self.start.0).div_euclid(HOUR_S)
    }

    pub(super) fn charged(self, job: JobId, over: bool) -> Charged {
        Charged {
            job,
            payer: self.payer,
            start: self.start,
            until: self.charged_until,
            over,
            gpu_h: self.charged_gpu_s / HOUR_S as f64,
        }
    }
}

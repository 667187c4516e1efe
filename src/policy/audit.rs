// SPDX-License-Identifier: GPL-2.0-or-later
//! What is written down of everything that Surgent decides and does: who, why, for whom, at what cost.
//!
//! One event is one line of JSON; docs/audit.md describes each. What happens in a step is not reported from where it
//! happens but found afterwards, by what the step was given and what it left behind: see [`of_step`].

mod charged;
mod decided;
mod done;
mod event;
mod step;
pub mod summary;
mod told;

pub use charged::charged;
pub use decided::{Decided, decided};
pub use done::of_actions;
pub use event::{
    BudgetUse, Budgets, CalledOffWhy, Chosen, Event, LeftWay, MissedWhy, PlanEvent, PlanWhy, StopWay,
};
pub use step::{Step, of_step};
pub use told::{Gist, Told};

use super::facts::RunningJob;
use super::ids::{JobId, UserId};
use super::labels::Name;
use super::units::UnixTime;
use serde::Serialize;

/// The version of the lines. It changes when a field changes its meaning, not when an event or a field is added.
pub const VERSION: u32 = 1;

/// Of a text that a user may have written, no more than this is kept.
const TEXT_MAX_BYTES: usize = 500;

/// An event, and when it was noticed.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When.
    pub at: UnixTime,
    /// Nothing was touched: Surgent is in shadow mode.
    pub shadow: bool,
    /// What.
    pub event: Event,
}

impl Entry {
    /// As one line of JSON, without its end.
    ///
    /// # Errors
    /// None that is known: all keys are text.
    pub fn line(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Line<'a> {
            v: u32,
            time: String,
            at: UnixTime,
            #[serde(skip_serializing_if = "is_false")]
            shadow: bool,
            #[serde(flatten)]
            event: &'a Event,
        }
        let time = jiff::Timestamp::from_second(self.at.0);
        serde_json::to_string(&Line {
            v: VERSION,
            time: time.map_or_else(|_| self.at.to_string(), |time| time.to_string()),
            at: self.at,
            shadow: self.shadow,
            event: &self.event,
        })
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Whose a job is, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Whose {
    /// Which task of which array it is, as in `17_3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its user's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Who pays for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Text>,
    /// Its quality of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<Text>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Text>,
}

impl Whose {
    /// Of a running job.
    pub fn of(job: &RunningJob) -> Self {
        let text = |name: &Option<Name>| name.as_ref().map(|name| Text::of(name.as_str()));
        Self {
            task: job.array.map(|task| task.to_string()),
            user: Some(job.user),
            account: text(&job.labels.account),
            qos: text(&job.labels.qos),
            partition: text(&job.labels.partition),
        }
    }
}

/// Who submits or changes a job, as far as the hook is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Submitter {
    /// Whose job it is.
    pub user: UserId,
    /// Who asks, where that is somebody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_user: Option<UserId>,
}

impl Submitter {
    /// What every hook is told.
    pub fn new(user: UserId, by_user: UserId) -> Self {
        Self {
            user,
            by_user: (by_user != user).then_some(by_user),
        }
    }
}

/// Why a submission, or a change of a job, has not become what it asked to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruling {
    /// Whose it is.
    #[serde(flatten)]
    pub submitter: Submitter,
    /// The job, where one was to be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// By which rule.
    pub rule: &'static str,
    /// What its user was told.
    pub sentence: Text,
}

/// A text of bounded length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// The beginning of `text`, and a sign where it was longer.
    pub fn of(text: &str) -> Self {
        if text.len() <= TEXT_MAX_BYTES {
            return Self(text.to_owned());
        }
        let end = (0..=TEXT_MAX_BYTES).rev().find(|at| text.is_char_boundary(*at));
        Self(format!("{}...", &text[..end.unwrap_or_default()]))
    }
}

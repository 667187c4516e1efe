// SPDX-License-Identifier: GPL-2.0-or-later
//! What is believed of what a job reports.
//!
//! A report is written by a job that has an interest in what it says, on a node with a clock of its own, perhaps before
//! its last requeue. What cannot be is not believed, and why not is kept. What can be is believed the less the older it
//! is.

use super::facts::{Facts, RunningJob};
use super::ids::UserId;
use super::settings::Settings;
use super::units::{Seconds, UnixTime, least};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::fmt;

/// The clocks of two machines may differ by so much.
const CLOCK_SKEW_S: Seconds = Seconds(30.0);
/// A program may count the work at its start and end into its epochs or not; that much more is possible than the clock says.
const PROGRESS_SLACK: f64 = 1.1;
/// A training whose last epoch should have ended by more than this part of an epoch is not where its report says.
const OVERDUE_EPOCHS: f64 = 0.5;

/// Why part of a report is not believed. The names are stable: tools and people rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Disbelief {
    /// The progress was reported at a time that is yet to come.
    ReportInFuture,
    /// The last save was finished at a time that is yet to come.
    SaveInFuture,
    /// More epochs are done than there are.
    EpochBeyondTotal,
    /// More epochs are done than there was time for since the job was first submitted.
    ProgressBeyondClock,
    /// The progress was reported by an earlier run of the job.
    ReportOfEarlierRun,
    /// By its report it would have ended by now.
    Overdue,
}

impl fmt::Display for Disbelief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReportInFuture => "report_in_future",
            Self::SaveInFuture => "save_in_future",
            Self::EpochBeyondTotal => "epoch_beyond_total",
            Self::ProgressBeyondClock => "progress_beyond_clock",
            Self::ReportOfEarlierRun => "report_of_earlier_run",
            Self::Overdue => "overdue",
        })
    }
}

/// Where a job is in its training, as far as that is believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Epochs done by now, from the report and the clock; may be fractional.
    pub epoch: f64,
    /// Seconds per epoch.
    pub epoch_s: Seconds,
    /// Epochs in all.
    pub epochs: Option<u32>,
    /// From 1 for a report of this moment towards 0 for an old one.
    pub confidence: f64,
}

impl Progress {
    /// The part of the running epoch that is done, in seconds.
    pub fn into_epoch_s(&self) -> Seconds {
        Seconds(self.epoch.fract() * self.epoch_s.0)
    }

    /// What is left of the running epoch. Exactly at an epoch's end, the next one has begun.
    pub fn left_of_epoch_s(&self) -> Seconds {
        Seconds((1.0 - self.epoch.fract()) * self.epoch_s.0)
    }

    /// How long until the last epoch is done; `None` where the number of epochs is not known.
    pub fn left_s(&self) -> Option<Seconds> {
        let left = f64::from(self.epochs?) - self.epoch;
        Some(Seconds(left.max(0.0) * self.epoch_s.0))
    }

    /// `told`, moved towards `clock` as far as this report is not trusted any more.
    pub fn doubt(&self, told: Seconds, clock: Seconds) -> Seconds {
        Seconds(told.0 + (1.0 - self.confidence) * (clock.0 - told.0).max(0.0))
    }
}

/// How long a save takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SaveTime {
    /// In seconds.
    pub takes_s: Seconds,
    /// How that is known.
    pub by: SaveRule,
}

/// How the time that a save takes was found. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveRule {
    /// The job says so.
    Told,
    /// It does not say; other running jobs of its user do, and this is their median.
    SameUser,
    /// Nor do they; the site's settings say so.
    Configured,
}

impl fmt::Display for SaveRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Told => "told",
            Self::SameUser => "same_user",
            Self::Configured => "configured",
        })
    }
}

/// What is believed of a job's report.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// Its progress.
    pub progress: Option<Progress>,
    /// When its last save was finished.
    pub saved: Option<UnixTime>,
    /// How long its save will take.
    pub save: SaveTime,
    /// What is not believed.
    pub disbelief: SmallVec<[Disbelief; 2]>,
}

/// What is to be believed of the report of each running job, in their order.
pub fn believe_all(facts: &Facts, settings: &Settings) -> Vec<Belief> {
    let of_user = save_times(&facts.running, settings);
    let believe = |job: &RunningJob| {
        let mut belief = believe(job, facts.now, settings);
        if belief.save.by == SaveRule::Configured
            && let Some(takes_s) = of_user.get(&job.user)
        {
            belief.save = SaveTime {
                takes_s: *takes_s,
                by: SaveRule::SameUser,
            };
        }
        belief
    };
    facts.running.iter().map(believe).collect()
}

/// By user: the median of what the jobs say that do, as far as anybody would wait for it.
fn save_times(jobs: &[RunningJob], settings: &Settings) -> BTreeMap<UserId, Seconds> {
    let mut told: BTreeMap<UserId, Vec<Seconds>> = BTreeMap::new();
    for job in jobs {
        if let Some(save_s) = job.directives.as_ref().and_then(|directives| directives.save_s) {
            let most_s = settings.victims.save_deadline_s;
            told.entry(job.user).or_default().push(least(save_s, most_s));
        }
    }
    let medians = told
        .into_iter()
        .map(|(user, told)| Some((user, Seconds::median(told)?)));
    medians.flatten().collect()
}

/// What is to be believed of the report of `job`, whatever others say.
pub fn believe(job: &RunningJob, now: UnixTime, settings: &Settings) -> Belief {
    let told_s = job.directives.as_ref().and_then(|directives| directives.save_s);
    let mut belief = Belief {
        progress: None,
        saved: None,
        save: SaveTime {
            takes_s: told_s.unwrap_or(settings.victims.save_s),
            by: match told_s {
                Some(_) => SaveRule::Told,
                None => SaveRule::Configured,
            },
        },
        disbelief: SmallVec::new(),
    };
    let Some(directives) = &job.directives else {
        return belief;
    };
    match directives.saved {
        Some(saved) if saved - now > CLOCK_SKEW_S => belief.disbelief.push(Disbelief::SaveInFuture),
        saved => belief.saved = saved,
    }
    if let (Some(epoch), Some(epoch_s), Some(at)) = (directives.epoch, directives.epoch_s, directives.at) {
        let told = Told {
            epoch,
            epoch_s,
            epochs: directives.epochs,
            at,
        };
        match told.check(job, now, settings) {
            Ok(progress) => belief.progress = Some(progress),
            Err(disbelief) => belief.disbelief.push(disbelief),
        }
    }
    belief
}

/// A report of progress.
#[derive(Clone, Copy, Debug)]
struct Told {
    epoch: f64,
    epoch_s: Seconds,
    epochs: Option<u32>,
    at: UnixTime,
}

impl Told {
    fn check(&self, job: &RunningJob, now: UnixTime, settings: &Settings) -> Result<Progress, Disbelief> {
        let age_s = now - self.at;
        if Seconds(-age_s.0) > CLOCK_SKEW_S {
            return Err(Disbelief::ReportInFuture);
        }
        if job.start - self.at > CLOCK_SKEW_S {
            return Err(Disbelief::ReportOfEarlierRun);
        }
        let epochs = self.epochs.map(f64::from);
        if epochs.is_some_and(|epochs| self.epoch > epochs) {
            return Err(Disbelief::EpochBeyondTotal);
        }
        // What was trained in earlier runs counts too; when the job was first submitted is the earliest it can be.
        let first = job.record.as_ref().and_then(|record| record.first);
        let began = first.map_or(job.start, |first| first.min(job.start));
        let most_s = (self.at - began + CLOCK_SKEW_S).0 * PROGRESS_SLACK;
        if self.epoch * self.epoch_s.0 > most_s {
            return Err(Disbelief::ProgressBeyondClock);
        }
        let age_s = age_s.0.max(0.0);
        let epoch = self.epoch + age_s / self.epoch_s.0;
        if epochs.is_some_and(|epochs| epoch > epochs + OVERDUE_EPOCHS) {
            return Err(Disbelief::Overdue);
        }
        Ok(Progress {
            epoch: epochs.map_or(epoch, |epochs| epoch.min(epochs)),
            epoch_s: self.epoch_s,
            epochs: self.epochs,
            confidence: (-age_s / settings.victims.report_half_life_s.0).exp2(),
        })
    }
}

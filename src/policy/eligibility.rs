// SPDX-License-Identifier: GPL-2.0-or-later
//! Who may be a victim.

use super::directives::{SaveKind, SaveSignal, Urgency};
use super::facts::RunningJob;
use super::settings::{Settings, Unsavable};
use super::units::{Seconds, UnixTime};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a running job is not a victim. The names are stable: tools and people rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It is urgent itself.
    Urgent,
    /// It is being cleaned up.
    Completing,
    /// Its nodes are being made ready.
    Configuring,
    /// It is suspended: it cannot save.
    Suspended,
    /// It is already being preempted.
    InPreemption,
    /// It has no batch script, so Slurm cannot requeue it.
    Interactive,
    /// Its user said `--no-requeue`.
    NotRequeueable,
    /// It is a component of a heterogeneous job.
    HetJob,
    /// Slurm exempts it (PreemptExemptTime).
    SlurmExempt,
    /// It has only just started.
    BelowMinRuntime,
    /// It ends by itself in a moment.
    NearlyDone,
    /// It was stopped often enough.
    MaxPreemptions,
    /// Its comment has malformed directives, so how to ask it is not known.
    MalformedComment,
    /// It cannot save when asked, and `unsavable = "protect"`.
    CannotSave,
    /// It saves only at an epoch's end, and that comes too late.
    NoSaveInTime,
    /// It was asked already and did not save before its deadline.
    MissedDeadline,
    /// It makes way for another urgent job.
    Claimed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Urgent => "urgent",
            Self::Completing => "completing",
            Self::Configuring => "configuring",
            Self::Suspended => "suspended",
            Self::InPreemption => "in_preemption",
            Self::Interactive => "interactive",
            Self::NotRequeueable => "not_requeueable",
            Self::HetJob => "het_job",
            Self::SlurmExempt => "slurm_exempt",
            Self::BelowMinRuntime => "below_min_runtime",
            Self::NearlyDone => "nearly_done",
            Self::MaxPreemptions => "max_preemptions",
            Self::MalformedComment => "malformed_comment",
            Self::CannotSave => "cannot_save",
            Self::NoSaveInTime => "no_save_in_time",
            Self::MissedDeadline => "missed_deadline",
            Self::Claimed => "claimed",
        };
        f.write_str(name)
    }
}

/// How a job that may be a victim is made to save.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SaveWay {
    /// Ask; it saves at once.
    AtStep(SaveSignal),
    /// Ask; it saves when the running epoch is over, which takes `wait_s` from now.
    AtEpochEnd {
        /// How to ask.
        signal: SaveSignal,
        /// What is left of the epoch.
        wait_s: Seconds,
    },
    /// It cannot save and may be stopped without.
    Unsaved,
}

/// Whether `job` may be a victim, and if so how it saves.
///
/// # Errors
/// The first rule, in the order of [`Refusal`], that protects it.
pub fn examine(job: &RunningJob, now: UnixTime, settings: &Settings) -> Result<SaveWay, Refusal> {
    let traits = &job.traits;
    let rules = [
        (job.class() == Urgency::Urgent, Refusal::Urgent),
        (traits.completing, Refusal::Completing),
        (traits.configuring, Refusal::Configuring),
        (traits.suspended, Refusal::Suspended),
        (job.preempt_time.is_some(), Refusal::InPreemption),
        (!traits.batch, Refusal::Interactive),
        (!traits.requeue, Refusal::NotRequeueable),
        (traits.het, Refusal::HetJob),
        (traits.exempt, Refusal::SlurmExempt),
        (
            now - job.start < settings.victims.min_runtime_s,
            Refusal::BelowMinRuntime,
        ),
        (
            job.end
                .is_some_and(|end| end - now < settings.victims.nearly_done_s),
            Refusal::NearlyDone,
        ),
        (
            job.record
                .as_ref()
                .is_some_and(|record| record.preempted >= settings.victims.max_preemptions),
            Refusal::MaxPreemptions,
        ),
    ];
    if let Some((_, refusal)) = rules.iter().find(|(protects, _)| *protects) {
        return Err(*refusal);
    }
    save_way(job, now, settings)
}

fn save_way(job: &RunningJob, now: UnixTime, settings: &Settings) -> Result<SaveWay, Refusal> {
    let unsaved = |refusal| match settings.victims.unsavable {
        Unsavable::Protect => Err(refusal),
        Unsavable::Stop => Ok(SaveWay::Unsaved),
    };
    let Some(directives) = &job.directives else {
        return Err(Refusal::MalformedComment);
    };
    let Some(signal) = directives.signal else {
        return unsaved(Refusal::CannotSave);
    };
    match directives.save {
        // Who says how to ask, and nothing of when, can be asked at any time.
        Some(SaveKind::Step) | None => Ok(SaveWay::AtStep(signal)),
        Some(SaveKind::None) => unsaved(Refusal::CannotSave),
        Some(SaveKind::Epoch) => {
            let Some(wait_s) = left_of_epoch(job, now) else {
                return unsaved(Refusal::NoSaveInTime);
            };
            let save_s = directives.save_s.unwrap_or(settings.victims.save_s);
            if wait_s + save_s > settings.victims.save_deadline_s {
                return unsaved(Refusal::NoSaveInTime);
            }
            Ok(SaveWay::AtEpochEnd { signal, wait_s })
        }
    }
}

/// What is left of the running epoch, from the last report and the clock; `None` without a report that tells.
pub fn left_of_epoch(job: &RunningJob, now: UnixTime) -> Option<Seconds> {
    let directives = job.directives.as_ref()?;
    let (epoch, epoch_s, at) = (directives.epoch?, directives.epoch_s?, directives.at?);
    let since = (now - at).0.max(0.0);
    let progress = epoch + since / epoch_s.0;
    // A job exactly at an epoch's end is at the beginning of the next one.
    let left = 1.0 - progress.fract();
    left.is_finite().then_some(Seconds(left * epoch_s.0))
}

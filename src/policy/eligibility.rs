// SPDX-License-Identifier: GPL-2.0-or-later
//! Who may be a victim.

mod rules;

use super::belief::{Belief, SaveRule};
use super::directives::{SaveKind, SaveSignal};
use super::facts::RunningJob;
use super::settings::{Settings, Unsavable};
use super::units::{Seconds, UnixTime};
use rules::standing_rules;
pub use rules::{Measure, Rule, due_runtime_s};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};
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
    /// Its user is exempt (`exempt_users`).
    ExemptUser,
    /// Its account is exempt (`exempt_accounts`).
    ExemptAccount,
    /// Its QOS is exempt (`exempt_qos`).
    ExemptQos,
    /// Its partition is exempt (`exempt_partitions`).
    ExemptPartition,
    /// It has only just started.
    BelowMinRuntime,
    /// It was preempted, and its run since then is shorter than it is due: `min_runtime_s`, and as much again for each time.
    RestartedRecently,
    /// It ends by itself in a moment.
    NearlyDone,
    /// It was stopped often enough.
    MaxPreemptions,
    /// Its comment has malformed directives, so how to ask it is not known, and `unsavable = "protect"`.
    MalformedComment,
    /// It cannot save when asked, and `unsavable = "protect"`.
    CannotSave,
    /// It cannot save when asked, and the urgent job's patience is not over.
    PatienceNotOver,
    /// Its save would be finished too late: it says that one takes too long, or it saves only at an epoch's end.
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
            Self::ExemptUser => "exempt_user",
            Self::ExemptAccount => "exempt_account",
            Self::ExemptQos => "exempt_qos",
            Self::ExemptPartition => "exempt_partition",
            Self::BelowMinRuntime => "below_min_runtime",
            Self::RestartedRecently => "restarted_recently",
            Self::NearlyDone => "nearly_done",
            Self::MaxPreemptions => "max_preemptions",
            Self::MalformedComment => "malformed_comment",
            Self::CannotSave => "cannot_save",
            Self::PatienceNotOver => "patience_not_over",
            Self::NoSaveInTime => "no_save_in_time",
            Self::MissedDeadline => "missed_deadline",
            Self::Claimed => "claimed",
        };
        f.write_str(name)
    }
}

/// How a job that may be a victim is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SaveWay {
    /// Ask; it saves at once.
    AtStep(SaveSignal),
    /// Ask; it saves when the running epoch is over, which takes `wait_s` from now.
    AtEpochEnd {
        /// How to ask.
        signal: SaveSignal,
        /// What is left of the epoch; at most so much where the job does not tell.
        wait_s: Seconds,
    },
    /// Do not ask; it goes on from its last epoch's end.
    SinceEpochEnd,
    /// Do not ask; it goes on from its last save, if there is one.
    Unsaved,
}

/// The ways in which a job may be stopped.
pub type SaveWays = SmallVec<[SaveWay; 2]>;

/// In what ways `job` may be stopped. `patience_over`: it may also be stopped unsaved, if the site allows that at all.
///
/// # Errors
/// The first rule, in the order of [`Refusal`], that protects it.
pub fn examine(
    job: &RunningJob,
    belief: &Belief,
    now: UnixTime,
    patience_over: bool,
    settings: &Settings,
) -> Result<SaveWays, Refusal> {
    let rules = standing_rules(job, now, &settings.victims);
    if let Some(rule) = rules.iter().find(|rule| rule.measure.protects()) {
        return Err(rule.name);
    }
    save_ways(job, belief, patience_over, settings)
}

/// Every rule as it stands for `job`, in the order in which they are asked, also behind the first that protects it. With
/// `patience_over` as for [`examine`].
pub fn all_rules<'a>(
    job: &'a RunningJob,
    belief: &Belief,
    now: UnixTime,
    patience_over: bool,
    settings: &Settings,
) -> Vec<Rule<'a>> {
    let saving = save_ways(job, belief, patience_over, settings).err();
    let end = epoch_end(job, belief, settings);
    let of_saving = [
        Refusal::MalformedComment,
        Refusal::CannotSave,
        Refusal::PatienceNotOver,
        Refusal::NoSaveInTime,
    ]
    .map(|name| {
        let protects = saving == Some(name);
        // Where it may be stopped in the middle of an epoch, an end that is too far protects nobody.
        let told = end.filter(|end| name == Refusal::NoSaveInTime && end.in_time() != protects);
        let measure = told.map_or(Measure::Is(protects), |end| Measure::AtMost {
            value_s: end.wait_s,
            limit_s: end.most_s,
        });
        Rule { name, measure }
    });
    standing_rules(job, now, &settings.victims)
        .into_iter()
        .chain(of_saving)
        .collect()
}

/// The same, whatever else protects it than how it saves.
///
/// # Errors
/// The rule about saving that protects it.
pub fn save_ways(
    job: &RunningJob,
    belief: &Belief,
    patience_over: bool,
    settings: &Settings,
) -> Result<SaveWays, Refusal> {
    let unsaved = |refusal| match (settings.victims.unsavable, patience_over) {
        (Unsavable::Protect, _) => Err(refusal),
        (Unsavable::Stop, false) => Err(Refusal::PatienceNotOver),
        (Unsavable::Stop, true) => Ok(SaveWay::Unsaved),
    };
    // No words protect a job that silence would not.
    let Some(directives) = &job.directives else {
        return Ok(smallvec![unsaved(Refusal::MalformedComment)?]);
    };
    let Some(signal) = directives.signal else {
        return Ok(smallvec![unsaved(Refusal::CannotSave)?]);
    };
    match directives.save {
        Some(SaveKind::Step) | None if says_it_saves_too_slowly(belief, settings) => {
            Ok(smallvec![unsaved(Refusal::NoSaveInTime)?])
        }
        // Who says how to ask, and nothing of when, can be asked at any time.
        Some(SaveKind::Step) | None => Ok(smallvec![SaveWay::AtStep(signal)]),
        Some(SaveKind::None) => Ok(smallvec![unsaved(Refusal::CannotSave)?]),
        Some(SaveKind::Epoch) => {
            let at_end = epoch_end(job, belief, settings)
                .filter(EpochEnd::in_time)
                .map(|end| SaveWay::AtEpochEnd {
                    signal,
                    wait_s: end.wait_s,
                });
            let now = unsaved(Refusal::NoSaveInTime).map(|_| SaveWay::SinceEpochEnd);
            match (at_end, now) {
                (None, Err(refusal)) => Err(refusal),
                (at_end, now) => Ok(at_end.into_iter().chain(now).collect()),
            }
        }
    }
}

/// Whether by its own word a save takes longer than a victim is waited for. What is only assumed is tried.
fn says_it_saves_too_slowly(belief: &Belief, settings: &Settings) -> bool {
    belief.save.by == SaveRule::Told && belief.save.takes_s > settings.victims.save_deadline_s
}

/// The end of the running epoch of a job that saves only then.
#[derive(Clone, Copy, Debug)]
struct EpochEnd {
    /// How long until then.
    wait_s: Seconds,
    /// How long that may be for a save in time.
    most_s: Seconds,
}

impl EpochEnd {
    fn in_time(&self) -> bool {
        self.wait_s <= self.most_s && self.most_s >= Seconds::ZERO
    }
}

/// `None` for a job that saves otherwise.
fn epoch_end(job: &RunningJob, belief: &Belief, settings: &Settings) -> Option<EpochEnd> {
    let directives = job.directives.as_ref()?;
    if directives.save != Some(SaveKind::Epoch) {
        return None;
    }
    let most_s = Seconds(settings.victims.save_deadline_s.0 - belief.save.takes_s.0);
    let wait_s = match (&belief.progress, directives.epoch_s) {
        (Some(progress), _) => progress.doubt(progress.left_of_epoch_s(), progress.epoch_s),
        // Silence does not protect: it may be as bad as this, and if it is worse the job misses its deadline.
        (None, Some(epoch_s)) if epoch_s < most_s => epoch_s,
        (None, _) => most_s,
    };
    Some(EpochEnd { wait_s, most_s })
}

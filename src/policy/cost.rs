// SPDX-License-Identifier: GPL-2.0-or-later
//! What it costs to stop a job, in GPU-seconds of work that must be done again or that nobody does meanwhile.

use super::belief::{Belief, SaveRule};
use super::eligibility::SaveWay;
use super::facts::RunningJob;
use super::resources::GresTable;
use super::settings::VictimSettings;
use super::units::{Seconds, UnixTime, least};
use serde::{Deserialize, Serialize};

/// The cost of one victim, term by term.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// GPUs that it holds; for a job without GPUs its CPUs times `cpu_weight`.
    pub resources: f64,
    /// Training that must be done again.
    pub lost_s: Seconds,
    /// From what `lost_s` was found.
    pub lost_by: LossRule,
    /// How far its report is trusted, 0 to 1; `None` where the cost does not depend on a report.
    pub confidence: Option<f64>,
    /// Time that its save takes.
    pub save_s: Seconds,
    /// From what `save_s` was found; `None` where it does not save.
    pub save_by: Option<SaveRule>,
    /// Time until it trains again, once restarted.
    pub restart_s: Seconds,
    /// From its `priority`, as far as the site lets that count: 1 at 50, 10 at 100, 1/10 at 0.
    pub priority_weight: f64,
    /// 1, and 1 more for each time that it was stopped before.
    pub repeat_factor: f64,
    /// How long until it is ready to be stopped.
    pub ready_s: Seconds,
}

/// How the training that a job loses was found. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossRule {
    /// It saves at any step and loses one.
    OneStep,
    /// It saves at the epoch's end, which is waited for.
    Nothing,
    /// It is stopped in the middle of an epoch.
    EpochSoFar,
    /// All since its last save.
    SinceSave,
    /// It does not tell when it last saved: as much as the others, at the median.
    MedianOfOthers,
    /// All since its start.
    SinceStart,
}

impl Cost {
    /// All terms together, in GPU-seconds.
    pub fn total_gpu_s(&self) -> f64 {
        let seconds = self.lost_s + self.save_s + self.restart_s;
        self.resources * seconds.0 * self.priority_weight * self.repeat_factor
    }
}

/// All but the job that a cost depends on.
#[derive(Clone, Copy, Debug)]
pub struct Rates<'a> {
    /// The moment.
    pub now: UnixTime,
    /// Names of generic resources.
    pub gres: &'a GresTable,
    /// What the site says.
    pub victims: &'a VictimSettings,
    /// See [`typical_save_age`].
    pub typical_age_s: Option<Seconds>,
}

impl Rates<'_> {
    /// The cost of stopping `job` in this way.
    pub fn cost(&self, job: &RunningJob, belief: &Belief, way: &SaveWay) -> Cost {
        let directives = job.directives.as_ref();
        let save_s = belief.save.takes_s;
        let (lost, save_s, ready_s) = match way {
            SaveWay::AtStep(_) => ((self.victims.step_s, LossRule::OneStep), save_s, save_s),
            SaveWay::AtEpochEnd { wait_s, .. } => {
                ((Seconds::ZERO, LossRule::Nothing), save_s, *wait_s + save_s)
            }
            SaveWay::SinceEpochEnd => (self.epoch_so_far(job, belief), Seconds::ZERO, Seconds::ZERO),
            SaveWay::Unsaved => (self.since_save(job, belief), Seconds::ZERO, Seconds::ZERO),
        };
        let saves = matches!(way, SaveWay::AtStep(_) | SaveWay::AtEpochEnd { .. });
        let by_report = matches!(way, SaveWay::AtEpochEnd { .. } | SaveWay::SinceEpochEnd);
        let progress = belief.progress.filter(|_| by_report);
        let priority = directives
            .and_then(|directives| directives.priority)
            .unwrap_or(50)
            .min(self.victims.priority_max);
        let preempted = job.record.as_ref().map_or(0, |record| record.preempted);
        Cost {
            resources: job.gpus(self.gres, self.victims.cpu_weight),
            lost_s: lost.0,
            lost_by: lost.1,
            confidence: progress.map(|progress| progress.confidence),
            save_s,
            save_by: saves.then_some(belief.save.by),
            restart_s: self.victims.restart_s,
            priority_weight: 10f64.powf((f64::from(priority) - 50.0) / 50.0),
            repeat_factor: 1.0 + f64::from(preempted),
            ready_s,
        }
    }

    fn running_s(&self, job: &RunningJob) -> Seconds {
        Seconds((self.now - job.start).0.max(0.0))
    }

    /// The part of the epoch that is done; with an old report perhaps all of it.
    fn epoch_so_far(&self, job: &RunningJob, belief: &Belief) -> (Seconds, LossRule) {
        let running_s = self.running_s(job);
        let whole_s = job.directives.as_ref().and_then(|directives| directives.epoch_s);
        let lost_s = match (&belief.progress, whole_s) {
            (Some(progress), _) => progress.doubt(progress.into_epoch_s(), progress.epoch_s),
            (None, Some(whole_s)) => whole_s,
            (None, None) => return self.since_save(job, belief),
        };
        (least(lost_s, running_s), LossRule::EpochSoFar)
    }

    fn since_save(&self, job: &RunningJob, belief: &Belief) -> (Seconds, LossRule) {
        let running_s = self.running_s(job);
        match (belief.saved, self.typical_age_s) {
            (Some(saved), _) => {
                let age_s = Seconds((self.now - saved).0.max(0.0));
                (least(age_s, running_s), LossRule::SinceSave)
            }
            (None, Some(typical_s)) => (least(typical_s, running_s), LossRule::MedianOfOthers),
            (None, None) => (running_s, LossRule::SinceStart),
        }
    }
}

/// The median age of the last save of the jobs that report one; `None` where none does.
///
/// A job that reports nothing is taken to be like the others, so that silence never protects it.
pub fn typical_save_age<'a>(now: UnixTime, beliefs: impl Iterator<Item = &'a Belief>) -> Option<Seconds> {
    let saved = beliefs.filter_map(|belief| belief.saved);
    Seconds::median(saved.map(|saved| Seconds((now - saved).0.max(0.0))).collect())
}

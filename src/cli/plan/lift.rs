// SPDX-License-Identifier: GPL-2.0-or-later
//! Where no set of victims makes an urgent job fit: which rule alone is in the way.

use super::verdict::Verdict;
use crate::policy::eligibility::Refusal;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::plan::Outcome;
use crate::policy::settings::{Settings, Unsavable};
use crate::policy::units::Seconds;
use serde::Serialize;
use std::collections::BTreeSet;

/// A rule that somebody can lift: a setting of the site's, or what Slurm or a job's user has said. The names are stable, and those
/// of the settings in surgent.toml.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum Lift {
    Suspended,
    NoRequeue,
    PreemptExemptTime,
    ExemptUsers,
    ExemptAccounts,
    ExemptQos,
    ExemptPartitions,
    #[serde(rename = "min_runtime_s")]
    MinRuntime,
    #[serde(rename = "nearly_done_s")]
    NearlyDone,
    MaxPreemptions,
    #[serde(rename = "patience_s")]
    Patience,
    #[serde(rename = "save_deadline_s")]
    SaveDeadline,
    Unsavable,
}

/// Who would make way if one rule did not hold.
#[derive(Debug, PartialEq, Serialize)]
pub(in crate::cli) struct WouldHelp {
    pub without: Lift,
    pub victims: Vec<JobId>,
}

impl Lift {
    /// By what somebody who has met this refusal could be stopped.
    fn of(refusal: Refusal) -> &'static [Self] {
        match refusal {
            Refusal::Suspended => &[Self::Suspended],
            Refusal::NotRequeueable => &[Self::NoRequeue],
            Refusal::SlurmExempt => &[Self::PreemptExemptTime],
            Refusal::ExemptUser => &[Self::ExemptUsers],
            Refusal::ExemptAccount => &[Self::ExemptAccounts],
            Refusal::ExemptQos => &[Self::ExemptQos],
            Refusal::ExemptPartition => &[Self::ExemptPartitions],
            Refusal::BelowMinRuntime | Refusal::RestartedRecently => &[Self::MinRuntime],
            Refusal::NearlyDone => &[Self::NearlyDone],
            Refusal::MaxPreemptions => &[Self::MaxPreemptions],
            Refusal::PatienceNotOver => &[Self::Patience],
            Refusal::NoSaveInTime => &[Self::SaveDeadline, Self::Unsavable],
            Refusal::MalformedComment | Refusal::CannotSave => &[Self::Unsavable],
            // Nobody can lift these, or they belong to what is under way and pass by themselves.
            Refusal::Urgent
            | Refusal::Completing
            | Refusal::Configuring
            | Refusal::InPreemption
            | Refusal::Interactive
            | Refusal::HetJob
            | Refusal::MissedDeadline
            | Refusal::Claimed => &[],
        }
    }

    /// For people: the beginning of a sentence.
    fn words(self) -> &'static str {
        match self {
            Self::Suspended => "If nobody were suspended",
            Self::NoRequeue => "Without --no-requeue",
            Self::PreemptExemptTime => "Without PreemptExemptTime",
            Self::ExemptUsers => "Without exempt_users",
            Self::ExemptAccounts => "Without exempt_accounts",
            Self::ExemptQos => "Without exempt_qos",
            Self::ExemptPartitions => "Without exempt_partitions",
            Self::MinRuntime => "Without min_runtime_s",
            Self::NearlyDone => "Without nearly_done_s",
            Self::MaxPreemptions => "Without max_preemptions",
            Self::Patience => "Once patience_s is over",
            Self::SaveDeadline => "With a longer save_deadline_s",
            Self::Unsavable => "With unsavable = \"stop\", once patience_s is over",
        }
    }

    /// Has the rule hold no more.
    fn apply(self, facts: &mut Facts, settings: &mut Settings) {
        let victims = &mut settings.victims;
        let running = facts.running.iter_mut().map(|job| &mut job.traits);
        match self {
            Self::Suspended => running.for_each(|traits| traits.suspended = false),
            Self::NoRequeue => running.for_each(|traits| traits.requeue = true),
            Self::PreemptExemptTime => running.for_each(|traits| traits.exempt = false),
            Self::ExemptUsers => victims.exempt_users.clear(),
            Self::ExemptAccounts => victims.exempt_accounts.clear(),
            Self::ExemptQos => victims.exempt_qos.clear(),
            Self::ExemptPartitions => victims.exempt_partitions.clear(),
            Self::MinRuntime => victims.min_runtime_s = Seconds::ZERO,
            Self::NearlyDone => victims.nearly_done_s = Seconds::ZERO,
            Self::MaxPreemptions => victims.max_preemptions = u32::MAX,
            Self::Patience => be_impatient(settings),
            Self::SaveDeadline => victims.save_deadline_s = LONG_S,
            Self::Unsavable => {
                victims.unsavable = Unsavable::Stop;
                be_impatient(settings);
            }
        }
    }
}

/// No epoch and no save takes longer.
const LONG_S: Seconds = Seconds(1e9);

/// Also for a job that is submitted this very second.
fn be_impatient(settings: &mut Settings) {
    settings.urgent.patience_s = Seconds(-1.0);
}

/// What would help, each rule by itself, where there is no set. `replan` decides the same once more in a cluster that this
/// changes.
pub(super) fn would_help(
    verdict: &Verdict,
    replan: impl Fn(&dyn Fn(&mut Facts, &mut Settings)) -> Option<Verdict>,
) -> Vec<WouldHelp> {
    let Verdict::Decided(Outcome::NoSet { refused }) = verdict else {
        return Vec::new();
    };
    let lifts: BTreeSet<Lift> = refused
        .values()
        .flat_map(|refusal| Lift::of(*refusal))
        .copied()
        .collect();
    let helps = lifts.into_iter().filter_map(|without| {
        match replan(&|facts, settings| without.apply(facts, settings))? {
            Verdict::Decided(Outcome::Stop(plan)) => Some(WouldHelp {
                without,
                victims: plan.victims.iter().map(|victim| victim.job).collect(),
            }),
            _ => None,
        }
    });
    helps.collect()
}

/// The sentence for people.
pub(super) fn sentence(help: &WouldHelp) -> String {
    let jobs: Vec<String> = help.victims.iter().map(JobId::to_string).collect();
    let noun = if jobs.len() == 1 { "job" } else { "jobs" };
    let (when, jobs) = (help.without.words(), jobs.join(", "));
    format!("{when}, {noun} {jobs} would make way.")
}

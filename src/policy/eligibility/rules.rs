// SPDX-License-Identifier: GPL-2.0-or-later
//! The rules by which a job is left alone: what each looks at, and when that protects.

use super::Refusal;
use crate::policy::directives::Urgency;
use crate::policy::facts::RunningJob;
use crate::policy::labels::Name;
use crate::policy::settings::VictimSettings;
use crate::policy::units::{Seconds, UnixTime};

/// What a rule looks at: the value of a job, and the limit that the site sets where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure<'a> {
    /// The job is so, which protects it, or is not.
    Is(bool),
    /// A name of the job, and whether that is among those that the site exempts.
    Named {
        /// `None` where Slurm has no such name for it.
        name: Option<&'a str>,
        /// Whether it is among them.
        exempt: bool,
    },
    /// A time that has to reach a limit, until when the job is protected.
    AtLeast {
        /// How long it is; `None` if it never ends.
        value_s: Option<Seconds>,
        /// How long it has to be.
        limit_s: Seconds,
    },
    /// A time that must not be longer than a limit, else the job is protected.
    AtMost {
        /// How long it is.
        value_s: Seconds,
        /// How long it may be.
        limit_s: Seconds,
    },
    /// A count that protects once it has reached a limit.
    Below {
        /// How many.
        value: u32,
        /// How many protect.
        limit: u32,
    },
}

impl Measure<'_> {
    /// Whether the job is protected by this.
    pub fn protects(&self) -> bool {
        match self {
            Self::Is(so) => *so,
            Self::Named { exempt, .. } => *exempt,
            Self::AtLeast { value_s, limit_s } => value_s.is_some_and(|value_s| value_s < *limit_s),
            Self::AtMost { value_s, limit_s } => value_s > limit_s,
            Self::Below { value, limit } => value >= limit,
        }
    }
}

/// One rule as it stands for one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule<'a> {
    /// Which.
    pub name: Refusal,
    /// What it looks at.
    pub measure: Measure<'a>,
}

/// All rules but those that depend on how the job saves.
pub(super) fn standing_rules<'a>(
    job: &'a RunningJob,
    now: UnixTime,
    victims: &VictimSettings,
) -> [Rule<'a>; 17] {
    let traits = &job.traits;
    let labels = &job.labels;
    let preempted = job.record.as_ref().map_or(0, |record| record.preempted);
    let ran_s = now - job.start;
    let is = Measure::Is;
    let ran = |limit_s| Measure::AtLeast {
        value_s: Some(ran_s),
        limit_s,
    };
    let rule = |name, measure| Rule { name, measure };
    [
        rule(Refusal::Urgent, is(job.class() == Urgency::Urgent)),
        rule(Refusal::Completing, is(traits.completing)),
        rule(Refusal::Configuring, is(traits.configuring)),
        rule(Refusal::Suspended, is(traits.suspended)),
        rule(Refusal::InPreemption, is(job.preempt_time.is_some())),
        rule(Refusal::Interactive, is(!traits.batch)),
        rule(Refusal::NotRequeueable, is(!traits.requeue)),
        rule(Refusal::HetJob, is(traits.het)),
        rule(Refusal::SlurmExempt, is(traits.exempt)),
        rule(Refusal::ExemptUser, named(&labels.user, &victims.exempt_users)),
        rule(
            Refusal::ExemptAccount,
            named_caseless(&labels.account, &victims.exempt_accounts),
        ),
        rule(
            Refusal::ExemptQos,
            named_caseless(&labels.qos, &victims.exempt_qos),
        ),
        rule(
            Refusal::ExemptPartition,
            named(&labels.partition, &victims.exempt_partitions),
        ),
        rule(Refusal::BelowMinRuntime, ran(victims.min_runtime_s)),
        rule(
            Refusal::RestartedRecently,
            match preempted {
                0 => is(false),
                _ => ran(due_runtime_s(preempted, victims)),
            },
        ),
        rule(
            Refusal::NearlyDone,
            Measure::AtLeast {
                value_s: job.end.map(|end| end - now),
                limit_s: victims.nearly_done_s,
            },
        ),
        rule(
            Refusal::MaxPreemptions,
            Measure::Below {
                value: preempted,
                limit: victims.max_preemptions,
            },
        ),
    ]
}

/// How long a job that was preempted so often is left alone once it runs again.
pub fn due_runtime_s(preempted: u32, victims: &VictimSettings) -> Seconds {
    Seconds(victims.min_runtime_s.0 * (1.0 + f64::from(preempted)))
}

fn named<'a>(label: &'a Option<Name>, exempt: &[String]) -> Measure<'a> {
    among(label, exempt, |exempt, name| exempt == name)
}

/// Slurm keeps the names of accounts and QOS in small letters, whatever an administrator writes.
fn named_caseless<'a>(label: &'a Option<Name>, exempt: &[String]) -> Measure<'a> {
    among(label, exempt, str::eq_ignore_ascii_case)
}

fn among<'a>(label: &'a Option<Name>, exempt: &[String], same: impl Fn(&str, &str) -> bool) -> Measure<'a> {
    let name = label.as_ref().map(Name::as_str);
    Measure::Named {
        name,
        exempt: name.is_some_and(|name| exempt.iter().any(|exempt| same(exempt, name))),
    }
}

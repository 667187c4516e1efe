// SPDX-License-Identifier: GPL-2.0-or-later
//! What protects a running job, what is believed of it, and what it costs to stop it.

use crate::policy::belief::{Disbelief, SaveRule};
use crate::policy::book::{Book, Stance};
use crate::policy::cost::Cost;
use crate::policy::eligibility::{Measure, Refusal, Rule, SaveWay, all_rules};
use crate::policy::facts::{Facts, RunningJob};
use crate::policy::ids::JobId;
use crate::policy::outlook::Outlook;
use crate::policy::settings::Settings;
use crate::policy::units::{Seconds, UnixTime};
use serde::Serialize;

/// See the module.
#[derive(Debug, Serialize)]
pub(super) struct Exposure {
    /// Every rule, in the order in which they are asked.
    pub rules: Vec<RuleRow>,
    /// Those that protect it, by name; nobody stops it as long as there is one.
    pub protected_by: Vec<Refusal>,
    /// What is believed of its report.
    pub belief: BeliefRow,
    /// In what ways it could be stopped, also where a rule protects it at present.
    pub ways: Vec<WayRow>,
    /// Its place among the jobs that may be stopped, the cheapest first; `None` where it may not.
    pub rank: Option<usize>,
    /// How many may.
    pub of: usize,
}

/// One rule as it stands for the job.
#[derive(Debug, Serialize)]
pub(super) struct RuleRow {
    /// Its stable name.
    pub rule: Refusal,
    /// Whether it protects the job.
    pub protects: bool,
    #[serde(flatten)]
    pub measure: MeasureRow,
}

/// What it looks at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "measure")]
pub(super) enum MeasureRow {
    /// The job is so, or not.
    Is,
    /// A name of the job, which the site may exempt.
    Named { value: Option<String> },
    /// A time that must have reached a limit; `null` for one that never ends.
    AtLeast {
        value_s: Option<Seconds>,
        limit_s: Seconds,
    },
    /// A time that must be within a limit.
    AtMost { value_s: Seconds, limit_s: Seconds },
    /// A count that protects once it has reached a limit.
    Below { value: u32, limit: u32 },
    /// It makes way, or was to, for this urgent job.
    For { urgent: Option<JobId> },
}

/// What is believed of a report.
#[derive(Debug, Serialize)]
pub(super) struct BeliefRow {
    /// Epochs done by now.
    pub epoch: Option<f64>,
    pub epochs: Option<u32>,
    pub epoch_s: Option<Seconds>,
    /// How far the report is trusted, 0 to 1.
    pub confidence: Option<f64>,
    /// How old the report is.
    pub report_age_s: Option<Seconds>,
    /// When its last save was finished.
    pub saved: Option<UnixTime>,
    /// How long its save takes, and how that is known.
    pub save_s: Seconds,
    pub save_by: SaveRule,
    /// What is not believed.
    pub disbelieved: Vec<Disbelief>,
}

/// One way of stopping the job.
#[derive(Debug, Serialize)]
pub(super) struct WayRow {
    pub way: WayName,
    /// How it is asked to save; `None` if it is not.
    pub signal: Option<String>,
    pub cost: Cost,
    pub cost_gpu_s: f64,
}

/// The ways. The names are stable.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WayName {
    AtStep,
    AtEpochEnd,
    SinceEpochEnd,
    Unsaved,
}

impl WayName {
    /// For people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::AtStep => "saves at once",
            Self::AtEpochEnd => "saves at the epoch's end",
            Self::SinceEpochEnd => "back to the last epoch's end",
            Self::Unsaved => "back to the last save",
        }
    }
}

/// Of a job that runs.
pub(super) fn exposure(job: &RunningJob, facts: &Facts, book: &Book, settings: &Settings) -> Exposure {
    let outlook = Outlook::new(facts, settings);
    let place = facts.running.iter().position(|one| one.id == job.id);
    // The job is among those that run.
    let at = place.unwrap_or_default();
    let belief = &outlook.beliefs()[at];
    let standing = all_rules(job, belief, facts.now, false, settings);
    let mut rules: Vec<RuleRow> = standing.iter().map(RuleRow::of).collect();
    rules.extend(for_urgent(job, book));
    let priced = outlook.price(at);
    let ways = priced.iter().map(|(way, cost)| {
        let (way, signal) = match way {
            SaveWay::AtStep(signal) => (WayName::AtStep, Some(signal)),
            SaveWay::AtEpochEnd { signal, .. } => (WayName::AtEpochEnd, Some(signal)),
            SaveWay::SinceEpochEnd => (WayName::SinceEpochEnd, None),
            SaveWay::Unsaved => (WayName::Unsaved, None),
        };
        WayRow {
            way,
            signal: signal.map(ToString::to_string),
            cost: *cost,
            cost_gpu_s: cost.total_gpu_s(),
        }
    });
    let mut costs: Vec<(f64, usize)> = outlook
        .ways(false)
        .iter()
        .enumerate()
        .filter_map(|(at, ways)| {
            let ways = ways.as_ref().ok()?;
            let least = ways
                .iter()
                .map(|(_, cost)| cost.total_gpu_s())
                .min_by(f64::total_cmp)?;
            Some((least, at))
        })
        .collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let progress = belief.progress;
    let reported = job.directives.as_ref().and_then(|directives| directives.at);
    Exposure {
        protected_by: rules
            .iter()
            .filter(|row| row.protects)
            .map(|row| row.rule)
            .collect(),
        rules,
        belief: BeliefRow {
            epoch: progress.map(|progress| progress.epoch),
            epochs: progress.and_then(|progress| progress.epochs),
            epoch_s: progress.map(|progress| progress.epoch_s),
            confidence: progress.map(|progress| progress.confidence),
            report_age_s: reported.map(|at| facts.now - at),
            saved: belief.saved,
            save_s: belief.save.takes_s,
            save_by: belief.save.by,
            disbelieved: belief.disbelief.to_vec(),
        },
        ways: ways.collect(),
        rank: costs
            .iter()
            .position(|(_, one)| *one == at)
            .map(|place| place + 1),
        of: costs.len(),
    }
}

/// Rules that are about this or that urgent job alone.
fn for_urgent(job: &RunningJob, book: &Book) -> [RuleRow; 2] {
    let mut campaigns = book.campaigns.iter();
    let missed = campaigns
        .clone()
        .find(|campaign| campaign.missed.contains(&job.id));
    let claimed = campaigns.find(|campaign| {
        let mut asked = campaign.victims.iter();
        asked.any(|asked| asked.job == job.id && asked.stance == Stance::Victim)
    });
    let row = |rule, urgent: Option<JobId>| RuleRow {
        rule,
        protects: urgent.is_some(),
        measure: MeasureRow::For { urgent },
    };
    [
        row(Refusal::MissedDeadline, missed.map(|campaign| campaign.urgent)),
        row(Refusal::Claimed, claimed.map(|campaign| campaign.urgent)),
    ]
}

impl RuleRow {
    fn of(rule: &Rule<'_>) -> Self {
        Self {
            rule: rule.name,
            protects: rule.measure.protects(),
            measure: match rule.measure {
                Measure::Is(_) => MeasureRow::Is,
                Measure::Named { name, .. } => MeasureRow::Named {
                    value: name.map(str::to_owned),
                },
                Measure::AtLeast { value_s, limit_s } => MeasureRow::AtLeast { value_s, limit_s },
                Measure::AtMost { value_s, limit_s } => MeasureRow::AtMost { value_s, limit_s },
                Measure::Below { value, limit } => MeasureRow::Below { value, limit },
            },
        }
    }
}

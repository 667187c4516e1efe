// SPDX-License-Identifier: GPL-2.0-or-later
//! What is to be said of an urgent job.

use super::lift::WouldHelp;
use crate::policy::book::{Campaign, Phase};
use crate::policy::facts::Hindrance;
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::plan::Outcome;
use serde::Serialize;

/// What is to be said of an urgent job, or of one task of an array, and of the rules that keep it waiting.
#[derive(Serialize)]
pub(in crate::cli) struct Prospect {
    #[serde(flatten)]
    pub verdict: Verdict,
    /// It would not fit either if no job ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never_fits: bool,
    /// Where no set of victims makes it fit: each rule without which one would.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_help: Vec<WouldHelp>,
}

/// What becomes of it.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum Verdict {
    /// A plan was asked for.
    Decided(Outcome),
    /// None was.
    Standing(Standing),
}

/// Why no plan was asked for.
#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub(in crate::cli) enum Standing {
    /// None would help.
    Hindered { urgent: JobId, hindrance: Hindrance },
    /// An earlier one is being carried out.
    InProgress {
        urgent: JobId,
        phase: PhaseName,
        nodes: Vec<NodeIndex>,
        /// Who is to make way still.
        victims: Vec<JobId>,
    },
}

/// How far a plan is carried out. The names are stable.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum PhaseName {
    Saving,
    Open,
    Requeued,
    Releasing,
    GivenUp,
}

impl Standing {
    pub(in crate::cli) fn in_progress(campaign: &Campaign) -> Self {
        Self::InProgress {
            urgent: campaign.urgent,
            phase: match campaign.phase {
                Phase::Saving => PhaseName::Saving,
                Phase::Open { .. } => PhaseName::Open,
                Phase::Requeued { .. } => PhaseName::Requeued,
                Phase::Releasing { .. } => PhaseName::Releasing,
                Phase::GivenUp { .. } => PhaseName::GivenUp,
            },
            nodes: campaign.nodes.clone(),
            victims: campaign.active().map(|asked| asked.job).collect(),
        }
    }
}

impl Verdict {
    /// Where the urgent job is expected to run.
    pub(in crate::cli) fn nodes(&self) -> &[NodeIndex] {
        match self {
            Self::Decided(Outcome::Fits { nodes }) | Self::Standing(Standing::InProgress { nodes, .. }) => {
                nodes
            }
            Self::Decided(Outcome::Stop(plan)) => &plan.nodes,
            Self::Decided(Outcome::Wait(wait)) => &wait.nodes,
            Self::Decided(Outcome::NoSet { .. }) | Self::Standing(Standing::Hindered { .. }) => &[],
        }
    }
}

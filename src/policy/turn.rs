// SPDX-License-Identifier: GPL-2.0-or-later
//! One gate after the other, where urgent jobs could take each other's nodes.
//!
//! Slurm gives a node that comes free to whoever stands first in its queue and may use it. With two gates open at once, one
//! urgent job could start where the other's victims have just left, and that one would wait among victims that are not its
//! own. Slurm's main scheduler starts such jobs one after the other as well, so that hardly anything is lost.

use super::book::{Campaign, Phase};
use super::ids::{JobId, NodeIndex};
use super::party::Party;
use super::units::{Seconds, UnixTime};

/// Whose victims take longer than this to leave, holds up no others any more: it is one node's trouble then.
const TURN_MAX_S: Seconds = Seconds(10.0);

/// An urgent job whose gate is open, and the nodes that it is to get.
#[derive(Debug)]
pub struct Turn {
    urgent: JobId,
    nodes: Vec<NodeIndex>,
}

impl Turn {
    /// That of the job of `campaign`, if it is its turn.
    pub fn of(campaign: &Campaign, now: UnixTime) -> Option<Self> {
        is_on(campaign.phase, now).then(|| Self {
            urgent: campaign.urgent,
            nodes: campaign.nodes.clone(),
        })
    }

    /// Who has to start before `party` may have `nodes`. Tasks of an array may well take each other's.
    pub fn before(
        turns: &[Self],
        party: &Party<'_>,
        nodes: &[NodeIndex],
        parties: &[Party<'_>],
    ) -> Option<JobId> {
        let in_the_way = |turn: &&Self| {
            let other = parties.iter().find(|other| other.id() == turn.urgent);
            let could_take = |who: &Party<'_>, of: &[NodeIndex]| of.iter().any(|node| who.may_use(*node));
            other.is_some_and(|other| could_take(other, nodes) || could_take(party, &turn.nodes))
        };
        let mut others = turns.iter().filter(|turn| turn.urgent != party.id());
        others.find(in_the_way).map(|turn| turn.urgent)
    }
}

/// Whether it is the turn of a job whose campaign is in this phase. Where Slurm gives victims a grace, that begins with the
/// end of it: others need not wait so long.
pub fn is_on(phase: Phase, now: UnixTime) -> bool {
    match phase {
        Phase::Open { since } => since <= now && now - since <= TURN_MAX_S,
        Phase::Saving | Phase::Requeued { .. } | Phase::Releasing { .. } | Phase::GivenUp { .. } => false,
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What is different in a campaign for a heterogeneous job.
//!
//! Slurm cannot preempt for one: its components start one after the other, and the first preemption breaks the start off.
//! So the gate stays shut. Once all victims have saved, they are requeued at once, by command, and Slurm's backfill
//! scheduler then finds room for all components together. Slurm has not checked that this helps, so it is tried once.

use super::advance::{Advance, RESTART_AFTER_S, release, release_active, same_run};
use super::book::{Action, Asked, Campaign, Phase};
use super::facts::Hindrance;
use super::fit::Ledger;
use super::ids::JobId;
use super::notes;
use super::party::Party;
use super::settings::Settings;
use super::units::{Seconds, UnixTime};

/// By then the backfill scheduler has looked at its queue twice and more. It does so every `bf_interval`, which is 30 s
/// unless slurm.conf says otherwise, and passes over nodes that are still being cleaned up when it looks.
const ROUNDS_MAX_S: Seconds = Seconds(90.0);
/// Slurm is given this long to try another urgent job by itself before anybody is asked to make way for it.
const UNTESTED_MAX_S: Seconds = Seconds(30.0);
/// Victims that still run after the command are requeued again after this.
const REQUEUE_AGAIN_S: Seconds = Seconds(2.0);

/// Slurm is given this long to try `party` by itself before anybody is asked to make way for it.
pub fn untested_max_s(party: &Party<'_>) -> Seconds {
    match party.is_het() {
        true => ROUNDS_MAX_S,
        false => UNTESTED_MAX_S,
    }
}

/// Slurm is given this long to start `party` once it fits.
pub fn start_max_s(party: &Party<'_>, settings: &Settings) -> Seconds {
    let patience_s = settings.urgent.gate_patience_s;
    match party.is_het() && patience_s < ROUNDS_MAX_S {
        true => ROUNDS_MAX_S,
        false => patience_s,
    }
}

/// Whether `campaign` was in vain for a job that still waits and asks for the same. To hold and release the job makes
/// it another one.
pub fn is_as_it_was(campaign: &Campaign, parties: &[Party<'_>]) -> bool {
    let party = parties.iter().find(|party| party.id() == campaign.urgent);
    party
        .is_some_and(|party| party.hindrance() != Some(Hindrance::Held) && party.wishes() == campaign.in_vain)
}

impl Advance<'_> {
    /// Whether all have saved and some have gone: the command was given, as a campaign that was lost or is older does not
    /// tell.
    pub(super) fn has_begun_to_requeue(&self, campaign: &Campaign) -> bool {
        let has_gone = |asked: &Asked| {
            let mut parked = self.facts.parked.iter().filter(|job| job.id == asked.job);
            let record = parked.next().and_then(|job| job.record.as_ref());
            record.is_some_and(|record| record.ask == Some(campaign.urgent))
        };
        self.are_all_ready(campaign) && campaign.active().any(has_gone)
    }

    /// Some have gone: the others follow, and there is no other set to be looked for.
    pub(super) fn requeue_rest(&mut self, campaign: &mut Campaign, party: &Party<'_>) {
        self.requeue(campaign);
        self.set_aside(campaign, party);
    }

    /// Whether an urgent job that goes before heterogeneous ones, and is about to start, fits where these victims are. It
    /// would be given their nodes rather than those of its own victims.
    pub(super) fn others_would_take(&self, campaign: &Campaign) -> bool {
        let mut ledger = Ledger::of(self.facts);
        release_active(campaign, self.facts, &mut ledger);
        let mut others = self.parties.iter().filter(|party| !party.is_het());
        others.any(|party| self.being_served.contains(&party.id()) && party.place(&ledger).is_some())
    }

    /// All have saved.
    pub(super) fn requeue(&mut self, campaign: &mut Campaign) {
        let since = self.facts.now;
        campaign.phase = Phase::Requeued { since };
        campaign.nudged = since;
        let jobs = self.still_there(campaign);
        // After a restart all of them may have gone already.
        if !jobs.is_empty() {
            self.say(campaign.urgent, notes::requeued(campaign.urgent, &jobs));
        }
        self.command(jobs);
    }

    /// The victims were requeued, and Slurm has the word.
    pub(super) fn requeued(&mut self, campaign: &mut Campaign, party: &Party<'_>, since: UnixTime) {
        let now = self.facts.now;
        if now - since > start_max_s(party, self.settings) {
            let fitted = party.place(self.ledger).is_some();
            self.say(campaign.urgent, notes::in_vain(campaign.urgent, fitted));
            release(campaign, now, self.actions);
            campaign.phase = Phase::GivenUp { since: now };
            if fitted {
                campaign.in_vain = party.wishes();
            }
            return;
        }
        if !party.is_blocked() && now - campaign.nudged >= REQUEUE_AGAIN_S {
            campaign.nudged = now;
            let jobs = self.still_there(campaign);
            self.command(jobs);
        }
        self.hasten(party, since);
        self.set_aside(campaign, party);
    }

    /// Where Slurm has broken a start off, it lets the components that had started wait for two minutes (`_het_job_kill_now`). By
    /// then the victims would go before them; so these start as soon as what they had started is cleared away.
    fn hasten(&mut self, party: &Party<'_>, since: UnixTime) {
        let now = self.facts.now;
        let put_off = party
            .components()
            .iter()
            .filter(|job| job.hindrance == Some(Hindrance::Date) && job.submit >= since)
            .filter(|job| now - job.submit >= RESTART_AFTER_S);
        self.actions
            .extend(put_off.map(|job| Action::StartNow { job: job.id }));
    }

    /// The victims that are to be requeued: those of which the very run that has saved still goes on.
    fn still_there(&self, campaign: &Campaign) -> Vec<JobId> {
        let stoppable = |asked: &&Asked| {
            let job = same_run(self.facts, asked).filter(|job| job.traits.can_be_requeued());
            asked.ready() && job.is_some()
        };
        campaign
            .active()
            .filter(stoppable)
            .map(|asked| asked.job)
            .collect()
    }

    fn command(&mut self, jobs: Vec<JobId>) {
        if !jobs.is_empty() {
            self.actions.push(Action::Requeue { jobs });
        }
    }

    fn set_aside(&mut self, campaign: &Campaign, party: &Party<'_>) {
        release_active(campaign, self.facts, self.ledger);
        if let Some(places) = party.place(self.ledger) {
            party.reserve(self.ledger, &places);
        }
    }
}

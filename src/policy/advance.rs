// SPDX-License-Identifier: GPL-2.0-or-later
//! One step of one campaign, from the request to the last victim's return.

use super::ahead::FreePlaces;
use super::book::{Action, Asked, Campaign, Phase, Stance};
use super::decision::{Decision, Listener};
use super::eligibility::Refusal;
use super::facts::{Facts, RunningJob};
use super::fit::Ledger;
use super::ids::JobId;
use super::notes;
use super::outlook::Outlook;
use super::party::Party;
use super::plan::{Constraints, Outcome, Plan, Victim};
use super::settings::Settings;
use super::settle::{begin_anew, has_ended_unnoticed, is_forgotten, is_in_doubt};
use super::stops::RecentStops;
use super::turn::Turn;
use super::units::{Seconds, UnixTime};
use std::collections::{BTreeMap, BTreeSet};

/// While a gate is open the scheduler is nudged this often.
const NUDGE_EVERY_S: Seconds = Seconds(1.0);
/// A stopped job is not started again before this: slurmd ends a job whose credential was made in the same second in
/// which its last run's was revoked ("Job credential revoked").
pub const RESTART_AFTER_S: Seconds = Seconds(2.0);
/// No set of victims does any more: who was asked is let off only when that has lasted for this long. After a restart
/// of slurmctld, for one, it takes a moment until its nodes have come forward.
const HOPELESS_MAX_S: Seconds = Seconds(20.0);
/// What is still owed to victims after this is given up.
pub const RELEASING_MAX_S: Seconds = Seconds(600.0);
/// A campaign that was given up, or for which nobody is left who has not missed a deadline, may be tried anew after this.
pub const GIVEN_UP_S: Seconds = Seconds(600.0);

/// Takes one campaign forward; `ledger` is what earlier urgent jobs leave free, and what later ones find.
pub struct Advance<'a> {
    /// The cluster.
    pub facts: &'a Facts,
    /// Who waits.
    pub parties: &'a [Party<'a>],
    /// Whose victims leave now.
    pub turns: &'a [Turn],
    /// See [`super::book::Book::restart_after`].
    pub restart_after: Option<UnixTime>,
    /// Who of them is about to start.
    pub being_served: &'a BTreeSet<JobId>,
    /// The site's settings.
    pub settings: &'a Settings,
    /// What follows from both.
    pub outlook: &'a Outlook<'a>,
    /// See above.
    pub ledger: &'a mut Ledger,
    /// What of it was set aside for jobs that fit as things are.
    pub free: &'a mut FreePlaces,
    /// Who has made way.
    pub stops: &'a mut RecentStops,
    /// What was logged already.
    pub said: &'a mut BTreeMap<JobId, String>,
    /// Where actions go.
    pub actions: &'a mut Vec<Action>,
    /// Who is told of plans.
    pub listener: &'a mut Listener<'a>,
}

/// Logs `sentence` about an urgent job unless it is the last thing that was logged about it.
///
/// What follows a semicolon (costs, times) changes from moment to moment and does not make a sentence new.
pub fn say(said: &mut BTreeMap<JobId, String>, actions: &mut Vec<Action>, urgent: JobId, sentence: String) {
    let gist = sentence.split(';').next().unwrap_or_default();
    if said.get(&urgent).map(String::as_str) != Some(gist) {
        said.insert(urgent, gist.to_owned());
        actions.push(Action::Say(sentence));
    }
}

/// Lets all victims go: the urgent job needs them no more, or Surgent was turned off.
pub fn release(campaign: &mut Campaign, now: UnixTime, actions: &mut Vec<Action>) {
    if matches!(campaign.phase, Phase::Releasing { .. }) {
        return;
    }
    actions.push(Action::ShutGate {
        urgent: campaign.urgent,
    });
    campaign.phase = Phase::Releasing { since: now };
    for asked in &mut campaign.victims {
        asked.stance = Stance::LetOff;
    }
}

/// The run of the job that was asked, if it still holds its resources.
pub fn same_run<'a>(facts: &'a Facts, asked: &Asked) -> Option<&'a RunningJob> {
    facts
        .job(asked.job)
        .filter(|job| job.start == asked.start && !job.traits.completing)
}

/// When who was asked had saved: as the book has it, or as the job says itself by now.
pub fn saved(facts: &Facts, asked: &Asked) -> Option<UnixTime> {
    asked
        .saved
        .or_else(|| same_run(facts, asked).and_then(|job| asked.saved_by(job)))
}

/// Whom the gate lets through, if it is open.
pub fn behind_gate(campaign: &Campaign, facts: &Facts) -> Vec<(JobId, UnixTime)> {
    campaign
        .active()
        .filter(|asked| same_run(facts, asked).is_some())
        .map(|asked| (asked.job, asked.start))
        .collect()
}

/// Whether the job may be stopped: nothing more is awaited of it, and its record shows the request. Without that nobody
/// would know after its requeue that it is to get its place back.
fn is_ready(job: &RunningJob, asked: &Asked, urgent: JobId) -> bool {
    asked.ready() && shows_request(job, asked, urgent)
}

/// Whether the job's record shows this very request.
pub(super) fn shows_request(job: &RunningJob, asked: &Asked, urgent: JobId) -> bool {
    let record = job.record.as_ref();
    record.is_some_and(|record| record.ask == Some(urgent) && record.asked == Some(asked.asked))
}

pub(super) fn release_active(campaign: &Campaign, facts: &Facts, ledger: &mut Ledger) {
    for job in campaign.active().filter_map(|asked| same_run(facts, asked)) {
        ledger.release(job);
    }
}

impl<'a> Advance<'a> {
    /// Takes `campaign` one step on. `barred` are jobs that make way for somebody else.
    pub fn campaign(&mut self, campaign: &mut Campaign, barred: BTreeMap<JobId, Refusal>) {
        let parties = self.parties;
        let party = parties.iter().find(|party| party.id() == campaign.urgent);
        self.note_saves(campaign, party);
        self.note_ends(campaign);
        self.requeue_forgotten(campaign);
        match (party, campaign.phase) {
            // Slurm may name any reason while it clears the nodes; only time tells then.
            (Some(party), Phase::Open { since }) => self.open(campaign, party, barred, since),
            (Some(party), Phase::Requeued { since }) => self.requeued(campaign, party, since),
            (Some(party), Phase::Saving) if !party.is_blocked() => {
                match party.is_het() && self.has_begun_to_requeue(campaign) {
                    true => self.requeue_rest(campaign, party),
                    false => self.saving(campaign, party, barred),
                }
            }
            // Requeued by itself, or waiting again: what was begun is wound up first.
            (Some(_), Phase::Releasing { .. } | Phase::GivenUp { .. }) => {}
            (Some(_), Phase::Saving) | (None, _) => self.no_longer_waits(campaign),
        }
        self.settle(campaign);
    }

    pub(super) fn say(&mut self, urgent: JobId, sentence: String) {
        say(self.said, self.actions, urgent, sentence);
    }

    fn note_saves(&mut self, campaign: &mut Campaign, party: Option<&Party<'_>>) {
        let now = self.facts.now;
        let is_het = party.is_some_and(Party::is_het);
        for asked in &mut campaign.victims {
            asked.known_since.get_or_insert(now);
            let Some(job) = same_run(self.facts, asked) else {
                continue;
            };
            if asked.gone.is_some() && !has_ended_unnoticed(job, asked) {
                self.stops.forget(asked);
                begin_anew(asked, now);
            }
            // A command to requeue it may have been on its way when slurmctld ended, and reach this one.
            let may_be_requeued = is_het && is_in_doubt(asked, now);
            asked.was_behind_gate &= has_ended_unnoticed(job, asked) || may_be_requeued;
            if asked.saved.is_none()
                && let Some(saved) = asked.saved_by(job)
            {
                asked.saved = Some(saved);
                campaign.missed.retain(|missed| *missed != asked.job);
                self.actions
                    .push(Action::Say(notes::saved(asked, campaign.urgent)));
            }
        }
    }

    fn note_ends(&self, campaign: &mut Campaign) {
        for asked in campaign.victims.iter_mut().filter(|asked| asked.gone.is_none()) {
            let job = self.facts.job(asked.job);
            if job.is_none_or(|job| job.start != asked.start) {
                asked.gone = Some(self.facts.now);
            }
        }
    }

    fn no_longer_waits(&mut self, campaign: &mut Campaign) {
        if matches!(campaign.phase, Phase::Releasing { .. }) {
            return;
        }
        let sentence = match self.facts.job(campaign.urgent) {
            Some(job) => notes::started(campaign.urgent, job.traits.het),
            None => notes::no_longer_waits(campaign.urgent),
        };
        self.say(campaign.urgent, sentence);
        release(campaign, self.facts.now, self.actions);
    }

    /// Victims are saving.
    fn saving(&mut self, campaign: &mut Campaign, party: &Party<'_>, mut barred: BTreeMap<JobId, Refusal>) {
        if let Some(places) = party.place(self.ledger) {
            if campaign
                .active()
                .any(|asked| same_run(self.facts, asked).is_some())
            {
                self.say(campaign.urgent, notes::fits_meanwhile(campaign.urgent));
            }
            self.free.set_aside(party, places, self.ledger);
            release(campaign, self.facts.now, self.actions);
            self.actions.push(Action::Nudge);
            return;
        }
        self.note_misses(campaign);
        barred.extend(campaign.missed.iter().map(|job| (*job, Refusal::MissedDeadline)));

        let mut after = self.ledger.clone();
        release_active(campaign, self.facts, &mut after);
        let places = match party.place(&after) {
            Some(places) => {
                campaign.nodes = places.concat();
                campaign.hopeless_since = None;
                places
            }
            None => match self.replan(campaign, party, barred) {
                Some(plan) => {
                    self.change_victims(campaign, &plan);
                    plan.places()
                }
                None => {
                    self.ask_again(campaign);
                    return;
                }
            },
        };
        self.ask_again(campaign);
        release_active(campaign, self.facts, self.ledger);
        party.reserve(self.ledger, &places);

        match (self.are_all_ready(campaign), party.is_het()) {
            (true, false) => match Turn::before(self.turns, party, &campaign.nodes, self.parties) {
                Some(other) => self.say(campaign.urgent, notes::waits_for_turn(campaign.urgent, other)),
                None => self.open_gate(campaign),
            },
            (true, true) if !self.others_would_take(campaign) => self.requeue(campaign),
            _ => {}
        }
    }

    /// Nobody has to be waited for any more.
    pub(super) fn are_all_ready(&self, campaign: &Campaign) -> bool {
        campaign
            .active()
            .filter_map(|asked| Some((same_run(self.facts, asked)?, asked)))
            // One that has ended leaves its nodes once it is requeued.
            .all(|(job, asked)| !is_forgotten(job, asked) && is_ready(job, asked, campaign.urgent))
    }

    /// Deadlines pass, and users change their minds about being requeued.
    fn note_misses(&mut self, campaign: &mut Campaign) {
        for asked in &mut campaign.victims {
            if asked.stance != Stance::Victim {
                continue;
            }
            let Some(job) = same_run(self.facts, asked) else {
                continue;
            };
            // Of one that had saved Slurm may just not know any more that it was asked.
            let is_excused = is_forgotten(job, asked) || is_in_doubt(asked, self.facts.now);
            let is_late = !is_ready(job, asked, campaign.urgent) && self.facts.now > asked.deadline;
            let late = is_late && !is_excused;
            let unwilling = !job.traits.can_be_requeued();
            if late || unwilling {
                asked.stance = Stance::LetOff;
                campaign.missed.push(asked.job);
                let sentence = notes::passed_over(asked.job, campaign.urgent, late);
                self.actions.push(Action::Say(sentence));
            }
        }
    }

    fn replan(
        &mut self,
        campaign: &mut Campaign,
        party: &Party<'_>,
        barred: BTreeMap<JobId, Refusal>,
    ) -> Option<Plan> {
        let constraints = Constraints {
            barred,
            sunk: campaign.active().map(|asked| asked.job).collect(),
            patience_over: self.facts.now - party.submit() > self.settings.urgent.patience_s,
        };
        match self.decide(party, &constraints) {
            Outcome::Stop(plan) => {
                campaign.hopeless_since = None;
                self.say(campaign.urgent, notes::plan(&plan, self.facts));
                Some(plan)
            }
            Outcome::NoSet { refused } => {
                let since = *campaign.hopeless_since.get_or_insert(self.facts.now);
                if self.facts.now - since >= HOPELESS_MAX_S {
                    self.say(campaign.urgent, notes::no_set(campaign.urgent, &refused));
                    for asked in &mut campaign.victims {
                        asked.stance = Stance::LetOff;
                    }
                }
                // What kept them from saving in time may be over by now.
                if self.facts.now - since > GIVEN_UP_S {
                    campaign.hopeless_since = None;
                    campaign.missed.clear();
                }
                None
            }
            Outcome::Wait(wait) => {
                // Jobs end by themselves so soon that nobody else need make way.
                self.say(campaign.urgent, notes::wait(&wait));
                release(campaign, self.facts.now, self.actions);
                None
            }
            // The caller has just seen that it does not fit.
            Outcome::Fits { .. } => None,
        }
    }

    fn decide(&mut self, party: &Party<'_>, constraints: &Constraints) -> Outcome {
        let outcome = party.plan(self.outlook, self.ledger, constraints);
        (self.listener)(Decision {
            urgent: party.id(),
            outcome: &outcome,
        });
        outcome
    }

    /// Who is in the plan stays or is asked; who is not is let off.
    fn change_victims(&mut self, campaign: &mut Campaign, plan: &Plan) {
        for asked in &mut campaign.victims {
            let wanted = plan
                .victims
                .iter()
                .any(|victim| victim.job == asked.job && victim.start == asked.start);
            asked.stance = if wanted { Stance::Victim } else { Stance::LetOff };
        }
        for victim in &plan.victims {
            let known = campaign
                .victims
                .iter()
                .any(|asked| asked.job == victim.job && asked.start == victim.start);
            if !known {
                self.ask(campaign, victim);
            }
        }
        campaign.nodes.clone_from(&plan.nodes);
    }

    /// A request that did not go out, or that the job's record does not show, goes out again: to who has saved, too. Only by
    /// its record a job is given its place back; it was taken from one that saved after its deadline.
    fn ask_again(&mut self, campaign: &mut Campaign) {
        for asked in &mut campaign.victims {
            if asked.stance != Stance::Victim {
                continue;
            }
            // Slurm refuses to signal a suspended job, and scancel tries again and again meanwhile. One that has ended hears nothing.
            let can_hear = |job: &&RunningJob| !job.traits.suspended && !is_forgotten(job, asked);
            let Some(job) = same_run(self.facts, asked).filter(can_hear) else {
                continue;
            };
            let recorded = shows_request(job, asked, campaign.urgent);
            let reached = asked.delivered || asked.saved.is_some();
            if (!recorded || !reached) && asked.has_rested(self.facts.now) {
                asked.tried = Some(self.facts.now);
                self.actions.push(asked.ask(campaign.urgent));
            }
        }
    }

    fn open_gate(&mut self, campaign: &mut Campaign) {
        let victims = behind_gate(campaign, self.facts);
        self.say(campaign.urgent, notes::gate_open(campaign.urgent, &victims));
        self.actions.push(Action::Nudge);
        campaign.phase = Phase::Open {
            since: self.facts.now,
        };
        campaign.nudged = self.facts.now;
    }

    /// The gate is open and Slurm has the word.
    fn open(
        &mut self,
        campaign: &mut Campaign,
        party: &Party<'_>,
        mut barred: BTreeMap<JobId, Refusal>,
        since: UnixTime,
    ) {
        let now = self.facts.now;
        let since = self.grace_end(campaign, since);
        campaign.phase = Phase::Open { since };
        let waited_s = now - since;
        if waited_s > self.settings.urgent.gate_patience_s && party.is_blocked() {
            self.no_longer_waits(campaign);
            return;
        }
        if waited_s > self.settings.urgent.gate_patience_s {
            self.actions.push(Action::ShutGate {
                urgent: campaign.urgent,
            });
            if campaign.widened < self.settings.urgent.max_widen {
                campaign.widened += 1;
                campaign.phase = Phase::Saving;
                barred.extend(campaign.victims.iter().map(|asked| (asked.job, Refusal::Claimed)));
                self.say(campaign.urgent, notes::widening(campaign.urgent));
                if let Some(plan) = self.replan_beside(party, barred) {
                    for victim in &plan.victims {
                        self.ask(campaign, victim);
                    }
                }
            } else {
                self.say(campaign.urgent, notes::given_up(campaign.urgent));
                release(campaign, now, self.actions);
                campaign.phase = Phase::GivenUp { since: now };
            }
            return;
        }
        release_active(campaign, self.facts, self.ledger);
        if let Some(places) = party.place_preferably(&campaign.nodes, self.ledger) {
            party.reserve(self.ledger, &places);
        }
        if now - campaign.nudged >= NUDGE_EVERY_S {
            campaign.nudged = now;
            self.actions.push(Action::Nudge);
        }
    }

    /// When Slurm will have stopped the last of those whom it gives a grace: who uses a reservation until its owner comes
    /// (`--signal=R`) gets the time that he asked to be warned before. `since` if there are none.
    fn grace_end(&self, campaign: &Campaign, since: UnixTime) -> UnixTime {
        let going = campaign.active().filter_map(|asked| same_run(self.facts, asked));
        going
            .filter(|job| job.preempt_time.is_some())
            .filter_map(|job| job.end)
            .fold(since, UnixTime::max)
    }

    /// The next best set, beside the one that did not do.
    fn replan_beside(&mut self, party: &Party<'_>, barred: BTreeMap<JobId, Refusal>) -> Option<Plan> {
        let constraints = Constraints {
            barred,
            ..Constraints::default()
        };
        match self.decide(party, &constraints) {
            Outcome::Stop(plan) => Some(plan),
            Outcome::Fits { .. } | Outcome::Wait(_) | Outcome::NoSet { .. } => None,
        }
    }

    fn ask(&mut self, campaign: &mut Campaign, victim: &Victim) {
        let asked = Asked::begin(victim, campaign.urgent, self.facts, self.actions);
        campaign.victims.push(asked);
    }
}

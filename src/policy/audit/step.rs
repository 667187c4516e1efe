// SPDX-License-Identifier: GPL-2.0-or-later
//! What a step amounts to: found by the book before and after it, the facts that it saw and the decisions that it made.

use super::decided::Decided;
use super::told::{Gist, Told};
use super::{CalledOffWhy, Event, LeftWay, MissedWhy, PlanWhy, StopWay, Text, Whose};
use crate::policy::advance::{behind_gate, same_run};
use crate::policy::book::{Asked, Book, Campaign, Phase, Stance};
use crate::policy::directives::Urgency;
use crate::policy::facts::{Facts, WaitingJob};
use crate::policy::ids::JobId;
use crate::policy::settings::Mode;
use crate::policy::units::UnixTime;
use std::collections::BTreeSet;

/// A step that was taken.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The book before it.
    pub before: &'a Book,
    /// What it saw.
    pub facts: &'a Facts,
    /// What Surgent might do.
    pub mode: Mode,
}

/// What the step amounts to that left `after` behind, in the order in which it came about. Notes in `after` what has
/// been told.
pub fn of_step(step: &Step<'_>, after: &mut Book, decided: Vec<Decided>) -> Vec<Event> {
    let mut told = step.before.told.clone();
    let mut events = step.waiting(&mut told);
    let no_set = decisions(&decided, |gist| *gist == Gist::NoSet);
    let wait = decisions(&decided, |gist| matches!(gist, Gist::Wait(_)));
    events.extend(step.decisions(&mut told, after, decided));
    events.extend(step.saves());
    events.extend(step.misses(after));
    events.extend(step.gates(after));
    events.extend(step.ends());
    events.extend(step.starts(&mut told));
    events.extend(step.called_off(after, &no_set, &wait));
    events.extend(step.given_up(after));
    after.told = told;
    events
}

fn decisions(decided: &[Decided], wanted: impl Fn(&Gist) -> bool) -> BTreeSet<JobId> {
    let wanted = decided.iter().filter(|decided| wanted(&decided.gist));
    wanted.map(|decided| decided.urgent).collect()
}

impl Step<'_> {
    /// Urgent jobs that have come, and those that have gone without running.
    fn waiting(&self, told: &mut Told) -> Vec<Event> {
        let facts = self.facts;
        let now: BTreeSet<JobId> = facts.waiting.iter().map(|job| job.id).collect();
        let runs = |id: JobId| {
            let mut running = facts.running.iter();
            running.any(|job| job.id == id || job.array.is_some_and(|task| task.array == id))
        };
        let is_parked = |id: JobId| facts.parked.iter().any(|job| job.id == id);
        let gone = told.waiting.difference(&now).copied();
        let withdrawn = gone
            .filter(|id| !is_parked(*id) && !runs(*id))
            .map(|urgent| Event::Withdrawn { urgent });
        let come = facts.waiting.iter().filter(|job| !told.waiting.contains(&job.id));
        let events = come.map(waits).chain(withdrawn).collect();
        told.waiting = now;
        events
    }

    /// Each decision that differs from the last one for the same job.
    fn decisions(&self, told: &mut Told, after: &Book, decided: Vec<Decided>) -> Vec<Event> {
        let claims = |book: &Book, urgent: &JobId| {
            let mut campaigns = book.campaigns.iter();
            campaigns.any(|campaign| campaign.urgent == *urgent && campaign.claims())
        };
        // After a campaign the same decision is a new one.
        told.decided.retain(|urgent, _| {
            let is_over = claims(self.before, urgent) && !claims(after, urgent);
            !is_over && (claims(after, urgent) || told.waiting.contains(urgent))
        });
        let last = told.decided.clone();
        for urgent in decided.iter().map(|decided| decided.urgent) {
            told.decided.insert(urgent, Vec::new());
        }
        let mut events = Vec::new();
        for Decided {
            urgent,
            gist,
            mut event,
        } in decided
        {
            let now = told.decided.entry(urgent).or_default();
            let is_known = |gists: &[Gist]| gists.contains(&gist);
            if !is_known(now) {
                if !last.get(&urgent).is_some_and(|gists| is_known(gists)) {
                    if let (Event::Plan(plan), Gist::Stop(runs)) = (&mut event, &gist) {
                        plan.why = self.why(after, urgent, runs);
                    }
                    events.push(event);
                }
                now.push(gist);
            }
        }
        events
    }

    /// What the plan to stop `runs` follows.
    fn why(&self, after: &Book, urgent: JobId, runs: &[(JobId, UnixTime)]) -> PlanWhy {
        let is_of_plan = |campaign: &&Campaign| {
            let mut victims = campaign.victims.iter();
            campaign.urgent == urgent && victims.any(|asked| runs.contains(&(asked.job, asked.start)))
        };
        let Some(campaign) = after.campaigns.iter().find(is_of_plan) else {
            return PlanWhy::First;
        };
        let mut earlier = self.before.campaigns.iter();
        match earlier.find(|earlier| are_one(earlier, campaign)) {
            None => PlanWhy::First,
            Some(earlier) if earlier.widened < campaign.widened => PlanWhy::Widened,
            Some(_) => PlanWhy::Replanned,
        }
    }

    /// Everybody who was asked before this step, and for whom.
    fn asked(&self) -> impl Iterator<Item = (&Campaign, &Asked)> {
        let campaigns = self.before.campaigns.iter();
        campaigns.flat_map(|campaign| campaign.victims.iter().map(move |asked| (campaign, asked)))
    }

    fn saves(&self) -> impl Iterator<Item = Event> {
        self.asked().filter_map(|(campaign, asked)| {
            let job = same_run(self.facts, asked).filter(|_| asked.saved.is_none())?;
            let saved = job.directives.as_ref()?.saved?;
            (saved >= asked.asked).then(|| Event::Saved {
                urgent: campaign.urgent,
                job: asked.job,
                whose: Whose::of(job),
                asked: asked.asked,
                saved,
                after_s: saved - asked.asked,
            })
        })
    }

    fn misses(&self, after: &Book) -> Vec<Event> {
        let of = |book: &Book| -> BTreeSet<(JobId, JobId)> {
            let missed = book.campaigns.iter().flat_map(|campaign| {
                let jobs = campaign.missed.iter();
                jobs.map(|job| (campaign.urgent, *job))
            });
            missed.collect()
        };
        let known = of(self.before);
        let new = of(after).into_iter().filter(|missed| !known.contains(missed));
        new.map(|(urgent, job)| {
            let mut asked = self.asked().map(|(_, asked)| asked);
            let deadline = asked.find(|asked| asked.job == job).map(|asked| asked.deadline);
            let why = match deadline {
                Some(deadline) if self.facts.now <= deadline => MissedWhy::NotRequeueable,
                _ => MissedWhy::Deadline,
            };
            Event::Missed {
                urgent,
                job,
                deadline,
                why,
            }
        })
        .collect()
    }

    fn gates(&self, after: &Book) -> Vec<Event> {
        let events = after.campaigns.iter().filter_map(|campaign| {
            let how = match campaign.phase {
                Phase::Open { .. } => StopWay::Preempted,
                Phase::Requeued { .. } => StopWay::RequeuedByCommand,
                Phase::Saving | Phase::Releasing { .. } | Phase::GivenUp { .. } => return None,
            };
            let victims = behind_gate(campaign, self.facts);
            // After a restart all of them may have gone already.
            (self.is_new_phase(campaign) && !victims.is_empty()).then(|| Event::GateOpened {
                urgent: campaign.urgent,
                jobs: victims.into_iter().map(|(job, _)| job).collect(),
                how,
            })
        });
        events.collect()
    }

    fn is_new_phase(&self, campaign: &Campaign) -> bool {
        let mut before = self.before.campaigns.iter();
        !before.any(|earlier| are_one(earlier, campaign) && earlier.phase == campaign.phase)
    }

    /// Runs that are over: stopped by Surgent, or not.
    fn ends(&self) -> impl Iterator<Item = Event> {
        let over = self.asked().filter(|(_, asked)| {
            let job = self.facts.job(asked.job);
            asked.gone.is_none() && job.is_none_or(|job| job.start != asked.start)
        });
        over.map(|(campaign, asked)| {
            let (urgent, job, start, saved) = (campaign.urgent, asked.job, asked.start, asked.saved);
            let may_stop = campaign.phase != Phase::Saving || asked.was_behind_gate;
            match (self.waits_or_runs_again(campaign, asked), may_stop) {
                (true, false) => Event::Left {
                    urgent,
                    job,
                    start,
                    saved,
                    how: LeftWay::Requeued,
                },
                (true, true) => Event::Stopped {
                    urgent,
                    job,
                    start,
                    asked: asked.asked,
                    saved,
                    toll: asked.stake.map(|stake| stake.toll(saved, self.facts.now)),
                },
                (false, _) => Event::Left {
                    urgent,
                    job,
                    start,
                    saved,
                    how: LeftWay::Ended,
                },
            }
        })
    }

    fn waits_or_runs_again(&self, campaign: &Campaign, asked: &Asked) -> bool {
        let mut parked = self.facts.parked.iter();
        let parked = parked.find(|job| job.id == asked.job).map(|job| &job.record);
        let record = parked.or(self.facts.job(asked.job).map(|job| &job.record));
        record
            .and_then(|record| record.as_ref())
            .is_some_and(|record| record.ask == Some(campaign.urgent))
    }

    fn starts(&self, told: &mut Told) -> Vec<Event> {
        let urgent = self.facts.running.iter();
        let urgent = urgent.filter(|job| job.class() == Urgency::Urgent);
        let new = urgent
            .clone()
            .filter(|job| told.running.get(&job.id) != Some(&job.start));
        let events = new.map(|job| Event::Started {
            urgent: job.id,
            whose: Whose::of(job),
            start: job.start,
            waited_s: job
                .record
                .as_ref()
                .and_then(|record| Some(job.start - record.first?)),
            nodes: self
                .facts
                .node_names(job.holdings.iter().map(|holding| holding.node)),
        });
        let events = events.collect();
        told.running = urgent.map(|job| (job.id, job.start)).collect();
        events
    }

    fn called_off<'a>(
        &'a self,
        after: &'a Book,
        no_set: &'a BTreeSet<JobId>,
        wait: &'a BTreeSet<JobId>,
    ) -> impl Iterator<Item = Event> + 'a {
        let are_let_off = self.asked().filter(|(_, asked)| {
            let mut now = after.campaigns.iter().flat_map(|campaign| &campaign.victims);
            let now = now.find(|now| now.job == asked.job && now.start == asked.start);
            asked.stance == Stance::Victim
                && asked.gone.is_none()
                && now.is_none_or(|now| now.stance == Stance::LetOff)
                && same_run(self.facts, asked).is_some()
        });
        are_let_off.map(|(campaign, asked)| {
            let urgent = campaign.urgent;
            let mut now = after.campaigns.iter().filter(|now| now.urgent == urgent);
            let mut waiting = self.facts.waiting.iter();
            let waits = waiting.find(|job| job.id == urgent);
            let why = if self.mode != Mode::On {
                CalledOffWhy::Mode
            } else if now.clone().any(|now| now.missed.contains(&asked.job)) {
                CalledOffWhy::Missed
            } else if self.facts.job(urgent).is_some() {
                CalledOffWhy::UrgentStarted
            } else if waits.is_none() {
                CalledOffWhy::UrgentGone
            } else if waits.is_some_and(|job| job.blocked) {
                CalledOffWhy::UrgentBlocked
            } else if now.clone().any(|now| matches!(now.phase, Phase::GivenUp { .. })) {
                CalledOffWhy::GivenUp
            } else if wait.contains(&urgent) {
                CalledOffWhy::OthersEnd
            } else if no_set.contains(&urgent) {
                CalledOffWhy::NoSet
            } else if now.any(|now| are_one(now, campaign) && now.claims()) {
                CalledOffWhy::OtherVictims
            } else {
                CalledOffWhy::Fits
            };
            Event::CalledOff {
                urgent,
                job: asked.job,
                why,
            }
        })
    }

    fn given_up(&self, after: &Book) -> Vec<Event> {
        let given_up = after.campaigns.iter().filter(|campaign| {
            matches!(campaign.phase, Phase::GivenUp { .. }) && self.is_new_phase(campaign)
        });
        given_up
            .map(|campaign| Event::GivenUp {
                urgent: campaign.urgent,
            })
            .collect()
    }
}

fn waits(job: &WaitingJob) -> Event {
    let partitions = job.request.choices.iter();
    Event::Waits {
        urgent: job.id,
        user: job.request.user,
        partitions: partitions.map(|choice| Text::of(&choice.partition)).collect(),
        min_nodes: job.request.min_nodes,
        tasks: job.tasks,
        het: job.het.map(|het| het.leader),
        submit: job.submit,
    }
}

/// Whether these are one campaign before and after a step. There may be several for the tasks of an array.
fn are_one(before: &Campaign, after: &Campaign) -> bool {
    let in_both = |asked: &Asked| {
        let mut others = after.victims.iter();
        others.any(|other| other.job == asked.job && other.start == asked.start)
    };
    before.urgent == after.urgent && (after.victims.is_empty() || before.victims.iter().any(in_both))
}

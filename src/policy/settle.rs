// SPDX-License-Identifier: GPL-2.0-or-later
//! What is still owed to who was asked: those who are let off are told, and those who were stopped get their place back, also
//! where Slurm has forgotten that it stopped them.

use super::advance::{Advance, RESTART_AFTER_S, same_run, shows_request};
use super::book::{Action, Asked, Campaign, Phase, Stance};
use super::facts::RunningJob;
use super::ids::JobId;
use super::notes;
use super::record::Record;
use super::units::{Seconds, UnixTime};

/// For so long it is looked whether Slurm has ended a victim without remembering it, before and after slurmctld hears of that
/// end. A record of a job that has ended stays for MinJobAge, by default 300 s.
const REVIVE_MAX_S: Seconds = Seconds(30.0);

/// A run that Slurm takes for running and that Surgent has seen to end is requeued no sooner: one that is alive all the same has
/// the time to report so.
const LIFELESS_S: Seconds = Seconds(5.0);
/// Where it would lose more than this, it has as long as any monitor takes: these report every 30 s, and try every 10 s to reach a
/// slurmctld that is away.
const LITTLE_S: Seconds = Seconds(15.0);
const LIFELESS_LONG_S: Seconds = Seconds(60.0);
/// And one that has ended by its nodes' state no sooner than this: slurmctld has just started.
const FORGOTTEN_S: Seconds = Seconds(2.0);

/// So long the urgent job has to start before a victim that is requeued here: as long as Slurm lets a job wait that it requeues
/// itself. It puts off a heterogeneous job, too, of which it could not start a component.
const AFTER_URGENT_S: Seconds = Seconds(121.0);

/// How those who were stopped are given their place back.
#[derive(Clone, Copy)]
struct Return {
    /// For whom they made way.
    urgent: JobId,
    /// When they had.
    stopped: UnixTime,
    /// It still waits.
    urgent_waits: bool,
    /// They may start again.
    may_restart: bool,
}

impl Advance<'_> {
    /// Those whom Slurm had stopped when slurmctld ended, and of whom it does not know that any more.
    pub(super) fn requeue_forgotten(&mut self, campaign: &mut Campaign) {
        let now = self.facts.now;
        let urgent_waits = campaign.claims();
        for asked in &mut campaign.victims {
            let Some(job) = same_run(self.facts, asked).filter(|job| is_forgotten(job, asked)) else {
                continue;
            };
            let seen = asked.known_since.unwrap_or(now);
            let away_s = asked.gone.map_or(Seconds(0.0), |gone| seen - gone);
            let wait_s = match job.traits.forgotten {
                true => FORGOTTEN_S,
                false if away_s <= LITTLE_S => LIFELESS_S,
                false => LIFELESS_LONG_S,
            };
            if now - seen < wait_s || !asked.has_rested(now) || !job.traits.can_be_requeued() {
                continue;
            }
            if !shows_request(job, asked, campaign.urgent) {
                // Slurm may have forgotten that, too; without it nobody would give the job its place back.
                self.ask_in_writing(asked, campaign.urgent);
            } else {
                asked.tried = Some(now);
                self.actions.push(Action::Say(notes::forgotten(asked.job)));
                self.actions.push(Action::RequeueEnded {
                    job: asked.job,
                    restart_in_s: urgent_waits.then_some(AFTER_URGENT_S),
                });
            }
        }
    }

    /// Has the job's record show the request, and signals nobody.
    fn ask_in_writing(&mut self, asked: &mut Asked, urgent: JobId) {
        asked.tried = Some(self.facts.now);
        let signal = None;
        self.actions.push(Asked { signal, ..*asked }.ask(urgent));
    }

    /// Winds up with everybody who is let off or was stopped; forgets those who are owed nothing.
    pub(super) fn settle(&mut self, campaign: &mut Campaign) {
        let now = self.facts.now;
        let urgent = campaign.urgent;
        let way_back = match campaign.phase {
            Phase::Saving | Phase::Open { .. } | Phase::Requeued { .. } => Return {
                urgent,
                stopped: now,
                urgent_waits: true,
                may_restart: false,
            },
            // The nodes were cleared, and the credentials revoked, before this phase began.
            Phase::Releasing { since } | Phase::GivenUp { since } => {
                let after = since.max(self.restart_after.unwrap_or(since));
                Return {
                    urgent,
                    stopped: since,
                    urgent_waits: false,
                    may_restart: now - after >= RESTART_AFTER_S,
                }
            }
        };
        campaign.victims.retain_mut(|asked| self.is_owed(asked, way_back));
    }

    /// Whether something is left to be done for one who was asked, which is then on its way.
    fn is_owed(&mut self, asked: &mut Asked, way_back: Return) -> bool {
        let facts = self.facts;
        let shows = |record: &Option<Record>| {
            record
                .as_ref()
                .is_some_and(|record| record.ask == Some(way_back.urgent))
        };
        if let Some(job) = facts.job(asked.job) {
            if job.start == asked.start && (job.traits.completing || is_forgotten(job, asked)) {
                return true;
            }
            let let_off = asked.stance == Stance::LetOff;
            return match (shows(&job.record), job.start == asked.start) {
                // Slurm may have been stopping it when slurmctld ended, and hears of its end only now.
                (recorded, true) if let_off && is_in_doubt(asked, facts.now) => {
                    if !recorded && asked.has_rested(facts.now) {
                        // If it is revived it is to be given its place back.
                        self.ask_in_writing(asked, way_back.urgent);
                    }
                    true
                }
                (true, true) if let_off => {
                    self.actions.push(Action::CallOff {
                        job: asked.job,
                        signal: asked.signal,
                    });
                    true
                }
                (true, true) => true,
                (false, true) => !let_off,
                (recorded, false) => {
                    if recorded {
                        self.restore(asked, way_back, false);
                    }
                    recorded
                }
            };
        }
        match facts.parked.iter().find(|job| job.id == asked.job) {
            Some(job) => {
                let recorded = shows(&job.record);
                if recorded && !job.completing && way_back.may_restart {
                    self.restore(asked, way_back, job.begin > facts.now);
                    // Of a request that was taken up from a waiting job's record it is not known which run it went to.
                    if asked.start != UnixTime(0) && asked.ready() {
                        self.stops.note(way_back.urgent, asked, facts.now);
                    }
                }
                recorded
            }
            None => self.is_to_be_revived(asked, way_back),
        }
    }

    /// Gives a job its place back.
    fn restore(&mut self, asked: &Asked, way_back: Return, delayed: bool) {
        let Return { urgent, stopped, .. } = way_back;
        self.actions.push(Action::Restore {
            job: asked.job,
            stop: asked.stop(urgent, stopped),
            delayed,
        });
    }

    /// Whether a victim that has ended may have been ended by Slurm all the same; then it is looked at more closely.
    fn is_to_be_revived(&mut self, asked: &mut Asked, way_back: Return) -> bool {
        let now = self.facts.now;
        let recently = asked.gone.is_some_and(|gone| now - gone <= REVIVE_MAX_S);
        let owed = asked.interrupted && asked.saved.is_some() && recently;
        if owed && asked.has_rested(now) {
            asked.tried = Some(now);
            self.actions.push(Action::Revive {
                job: asked.job,
                restart_in_s: match way_back.urgent_waits {
                    true => AFTER_URGENT_S,
                    false => RESTART_AFTER_S,
                },
            });
        }
        owed
    }
}

/// Whether this run, which slurmctld takes for running, has ended: by its nodes' state, or as Surgent itself has seen, and it
/// has not reported anything since.
pub(super) fn has_ended_unnoticed(job: &RunningJob, asked: &Asked) -> bool {
    let last_report = job.directives.as_ref().and_then(|told| told.at.max(told.saved));
    let was_seen = asked.gone.is_some() && last_report <= asked.gone;
    job.traits.forgotten || was_seen
}

/// Whether Slurm may have been stopping this run when slurmctld ended, after its save, and the next one has yet to hear of its end.
pub(super) fn is_in_doubt(asked: &Asked, now: UnixTime) -> bool {
    let is_new = asked.known_since.is_none_or(|since| now - since <= REVIVE_MAX_S);
    asked.interrupted && asked.ready() && is_new
}

/// Another run has reported in the place of the one that was asked, and Slurm knows of neither's beginning or end: this one has
/// not saved yet, and is asked anew.
pub(super) fn begin_anew(asked: &mut Asked, now: UnixTime) {
    let for_s = asked.deadline.0.saturating_sub(asked.asked.0);
    *asked = Asked {
        asked: now,
        deadline: UnixTime(now.0.saturating_add(for_s)),
        saved: None,
        gone: None,
        interrupted: false,
        delivered: false,
        ..*asked
    };
}

/// Whether Slurm had stopped `job`, which is the run that was asked, and does not know that any more.
pub(super) fn is_forgotten(job: &RunningJob, asked: &Asked) -> bool {
    has_ended_unnoticed(job, asked) && asked.interrupted && asked.ready()
}

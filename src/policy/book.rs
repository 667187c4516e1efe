// SPDX-License-Identifier: GPL-2.0-or-later
//! What Surgent is in the middle of doing: one [`Campaign`] for each urgent job that others make way for.
//!
//! The book is kept in the state file. It is also written across the jobs themselves (`ask=` in each victim's
//! AdminComment, `saved=` in its Comment), so that losing the file loses nothing that matters.

use super::audit::Told;
use super::directives::SaveSignal;
use super::facts::{Facts, RunningJob};
use super::ids::{JobId, NodeIndex};
use super::record::Stop;
use super::request::Request;
use super::round::Round;
use super::stake::Stake;
use super::stops::RecentStops;
use super::tries::Tries;
use super::units::{Seconds, UnixTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Slurm itself starts a requeued job no sooner than this after its stop; Surgent never makes that longer.
const REQUEUE_DELAY_S: i64 = 120;

/// What has not worked, or has not gone out, is tried again after this.
pub(super) const AGAIN_AFTER_S: Seconds = Seconds(2.0);

/// All campaigns, and what was said about urgent jobs already.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// One for each urgent job that has victims, or had.
    pub campaigns: Vec<Campaign>,
    /// Urgent jobs that fit by themselves and that Slurm has yet to start.
    pub fitting: BTreeMap<JobId, Fitting>,
    /// Urgent jobs that were put forward in the queue: their users had held and released them, or their order says so.
    pub promoted: BTreeMap<JobId, Promotion>,
    /// The last thing logged about an urgent job, so that it is logged once.
    pub said: BTreeMap<JobId, String>,
    /// What the audit has told already.
    pub told: Told,
    /// What a clock showed before it was put back: who was stopped does not start again before that, or before as long as Slurm
    /// itself would let it wait.
    pub restart_after: Option<UnixTime>,
    /// Whose ends Slurm may forget.
    pub stops: RecentStops,
    /// What went out a moment ago.
    #[serde(skip)]
    pub tries: Tries,
    /// Who has been planned for since the head of the queue was begun with, where that takes more than one turn.
    #[serde(skip)]
    pub round: Round,
}

impl Book {
    /// The book as it is true after a restart: gates are shut then, whatever they were. Of a heterogeneous job, the facts
    /// show whether its victims have gone.
    pub fn after_restart(mut self) -> Self {
        for campaign in &mut self.campaigns {
            let was_open = matches!(campaign.phase, Phase::Open { .. } | Phase::Requeued { .. });
            for asked in &mut campaign.victims {
                asked.interrupted |= campaign.phase != Phase::Saving;
                asked.was_behind_gate |= was_open;
            }
            if was_open {
                campaign.phase = Phase::Saving;
            }
        }
        self.stops.after_restart();
        self
    }

    /// Those for `urgent`: of an array, one for each of its tasks.
    pub fn campaigns_of(&self, urgent: JobId) -> impl Iterator<Item = &Campaign> {
        self.campaigns
            .iter()
            .filter(move |campaign| campaign.urgent == urgent)
    }

    /// The clock was stepped by `by_s` seconds, and it is `now`: what is waited for is waited for as long as without that. A
    /// job that was asked at a time that is still to come has not saved since, by any clock that is right: it is asked
    /// again.
    ///
    /// Of a clock that was put back slurmd knows nothing: until it shows the old time again, slurmd takes the credential of a
    /// new run for one that it has revoked, and ends the job.
    pub fn clock_stepped(&mut self, by_s: i64, now: UnixTime) {
        if by_s < 0 {
            let back_s = by_s.saturating_neg().min(REQUEUE_DELAY_S);
            let before = UnixTime(now.0.saturating_add(back_s));
            self.restart_after = self.restart_after.max(Some(before));
        }
        self.stops.clock_stepped(by_s);
        self.tries.clock_stepped();
        let shift = |time: &mut UnixTime| time.0 = time.0.saturating_add(by_s);
        for fitting in self.fitting.values_mut() {
            shift(&mut fitting.since);
            shift(&mut fitting.nudged);
        }
        for promotion in self.promoted.values_mut() {
            shift(&mut promotion.at);
        }
        for campaign in &mut self.campaigns {
            shift(&mut campaign.nudged);
            campaign.hopeless_since.iter_mut().for_each(shift);
            match &mut campaign.phase {
                Phase::Open { since }
                | Phase::Requeued { since }
                | Phase::Releasing { since }
                | Phase::GivenUp { since } => shift(since),
                Phase::Saving => {}
            }
            for asked in &mut campaign.victims {
                shift(&mut asked.deadline);
                let times = asked.gone.iter_mut().chain(&mut asked.tried);
                times.chain(&mut asked.known_since).for_each(shift);
                if asked.saved.is_none() && asked.asked > now {
                    asked.asked = now;
                    asked.delivered = false;
                }
            }
        }
    }
}

/// An urgent job that was put forward in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// When.
    pub at: UnixTime,
    /// The priority that it was to get.
    pub place: u32,
}

/// An urgent job that fits on free resources.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitting {
    /// Since when.
    pub since: UnixTime,
    /// When the scheduler was last told to look.
    pub nudged: UnixTime,
}

/// The making way for one urgent job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// For whom.
    pub urgent: JobId,
    /// Where it is.
    pub phase: Phase,
    /// Everybody who was asked and is not done with.
    pub victims: Vec<Asked>,
    /// Where the urgent job is expected to run.
    pub nodes: Vec<NodeIndex>,
    /// Jobs that did not save in time, or would not be stopped; they are not asked again for this one.
    pub missed: Vec<JobId>,
    /// How often the plan was widened because Slurm did not agree with it.
    pub widened: u32,
    /// When the scheduler was last told to look.
    pub nudged: UnixTime,
    /// Since when no set of victims makes the urgent job fit any more.
    pub hopeless_since: Option<UnixTime>,
    /// What the components of a heterogeneous job asked for that Slurm did not start although they fitted; it is not
    /// tried again as long as they ask for the same.
    #[serde(default)]
    pub in_vain: Vec<Request>,
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "name")]
pub enum Phase {
    /// Victims have been asked to save.
    Saving,
    /// All have saved; Slurm may take them.
    Open {
        /// Since when; where Slurm gives victims a grace, the end of that.
        since: UnixTime,
    },
    /// All have saved, and are requeued for a heterogeneous job; Slurm has yet to start it.
    Requeued {
        /// Since when.
        since: UnixTime,
    },
    /// The urgent job has started or is gone; victims are let go.
    Releasing {
        /// Since when.
        since: UnixTime,
    },
    /// Slurm would not start the urgent job in spite of all.
    GivenUp {
        /// Since when.
        since: UnixTime,
    },
}

/// One job that was asked to save.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Who.
    pub job: JobId,
    /// Which run of it.
    pub start: UnixTime,
    /// How it is asked; `None` if it is to be stopped unsaved.
    pub signal: Option<SaveSignal>,
    /// When it was asked.
    pub asked: UnixTime,
    /// Until when it must have saved.
    pub deadline: UnixTime,
    /// When it had.
    pub saved: Option<UnixTime>,
    /// What it stood to lose when it was asked; not known of a request that was taken up from the job's record.
    #[serde(default)]
    pub stake: Option<Stake>,
    /// When it was first seen that this run is over.
    #[serde(default)]
    pub gone: Option<UnixTime>,
    /// Whether the gate to it was open when slurmctld ended: until its run is seen to go on, Surgent may have stopped it.
    #[serde(default)]
    pub was_behind_gate: bool,
    /// Slurm may have been stopping it when slurmctld ended. A slurmctld that knows nothing of that takes the death of its
    /// script for an end of its own.
    #[serde(default)]
    pub interrupted: bool,
    /// Since when it is known of under this slurmctld.
    #[serde(skip)]
    pub known_since: Option<UnixTime>,
    /// Whether the request is known to have gone out since slurmctld started.
    #[serde(skip)]
    pub delivered: bool,
    /// When the request was last tried.
    #[serde(skip)]
    pub tried: Option<UnixTime>,
    /// Still a victim, or one that is let off.
    pub stance: Stance,
}

/// Whether an asked job is still meant to make way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// It is.
    Victim,
    /// It is let off and has to be told.
    LetOff,
}

impl Campaign {
    /// A campaign that has just begun.
    pub fn new(urgent: JobId, victims: Vec<Asked>) -> Self {
        Self {
            urgent,
            phase: Phase::Saving,
            victims,
            nodes: Vec::new(),
            missed: Vec::new(),
            widened: 0,
            nudged: UnixTime(0),
            hopeless_since: None,
            in_vain: Vec::new(),
        }
    }

    /// Those who are still meant to make way.
    pub fn active(&self) -> impl Iterator<Item = &Asked> {
        self.victims.iter().filter(|asked| asked.stance == Stance::Victim)
    }

    /// Whether its victims and nodes are spoken for.
    pub fn claims(&self) -> bool {
        match self.phase {
            Phase::Saving | Phase::Open { .. } | Phase::Requeued { .. } => true,
            Phase::Releasing { .. } | Phase::GivenUp { .. } => false,
        }
    }
}

impl Asked {
    /// Asks a victim of a plan, and says why it was chosen.
    pub fn begin(
        victim: &super::plan::Victim,
        urgent: JobId,
        facts: &Facts,
        actions: &mut Vec<Action>,
    ) -> Self {
        let now = facts.now;
        let asked = Self {
            job: victim.job,
            start: victim.start,
            signal: victim.signal,
            asked: now,
            deadline: victim.deadline,
            saved: None,
            stake: facts.job(victim.job).map(|job| Stake::of(job, &facts.gres, now)),
            gone: None,
            was_behind_gate: false,
            interrupted: false,
            known_since: Some(now),
            delivered: false,
            tried: Some(now),
            stance: Stance::Victim,
        };
        actions.push(Action::Say(super::notes::victim(urgent, victim)));
        actions.push(asked.ask(urgent));
        asked
    }

    /// The request to it.
    pub fn ask(&self, urgent: JobId) -> Action {
        Action::Ask {
            job: self.job,
            urgent,
            asked: self.asked,
            deadline: self.deadline,
            signal: self.signal,
        }
    }

    /// How it was stopped, at `at`.
    pub fn stop(&self, urgent: JobId, at: UnixTime) -> Stop {
        // Of a request that was taken up from the job's record it is not known which run it went to.
        let saved = (self.start != UnixTime(0)).then_some(self.saved.is_some());
        Stop { urgent, at, saved }
    }

    /// When it saved after the request, as `job`, which is the run that was asked, says itself.
    pub fn saved_by(&self, job: &RunningJob) -> Option<UnixTime> {
        let saved = job.directives.as_ref().and_then(|directives| directives.saved);
        saved.filter(|saved| *saved >= self.asked)
    }

    /// Whether what is owed to it may be tried again.
    pub fn has_rested(&self, now: UnixTime) -> bool {
        self.tried.is_none_or(|tried| now - tried >= AGAIN_AFTER_S)
    }

    /// Nothing more is awaited of it.
    pub fn ready(&self) -> bool {
        self.saved.is_some() || self.signal.is_none()
    }
}

/// What is to be done in the world. Each may fail; the next step sees from the facts whether it worked.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write the request into the job's record, then signal it.
    Ask {
        /// Whom.
        job: JobId,
        /// For whom.
        urgent: JobId,
        /// When.
        asked: UnixTime,
        /// Until when.
        deadline: UnixTime,
        /// How; `None` only writes the record.
        signal: Option<SaveSignal>,
    },
    /// Take the request back.
    CallOff {
        /// Whom.
        job: JobId,
        /// How it was asked.
        signal: Option<SaveSignal>,
    },
    /// Let Slurm preempt exactly these runs of these jobs for `urgent`.
    OpenGate {
        /// For whom.
        urgent: JobId,
        /// Whom, and which run.
        victims: Vec<(JobId, UnixTime)>,
    },
    /// No longer.
    ShutGate {
        /// For whom.
        urgent: JobId,
    },
    /// Put all of these back into the queue at once, for a heterogeneous job. Those that do not run any more are left.
    Requeue {
        /// Whom.
        jobs: Vec<JobId>,
    },
    /// A component of a heterogeneous job that Slurm has put off, as it could not start another: let it start as soon as it can.
    StartNow {
        /// Which.
        job: JobId,
    },
    /// Put it back into the queue: Slurm takes it for running, and it is over.
    RequeueEnded {
        /// Whom.
        job: JobId,
        /// When it may start again, unless it is given its place back before. Slurm lets it start at once, as it clears no node.
        restart_in_s: Option<Seconds>,
    },
    /// Put it back into the queue if Slurm itself has ended it and does not know that any more.
    Revive {
        /// Whom.
        job: JobId,
        /// When it may start again, unless it is given its place back before.
        restart_in_s: Seconds,
    },
    /// Have Slurm's scheduler look at its queue.
    Nudge,
    /// A stopped job: note that it was stopped, and let it start again as soon as it can.
    Restore {
        /// Whom.
        job: JobId,
        /// How it was stopped.
        stop: Stop,
        /// It waits for a date that Slurm set when it requeued it.
        delayed: bool,
    },
    /// A waiting job's user has changed its class, or it is urgent and does not stand at the head of the queue.
    Reclass {
        /// Whose.
        job: JobId,
        /// To what.
        class: super::directives::Urgency,
        /// It is held: only its class is changed.
        held: bool,
        /// The priority that it is to have if it is urgent.
        place: u32,
    },
    /// Write into the urgent job's record whom it waits for; nobody, once it runs.
    ShowWait {
        /// Whose.
        urgent: JobId,
        /// Whom.
        waits_for: Vec<JobId>,
    },
    /// Tell the log.
    Say(String),
}

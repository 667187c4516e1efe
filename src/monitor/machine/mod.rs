// SPDX-License-Identifier: GPL-2.0-or-later
//! What to do when something happens: events in, actions out, no clock and no I/O.
//!
//! The program is running, or it has ended after a save and its allocation is held. Across that lies the request to
//! save: first the program must be ready for the signal, then it has been passed on, then the program has saved. A
//! request can be called off at any moment; a program that ends because of the signal afterwards is started again. A
//! drill is a request that was called off from the start, and whose answer is published all the same.

mod event;
mod request;
#[cfg(test)]
mod tests;

pub use event::{Action, Answer, Ask, Cause, Circumstances, Event, Training};

use super::time::Now;
use crate::policy::directives::SaveKind;
use crate::policy::units::{Seconds, UnixTime};
use request::{Phase, Request};
use std::time::Duration;

/// How often a held allocation is checked for a request that was called off without a signal.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// How long after the deadline a held allocation is given up and the program started again: whoever asked has
/// vanished, and nodes that nobody uses help nobody.
const PATIENCE: Duration = Duration::from_secs(600);

/// An exit this soon after a save was meant by the signal, even if the request has been called off since.
const EXIT_AFTER_SAVE: Duration = Duration::from_secs(60);

/// The exit code of a program that SIGTERM ended.
const TERMINATED: u8 = 143;

/// The state of one program and its requests.
#[derive(Debug)]
pub struct Machine {
    circumstances: Circumstances,
    program: Program,
    request: Option<Request>,
    last_epoch: Option<Duration>,
    is_terminated: bool,
    has_said_unknown: bool,
}

#[derive(Clone, Copy, Debug)]
enum Program {
    Running,
    /// Ended after its save; the allocation is kept.
    Held {
        since: Duration,
        next_look: Duration,
    },
}

impl Machine {
    /// A program that was just started.
    pub fn new(circumstances: Circumstances) -> Self {
        Self {
            circumstances,
            program: Program::Running,
            request: None,
            last_epoch: None,
            is_terminated: false,
            has_said_unknown: false,
        }
    }

    /// Whether a save is awaited.
    pub fn awaits_save(&self) -> bool {
        let phase = self.request.map(|request| request.phase);
        matches!(phase, Some(Phase::Waiting | Phase::Passed { .. }))
    }

    /// Whether a request waits until the program can be asked.
    pub fn is_waiting(&self) -> bool {
        matches!(
            self.request,
            Some(Request {
                phase: Phase::Waiting,
                ..
            })
        )
    }

    /// Whether Slurm takes the allocation away.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// When [`Event::Tick`] is next of use, on the monotonic clock.
    pub fn next_tick(&self) -> Option<Duration> {
        match self.program {
            Program::Held { next_look, .. } => Some(next_look),
            Program::Running => None,
        }
    }

    /// Takes an event; what is to be done, in this order.
    #[must_use]
    pub fn on(&mut self, event: Event, now: Now) -> Vec<Action> {
        match event {
            Event::AskSignal if self.circumstances.speaks => vec![Action::Look(Cause::Signal)],
            // Whoever does not speak passes on what comes, and another decides.
            Event::AskSignal => self.asked(None, now),
            Event::Drill if self.circumstances.speaks => self.drilled(now),
            Event::Drill => self.asked(None, now),
            Event::Looked(Cause::Signal, answer) => self.looked_for_signal(answer, now),
            Event::Looked(Cause::Check, answer) => self.looked_for_check(answer, now),
            Event::CanSave => self.can_save(),
            Event::Ready => self.ready(now),
            Event::Saved { ago } => self.saved(ago, now),
            Event::Progressed => self.progressed(now),
            Event::Acknowledged => self.acknowledged(),
            Event::Exited { code, training } => self.exited(code, training, now),
            Event::Terminate => self.terminate(),
            Event::Tick => self.tick(now),
        }
    }

    fn looked_for_signal(&mut self, answer: Answer, now: Now) -> Vec<Action> {
        match answer {
            Answer::Asked(ask) => self.asked(Some(ask), now),
            Answer::NotAsked => self.called_off(now),
            Answer::Unknown => {
                let known = self.request.and_then(|request| request.ask);
                let mut actions = self.asked(known, now);
                if !std::mem::replace(&mut self.has_said_unknown, true) {
                    let sentence = "Slurm signalled and does not say why; taken as a request to save";
                    actions.insert(0, Action::Say(sentence.to_owned()));
                }
                actions
            }
        }
    }

    fn looked_for_check(&mut self, answer: Answer, now: Now) -> Vec<Action> {
        match (self.program, answer) {
            (Program::Running, Answer::Asked(ask)) => {
                let is_past = ask.deadline.is_some_and(|deadline| deadline <= now.unix);
                match self.request {
                    None if !is_past => self.asked(Some(ask), now),
                    _ => Vec::new(),
                }
            }
            (Program::Held { .. }, Answer::Asked(ask)) => {
                match self.request.is_some_and(|request| request.ask == Some(ask)) {
                    true => Vec::new(),
                    false => self.asked(Some(ask), now),
                }
            }
            (Program::Held { .. }, Answer::NotAsked) => self.called_off(now),
            (Program::Running, Answer::NotAsked) | (_, Answer::Unknown) => Vec::new(),
        }
    }

    fn asked(&mut self, ask: Option<Ask>, now: Now) -> Vec<Action> {
        match (self.program, &mut self.request) {
            (Program::Held { .. }, Some(request)) => {
                // Nothing has been computed since the save: it serves this request too.
                request.ask = ask;
                vec![acknowledge(ask, None, Duration::ZERO, now)]
            }
            (Program::Running, Some(request)) if request.is_drill() && !request.is_answered() => {
                // One save is the answer to both; it may be under way already.
                *request = Request {
                    ask,
                    is_called_off: false,
                    ..*request
                };
                Vec::new()
            }
            (_, request) if self.circumstances.can_ask => {
                *request = Some(Request {
                    ask,
                    phase: Phase::Waiting,
                    is_called_off: false,
                    is_drilled: request.is_some_and(|request| request.is_drilled && !request.is_answered()),
                    saved_before: request.and_then(|request| request.last_save()),
                });
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn drilled(&mut self, now: Now) -> Vec<Action> {
        match (self.program, &mut self.request) {
            (Program::Held { .. }, _) => vec![acknowledge(None, None, Duration::ZERO, now)],
            // The answer to the request, or to the drill, that is under way is the answer to this one too.
            (Program::Running, Some(request))
                if !request.is_answered() && (request.is_drilled || !request.is_called_off) =>
            {
                request.is_drilled = true;
                Vec::new()
            }
            // It has saved for an urgent job, which is about to take its place.
            (Program::Running, Some(request)) if !request.is_called_off => Vec::new(),
            (Program::Running, request) if self.circumstances.can_ask => {
                *request = Some(Request {
                    ask: None,
                    phase: Phase::Waiting,
                    is_called_off: true,
                    is_drilled: true,
                    saved_before: request.and_then(|request| request.last_save()),
                });
                Vec::new()
            }
            (Program::Running, _) => {
                let sentence =
                    "a drill was asked for, and there is no way to have the program save (--save-signal)";
                vec![Action::Say(sentence.to_owned())]
            }
        }
    }

    fn called_off(&mut self, now: Now) -> Vec<Action> {
        match (self.program, &mut self.request) {
            (Program::Held { .. }, _) => self.go_on("the request to save was called off", now),
            (Program::Running, Some(request)) => {
                match request.phase {
                    Phase::Waiting => self.drop_waiting(),
                    // It may end because of the signal, so the request is remembered.
                    Phase::Passed { .. } | Phase::Saved { .. } => request.is_called_off = true,
                }
                Vec::new()
            }
            (Program::Running, None) => Vec::new(),
        }
    }

    /// No urgent job waits any more for what the program has not been asked yet; a drill may, and the program may
    /// still end because of the request before.
    fn drop_waiting(&mut self) {
        self.request = self.request.and_then(|request| {
            let phase = match (request.is_drilled, request.saved_before) {
                (true, _) => request.phase,
                (false, Some(at)) => Phase::Saved {
                    at,
                    is_acknowledged: true,
                },
                (false, None) => return None,
            };
            Some(Request {
                ask: None,
                phase,
                is_called_off: true,
                ..request
            })
        });
    }

    /// The training goes on although its program has ended.
    fn go_on(&mut self, why: &str, now: Now) -> Vec<Action> {
        if self.circumstances.is_alone {
            self.program = Program::Running;
            self.request = None;
            return vec![
                Action::Say(format!("{why}; starting the program again")),
                Action::Resume,
            ];
        }
        // The other ranks' programs have ended as well and only Slurm can start them all.
        self.hold(now);
        vec![
            Action::Say(format!("{why}; putting the job back into the queue")),
            Action::Requeue,
        ]
    }

    fn hold(&mut self, now: Now) {
        let since = now.monotonic;
        self.program = Program::Held {
            since,
            next_look: since + LOOK_INTERVAL,
        };
    }

    fn can_save(&mut self) -> Vec<Action> {
        let could = std::mem::replace(&mut self.circumstances.can_ask, true);
        match could || !self.circumstances.speaks {
            true => Vec::new(),
            // There may be a request that nothing could be done about.
            false => vec![Action::Look(Cause::Check)],
        }
    }

    fn ready(&mut self, now: Now) -> Vec<Action> {
        match &mut self.request {
            Some(request) if matches!(request.phase, Phase::Waiting) => {
                request.phase = Phase::Passed { at: now.monotonic };
                let who = match (request.ask, request.is_drill()) {
                    (Some(ask), _) => format!(" for the urgent job {}", ask.by),
                    (None, true) => " for a drill".to_owned(),
                    (None, false) => String::new(),
                };
                vec![
                    Action::Pass,
                    Action::Say(format!("asked the program to save{who}")),
                ]
            }
            _ => Vec::new(),
        }
    }

    fn saved(&mut self, ago: Duration, now: Now) -> Vec<Action> {
        let Some(request) = &mut self.request else {
            return vec![Action::NoteSave];
        };
        let done = now.monotonic.saturating_sub(ago);
        let saved = |is_acknowledged| Phase::Saved {
            at: done,
            is_acknowledged,
        };
        let was = std::mem::replace(&mut request.phase, saved(false));
        let save_s = match was {
            Phase::Waiting => None,
            Phase::Passed { at } => {
                // A program that waits for the epoch's end saves from there on.
                let epoch = self
                    .last_epoch
                    .filter(|_| self.circumstances.save == SaveKind::Epoch);
                let start = epoch.map_or(at, |epoch| epoch.max(at));
                Some(done.saturating_sub(start).into())
            }
            Phase::Saved { is_acknowledged, .. } => {
                request.phase = saved(is_acknowledged);
                return vec![Action::NoteSave];
            }
        };
        match request.is_called_off && !request.is_drilled {
            true => vec![Action::NoteSave],
            false => vec![acknowledge(request.ask, save_s, ago, now)],
        }
    }

    fn progressed(&mut self, now: Now) -> Vec<Action> {
        self.last_epoch = Some(now.monotonic);
        // It goes on after the save: whatever ends it later is not that request.
        self.request = self
            .request
            .filter(|request| !(request.is_answered() && request.is_called_off))
            .map(|request| Request {
                saved_before: None,
                ..request
            });
        Vec::new()
    }

    fn acknowledged(&mut self) -> Vec<Action> {
        if let Some(Request {
            phase: Phase::Saved { is_acknowledged, .. },
            ..
        }) = &mut self.request
        {
            *is_acknowledged = true;
        }
        Vec::new()
    }

    fn exited(&mut self, code: u8, training: Training, now: Now) -> Vec<Action> {
        if self.is_terminated {
            return vec![Action::End(TERMINATED)];
        }
        let may_hold = training != Training::Finished && self.circumstances.speaks;
        let Some(request) = self.request.filter(|_| may_hold) else {
            return vec![Action::End(code)];
        };
        let is_recent = |saved: Duration| now.monotonic.saturating_sub(saved) <= EXIT_AFTER_SAVE;
        match (request.phase, request.saved_before) {
            (Phase::Saved { at, .. }, _) => self.exited_saved(request, code, is_recent(at), now),
            // It had saved for one request, and was asked by another on its way out: that save is the answer.
            (Phase::Waiting | Phase::Passed { .. }, Some(at)) if is_recent(at) => {
                let is_awaited = !request.is_called_off || request.is_drilled;
                self.request = Some(Request {
                    phase: Phase::Saved {
                        at,
                        is_acknowledged: false,
                    },
                    ..request
                });
                let answer = is_awaited.then(|| acknowledge(request.ask, None, Duration::ZERO, now));
                let then = self.exited_saved(request, code, true, now);
                answer.into_iter().chain(then).collect()
            }
            (Phase::Waiting, _) => vec![Action::End(code)],
            (Phase::Passed { at }, _) => self.exited_unsaved(request, code, training, at, now),
        }
    }

    /// The program ended after its save; `is_meant`: because of it, even if the request has been called off since.
    fn exited_saved(&mut self, request: Request, code: u8, is_meant: bool, now: Now) -> Vec<Action> {
        match (request.is_called_off, is_meant) {
            (true, true) => self.go_on("the request was called off after the program had saved", now),
            (true, false) => vec![Action::End(code)],
            (false, _) => {
                self.hold(now);
                let sentence =
                    "the program has saved and ended; its resources are kept until Slurm takes them";
                vec![Action::Say(sentence.to_owned())]
            }
        }
    }

    /// The program ended after it was asked, and no save was seen.
    fn exited_unsaved(
        &mut self,
        request: Request,
        code: u8,
        training: Training,
        asked: Duration,
        now: Now,
    ) -> Vec<Action> {
        let what =
            format!("the program ended (exit code {code}) after the request to save, and no save was seen");
        // A drill must cost no job its life.
        let is_of_drill = request.is_drill() && now.monotonic.saturating_sub(asked) <= EXIT_AFTER_SAVE;
        match (code, training) {
            (0, Training::Unfinished) if request.is_called_off => self.go_on(&what, now),
            // Many frameworks end so after a save that only they know of. The job is not done, whatever the code says.
            (0, Training::Unfinished) => {
                self.hold(now);
                let sentence = format!("{what}; it has epochs left, so the job goes back into the queue");
                vec![Action::Say(sentence), Action::Requeue]
            }
            (1.., _) if is_of_drill => self.go_on(&what, now),
            _ => vec![Action::Say(what), Action::End(code)],
        }
    }

    fn terminate(&mut self) -> Vec<Action> {
        self.is_terminated = true;
        let is_saved = matches!(
            self.request,
            Some(Request {
                phase: Phase::Saved {
                    is_acknowledged: true,
                    ..
                },
                is_called_off: false,
                ..
            })
        );
        match self.program {
            Program::Held { .. } => vec![Action::End(TERMINATED)],
            // Nothing is lost, and the nodes are free without waiting for KillWait.
            Program::Running if is_saved => vec![Action::Kill],
            Program::Running => Vec::new(),
        }
    }

    fn tick(&mut self, now: Now) -> Vec<Action> {
        let deadline = self.request.and_then(|request| request.ask?.deadline);
        if self.is_waiting() && deadline.is_some_and(|deadline| deadline <= now.unix) {
            self.drop_waiting();
            let sentence = "until the deadline the program handled no save signal, so the urgent job's request was not passed on";
            return vec![Action::Say(sentence.to_owned())];
        }
        match &mut self.program {
            Program::Held { since, next_look } if *next_look <= now.monotonic => {
                *next_look = now.monotonic + LOOK_INTERVAL;
                let is_over = match deadline {
                    Some(deadline) => (now.unix - deadline).0 > PATIENCE.as_secs_f64(),
                    None => now.monotonic.saturating_sub(*since) > PATIENCE,
                };
                match is_over {
                    true => self.go_on("nobody took the resources", now),
                    false => vec![Action::Look(Cause::Check)],
                }
            }
            _ => Vec::new(),
        }
    }
}

fn acknowledge(ask: Option<Ask>, save_s: Option<Seconds>, ago: Duration, now: Now) -> Action {
    // slurmctld's clock may be ahead: a save that answers the request is never older than it.
    let asked = ask.and_then(|ask| ask.asked).unwrap_or(now.unix);
    let ago_s = i64::try_from(ago.as_secs()).unwrap_or(0);
    Action::Acknowledge {
        saved: UnixTime(now.unix.0 - ago_s).max(asked),
        save_s,
    }
}

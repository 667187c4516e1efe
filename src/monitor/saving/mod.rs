// SPDX-License-Identifier: GPL-2.0-or-later
//! How the program is asked to save, and how it is seen that it has.
//!
//! It is asked by a signal to the training itself ([`targets`]) or by a command of the user's ([`command`]). That it has
//! saved is known from its report, which is not this module's affair, and else from the strongest of the other signs
//! that its user has named: a complete checkpoint ([`checkpoint`]); else a line that it prints, an exit code, or the
//! command's success. An exit code of 0 is no sign.

pub mod checkpoint;
mod command;
mod framework;
mod options;
pub(super) mod processes;
mod role;
mod targets;

pub use command::SaveCommand;
pub use options::{Options, SignalChoice};

use super::say::say;
use super::signals;
use checkpoint::{Sight, Watch};
use options::Way;
use processes::{Proc, Processes, Readiness};
use regex::bytes::Regex;
use rustix::process::{Pid, Signal};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How often a program that does not handle the save signal yet is looked at.
const READY_INTERVAL: Duration = Duration::from_millis(20);

/// In so many looks in a row a signal has to be blocked before that is believed to be meant.
const BLOCKED_LOOKS: u32 = 10;

/// How long the request may wait until it is known what checkpoints there are already.
const BASELINE_LIMIT: Duration = Duration::from_secs(5);

/// How often a program of which nothing is known is looked at for a handler, at first and later.
const DETECT_INTERVAL: Duration = Duration::from_millis(500);
const DETECT_INTERVAL_LATER: Duration = Duration::from_secs(10);
const DETECT_LATER: Duration = Duration::from_secs(120);

/// What the threads of this module tell the main thread.
#[derive(Debug)]
pub enum Message {
    /// Of checkpoints.
    Sight(Sight),
    /// The save command of the request with this number has ended; whether it has saved.
    CommandEnded(u64, bool),
}

/// The way to a save, and the signs of one.
pub struct Saving {
    /// What the program prints when it has saved.
    saved_line: Option<Regex>,
    /// With what it ends only after a save.
    saved_exits: Vec<u8>,
    way: Way,
    /// While it is still to be found out which signal the program handles.
    detection: Option<Detection>,
    watch: Option<Watch>,
    send: Arc<dyn Fn(Message) + Send + Sync>,
    /// The number of the request that is followed, or was last.
    request: u64,
    following: Option<Following>,
    blocked_looks: u32,
    /// Ended with this code, and it is still being looked for what it has left.
    ended: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Following {
    since: Instant,
    /// Whether it is known what checkpoints there are already.
    knows_before: bool,
}

#[derive(Clone, Copy, Debug)]
struct Detection {
    since: Instant,
    next: Instant,
}

impl Saving {
    /// For the program that `command` starts. `send` takes messages from other threads; `tells` whether what is found
    /// out is said.
    pub fn new(
        options: &Options,
        command: &[String],
        tells: bool,
        send: impl Fn(Message) + Send + Sync + 'static,
    ) -> Self {
        let send: Arc<dyn Fn(Message) + Send + Sync> = Arc::new(send);
        let (options, way, is_open) = options
            .clone()
            .choose(command, |name| std::env::var(name).ok(), tells);
        let Options {
            places,
            saved_line,
            saved_exits,
            ..
        } = options;
        let watch = (!places.patterns.is_empty()).then(|| {
            let send = Arc::clone(&send);
            Watch::start(places, move |sight| send(Message::Sight(sight)))
        });
        let now = Instant::now();
        Self {
            saved_line,
            saved_exits,
            way,
            detection: is_open.then_some(Detection {
                since: now,
                next: now,
            }),
            watch,
            send,
            request: 0,
            following: None,
            blocked_looks: 0,
            ended: None,
        }
    }

    /// Whether there is a way to ask.
    pub fn can_ask(&self) -> bool {
        !matches!(self.way, Way::None)
    }

    /// Looks which signal the program handles, where that is to be found out; true once it has been.
    pub fn detect(&mut self, program: Option<Pid>) -> bool {
        let now = Instant::now();
        let Some(mut detection) = self.detection.filter(|detection| detection.next <= now) else {
            return false;
        };
        let is_later = now.duration_since(detection.since) > DETECT_LATER;
        let interval = if is_later {
            DETECT_INTERVAL_LATER
        } else {
            DETECT_INTERVAL
        };
        detection.next = now + interval;
        self.detection = Some(detection);
        let Some(program) = program else {
            return false;
        };
        let handled = |signal: Signal| {
            let targets = targets::targets(&Proc, program, signal);
            let is_python = |pid: &Pid| Proc.args(*pid).first().is_some_and(|name| role::is_python(name));
            targets.readiness == Readiness::Caught && targets.pids.iter().all(is_python)
        };
        // A runtime that handles both handles everything, and means nothing by it.
        let signal = match (handled(Signal::USR1), handled(Signal::USR2)) {
            (true, false) => Signal::USR1,
            (false, true) => Signal::USR2,
            _ => return false,
        };
        self.detection = None;
        self.way = Way::Signal(signal);
        true
    }

    /// The program looks for requests itself: what it handles signals for is its own affair.
    pub fn stop_detecting(&mut self) {
        self.detection = None;
    }

    /// The name of the signal by which is asked, if it is one.
    pub fn signal_name(&self) -> Option<&'static str> {
        match self.way {
            Way::Signal(signal) => signals::name_of(signal),
            _ => None,
        }
    }

    /// When to look again, if at all.
    pub fn wait(&self, is_waiting: bool) -> Option<Duration> {
        let detect = self
            .detection
            .map(|one| one.next.saturating_duration_since(Instant::now()));
        let ready = is_waiting.then_some(READY_INTERVAL);
        detect.into_iter().chain(ready).min()
    }

    /// Follows the request as it stands: whether the program is still to be asked, and whether a save is awaited.
    pub fn follow(&mut self, is_waiting: bool, awaits_save: bool) {
        if !awaits_save {
            if let (Some(_), Some(watch)) = (self.following.take(), &self.watch) {
                watch.stop();
            }
        } else if is_waiting && self.following.is_none() && self.ended.is_none() {
            self.request += 1;
            if let Some(watch) = &self.watch {
                watch.begin(self.request);
            }
            self.following = Some(Following {
                since: Instant::now(),
                knows_before: self.watch.is_none(),
            });
        }
        if !is_waiting {
            self.blocked_looks = 0;
        }
    }

    /// Whether the program can be asked now; one that looks for requests itself (`is_watched`) always can.
    pub fn is_ready(&mut self, program: Pid, is_watched: bool) -> bool {
        let knows_before = |one: Following| one.knows_before || one.since.elapsed() > BASELINE_LIMIT;
        if !self.following.is_some_and(knows_before) {
            return false;
        }
        let signal = match self.way {
            _ if is_watched => return true,
            Way::None => return false,
            Way::Command(_) => return true,
            Way::Signal(signal) => signal,
        };
        self.blocked_looks = match targets::targets(&Proc, program, signal).readiness {
            Readiness::No => 0,
            Readiness::Caught => BLOCKED_LOOKS,
            Readiness::Blocked => self.blocked_looks + 1,
        };
        self.blocked_looks >= BLOCKED_LOOKS
    }

    /// Asks the program; a command also gets the file for reports.
    pub fn ask(&self, program: Pid, reports: Option<PathBuf>) {
        match &self.way {
            Way::None => {}
            Way::Signal(signal) => {
                for pid in targets::targets(&Proc, program, *signal).pids {
                    processes::signal(pid, *signal);
                }
            }
            Way::Command(command) => {
                let (command, send, request) = (command.clone(), Arc::clone(&self.send), self.request);
                thread::spawn(move || {
                    let result = command.run(program, reports);
                    if let Err(error) = &result {
                        say(&format!(
                            "the save command {} {error}; this is no save",
                            command.argv[0]
                        ));
                    }
                    send(Message::CommandEnded(request, result.is_ok()));
                });
            }
        }
    }

    /// Takes a message of one of the threads: how long ago the program had saved, if it says that it has.
    pub fn heard(&mut self, message: &Message) -> Option<Duration> {
        match *message {
            Message::Sight(Sight::Ready(request)) if request == self.request => {
                if let Some(following) = &mut self.following {
                    following.knows_before = true;
                }
            }
            Message::Sight(Sight::Complete { request, ago }) if self.follows(request) => {
                return Some(ago);
            }
            Message::Sight(Sight::Nothing(request)) if self.follows(request) => self.following = None,
            Message::CommandEnded(request, true) if self.follows(request) && self.watch.is_none() => {
                return Some(Duration::ZERO);
            }
            Message::Sight(_) | Message::CommandEnded(..) => {}
        }
        None
    }

    fn follows(&self, request: u64) -> bool {
        self.following.is_some() && request == self.request
    }

    /// A line of the program's output in which this is found tells of a save, if one is awaited. `None` where a stronger
    /// sign is looked for.
    pub fn saved_line(&self) -> Option<&Regex> {
        self.saved_line.as_ref().filter(|_| self.watch.is_none())
    }

    /// The program has ended with this code while a save was awaited; whether that tells of a save.
    ///
    /// Where checkpoints are followed the answer comes later: until then [`Saving::ended`] keeps the code.
    pub fn exited(&mut self, code: u8) -> bool {
        self.ended = Some(code);
        match (&self.watch, self.following) {
            (Some(watch), Some(_)) => {
                watch.ended((129..160).contains(&code));
                false
            }
            _ => self.saved_exits.contains(&code),
        }
    }

    /// The exit code that was held back, once nothing more is awaited: takes it.
    pub fn ended(&mut self, awaits_save: bool) -> Option<u8> {
        let is_followed = awaits_save && self.following.is_some() && self.watch.is_some();
        if is_followed { None } else { self.ended.take() }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The thread that looks for checkpoints: a file system that hangs must not hold up the monitor.

use super::format;
use super::judge::{Judge, Verdict};
use super::scan::{Found, scan};
use crate::monitor::say::say;
use glob::Pattern;
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often is looked, at first; a look that takes long is followed by a longer pause.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The same once the save takes longer than most.
const LOOK_INTERVAL_LATER: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(60);

/// For how long is looked after the program has ended and nothing has been written: a shared file system shows what
/// another node has written only after a moment.
const AFTER_END: Duration = Duration::from_secs(1);

/// So many doubts about one request are said.
const DOUBTS_MAX: usize = 5;

/// Where checkpoints lie, and when they count.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Files or folders; each must get a new one. Relative to where `surgent run` was started.
    pub patterns: Vec<Pattern>,
    /// For how long nothing may have changed; by what is found if not given.
    pub settle: Option<Duration>,
}

/// What the thread has seen, about the request with this number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sight {
    /// It knows what is there already: now the program can be asked.
    Ready(u64),
    /// There are new checkpoints.
    Complete {
        /// Of which request.
        request: u64,
        /// Nothing has changed for so long.
        ago: Duration,
    },
    /// The program has ended and there are none.
    Nothing(u64),
}

enum Order {
    Begin(u64),
    Ended { is_killed: bool },
    Stop,
}

/// The way to the thread.
#[derive(Debug)]
pub struct Watch(Sender<Order>);

impl Watch {
    /// Starts the thread, which hands what it sees to `seen`.
    pub fn start(places: Places, seen: impl Fn(Sight) + Send + 'static) -> Self {
        let (sender, orders) = channel();
        thread::spawn(move || serve(&places, &orders, &seen));
        Self(sender)
    }

    /// Takes note of what is there, and then looks for what is new.
    pub fn begin(&self, request: u64) {
        self.send(Order::Begin(request));
    }

    /// The program has ended; `is_killed` by a signal. The answer comes soon.
    pub fn ended(&self, is_killed: bool) {
        self.send(Order::Ended { is_killed });
    }

    /// Nothing is looked for any more.
    pub fn stop(&self) {
        self.send(Order::Stop);
    }

    fn send(&self, order: Order) {
        // Fails only where the thread has panicked; then nothing is ever seen.
        let _ = self.0.send(order);
    }
}

/// A request that is being followed.
struct Following {
    request: u64,
    judge: Judge,
    begun: Instant,
    ended: Option<(Instant, bool)>,
    said: BTreeSet<String>,
}

fn serve(places: &Places, orders: &Receiver<Order>, seen: &impl Fn(Sight)) {
    let mut following: Option<Following> = None;
    let mut pause = LOOK_INTERVAL;
    let mut has_complained = false;
    let mut scan_all = || -> Vec<Vec<Found>> {
        let scan_one = |pattern| match scan(pattern) {
            Ok(found) => found,
            Err(error) => {
                if !std::mem::replace(&mut has_complained, true) {
                    say(&error.to_string());
                }
                Vec::new()
            }
        };
        places.patterns.iter().map(scan_one).collect()
    };
    loop {
        let order = match following {
            Some(_) => orders.recv_timeout(pause),
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(Order::Begin(request)) => {
                following = Some(Following {
                    request,
                    judge: Judge::new(places.settle, scan_all()),
                    begun: Instant::now(),
                    ended: None,
                    said: BTreeSet::new(),
                });
                seen(Sight::Ready(request));
                // All has just been looked at.
                pause = LOOK_INTERVAL;
                continue;
            }
            Ok(Order::Ended { is_killed }) => {
                if let Some(following) = &mut following {
                    following.ended = Some((Instant::now(), is_killed));
                }
            }
            Ok(Order::Stop) => following = None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if let Some(one) = &mut following {
            let begun = Instant::now();
            if let Some(sight) = one.look(scan_all()) {
                seen(sight);
                following = None;
            } else {
                let interval = match one.begun.elapsed() > LATER {
                    true => LOOK_INTERVAL_LATER,
                    false => LOOK_INTERVAL,
                };
                pause = interval.max(begun.elapsed() * 4);
            }
        }
    }
}

impl Following {
    fn look(&mut self, found: Vec<Vec<Found>>) -> Option<Sight> {
        let now = self.begun.elapsed();
        let is_killed = self.ended.is_some_and(|(_, is_killed)| is_killed);
        let check = |path: &std::path::Path| format::check(path).map_err(|fault| fault.to_string());
        match self.judge.look(found, now, is_killed, check) {
            Verdict::Complete { since } => Some(Sight::Complete {
                request: self.request,
                ago: now.saturating_sub(since),
            }),
            Verdict::NotYet(doubts) => {
                let is_doubted = !doubts.is_empty();
                for doubt in doubts {
                    if self.said.len() < DOUBTS_MAX && self.said.insert(doubt.clone()) {
                        say(&format!("not taken for a save: {doubt}"));
                    }
                }
                let (ended, _) = self.ended?;
                let limit = match self.judge.has_news() {
                    true => self.judge.settle_max() + AFTER_END,
                    false => AFTER_END,
                };
                (is_doubted || ended.elapsed() >= limit).then_some(Sight::Nothing(self.request))
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The thread that keeps the job's comment up to date, however slurmctld behaves.

use super::direct::{Introduction, PublishError, publish};
use super::say::say;
use crate::policy::directives::Key;
use crate::slurm::job::Job;
use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Pauses between attempts grow from the one to the other.
const PAUSE_FIRST: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How often something is offered that is refused. More than once: slurmctld may have its reasons for a moment.
const REFUSALS_MAX: u32 = 4;

/// The way to the publishing thread.
pub struct Publisher {
    sender: Sender<Message>,
    is_done: Receiver<()>,
}

enum Message {
    Introduce(Introduction),
    Set {
        changes: Vec<(Key, String)>,
        is_acknowledgement: bool,
    },
    Finish,
}

/// What is still to be published.
#[derive(Default)]
struct Pending {
    introduction: Option<Introduction>,
    changes: Vec<(Key, String)>,
    is_acknowledgement: bool,
}

impl Publisher {
    /// Starts the thread. It calls `acknowledged` each time that slurmctld has taken an acknowledgement.
    pub fn start(job: Job, acknowledged: impl Fn() + Send + 'static) -> Self {
        let (sender, messages) = channel();
        let (done, is_done) = channel();
        thread::spawn(move || {
            serve(&job, &messages, &acknowledged);
            let _ = done.send(());
        });
        Self { sender, is_done }
    }

    /// Publishes what the program is and how it is asked to save.
    pub fn introduce(&self, introduction: Introduction) {
        self.send(Message::Introduce(introduction));
    }

    /// Publishes progress, the most important first.
    pub fn set(&self, changes: Vec<(Key, String)>) {
        self.send(Message::Set {
            changes,
            is_acknowledgement: false,
        });
    }

    /// Publishes the answer to a request to save, before everything else.
    pub fn acknowledge(&self, changes: Vec<(Key, String)>) {
        self.send(Message::Set {
            changes,
            is_acknowledgement: true,
        });
    }

    /// Lets the thread publish what it still has, for as long as `limit`.
    pub fn finish(&self, limit: Duration) {
        self.send(Message::Finish);
        let _ = self.is_done.recv_timeout(limit);
    }

    fn send(&self, message: Message) {
        // Fails only where the thread is gone, which it is after `finish` only.
        let _ = self.sender.send(message);
    }
}

fn serve(job: &Job, messages: &Receiver<Message>, acknowledged: &dyn Fn()) {
    let mut pending = Pending::default();
    let mut retry = Retry::default();
    let mut has_said = false;
    loop {
        let message = match (pending.is_empty(), retry.at) {
            (true, _) => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            (false, Some(at)) => messages.recv_timeout(at.saturating_duration_since(Instant::now())),
            (false, None) => messages.recv_timeout(Duration::ZERO),
        };
        let is_last = match message {
            Ok(Message::Finish) | Err(RecvTimeoutError::Disconnected) => true,
            Ok(message) => {
                if pending.add(message) {
                    retry = Retry::default();
                }
                // Others may have come meanwhile and go with it.
                continue;
            }
            Err(RecvTimeoutError::Timeout) => false,
        };
        if !pending.is_empty() {
            let result = publish(
                job,
                pending.introduction.as_ref(),
                &pending.changes,
                pending.is_acknowledgement,
            );
            match result {
                Ok(()) => {
                    if pending.is_acknowledgement {
                        acknowledged();
                    }
                    pending = Pending::default();
                    retry = Retry::default();
                }
                Err(error) if !retry.is_worth_it(&error) => {
                    if !std::mem::replace(&mut has_said, true) {
                        say(&format!(
                            "the job's comment could not be updated ({error}); the training goes on"
                        ));
                    }
                    pending = Pending::default();
                    retry = Retry::default();
                }
                Err(_) => {}
            }
        }
        if is_last {
            return;
        }
    }
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.introduction.is_none() && self.changes.is_empty()
    }

    /// Adds what a message brings; whether it is too important to wait for the next attempt.
    fn add(&mut self, message: Message) -> bool {
        match message {
            Message::Introduce(introduction) => {
                self.introduction = Some(introduction);
                true
            }
            Message::Set {
                changes,
                is_acknowledgement,
            } => {
                // The newer value of a key takes the place of the older; what came last is the most important.
                let older = std::mem::take(&mut self.changes);
                let is_kept = |(key, _): &(Key, String)| changes.iter().all(|(new, _)| new != key);
                let older: Vec<_> = older.into_iter().filter(is_kept).collect();
                self.changes = match self.is_acknowledgement && !is_acknowledgement {
                    true => older.into_iter().chain(changes).collect(),
                    false => changes.into_iter().chain(older).collect(),
                };
                self.is_acknowledgement |= is_acknowledgement;
                is_acknowledgement
            }
            Message::Finish => false,
        }
    }
}

/// When to try again.
#[derive(Default)]
struct Retry {
    at: Option<Instant>,
    attempts: u32,
    refusals: u32,
}

impl Retry {
    /// Plans the next attempt, if there is to be one.
    fn is_worth_it(&mut self, error: &PublishError) -> bool {
        if !error.is_transient() {
            self.refusals += 1;
        }
        if self.refusals >= REFUSALS_MAX || error.is_without_slurm() {
            return false;
        }
        let pause = PAUSE_FIRST
            .saturating_mul(1 << self.attempts.min(10))
            .min(PAUSE_MAX);
        self.attempts += 1;
        self.at = Some(Instant::now() + pause.mul_f64(jitter()));
        true
    }
}

/// 0.5 to 1, so that many jobs do not come back to slurmctld in step.
fn jitter() -> f64 {
    // The one source of random numbers in the standard library.
    let random = RandomState::new().hash_one(());
    0.5 + f64::from(random as u16) / f64::from(u16::MAX) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(changes: &[(Key, &str)], is_acknowledgement: bool) -> Message {
        let changes = changes
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect();
        Message::Set {
            changes,
            is_acknowledgement,
        }
    }

    #[test]
    fn newer_values_replace_older_ones_and_an_acknowledgement_stays_in_front() {
        let mut pending = Pending::default();
        assert!(!pending.add(set(&[(Key::Epoch, "1"), (Key::At, "5")], false)));
        assert!(pending.add(set(&[(Key::Saved, "7"), (Key::SaveS, "2")], true)));
        assert!(!pending.add(set(&[(Key::Epoch, "2")], false)));
        let words: Vec<_> = pending
            .changes
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        assert_eq!(words.join(" "), "saved=7 save_s=2 at=5 epoch=2");
        assert!(pending.is_acknowledgement);
    }

    #[test]
    fn a_pause_is_jittered_between_one_half_and_one() {
        assert!((0..1000).all(|_| (0.5..=1.0).contains(&jitter())));
    }
}

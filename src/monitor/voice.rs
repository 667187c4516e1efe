// SPDX-License-Identifier: GPL-2.0-or-later
//! Speaking with Slurm for the job, without ever waiting for it.

use super::direct::read_ask;
use super::machine::{Answer, Cause};
use super::publisher::Publisher;
use super::say::say;
use crate::slurm::job::Job;
use std::sync::Arc;
use std::thread;

/// The job, and the threads that ask Slurm about it and tell it.
pub struct Voice {
    job: Job,
    /// Keeps the job's comment up to date.
    pub publisher: Publisher,
    answer: Arc<dyn Fn(Cause, Answer) + Send + Sync>,
    is_looking: bool,
    /// Why to look once more: the answer under way may be older than that.
    next_look: Option<Cause>,
}

impl Voice {
    /// Speaks for `job`. `acknowledged` is called when slurmctld has taken an acknowledgement, `answer` after a look;
    /// both on other threads.
    pub fn new(
        job: Job,
        acknowledged: impl Fn() + Send + 'static,
        answer: impl Fn(Cause, Answer) + Send + Sync + 'static,
    ) -> Self {
        let publisher = Publisher::start(job.clone(), acknowledged);
        Self {
            job,
            publisher,
            answer: Arc::new(answer),
            is_looking: false,
            next_look: None,
        }
    }

    /// Looks at the job's AdminComment.
    pub fn look(&mut self, cause: Cause) {
        if self.is_looking {
            // A signal is more than a check.
            if cause == Cause::Signal || self.next_look.is_none() {
                self.next_look = Some(cause);
            }
            return;
        }
        self.is_looking = true;
        let (job, answer) = (self.job.clone(), Arc::clone(&self.answer));
        thread::spawn(move || {
            let found = match read_ask(&job) {
                Ok(Some(ask)) => Answer::Asked(ask),
                Ok(None) => Answer::NotAsked,
                Err(_) => Answer::Unknown,
            };
            answer(cause, found);
        });
    }

    /// An answer has come; whether it counts, or a newer one is on its way.
    pub fn looked(&mut self) -> bool {
        self.is_looking = false;
        match self.next_look.take() {
            Some(cause) => {
                self.look(cause);
                false
            }
            None => true,
        }
    }

    /// Has Slurm put the job back into the queue.
    pub fn requeue(&self) {
        let job = self.job.clone();
        thread::spawn(move || {
            if let Err(error) = job.requeue() {
                say(&format!("the job could not be put back into the queue ({error})"));
            }
        });
    }
}

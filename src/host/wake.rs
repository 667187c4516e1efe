// SPDX-License-Identifier: GPL-2.0-or-later
//! How hooks wake the planner: without blocking, and without more than one wake-up on the way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// A bell that any thread rings and the planner hears.
#[derive(Debug, Default)]
pub struct Wake {
    rung: AtomicBool,
    audit: AtomicBool,
    fresh: AtomicBool,
    asleep: AtomicBool,
    listener: Mutex<Option<Thread>>,
}

impl Wake {
    /// The current thread is the one that listens.
    pub fn listen(&self) {
        let mut listener = self.listener.lock().unwrap_or_else(|poison| poison.into_inner());
        *listener = Some(std::thread::current());
    }

    /// Something that the planner reads has changed.
    pub fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            self.unpark();
        }
    }

    /// There is something for the audit: to be written down, which needs no look at the cluster.
    pub fn ring_for_audit(&self) {
        if !self.audit.swap(true, Ordering::AcqRel) {
            self.unpark();
        }
    }

    fn unpark(&self) {
        // Only `listen` ever holds this lock, for an instant at the start of the planner; then it need not be woken.
        if let Ok(listener) = self.listener.try_lock()
            && let Some(thread) = listener.as_ref()
        {
            thread.unpark();
        }
    }

    /// A job is about to exist: look for it for a while, its record comes only after this call.
    pub fn ring_for_new_job(&self) {
        self.fresh.store(true, Ordering::Release);
        self.ring();
    }

    /// Slurm asks about an urgent job; only news to a planner that sleeps with nothing to do.
    pub fn ring_if_asleep(&self) {
        if self.asleep.load(Ordering::Relaxed) {
            self.ring();
        }
    }

    /// A job has changed; no news to a planner that sleeps because nobody waits.
    pub fn ring_if_awake(&self) {
        if !self.asleep.load(Ordering::Relaxed) {
            self.ring();
        }
    }

    /// Waits for the bell, `limit` at most; `asleep` if no urgent job is looked after meanwhile. Returns whether the bell has
    /// rung, so that it is time to look.
    pub fn wait(&self, limit: Duration, asleep: bool) -> bool {
        self.asleep.store(asleep, Ordering::Relaxed);
        if !self.rung.load(Ordering::Acquire) && !self.audit.load(Ordering::Acquire) {
            std::thread::park_timeout(limit);
        }
        self.audit.store(false, Ordering::Release);
        self.asleep.store(false, Ordering::Relaxed);
        self.rung.swap(false, Ordering::AcqRel)
    }

    /// Whether a new job was announced since the last call.
    pub fn take_fresh(&self) -> bool {
        self.fresh.swap(false, Ordering::AcqRel)
    }
}

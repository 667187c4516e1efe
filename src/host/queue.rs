// SPDX-License-Identifier: GPL-2.0-or-later
//! The site factor's side of the core: up to when waiting is counted, and how priorities are computed anew.

use crate::policy::queue::AHEAD_S;
use crate::policy::units::{Seconds, UnixTime};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// How a shim has Slurm compute all priorities anew.
pub type ReprioritizeFn = unsafe extern "C" fn();

/// What the site factor plugin and the planner share.
#[derive(Debug, Default)]
pub struct Queue {
    /// In Unix seconds; 0 before it is set for the first time.
    until: AtomicI64,
    reprioritize: ArcSwapOption<ReprioritizeFn>,
}

impl Queue {
    /// The moment up to which waiting is counted, the same for all jobs.
    pub fn until(&self, now: UnixTime) -> UnixTime {
        let first = now.0.saturating_add(AHEAD_S);
        let set = self
            .until
            .compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
        UnixTime(set.err().unwrap_or(first))
    }

    /// Moves it on. The caller holds Slurm's job write lock and has all priorities computed anew under it.
    pub fn move_on(&self, now: UnixTime) {
        self.until.store(now.0.saturating_add(AHEAD_S), Ordering::Relaxed);
    }

    /// How long ago it was set; `None` if it never was.
    pub fn age_s(&self, now: UnixTime) -> Option<Seconds> {
        match self.until.load(Ordering::Relaxed) {
            0 => None,
            until => Some(now - UnixTime(until.saturating_sub(AHEAD_S))),
        }
    }

    /// A shim can compute priorities anew, or no longer.
    pub fn offer(&self, reprioritize: Option<ReprioritizeFn>) {
        self.reprioritize.store(reprioritize.map(Arc::new));
    }

    /// How to compute priorities anew; `None` without the site factor plugin.
    pub fn reprioritize(&self) -> Option<ReprioritizeFn> {
        self.reprioritize.load().as_deref().copied()
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The site factor's side of the core: up to when waiting is counted, and how priorities are computed anew.

use super::core::unix_now;
use crate::policy::queue::{AHEAD_S, REFRESH_S};
use crate::policy::units::{Seconds, UnixTime};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Priorities are computed anew so often soon after the start, since Slurm may have been loading its jobs.
const TURNS_EARLY: u32 = 3;
/// And then after so long each time.
const EARLY_S: i64 = 30;

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

/// The planner's part: it has priorities computed anew where Slurm does not do so by itself.
#[derive(Debug, Default)]
pub struct Turns {
    /// The last time.
    tried: Option<Instant>,
    /// How often that was.
    count: u32,
}

impl Turns {
    /// How long the priorities of waiting jobs are still good for; `None` where no plugin computes them.
    pub fn rest(&self, queue: &Queue) -> Option<Duration> {
        queue.reprioritize()?;
        let every_s = match self.count < TURNS_EARLY {
            true => EARLY_S,
            false => REFRESH_S,
        };
        let left = |age_s: f64| Duration::try_from_secs_f64(every_s as f64 - age_s).unwrap_or_default();
        // Slurm itself may be doing so.
        let set = queue.age_s(unix_now()).map(|age_s| left(age_s.0));
        let tried = self.tried.map(|at| left(at.elapsed().as_secs_f64()));
        Some(set.max(tried).unwrap_or_default())
    }

    /// Has them computed anew. Never from a hook: it takes Slurm's locks.
    pub fn take(&mut self, queue: &Queue) {
        if let Some(reprioritize) = queue.reprioritize() {
            // SAFETY: the shim's own function, which stays mapped; only the planner calls this, which holds no lock of
            // Slurm's.
            unsafe { reprioritize() };
            self.tried = Some(Instant::now());
            self.count = self.count.saturating_add(1);
        }
    }
}

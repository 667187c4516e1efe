// SPDX-License-Identifier: GPL-2.0-or-later
//! How hooks wake the planner: without blocking, and without more than one wake-up on the way.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Something that the planner reads has changed.
const RUNG: u32 = 1;
/// There is something for the audit.
const AUDIT: u32 = 2;

/// A bell that any thread rings and the planner hears.
///
/// What has rung is in one word, which the planner sleeps on in the kernel: whoever sets a bit of it wakes the planner
/// himself, whatever any other thread that rings is in the middle of. There is no lock, and no handle of the planner's.
#[derive(Debug, Default)]
pub struct Wake {
    rung: AtomicU32,
    fresh: AtomicBool,
    asleep: AtomicBool,
}

impl Wake {
    /// Something that the planner reads has changed.
    pub fn ring(&self) {
        self.ring_for(RUNG);
    }

    /// There is something for the audit: to be written down, which needs no look at the cluster.
    pub fn ring_for_audit(&self) {
        self.ring_for(AUDIT);
    }

    fn ring_for(&self, bit: u32) {
        if self.rung.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            wake_one(&self.rung);
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
        sleep_while_zero(&self.rung, limit);
        self.asleep.store(false, Ordering::Relaxed);
        self.rung.swap(0, Ordering::AcqRel) & RUNG != 0
    }

    /// Whether a new job was announced since the last call.
    pub fn take_fresh(&self) -> bool {
        self.fresh.swap(false, Ordering::AcqRel)
    }
}

/// Waits until `word` is not 0, `limit` at most. It may return sooner.
fn sleep_while_zero(word: &AtomicU32, limit: Duration) {
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        // Less than a billion.
        tv_nsec: libc::c_long::from(limit.subsec_nanos().cast_signed()),
    };
    // SAFETY: the kernel reads `word` and `limit`, which outlive the call. It compares and goes to sleep in one, so that no
    // change of `word` is missed; where there is nothing to wait for it returns an error, which is as good.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            0u32,
            &raw const limit,
        );
    }
}

/// Wakes who sleeps there. Waits for nobody.
fn wake_one(word: &AtomicU32) {
    // SAFETY: the kernel takes the address of `word` for a name, and writes nothing.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1u32,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{scope, sleep};
    use std::time::Instant;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn what_rang_before_is_heard_at_once_and_once() {
        let wake = Wake::default();
        wake.ring();
        wake.ring_for_audit();
        assert!(wake.wait(LONG, true));
        assert!(
            !wake.wait(Duration::from_millis(1), true),
            "once, and no longer than it may"
        );
        wake.ring_for_audit();
        assert!(!wake.wait(LONG, true), "the audit needs no look");
    }

    #[test]
    fn however_many_ring_at_a_time_none_is_lost() {
        const RINGS: u32 = 5_000;
        let (wake, heard, rung) = (Wake::default(), AtomicU32::new(0), AtomicU32::new(0));
        let begun = Instant::now();
        scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..RINGS / 4 {
                        rung.fetch_add(1, Ordering::SeqCst);
                        wake.ring();
                        // Now and then the planner has fallen asleep when the next one rings.
                        sleep(Duration::from_micros(20));
                    }
                });
            }
            while heard.load(Ordering::SeqCst) < RINGS {
                wake.wait(LONG, false);
                heard.store(rung.load(Ordering::SeqCst), Ordering::SeqCst);
            }
        });
        assert!(
            begun.elapsed() < LONG,
            "a ring was lost, and the planner slept on"
        );
    }
}

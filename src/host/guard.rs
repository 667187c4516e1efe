// SPDX-License-Identifier: GPL-2.0-or-later
//! The guard around every function that C calls, and the latch.
//!
//! A panic in a hook is caught, counted and logged, and Slurm gets the answer that it would have given without
//! Surgent. After [`PANICS_MAX`] of them the latch falls: from then on the core answers so at once, until slurmctld
//! is restarted.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// So many panics are forgiven.
const PANICS_MAX: u32 = 3;

static PANICS: AtomicU32 = AtomicU32::new(0);
/// Those that nobody has taken to be counted.
static UNCOUNTED: AtomicU32 = AtomicU32::new(0);
static LATCHED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What the panic hook saw last on this thread.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The places where C calls the core, and the planner's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A shim's init.
    Attach,
    /// A shim's fini.
    Detach,
    /// A shim that does not fit.
    Misfit,
    /// A submission.
    JobSubmit,
    /// A change to a job.
    JobModify,
    /// Are urgent jobs Surgent's business?
    Acts,
    /// May this job be preempted for that one?
    Preemptable,
    /// How?
    Mode,
    /// In which order?
    Priority,
    /// How much is added to a waiting job's priority?
    SiteFactor,
    /// A record from the snapshot.
    Snapshot,
    /// One turn of the planner thread.
    Planner,
}

impl Hook {
    /// Its name in the log and in `SURGENT_FAULT`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attach => "attach",
            Self::Detach => "detach",
            Self::Misfit => "misfit",
            Self::JobSubmit => "job_submit",
            Self::JobModify => "job_modify",
            Self::Acts => "acts",
            Self::Preemptable => "preemptable",
            Self::Mode => "mode",
            Self::Priority => "priority",
            Self::SiteFactor => "site_factor",
            Self::Snapshot => "snapshot",
            Self::Planner => "planner",
        }
    }
}

/// Runs the body of a hook. Gives `fallback` if it panics, or if the latch has fallen.
pub fn hook<T>(hook: Hook, fallback: T, body: impl FnOnce() -> T) -> T {
    if is_latched() {
        return fallback;
    }
    // What the body shares with others it changes only by atomics and whole-value swaps, so that a panic half-way
    // leaves nothing torn behind.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        fault(hook);
        body()
    }));
    outcome.unwrap_or_else(|payload| {
        // Dropping a payload could panic in turn; a leak of a few bytes, at most a few times, cannot.
        std::mem::forget(payload);
        note_panic(hook);
        fallback
    })
}

/// Whether the latch has fallen.
pub fn is_latched() -> bool {
    LATCHED.load(Ordering::Relaxed)
}

/// How many panics there were since this was last asked.
pub fn take_faults() -> u32 {
    UNCOUNTED.swap(0, Ordering::Relaxed)
}

/// Lets the latch fall without a word. Whether it had not fallen before.
pub fn latch_silently() -> bool {
    !LATCHED.swap(true, Ordering::Relaxed)
}

/// Lets the latch fall at once.
pub fn latch(reason: &str) {
    if latch_silently() {
        log::error!(
            "{reason}; Surgent steps aside until slurmctld is restarted, Slurm goes on as without it"
        );
    }
}

/// Makes panics leave their message and place for the log instead of standard error.
pub fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let text = info.to_string().replace('\n', " ");
            LAST_PANIC.with_borrow_mut(|last| *last = text);
        }));
    });
}

fn note_panic(hook: Hook) {
    let count = PANICS.fetch_add(1, Ordering::Relaxed).saturating_add(1);
    UNCOUNTED.fetch_add(1, Ordering::Relaxed);
    let text = LAST_PANIC.with_borrow_mut(std::mem::take);
    log::error!(
        "fault {count} of {PANICS_MAX} in {}: {text}; Slurm's own answer was given",
        hook.name()
    );
    if count >= PANICS_MAX {
        latch("too many faults");
    }
}

#[cfg(feature = "faults")]
fn fault(hook: Hook) {
    static WANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let wanted = WANTED.get_or_init(|| std::env::var("SURGENT_FAULT").ok());
    assert!(wanted.as_deref() != Some(hook.name()), "injected fault");
}

#[cfg(not(feature = "faults"))]
fn fault(_: Hook) {}

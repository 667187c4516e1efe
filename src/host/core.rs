// SPDX-License-Identifier: GPL-2.0-or-later
//! What all shims and the planner share: one core is loaded once, however many plugins use it.

use super::abi;
use super::audit::AuditQueue;
use super::gate::Gate;
use super::queue::Queue;
use super::reclass::Reclass;
use super::wake::Wake;
use crate::policy::admission::desk::Desk;
use crate::policy::audit::{Entry, Event};
use crate::policy::settings::{Mode, Settings};
use crate::policy::units::UnixTime;
use arc_swap::{ArcSwap, ArcSwapOption};
use once_cell::sync::Lazy;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How a shim takes a snapshot.
pub type SnapshotFn = unsafe extern "C" fn(sink: *const abi::surgent_sink_t) -> std::ffi::c_int;
/// How a shim nudges Slurm's scheduler.
pub type NudgeFn = unsafe extern "C" fn();
/// How a shim changes the base.
pub type UseBaseFn = unsafe extern "C" fn(base: u32);
/// How a shim tells since when its slurmctld is in control.
pub type InControlSinceFn = unsafe extern "C" fn() -> i64;

/// One time in which this slurmctld is in control, its state read: its are the jobs, and what is in StateSaveLocation. A
/// slurmctld that stands by for another one is not, though it may still have its jobs of when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    since: i64,
}

/// What the preempt shim offers.
#[derive(Clone, Debug)]
pub struct Host {
    /// Gives all nodes and jobs.
    pub snapshot: SnapshotFn,
    /// Has the scheduler look.
    pub nudge: NudgeFn,
    /// Has another stock plugin answer for normal jobs.
    pub use_base: UseBaseFn,
    /// Tells since when this slurmctld is in control.
    pub in_control_since: InControlSinceFn,
    /// Path of slurm.conf.
    pub slurm_conf: PathBuf,
    /// StateSaveLocation.
    pub state_dir: PathBuf,
}

impl Host {
    /// Whether this slurmctld is in control now.
    pub fn control(&self) -> Option<Control> {
        // SAFETY: the shim's own function, which stays mapped and takes nothing.
        let since = unsafe { (self.in_control_since)() };
        (since != 0).then_some(Control { since })
    }
}

/// The one core.
#[derive(Debug, Default)]
pub struct Core {
    /// The gates.
    pub gate: Gate,
    /// The site factor.
    pub queue: Queue,
    /// The planner's bell.
    pub wake: Wake,
    /// The settings in force.
    pub settings: ArcSwap<Settings>,
    /// What the preempt shim offers, once it has attached.
    pub host: ArcSwapOption<Host>,
    /// Shims that are attached, one bit each.
    attached: AtomicU32,
    /// The planner is to end.
    stopping: AtomicBool,
    /// Waiting jobs whose users changed their class.
    pub reclass: Reclass,
    /// Who may be urgent.
    desk: Mutex<Desk>,
    /// What hooks have to say to the audit.
    pub audit_queue: AuditQueue,
}

static CORE: Lazy<Core> = Lazy::new(Core::default);

impl Core {
    /// The one core.
    pub fn get() -> &'static Self {
        &CORE
    }

    /// Notes that a shim is there.
    pub fn attach(&self, shim: u32) {
        self.attached.fetch_or(bit(shim), Ordering::AcqRel);
        self.stopping.store(false, Ordering::Release);
    }

    /// Notes that a shim is gone; the planner ends with the last one.
    pub fn detach(&self, shim: u32) {
        let left = self.attached.fetch_and(!bit(shim), Ordering::AcqRel) & !bit(shim);
        if left == 0 {
            self.stopping.store(true, Ordering::Release);
            self.wake.ring();
        }
    }

    /// Whether the planner is to end.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// The desk at which submissions are judged. Held for as long as a judgement takes: the submissions of many threads
    /// at once must not all count the same room as free.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Has the planner write this down soon. For hooks: it neither waits nor writes.
    pub fn audit(&self, event: Event) {
        self.audit_queue.push(Entry {
            at: unix_now(),
            shadow: self.settings.load().mode == Mode::Shadow,
            event,
        });
        self.wake.ring_for_audit();
    }
}

/// The time now.
pub fn unix_now() -> UnixTime {
    let now = jiff::Timestamp::now();
    UnixTime(now.as_second())
}

fn bit(shim: u32) -> u32 {
    1u32.checked_shl(shim).unwrap_or_default()
}

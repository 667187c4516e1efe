// SPDX-License-Identifier: GPL-2.0-or-later
//! What planning costs, counted in looks at nodes instead of seconds: the same facts then give the same plan on any machine.

use std::cell::Cell;

/// Looks at nodes that were taken, and how many may be. Work that is no look is charged as so many as take as long.
///
/// Whoever finds them spent ends with the best that is known; nothing stops half-way, so they may be exceeded by what it
/// takes to end.
#[derive(Debug)]
pub struct Looks {
    taken: Cell<u64>,
    until: Cell<u64>,
}

impl Looks {
    /// At most so many.
    pub fn up_to(most: u64) -> Self {
        Self {
            taken: Cell::new(0),
            until: Cell::new(most),
        }
    }

    /// Charges so many.
    pub fn take(&self, looks: u64) {
        self.taken.set(self.taken.get().saturating_add(looks));
    }

    /// How many were taken so far.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// How many are left.
    pub fn left(&self) -> u64 {
        self.until.get().saturating_sub(self.taken.get())
    }

    /// Whether none are left.
    pub fn are_spent(&self) -> bool {
        self.left() == 0
    }

    /// Does `work` with no more than `most` of those that are left.
    pub fn with_at_most<T>(&self, most: u64, work: impl FnOnce() -> T) -> T {
        let until = self.until.get();
        self.until.set(until.min(self.taken.get().saturating_add(most)));
        let done = work();
        self.until.set(until);
        done
    }

    /// Does the first of so many works with no more than its share of those that are left.
    pub fn with_share<T>(&self, of: usize, work: impl FnOnce() -> T) -> T {
        self.with_at_most(self.left() / of.max(1) as u64, work)
    }
}

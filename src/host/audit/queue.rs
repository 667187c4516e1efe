// SPDX-License-Identifier: GPL-2.0-or-later
//! From the hooks to the planner: bounded, and without waiting for a file.

use crate::policy::audit::{Entry, Event};
use std::sync::{Mutex, PoisonError};

/// So many events wait for the planner at most; more are counted.
const QUEUED_MAX: usize = 1000;
/// So many refusals a minute are written down; more are counted. Everybody can be refused as often as he likes, and is not
/// to push out of the kept files what happened before.
const REFUSED_A_MINUTE_MAX: u32 = 200;

/// What hooks have to say, until the planner has taken it.
#[derive(Debug, Default)]
pub struct AuditQueue(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    lost: u64,
    /// The minute in which somebody was refused last, and how often in it.
    refused: (i64, u32),
}

impl AuditQueue {
    /// Adds `entry`, or counts it as lost. The lock is held for no longer than this takes.
    pub fn push(&self, entry: Entry) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.entries.len() < QUEUED_MAX && queue.admits(&entry) {
            queue.entries.push(entry);
        } else {
            queue.lost += 1;
        }
    }

    /// Takes all that is there, and how many were lost since the last time.
    pub fn take(&self) -> (Vec<Entry>, u64) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (
            std::mem::take(&mut queue.entries),
            std::mem::take(&mut queue.lost),
        )
    }
}

impl Queue {
    fn admits(&mut self, entry: &Entry) -> bool {
        if !matches!(entry.event, Event::Refused(_)) {
            return true;
        }
        let minute = entry.at.0.div_euclid(60);
        let earlier = if self.refused.0 == minute {
            self.refused.1
        } else {
            0
        };
        self.refused = (minute, earlier.saturating_add(1));
        earlier < REFUSED_A_MINUTE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::audit::{Ruling, Submitter, Text};
    use crate::policy::units::UnixTime;

    fn entry(at: i64, event: Event) -> Entry {
        Entry {
            at: UnixTime(at),
            shadow: false,
            event,
        }
    }

    fn admitted() -> Event {
        Event::Admitted {
            submitter: Submitter::default(),
        }
    }

    #[test]
    fn a_full_queue_counts_what_it_loses() {
        let queue = AuditQueue::default();
        for _ in 0..QUEUED_MAX + 7 {
            queue.push(entry(0, admitted()));
        }
        let (entries, lost) = queue.take();
        assert_eq!((entries.len(), lost), (QUEUED_MAX, 7));
        assert_eq!(queue.take(), (Vec::new(), 0));
    }

    #[test]
    fn refusals_push_nothing_else_out() {
        let queue = AuditQueue::default();
        let refused = || {
            Event::Refused(Ruling {
                submitter: Submitter::default(),
                job: None,
                rule: "comment",
                sentence: Text::of("no"),
            })
        };
        let most = REFUSED_A_MINUTE_MAX as usize;
        for _ in 0..most + 5 {
            queue.push(entry(59, refused()));
            queue.take();
        }
        queue.push(entry(59, refused()));
        queue.push(entry(59, admitted()));
        let (entries, lost) = queue.take();
        assert_eq!((entries.len(), lost), (1, 1));
        queue.push(entry(60, refused()));
        assert_eq!(queue.take().0.len(), 1);
    }
}

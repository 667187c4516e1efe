// SPDX-License-Identifier: GPL-2.0-or-later
//! Which failures the log has been told of.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The same failure is logged again after this.
const SAME_AGAIN: Duration = Duration::from_secs(60);
/// So many are remembered; of more, the oldest is forgotten.
const REMEMBERED_MAX: usize = 100;

/// A command that fails is tried again every few seconds; the same failure is logged less often than that.
#[derive(Debug)]
pub(super) struct Complaints(BTreeMap<String, Instant>);

impl Complaints {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Whether the log is to be told of this at `now`.
    pub(super) fn is_news(&mut self, text: &str, now: Instant) -> bool {
        self.0
            .retain(|_, said| now.saturating_duration_since(*said) <= SAME_AGAIN);
        if self.0.contains_key(text) {
            return false;
        }
        if self.0.len() >= REMEMBERED_MAX
            && let Some(oldest) = self.0.iter().min_by_key(|(_, said)| **said)
        {
            let oldest = oldest.0.clone();
            self.0.remove(&oldest);
        }
        self.0.insert(text.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_alternate_are_each_said_once_a_minute() {
        let begun = Instant::now();
        let mut complaints = Complaints::new();
        let mut said = 0;
        for second in 0..120 {
            for text in ["job 1: no", "job 2: no"] {
                let now = begun + Duration::from_secs(second);
                said += usize::from(complaints.is_news(text, now));
            }
        }
        assert_eq!(said, 4);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let now = Instant::now();
        let mut complaints = Complaints::new();
        for job in 0..10 * REMEMBERED_MAX {
            assert!(complaints.is_news(&job.to_string(), now));
        }
        assert_eq!(complaints.0.len(), REMEMBERED_MAX);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! When running jobs end by themselves.

use super::belief::Belief;
use super::facts::RunningJob;
use super::units::{Seconds, UnixTime};

/// A report older than this leaves too much open for anybody to wait for what it says alone.
const CONFIDENCE_MIN: f64 = 0.5;

/// How long until `job` ends by itself: by its epochs and their length, at the latest by its time limit. `None` where
/// neither tells.
pub fn ends_after(job: &RunningJob, belief: &Belief, now: UnixTime) -> Option<Seconds> {
    let limit_s = job.end.map(|end| Seconds((end - now).0.max(0.0)));
    let told_s = belief.progress.and_then(|progress| {
        // After its last epoch it saves once more.
        let told_s = progress.left_s()? + belief.save.takes_s;
        match limit_s {
            Some(limit_s) => Some(progress.doubt(told_s, limit_s)),
            None => (progress.confidence >= CONFIDENCE_MIN).then_some(told_s),
        }
    });
    match (told_s, limit_s) {
        (Some(told_s), Some(limit_s)) if told_s < limit_s => Some(told_s),
        (told_s, limit_s) => limit_s.or(told_s),
    }
}

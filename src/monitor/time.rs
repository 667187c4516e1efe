// SPDX-License-Identifier: GPL-2.0-or-later
//! The two clocks, read together.

use crate::policy::units::{Seconds, UnixTime};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A moment on both clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Now {
    /// Since the monitor started; never goes back.
    pub monotonic: Duration,
    /// The time of day, which Slurm's requests speak of.
    pub unix: UnixTime,
}

/// Where [`Now`] comes from.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// This moment.
    pub fn now(self) -> Now {
        Now {
            monotonic: self.0.elapsed(),
            unix: unix_now(),
        }
    }
}

/// The time of day in whole seconds.
pub fn unix_now() -> UnixTime {
    // A clock before 1970 or beyond the year 292 billion is no clock.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixTime(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs_f64())
    }
}

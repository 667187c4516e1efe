// SPDX-License-Identifier: GPL-2.0-or-later
//! Quantities that must not be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A moment, in whole seconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixTime(pub i64);

/// A length of time in seconds. Never NaN.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub f64);

impl Seconds {
    /// No time at all.
    pub const ZERO: Self = Self(0.0);

    /// The middle one of `values`; the later one of two. `None` of none.
    pub fn median(mut values: Vec<Self>) -> Option<Self> {
        let middle = values.len() / 2;
        if values.is_empty() {
            return None;
        }
        let (_, median, _) = values.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        Some(*median)
    }
}

/// The shorter of two times.
pub fn least(a: Seconds, b: Seconds) -> Seconds {
    if b < a { b } else { a }
}

impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sub for UnixTime {
    type Output = Seconds;

    fn sub(self, earlier: Self) -> Seconds {
        // i64 to f64 is exact for any time within 285 million years of 1970. Damaged records have others.
        Seconds(self.0.saturating_sub(earlier.0) as f64)
    }
}

impl Add for Seconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

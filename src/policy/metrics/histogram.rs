// SPDX-License-Identifier: GPL-2.0-or-later
//! How often something took how long.

use serde::{Deserialize, Serialize};

/// Times counted by how long they were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// The ends of the buckets, each included, in ascending order, in seconds.
    bounds_s: Vec<f64>,
    /// So many times were in each bucket; the last counts those beyond all bounds.
    counts: Vec<u64>,
    sum_s: f64,
}

impl Histogram {
    /// One in which nothing is counted.
    pub fn new(bounds_s: &[f64]) -> Self {
        Self {
            bounds_s: bounds_s.to_vec(),
            counts: vec![0; bounds_s.len() + 1],
            sum_s: 0.0,
        }
    }

    /// Counts one. A time below zero, for a clock was set, counts as none at all.
    pub fn observe(&mut self, time_s: f64) {
        let bucket = self.bounds_s.partition_point(|bound| *bound < time_s);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
        self.sum_s += time_s.max(0.0);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// All times together, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_s
    }

    /// The end of each bucket in seconds, and how many times were no longer than that.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0u64;
        self.bounds_s.iter().zip(&self.counts).map(move |(bound, count)| {
            below = below.saturating_add(*count);
            (*bound, below)
        })
    }

    /// Whether it counts by these bounds, and can.
    pub fn has_bounds(&self, bounds_s: &[f64]) -> bool {
        self.bounds_s == bounds_s && self.counts.len() == bounds_s.len() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_the_first_bucket_that_holds_it() {
        let mut histogram = Histogram::new(&[0.5, 1.0, 60.0]);
        for time_s in [-1.0, 0.5, 0.75, 60.0, 61.0] {
            histogram.observe(time_s);
        }
        let cumulative: Vec<_> = histogram.cumulative().collect();
        assert_eq!(cumulative, [(0.5, 2), (1.0, 3), (60.0, 4)]);
        assert_eq!((histogram.count(), histogram.sum_s()), (5, 122.25));
    }
}

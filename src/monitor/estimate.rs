// SPDX-License-Identifier: GPL-2.0-or-later
//! Seconds per epoch, from the times at which epochs were reported.

use std::collections::VecDeque;
use std::time::Duration;

/// How many intervals are remembered: enough for one slow epoch (an evaluation, a full disk) not to count.
const INTERVALS: usize = 5;

/// The pace of the training.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    last: Option<Reading>,
    /// Seconds per epoch between one reading and the next; the newest last.
    intervals_s: VecDeque<f64>,
}

/// So many epochs were done at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Epochs done, may be fractional.
    pub epoch: f64,
    /// When, on the monotonic clock.
    pub at: Duration,
}

impl Pace {
    /// The last reading.
    pub fn last(&self) -> Option<Reading> {
        self.last
    }

    /// Takes a reading. One that does not go forward starts the measurement anew.
    pub fn read(&mut self, reading: Reading) {
        if let Some(last) = self.last {
            let done = reading.epoch - last.epoch;
            if done == 0.0 {
                // The same epoch reported once more, perhaps by another rank: the first time counts.
                return;
            }
            let seconds = reading.at.saturating_sub(last.at).as_secs_f64();
            if done > 0.0 && seconds > 0.0 {
                self.intervals_s.push_back(seconds / done);
            } else if done < 0.0 {
                self.intervals_s.clear();
            }
            if self.intervals_s.len() > INTERVALS {
                self.intervals_s.pop_front();
            }
        }
        self.last = Some(reading);
    }

    /// The program was started again: the time until its first report is not an epoch.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    /// Seconds per epoch: the median of the last intervals.
    pub fn epoch_s(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.intervals_s.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(sorted[middle]),
            _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(readings: &[(f64, u64)]) -> Pace {
        let mut pace = Pace::default();
        for &(epoch, at_s) in readings {
            pace.read(Reading {
                epoch,
                at: Duration::from_secs(at_s),
            });
        }
        pace
    }

    #[test]
    fn table_of_readings() {
        type Case = (&'static [(f64, u64)], Option<f64>);
        let table: [Case; 7] = [
            (&[], None),
            (&[(1.0, 10)], None),
            (&[(1.0, 10), (2.0, 40)], Some(30.0)),
            // Half an epoch in 20 s; then the median of an even number.
            (&[(1.0, 0), (1.5, 20), (2.5, 50)], Some(35.0)),
            // One slow epoch does not count.
            (
                &[(1.0, 0), (2.0, 10), (3.0, 20), (4.0, 1000), (5.0, 1010)],
                Some(10.0),
            ),
            // Reported twice: the interval is the same.
            (&[(1.0, 0), (2.0, 10), (2.0, 14), (3.0, 20)], Some(10.0)),
            // Back to an earlier epoch: anew.
            (&[(7.0, 0), (8.0, 10), (3.0, 12), (4.0, 17)], Some(5.0)),
        ];
        for (readings, epoch_s) in table {
            assert_eq!(pace(readings).epoch_s(), epoch_s, "{readings:?}");
        }
    }

    #[test]
    fn only_the_last_five_intervals_count() {
        let slow = (0..10).map(|epoch| (f64::from(epoch), u64::from(epoch as u32) * 100));
        let fast = (10..15).map(|epoch| (f64::from(epoch), 900 + u64::from(epoch as u32 - 9)));
        let readings: Vec<_> = slow.chain(fast).collect();
        assert_eq!(pace(&readings).epoch_s(), Some(1.0));
    }

    #[test]
    fn an_interruption_is_not_an_epoch() {
        let mut pace = pace(&[(1.0, 0), (2.0, 10)]);
        pace.interrupt();
        pace.read(Reading {
            epoch: 3.0,
            at: Duration::from_secs(5000),
        });
        assert_eq!(pace.epoch_s(), Some(10.0));
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Seconds per epoch, from the times at which epochs and parts of them were seen to be done.
//!
//! Whole epochs count most, from one's end to the next one's: they contain evaluations and saves as they come. Until one
//! is done, pieces of an epoch stand in. Medians, so that a pause or a slow start does not count.

use std::collections::VecDeque;
use std::time::Duration;

/// How many whole epochs are remembered.
const EPOCHS: usize = 31;

/// So many epochs in a row that are faster or slower than those before are a new pace.
const NEW_PACE: usize = 5;

/// By so much, as a factor.
const NEW_PACE_FACTOR: f64 = 1.1;

/// How many pieces of epochs are remembered.
const PIECES: usize = 64;

/// A piece is at least this part of an epoch.
const PIECE_MIN: f64 = 1.0 / 64.0;

/// So many pieces are needed, unless they make up half an epoch.
const PIECES_MIN: usize = 4;

/// The pace of a training.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    last: Option<Reading>,
    /// The last end of an epoch, where it was seen.
    boundary: Option<Reading>,
    /// Seconds of whole epochs, the newest last.
    epochs_s: VecDeque<f64>,
    /// The first of them contains the start of the program.
    has_first: bool,
    /// Where the piece under way began.
    anchor: Option<Reading>,
    pieces: VecDeque<Piece>,
}

/// So many epochs were done at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Epochs done, may be fractional.
    pub epoch: f64,
    /// When, on a clock that never goes back.
    pub at: Duration,
}

/// Part of an epoch.
#[derive(Clone, Copy, Debug)]
struct Piece {
    epochs: f64,
    epoch_s: f64,
}

impl Pace {
    /// The last reading.
    pub fn last(&self) -> Option<Reading> {
        self.last
    }

    /// Takes a reading. One that goes back is a restart: what was measured stays, the time between does not count.
    pub fn read(&mut self, reading: Reading) {
        let Some(last) = self.last else {
            return self.begin(reading);
        };
        if reading.epoch == last.epoch {
            // The same once more, perhaps by another rank: the first time counts.
            return;
        }
        if reading.epoch < last.epoch || reading.at < last.at {
            return self.begin(reading);
        }
        self.cross(last, reading);
        self.cut_piece(reading);
        self.last = Some(reading);
    }

    /// The program was started again: the time until its first reading is not an epoch.
    pub fn interrupt(&mut self) {
        self.last = None;
        self.boundary = None;
        self.anchor = None;
    }

    /// Seconds per epoch.
    pub fn epoch_s(&self) -> Option<f64> {
        match self.whole_epochs().as_slice() {
            [] => self.by_pieces(),
            [first] if self.has_first => Some(self.without_start(*first)),
            some => Some(median(some)),
        }
    }

    /// Seconds per epoch by however little was seen, where [`Self::epoch_s`] waits for more.
    pub fn rough_epoch_s(&self) -> Option<f64> {
        let (anchor, last) = (self.anchor?, self.last?);
        let epochs = last.epoch - anchor.epoch;
        let seconds = last.at.saturating_sub(anchor.at).as_secs_f64();
        self.middle_piece()
            .or_else(|| (epochs > 0.0 && seconds > 0.0).then(|| seconds / epochs))
    }

    /// Half the distance between the quartiles of what [`Self::epoch_s`] is the median of.
    pub fn spread_s(&self) -> Option<f64> {
        let mut values = self.whole_epochs();
        if values.len() < 3 {
            values = self.pieces.iter().map(|piece| piece.epoch_s).collect();
        }
        spread(&values)
    }

    /// How many whole epochs were measured.
    pub fn epochs_measured(&self) -> usize {
        self.epochs_s.len()
    }

    fn begin(&mut self, reading: Reading) {
        self.last = Some(reading);
        self.anchor = Some(reading);
        self.boundary = (reading.epoch.fract() == 0.0).then_some(reading);
    }

    /// Notes the ends of epochs between two readings.
    fn cross(&mut self, last: Reading, reading: Reading) {
        let crossed = reading.epoch.floor();
        if crossed <= last.epoch {
            return;
        }
        // The end lies between the two readings; their distance says where.
        let part = (crossed - last.epoch) / (reading.epoch - last.epoch);
        let at = last.at + (reading.at - last.at).mul_f64(part.clamp(0.0, 1.0));
        let end = Reading { epoch: crossed, at };
        if let Some(begin) = self.boundary.replace(end) {
            let seconds = (at - begin.at.min(at)).as_secs_f64();
            if seconds > 0.0 {
                self.push(seconds / (crossed - begin.epoch), begin.epoch == 0.0);
            }
        }
    }

    fn push(&mut self, epoch_s: f64, is_first: bool) {
        if self.epochs_s.is_empty() {
            self.has_first = is_first;
        }
        self.epochs_s.push_back(epoch_s);
        if self.epochs_s.len() > EPOCHS {
            self.epochs_s.pop_front();
            self.has_first = false;
        }
        let old = self.epochs_s.len().saturating_sub(NEW_PACE);
        if old == 0 {
            return;
        }
        let values: Vec<f64> = self.epochs_s.iter().copied().collect();
        let (before, now) = values.split_at(old);
        let before = median(before);
        let is_slower = now.iter().all(|epoch_s| *epoch_s > before * NEW_PACE_FACTOR);
        let is_faster = now.iter().all(|epoch_s| *epoch_s < before / NEW_PACE_FACTOR);
        if is_slower || is_faster {
            self.epochs_s.drain(..old);
            self.has_first = false;
        }
    }

    fn cut_piece(&mut self, reading: Reading) {
        let Some(anchor) = self.anchor else {
            self.anchor = Some(reading);
            return;
        };
        let epochs = reading.epoch - anchor.epoch;
        let seconds = reading.at.saturating_sub(anchor.at).as_secs_f64();
        // Output that was held back comes at one moment: the piece goes on to the next.
        if epochs < PIECE_MIN || seconds <= 0.0 {
            return;
        }
        self.anchor = Some(reading);
        self.pieces.push_back(Piece {
            epochs,
            epoch_s: seconds / epochs,
        });
        if self.pieces.len() > PIECES {
            self.pieces.pop_front();
        }
    }

    /// The whole epochs that count: the first, which contains the start of the program, only where it is the only one.
    fn whole_epochs(&self) -> Vec<f64> {
        let skipped = usize::from(self.has_first && self.epochs_s.len() > 1);
        self.epochs_s.iter().skip(skipped).copied().collect()
    }

    fn by_pieces(&self) -> Option<f64> {
        let epochs: f64 = self.pieces.iter().map(|piece| piece.epochs).sum();
        (self.pieces.len() >= PIECES_MIN || epochs >= 0.5).then(|| self.middle_piece())?
    }

    /// The median piece, each counted by its length.
    fn middle_piece(&self) -> Option<f64> {
        let epochs: f64 = self.pieces.iter().map(|piece| piece.epochs).sum();
        let mut sorted: Vec<Piece> = self.pieces.iter().copied().collect();
        sorted.sort_by(|one, other| one.epoch_s.total_cmp(&other.epoch_s));
        let mut done = 0.0;
        let middle = sorted.iter().find(|piece| {
            done += piece.epochs;
            done * 2.0 >= epochs
        });
        middle.map(|piece| piece.epoch_s)
    }

    /// The first epoch without what its first piece took longer than the others.
    fn without_start(&self, epoch_s: f64) -> f64 {
        let (Some(first), Some(usual)) = (self.pieces.front(), self.by_pieces()) else {
            return epoch_s;
        };
        if self.pieces.len() < PIECES_MIN || first.epochs > 0.5 {
            return epoch_s;
        }
        let start_s = (first.epoch_s - usual) * first.epochs;
        (epoch_s - start_s.max(0.0)).max(usual * 0.5)
    }
}

/// The median, of an even number the lower: pauses only make epochs longer. 0 for nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get(sorted.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0.0)
}

/// Half the distance between the quartiles of at least three `values`.
pub fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    Some((sorted[sorted.len() - 1 - quarter] - sorted[quarter]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(readings: &[(f64, f64)]) -> Pace {
        let mut pace = Pace::default();
        for &(epoch, at_s) in readings {
            pace.read(Reading {
                epoch,
                at: Duration::from_secs_f64(at_s),
            });
        }
        pace
    }

    fn is_near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 0.01 * expected)
    }

    #[test]
    fn table_of_readings() {
        type Case = (&'static [(f64, f64)], Option<f64>);
        let table: [Case; 7] = [
            (&[], None),
            (&[(1.0, 10.0)], None),
            (&[(1.0, 10.0), (2.0, 40.0)], Some(30.0)),
            // The end of the second epoch lies between two readings.
            (&[(1.0, 0.0), (1.5, 20.0), (2.5, 50.0)], Some(35.0)),
            // One slow epoch does not count.
            (
                &[(1.0, 0.0), (2.0, 10.0), (3.0, 20.0), (4.0, 1000.0), (5.0, 1010.0)],
                Some(10.0),
            ),
            // Reported twice: the first time counts.
            (&[(1.0, 0.0), (2.0, 10.0), (2.0, 14.0), (3.0, 20.0)], Some(10.0)),
            // Back to an earlier epoch: what was measured stays.
            (&[(7.0, 0.0), (8.0, 10.0), (3.0, 900.0), (4.0, 912.0)], Some(10.0)),
        ];
        for (readings, epoch_s) in table {
            assert_eq!(pace(readings).epoch_s(), epoch_s, "{readings:?}");
        }
    }

    #[test]
    fn a_new_pace_takes_the_place_of_the_old() {
        let mut readings: Vec<_> = (0..20)
            .map(|epoch| (f64::from(epoch), f64::from(epoch) * 100.0))
            .collect();
        readings.extend((1..=5).map(|epoch| (19.0 + f64::from(epoch), 1900.0 + f64::from(epoch))));
        assert_eq!(pace(&readings).epoch_s(), Some(1.0));
    }

    #[test]
    fn an_interruption_is_not_an_epoch() {
        let mut pace = pace(&[(1.0, 0.0), (2.0, 10.0)]);
        pace.interrupt();
        pace.read(Reading {
            epoch: 3.0,
            at: Duration::from_secs(5000),
        });
        assert_eq!(pace.epoch_s(), Some(10.0));
    }

    #[test]
    fn within_the_first_epoch_a_slow_start_and_a_pause_do_not_count() {
        // 60 s until the first step, 1 s each after that, and once 30 s for an evaluation.
        let steps = (1..=60).map(|step| {
            (
                f64::from(step) / 100.0,
                60.0 + f64::from(step) + if step > 30 { 30.0 } else { 0.0 },
            )
        });
        let readings: Vec<_> = std::iter::once((0.0, 0.0)).chain(steps).collect();
        assert!(pace(&readings[..3]).epoch_s().is_none(), "too early");
        let found = pace(&readings).epoch_s();
        assert!(is_near(found, 100.0), "{found:?}");
    }

    #[test]
    fn the_first_epoch_alone_counts_without_its_slow_start() {
        let readings: Vec<_> = (0..=100)
            .map(|step| {
                (
                    f64::from(step) / 100.0,
                    f64::from(step) + if step > 0 { 60.0 } else { 0.0 },
                )
            })
            .collect();
        let found = pace(&readings).epoch_s();
        assert!(is_near(found, 100.0), "{found:?}");
    }

    #[test]
    fn evaluations_that_every_epoch_has_are_part_of_it() {
        let mut readings = Vec::new();
        for epoch in 0..5 {
            for step in 0..100 {
                readings.push((
                    f64::from(epoch) + f64::from(step) / 100.0,
                    f64::from(epoch) * 130.0 + f64::from(step),
                ));
            }
        }
        let found = pace(&readings).epoch_s();
        assert!(is_near(found, 130.0), "{found:?}");
    }

    #[test]
    fn output_that_comes_late_and_in_lumps_is_no_infinite_speed() {
        let readings: Vec<_> = (0..500)
            .map(|step| (f64::from(step) / 100.0, f64::from(step / 40 * 40)))
            .collect();
        let found = pace(&readings).epoch_s().expect("measured");
        // Lumps of 40 s.
        assert!((60.0..=140.0).contains(&found), "{found}");
    }
}

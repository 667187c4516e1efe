// SPDX-License-Identifier: GPL-2.0-or-later
//! What the program's output is taken to say, beside what the program reports.

use crate::policy::directives::EPOCHS_MAX;
use crate::progress::Reading;

/// As long as the program has not ended well its last epoch is not quite done: it may still have to evaluate and save, and
/// a job that has reported all its epochs is never run again.
const NOT_QUITE: f64 = 0.0001;

/// Which source is believed, and what an epoch is.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    declared: Option<u32>,
    is_reported: bool,
    unit: Option<Unit>,
    whole: f64,
}

/// What is counted as epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Epoch,
    /// The whole run, of a program that counts its steps through and names no epochs.
    Run,
}

/// Where the training stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stand {
    /// Epochs done.
    pub epoch: f64,
    /// Epochs in all.
    pub epochs: Option<u32>,
    /// Epochs are counted differently from now on.
    pub counts_anew: bool,
    /// An epoch has ended.
    pub ends_epoch: bool,
}

impl Told {
    /// Nothing yet; so many epochs in all by the user's word.
    pub fn new(declared: Option<u32>) -> Self {
        Self {
            declared,
            is_reported: false,
            unit: None,
            whole: 0.0,
        }
    }

    /// The program reports by itself: its output is not believed any more. Whether it was until now.
    pub fn report(&mut self) -> bool {
        self.is_reported = true;
        self.unit.take().is_some()
    }

    /// What a reading of the output says; with `has_succeeded` the program has ended by itself and well.
    pub fn read(&mut self, reading: &Reading, has_succeeded: bool) -> Option<Stand> {
        if self.is_reported {
            return None;
        }
        let declared = self.declared.map(f64::from);
        let (unit, epoch, epochs) = match (reading.epochs(), reading.overall_fraction) {
            (Some(epoch), overall) => {
                let by_part = overall
                    .filter(|part| *part > 0.01)
                    .map(|part| (epoch / part).round());
                let known = declared
                    .or(reading.epochs_total)
                    .or(by_part.filter(|epochs| *epochs >= 1.0));
                (Unit::Epoch, epoch, known)
            }
            (None, Some(part)) => {
                let epochs = declared.unwrap_or(1.0);
                (Unit::Run, part * epochs, Some(epochs))
            }
            (None, None) => return None,
        };
        let epochs = epochs.filter(|epochs| (1.0..=f64::from(EPOCHS_MAX)).contains(epochs));
        let epoch = match epochs {
            Some(epochs) if has_succeeded => epoch.min(epochs),
            Some(epochs) => epoch.min(epochs - NOT_QUITE),
            None => epoch,
        };
        if !(0.0..=f64::from(EPOCHS_MAX)).contains(&epoch) {
            return None;
        }
        let counts_anew = self.unit.is_some_and(|before| before != unit);
        self.unit = Some(unit);
        let whole = epoch.floor();
        let ends_epoch = !counts_anew && unit == Unit::Epoch && whole > self.whole;
        self.whole = whole;
        Some(Stand {
            epoch,
            // A whole number by what it comes from.
            epochs: epochs.map(|epochs| epochs as u32),
            counts_anew,
            ends_epoch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(
        epochs_done: Option<f64>,
        epochs_total: Option<f64>,
        overall_fraction: Option<f64>,
    ) -> Reading {
        Reading {
            epochs_done,
            epochs_total,
            overall_fraction,
            ..Reading::default()
        }
    }

    fn stand(told: &mut Told, reading: &Reading, has_succeeded: bool) -> Option<(f64, Option<u32>)> {
        told.read(reading, has_succeeded)
            .map(|stand| (stand.epoch, stand.epochs))
    }

    #[test]
    fn the_unknown_stays_unknown() {
        assert_eq!(Told::new(Some(9)).read(&reading(None, None, None), true), None);
    }

    #[test]
    fn all_epochs_are_done_only_when_the_program_has_ended_well() {
        let mut told = Told::new(None);
        let all = reading(Some(3.0), Some(3.0), Some(1.0));
        assert_eq!(stand(&mut told, &all, false), Some((3.0 - NOT_QUITE, Some(3))));
        assert_eq!(stand(&mut told, &all, true), Some((3.0, Some(3))));
    }

    #[test]
    fn a_run_without_epochs_is_one_epoch_or_as_many_as_the_user_says() {
        let part = reading(None, None, Some(0.25));
        assert_eq!(stand(&mut Told::new(None), &part, false), Some((0.25, Some(1))));
        assert_eq!(stand(&mut Told::new(Some(8)), &part, false), Some((2.0, Some(8))));
        let mut told = Told::new(None);
        told.read(&part, false);
        let with_epochs = told
            .read(&reading(Some(1.5), None, Some(0.5)), false)
            .expect("known");
        assert!(
            with_epochs.counts_anew && with_epochs.epochs == Some(3),
            "{with_epochs:?}"
        );
    }

    #[test]
    fn what_the_program_reports_is_believed_alone() {
        let mut told = Told::new(None);
        told.read(&reading(Some(1.0), None, None), false);
        assert!(told.report() && !told.report());
        assert_eq!(told.read(&reading(Some(2.0), None, None), true), None);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts together what many lines say: where the training stands.

mod base;
mod steps;

use super::format::Format;
use super::reading::Reading;
use super::sight::{Base, Epoch, Mark, Means, Scope, Sight, Steps};
use super::timing::Timing;
use base::Bases;

/// So many lines in a row that contradict what came before are believed, where nothing announced a restart.
const CONTRADICTIONS: u32 = 4;

/// More epochs, or steps, are not believed.
const COUNT_MAX: f64 = 1e9;

/// Where a training stands, by its lines so far.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    format: Option<Format>,
    framework: Option<&'static str>,
    /// Epochs that were completed before the one under way; with a fraction where the program prints one.
    epoch: Option<f64>,
    is_fractional: bool,
    /// Whether the epoch under way is over, and only the next has not begun.
    is_over: bool,
    /// Whether the epoch under way was seen with a part of it done.
    is_under_way: bool,
    /// How much of the epoch under way is done.
    fraction: Option<f64>,
    epochs: Option<f64>,
    /// A total that stood alone, in an argument say.
    epochs_hint: Option<f64>,
    steps: Option<Steps>,
    steps_hint: Option<f64>,
    bases: Bases,
    is_finished: bool,
    restart_is_near: bool,
    contradictions: u32,
    candidate: f64,
    /// An unnamed bar began again: it is not the whole run.
    bar_repeats: bool,
    /// Steps of one epoch, where steps are counted through and epochs have fractions.
    steps_per_epoch: Option<f64>,
    counted_epochs: bool,
    restarts: u32,
    timing: Timing,
}

impl Tracker {
    /// A line says this, at the moment `stamp_s` of the log's own clock.
    pub fn see(&mut self, sight: &Sight, stamp_s: Option<f64>) {
        if let Some(epoch) = sight.epoch {
            if !(0.0..=COUNT_MAX).contains(&epoch.number) {
                return;
            }
            self.bases.learn(epoch, sight, self.epoch.is_none());
        }
        let taken = match sight.epoch {
            Some(epoch) => self.see_epoch(epoch, sight),
            None => self.see_steps(sight),
        };
        self.counted_epochs |= sight.format.counts_epochs;
        if taken {
            // A name that says more stays.
            if !sight.format.is_general || self.format.is_none_or(|format| format.is_general) {
                self.format = Some(sight.format);
            }
            self.timing
                .see(&sight.times, self.fraction, self.steps, stamp_s, self.place());
        }
    }

    /// Whether a bar that counts epochs was seen.
    pub fn counts_epochs(&self) -> bool {
        self.counted_epochs
    }

    /// A moment of the log's own clock that belongs to the last line of progress.
    pub fn stamp(&mut self, stamp_s: f64) {
        self.timing.stamp(stamp_s, self.place());
    }

    /// Whether nothing was seen yet and this depends on a guess of which number the first epoch has.
    pub fn is_first_guess(&self, sight: &Sight) -> bool {
        let is_guess = sight.epoch.is_some_and(|epoch| epoch.base == Base::LikelyZero);
        self.epoch.is_none() && is_guess && sight.format.is_general
    }

    /// The output is one whose epochs are known to be counted from 0.
    pub fn counts_from_zero(&mut self) {
        self.bases.zero_was_seen = true;
    }

    /// The output names the framework that writes it.
    pub fn name_framework(&mut self, name: &'static str) {
        self.framework = Some(name);
    }

    /// A line speaks of the run.
    pub fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Restart => self.restart_is_near = self.restart_is_near || self.format.is_some(),
            // What never trained cannot have finished.
            Mark::Finished => self.is_finished = self.format.is_some(),
            Mark::Epochs(epochs) => self.epochs_hint = Some(epochs),
            Mark::Steps(steps) => self.steps_hint = Some(steps),
            Mark::Took(seconds) => {
                if let Some(done) = self.epoch.filter(|_| self.is_fractional) {
                    self.timing.took(seconds, done);
                }
            }
        }
    }

    /// The program was started again, by whoever reads this.
    pub fn restart(&mut self) {
        self.restart_is_near = self.format.is_some();
        self.timing.interrupt();
    }

    /// What is known.
    pub fn reading(&self) -> Reading {
        let steps = self.steps;
        let epochs = self.total();
        let done = self
            .done()
            .map(|done| epochs.map_or(done, |epochs| done.min(epochs)));
        let run_steps = steps.filter(|steps| steps.scope == Scope::Run && !self.bar_repeats);
        let run_total = run_steps.and_then(|steps| steps.total.or(self.steps_hint));
        let by_steps = run_steps.zip(run_total).map(|(steps, total)| steps.done / total);
        let by_epochs = self.place().zip(epochs).map(|(place, epochs)| place / epochs);
        let is_same = |steps: f64, epochs: f64| (steps - epochs).abs() * self.total().unwrap_or(1.0) <= 1.5;
        let overall = match (by_steps, by_epochs) {
            (Some(steps), Some(epochs)) if !self.is_fractional && !is_same(steps, epochs) => Some(epochs),
            (Some(steps), _) => Some(steps),
            (None, epochs) => epochs,
        };
        let epoch_steps = run_total.zip(epochs).map(|(steps, epochs)| steps / epochs);
        let epoch_steps = epoch_steps.or(self.steps_per_epoch);
        let known = self.timing.epoch_s(self.place(), epochs, epoch_steps);
        let format = self.format.map(|format| match self.framework {
            Some(framework) if format.is_shared => Format::named(framework),
            _ => format,
        });
        Reading {
            format: format.map(|format| format.name),
            is_of_training: done.is_some() || format.is_some_and(|format| !format.is_common),
            epochs_done: done,
            epochs_total: epochs,
            fraction_in_epoch: self.fraction.map(|fraction| fraction.min(1.0)),
            overall_fraction: overall.map(|overall| overall.clamp(0.0, 1.0)),
            step: steps.map(|steps| steps.done),
            steps_total: steps.and_then(|steps| match steps.scope {
                Scope::Run => run_total.or(steps.total),
                _ => steps.total,
            }),
            seconds_per_epoch: known.map(|(epoch_s, _)| epoch_s),
            seconds_per_epoch_spread: known.and_then(|(_, spread_s)| spread_s),
            finished: self.is_finished.then_some(true),
            restarts: self.restarts,
        }
    }

    /// Epochs done, the one under way not counted unless it is complete.
    fn done(&self) -> Option<f64> {
        let is_complete =
            !self.is_over && !self.is_fractional && self.fraction.is_some_and(|fraction| fraction >= 1.0);
        self.epoch.map(|epoch| epoch + f64::from(u8::from(is_complete)))
    }

    /// Epochs done, with the part of the one under way.
    fn place(&self) -> Option<f64> {
        let part = self
            .fraction
            .filter(|_| !self.is_over && !self.is_fractional)
            .unwrap_or(0.0);
        self.epoch.map(|epoch| epoch + part)
    }

    fn total(&self) -> Option<f64> {
        let epochs = self.epochs.or(self.epochs_hint)?;
        // More were done than there should be: it was the total of something else.
        let is_believed = self.epochs.is_some() || self.epoch.is_none_or(|epoch| epoch <= epochs);
        is_believed.then_some(epochs)
    }

    fn see_epoch(&mut self, epoch: Epoch, sight: &Sight) -> bool {
        let base = self.bases.first(epoch.base);
        let before = match epoch.means {
            Means::Completed => epoch.number,
            Means::Inside => epoch.number - base,
            Means::Over => epoch.number - base + 1.0,
        }
        .max(0.0);
        let steps_total = sight.steps.and_then(|steps| steps.total).or_else(|| {
            let same = self.epoch == Some(before) || self.epoch.is_some();
            self.steps
                .filter(|steps| same && steps.scope == Scope::Epoch)
                .and_then(|steps| steps.total)
        });
        let epoch_steps = sight.steps.filter(|steps| steps.scope == Scope::Epoch);
        let fraction = epoch_steps
            .and_then(|steps| steps_total.map(|total| steps.done / total))
            .or(sight.fraction)
            .map(|fraction| fraction.min(1.0));
        let is_over = epoch.means == Means::Over;
        let place = before + fraction.filter(|_| !is_over).unwrap_or(0.0);
        if !self.is_accepted(place, fraction, sight.is_weak) {
            return false;
        }
        let is_same = self.epoch == Some(before) && !self.is_over;
        let ends_epoch = is_over
            && self
                .epoch
                .is_some_and(|epoch| epoch == before - 1.0 && !self.is_over);
        let completes_same = is_over && self.epoch == Some(before) && self.is_over;
        let had_fraction = self.fraction.is_some();
        self.is_fractional = epoch.means == Means::Completed && !sight.format.counts_epochs;
        if self.epoch != Some(before) {
            self.is_under_way = false;
        }
        self.is_under_way |= fraction.is_some_and(|fraction| fraction < 1.0);
        self.epoch = Some(before);
        self.is_over = is_over;
        let run_steps = sight
            .steps
            .or(self.steps)
            .filter(|steps| steps.scope == Scope::Run);
        if let Some(steps) = run_steps.filter(|_| self.is_fractional && before > 0.0) {
            self.steps_per_epoch = Some(steps.done / before);
        }
        self.learn_total(epoch, sight, base);
        match (sight.steps, is_over) {
            (Some(steps), _) => {
                self.steps = Some(Steps {
                    total: match steps.scope {
                        Scope::Epoch => steps_total,
                        _ => steps.total.or_else(|| {
                            self.steps
                                .filter(|known| known.scope == steps.scope)
                                .and_then(|known| known.total)
                        }),
                    },
                    ..steps
                });
                self.fraction = fraction;
            }
            (None, true) if (ends_epoch || completes_same) && had_fraction => {
                // The steps were those of the epoch that is over.
                self.fraction = Some(1.0);
                self.steps = self.steps.map(|steps| match steps.scope {
                    Scope::Epoch => Steps {
                        done: steps.total.unwrap_or(steps.done),
                        ..steps
                    },
                    _ => steps,
                });
            }
            (None, false) if is_same => {
                if let Some(fraction) = fraction {
                    self.set_fraction(fraction);
                }
            }
            (None, _) => {
                self.fraction = fraction;
                self.steps = self.steps.filter(|steps| steps.scope == Scope::Run);
            }
        }
        true
    }

    /// Only a percentage is known: the count of the steps is one that fits it.
    fn set_fraction(&mut self, fraction: f64) {
        self.fraction = Some(self.fraction.map_or(fraction, |known| known.max(fraction)));
        self.steps = self.steps.and_then(|steps| {
            let total = steps.total.filter(|_| steps.scope == Scope::Epoch)?;
            let done = (fraction * total).round();
            match total <= 100.0 || fraction >= 1.0 {
                true => Some(Steps {
                    done: done.max(steps.done),
                    ..steps
                }),
                false => Some(steps).filter(|steps| (steps.done / total - fraction).abs() < 0.01),
            }
        });
    }

    fn learn_total(&mut self, epoch: Epoch, sight: &Sight, base: f64) {
        let Some(printed) = sight.epochs.filter(|total| *total <= COUNT_MAX) else {
            return;
        };
        let is_last = match epoch.means {
            Means::Completed => false,
            _ if base > 0.0 => false,
            // The last of 25 is printed as 24/24 by some and as 24/25 by others.
            _ if self.epochs == Some(printed + 1.0) => true,
            _ => self.bases.total_was_reached || prints_last(sight.format, printed),
        };
        self.epochs = Some(if is_last { printed + 1.0 } else { printed });
    }

    /// Whether a line that puts the training at `place` is believed.
    fn is_accepted(&mut self, place: f64, fraction: Option<f64>, is_weak: bool) -> bool {
        let Some(epoch) = self.epoch else {
            return true;
        };
        let known = self.place().unwrap_or(epoch);
        if place >= known {
            self.contradictions = 0;
            if fraction.is_none() || place > known {
                self.restart_is_near = false;
            }
            return true;
        }
        // The end of an epoch printed once more, or its last steps behind its end.
        let is_behind = known - place <= 1.0;
        if self.restart_is_near {
            self.restarts += 1;
            self.settle();
            return true;
        }
        if self.is_finished || place.floor() == epoch && !self.is_over {
            return false;
        }
        // Rich draws the bars of earlier epochs again and again; no training begins with an epoch that is complete.
        let is_complete = fraction.is_some_and(|fraction| fraction >= 1.0);
        let is_believed = !is_weak && !is_behind && !is_complete || self.contradicts(place);
        if is_believed {
            self.restarts += 1;
            self.settle();
        }
        is_believed
    }

    /// Whether so many lines in a row went on from an earlier place that it is a restart.
    fn contradicts(&mut self, place: f64) -> bool {
        if self.contradictions == 0 || place > self.candidate {
            self.contradictions += 1;
        }
        self.candidate = place;
        self.contradictions >= CONTRADICTIONS
    }

    /// A new run of the program begins.
    fn settle(&mut self) {
        self.restart_is_near = false;
        self.contradictions = 0;
        self.is_finished = false;
        self.fraction = None;
        self.is_over = false;
        self.timing.interrupt();
    }
}

/// Whether a program that counts its epochs from 0 prints the number of the last one rather than how many there are.
fn prints_last(format: Format, printed: f64) -> bool {
    // Totals are round numbers: the last of 25 is 24.
    format.prints_last || printed % 5.0 != 0.0 && (printed + 1.0) % 5.0 == 0.0
}

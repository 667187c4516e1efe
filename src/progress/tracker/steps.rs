// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps without an epoch beside them: of the epoch under way, or of the run.

use super::{COUNT_MAX, Tracker};
use crate::progress::sight::{Scope, Sight, Steps};

/// An unnamed bar of less than this part of the steps of the one before is an evaluation.
const EVALUATION_PART: f64 = 0.25;

impl Tracker {
    pub(super) fn see_steps(&mut self, sight: &Sight) -> bool {
        let Some(steps) = sight.steps else {
            return false;
        };
        if !(0.0..=COUNT_MAX * 1e3).contains(&steps.done) {
            return false;
        }
        let is_in_epoch = match steps.scope {
            Scope::Epoch => true,
            Scope::Run => false,
            Scope::Unknown => self.epoch.is_some() && !self.is_fractional,
        };
        match is_in_epoch {
            true => self.see_steps_in_epoch(steps),
            false => self.see_steps_of_run(steps, steps.scope == Scope::Unknown && !sight.format.is_general),
        }
    }

    fn see_steps_in_epoch(&mut self, steps: Steps) -> bool {
        let known = self.steps.filter(|known| known.scope == Scope::Epoch);
        let fraction = steps.total.map(|total| (steps.done / total).min(1.0));
        let is_complete = self.fraction.is_some_and(|fraction| fraction >= 1.0);
        if self.is_over {
            // Its epoch is over: this is the next one, or an evaluation behind it.
            if known.is_some_and(|known| known.total.is_some() && known.total != steps.total) {
                return false;
            }
            self.is_over = false;
        } else if self.epoch.is_some() {
            let is_other = known.is_some_and(|known| {
                known.total.is_some() && steps.total.is_some() && known.total != steps.total
            });
            // It was complete from the beginning: the last bar of the epoch before, which came behind the line that
            // begins this one, by another way.
            let was_late = is_complete && !self.is_under_way && steps.scope == Scope::Unknown && !is_other;
            if was_late && fraction.is_some_and(|fraction| fraction < 1.0) {
                self.steps = None;
            } else if is_complete || is_other {
                // Predictions and evaluations behind, or between, the steps.
                return false;
            }
            let known = self.steps.filter(|known| known.scope == Scope::Epoch);
            if known.is_some_and(|known| steps.done < known.done) && !self.restart_is_near {
                return false;
            }
        }
        self.steps = Some(Steps {
            total: steps.total,
            done: steps.done,
            scope: Scope::Epoch,
        });
        self.fraction = fraction;
        self.is_under_way |= fraction.is_some_and(|fraction| fraction < 1.0);
        true
    }

    fn see_steps_of_run(&mut self, steps: Steps, is_bar: bool) -> bool {
        let known = self.steps.filter(|known| known.scope == Scope::Run);
        if let Some(known) = known {
            let total = known.total.filter(|_| is_bar);
            let is_other = is_bar && steps.total != known.total;
            let is_complete = total.is_some_and(|total| known.done >= total);
            if self.restart_is_near {
                self.restarts += u32::from(steps.done < known.done);
                self.settle();
            } else if self.is_finished && steps.done <= known.done || is_other && !is_complete {
                return false;
            } else if is_other {
                let part = steps.total.zip(total).map(|(new, old)| new / old);
                if part.is_none_or(|part| part < EVALUATION_PART) {
                    return false;
                }
                self.bar_repeats = false;
            } else if steps.done < known.done {
                if is_bar && is_complete {
                    self.bar_repeats = true;
                } else if !self.contradicts(steps.done) {
                    return false;
                } else {
                    self.restarts += 1;
                    self.settle();
                }
            } else {
                self.contradictions = 0;
            }
        }
        self.steps = Some(Steps {
            scope: Scope::Run,
            total: steps.total.or(known.and_then(|known| known.total)),
            ..steps
        });
        true
    }
}

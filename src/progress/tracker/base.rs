// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a program counts its epochs from 0 or from 1, learnt from what it prints.

use crate::progress::sight::{Base, Epoch, Means, Sight};

/// What is known of the number of the first epoch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bases {
    /// A first epoch that was 0.
    pub zero_was_seen: bool,
    one_is_certain: bool,
    /// An epoch's number was the total.
    pub total_was_reached: bool,
}

impl Bases {
    /// What a line says of it; the first line of the output may say more.
    pub fn learn(&mut self, epoch: Epoch, sight: &Sight, is_first: bool) {
        if epoch.means == Means::Completed {
            return;
        }
        match epoch.base {
            Base::Zero => {}
            Base::One => self.one_is_certain = true,
            Base::LikelyOne | Base::LikelyZero if epoch.number == 0.0 => self.zero_was_seen = true,
            Base::LikelyOne => {
                // A number beside its total; unless a 0 was seen it counts from 1.
                self.one_is_certain |= !self.zero_was_seen && sight.epochs.is_some();
            }
            // Lines by hand count from 0 or from 1. That one epoch less is done is the safe guess.
            Base::LikelyZero if is_first && sight.format.is_general => self.one_is_certain = true,
            Base::LikelyZero if is_first => {
                let is_at_start = sight.steps.is_none_or(|steps| {
                    steps.total.is_none_or(|total| steps.done <= 0.05 * total) && steps.done <= 1000.0
                });
                let is_one = epoch.means == Means::Over || epoch.number == 1.0 && is_at_start;
                self.one_is_certain |= is_one && sight.fraction.is_none_or(|fraction| fraction <= 0.05);
            }
            Base::LikelyZero => {}
        }
        if sight.epochs == Some(epoch.number) {
            self.total_was_reached = true;
        }
    }

    /// The number of the first epoch.
    pub fn first(&self, base: Base) -> f64 {
        let is_zero = match base {
            Base::Zero => true,
            Base::One => false,
            _ if self.zero_was_seen => true,
            _ if self.one_is_certain => false,
            Base::LikelyOne => false,
            Base::LikelyZero => true,
        };
        if is_zero { 0.0 } else { 1.0 }
    }
}

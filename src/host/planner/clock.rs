// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether somebody has set the clock since the last look.

use crate::host::core::unix_now;
use crate::policy::units::UnixTime;
use std::time::Instant;

/// A clock that differs by less has not been stepped: it runs a bit fast or slow.
const STEP_MIN_S: i64 = 5;

/// What the clock shows, and when that is by a clock that nobody can set.
#[derive(Clone, Copy, Debug)]
struct Moment {
    shown: UnixTime,
    at: Instant,
}

/// The clock as it was read for the last two looks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// For the last look of which there are facts, as far as they were asked about.
    before: Option<Moment>,
    /// For the latest one.
    now: Option<Moment>,
}

impl Clock {
    /// The time of a look that begins.
    pub(super) fn read(&mut self) -> UnixTime {
        let shown = unix_now();
        self.now = Some(Moment {
            shown,
            at: Instant::now(),
        });
        shown
    }

    /// By how many seconds the clock was stepped between the look that was asked about last and this one. Both clocks were
    /// read at the same moment: a look may wait for Slurm's locks for longer than any step is.
    pub(super) fn step(&mut self) -> Option<i64> {
        let now = self.now?;
        let before = self.before.replace(now)?;
        let passed = now.at.saturating_duration_since(before.at);
        let passed_s = i64::try_from(passed.as_secs()).ok()?;
        let by_s = now
            .shown
            .0
            .saturating_sub(before.shown.0)
            .saturating_sub(passed_s);
        (by_s.abs() >= STEP_MIN_S).then_some(by_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// By how much the clock was stepped where it showed `shown_s` so many seconds ago.
    fn steps(moments: &[(u64, i64)]) -> Vec<Option<i64>> {
        let now = Instant::now();
        let mut clock = Clock::default();
        let step = |(ago_s, shown_s): &(u64, i64)| {
            clock.now = Some(Moment {
                shown: UnixTime(*shown_s),
                at: now - Duration::from_secs(*ago_s),
            });
            clock.step()
        };
        moments.iter().map(step).collect()
    }

    #[test]
    fn a_clock_that_goes_on_is_not_stepped_however_long_a_look_takes() {
        // Asked about now, as if each look had had to wait for Slurm's locks for a minute or more.
        assert_eq!(steps(&[(180, 1000), (120, 1060), (60, 1121)]), [None; 3]);
    }

    #[test]
    fn a_step_is_told_once_and_with_its_direction() {
        let seen = steps(&[
            (40, 1000),
            (30, 1050),
            (20, 1060),
            (10, 1030),
            (5, 1035),
            (0, 1036),
        ]);
        assert_eq!(seen, [None, Some(40), None, Some(-40), None, None]);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Seconds per epoch, from what the text itself says: nothing is known of when it was written.

use super::pace::{Pace, Reading, median, spread};
use super::sight::{Scope, Steps, Times};
use std::collections::VecDeque;
use std::time::Duration;

/// How many values of each kind are remembered.
const VALUES: usize = 15;

/// Whole seconds of a shorter epoch say less than the rate of its steps.
const COARSE_S: f64 = 10.0;

/// All the times in the text that say how long an epoch takes.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Of whole epochs, as stated.
    stated: Values,
    /// Of epochs, by the rate of their steps.
    by_rate: Values,
    /// Of epochs, by what is left of them.
    by_left: Values,
    /// Of one step of the whole run.
    step_s: Values,
    /// What is left of the run, and of how many epochs at that time.
    run_left_s: Option<(f64, Option<f64>)>,
    by_clock: Pace,
    last_stamp_s: f64,
    /// By a statement on the whole training.
    overall: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Values(VecDeque<f64>);

impl Values {
    fn push(&mut self, value: f64) {
        if value.is_finite() && value > 0.0 {
            self.0.push_back(value);
            if self.0.len() > VALUES {
                self.0.pop_front();
            }
        }
    }

    fn all(&self) -> Vec<f64> {
        self.0.iter().copied().collect()
    }
}

impl Timing {
    /// A line with these times, that put the training at `place`.
    pub fn see(
        &mut self,
        times: &Times,
        fraction: Option<f64>,
        steps: Option<Steps>,
        stamp_s: Option<f64>,
        place: Option<f64>,
    ) {
        if let Some(epoch_s) = times.epoch_s {
            self.stated.push(epoch_s);
        }
        if let (Some(step_s), Some(steps)) = (times.step_s, steps) {
            match (steps.scope, steps.total) {
                (Scope::Epoch, Some(total)) => self.by_rate.push(step_s * total),
                (Scope::Run, _) => self.step_s.push(step_s),
                _ => {}
            }
        }
        if let (Some(left_s), Some(fraction)) = (times.left_s, fraction)
            && fraction > 0.0
            && fraction < 1.0
        {
            let whole_s = times
                .elapsed_s
                .map_or(left_s / (1.0 - fraction), |elapsed_s| elapsed_s + left_s);
            self.by_left.push(whole_s);
        }
        let run_left_s = times.run_left_s.or(times
            .left_s
            .filter(|_| steps.is_some_and(|steps| steps.scope == Scope::Run)));
        if let (Some(left_s), None, Some(steps)) = (run_left_s, times.step_s, steps)
            && let (Scope::Run, Some(total)) = (steps.scope, steps.total)
            && total > steps.done
        {
            self.step_s.push(left_s / (total - steps.done));
        }
        if let Some(run_left_s) = run_left_s {
            self.run_left_s = Some((run_left_s, place));
        }
        if let Some(stamp_s) = stamp_s {
            self.stamp(stamp_s, place);
        }
    }

    /// The log's own clock, when the training was at `place`.
    pub fn stamp(&mut self, stamp_s: f64, place: Option<f64>) {
        let Some(epoch) = place else { return };
        if stamp_s < self.last_stamp_s {
            self.by_clock.interrupt();
        }
        self.last_stamp_s = stamp_s;
        if let Ok(at) = Duration::try_from_secs_f64(stamp_s) {
            self.by_clock.read(Reading { epoch, at });
        }
    }

    /// The whole training of `epochs` took so long.
    pub fn took(&mut self, seconds: f64, epochs: f64) {
        if epochs > 0.0 && seconds > 0.0 {
            self.overall = Some(seconds / epochs);
        }
    }

    /// The program began again.
    pub fn interrupt(&mut self) {
        self.by_clock.interrupt();
        self.last_stamp_s = 0.0;
    }

    /// Seconds per epoch and their spread; `place` epochs of `epochs` are done, of so many steps each where those are counted through.
    pub fn epoch_s(
        &self,
        place: Option<f64>,
        epochs: Option<f64>,
        epoch_steps: Option<f64>,
    ) -> Option<(f64, Option<f64>)> {
        place?;
        let stated = without_first(self.stated.all());
        let by_rate = without_start(self.by_rate.all());
        let is_coarse = stated
            .iter()
            .all(|seconds| *seconds < COARSE_S && seconds.fract() == 0.0);
        if !stated.is_empty() && (!is_coarse || by_rate.is_empty()) {
            return Some(of(&stated));
        }
        if self.by_clock.epochs_measured() > 1 {
            return self
                .by_clock
                .epoch_s()
                .map(|epoch_s| (epoch_s, self.by_clock.spread_s()));
        }
        if !by_rate.is_empty() {
            return Some(of(&by_rate));
        }
        if let Some(epoch_s) = self.by_clock.epoch_s() {
            return Some((epoch_s, self.by_clock.spread_s()));
        }
        let by_left = self.by_left.all();
        if !by_left.is_empty() {
            return Some(of(&by_left));
        }
        if let Some(overall) = self.overall {
            return Some((overall, None));
        }
        let steps = self.step_s.all();
        if let (Some(epoch_steps), false) = (epoch_steps, steps.is_empty()) {
            return Some((median(&steps) * epoch_steps, None));
        }
        let by_run = self.run_left_s.and_then(|(left_s, then)| {
            let left = epochs? - then?;
            (left > 0.0 && left_s > 0.0).then(|| left_s / left)
        });
        by_run
            .or_else(|| self.by_clock.rough_epoch_s())
            .map(|epoch_s| (epoch_s, None))
    }
}

/// The first epoch contains the start of the program.
fn without_first(mut values: Vec<f64>) -> Vec<f64> {
    if values.len() > 2 && values.len() < VALUES {
        values.remove(0);
    }
    values
}

/// The first rate is that of a program that is still starting.
fn without_start(mut values: Vec<f64>) -> Vec<f64> {
    if values.len() > 1 && values.len() < VALUES {
        values.remove(0);
    }
    values
}

fn of(values: &[f64]) -> (f64, Option<f64>) {
    (median(values), spread(values))
}

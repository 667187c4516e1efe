// SPDX-License-Identifier: GPL-2.0-or-later
//! What of the training's progress is worth publishing, and when.
//!
//! The plugin foresees progress from the last report: `epoch + elapsed / epoch_s`. Only what it cannot foresee is
//! published, because each update of a comment is work for slurmctld.

use super::time::Now;
use super::told::Stand;
use crate::policy::directives::{Key, SECONDS_MAX};
use crate::policy::units::{Seconds, UnixTime};
use crate::progress::pace::{Pace, Reading};
use std::time::Duration;

/// How far, in epochs, the plugin's foresight may be off.
const TOLERANCE: f64 = 0.1;

/// Of what the progress consists that the job's comment carries.
#[derive(Clone, Debug)]
pub struct Progress {
    min_interval: Duration,
    epochs: Option<u32>,
    pace: Pace,
    /// When the last save was finished, where that is still to be published.
    saved: Option<UnixTime>,
    published: Option<Published>,
    is_wanted: bool,
}

/// What was published last.
#[derive(Clone, Copy, Debug)]
struct Published {
    at: Duration,
    epochs: Option<u32>,
    reading: Option<Reading>,
    epoch_s: Option<f64>,
}

impl Progress {
    /// No report yet. `epochs` where the total is known beforehand.
    pub fn new(epochs: Option<u32>, min_interval: Duration) -> Self {
        Self {
            min_interval,
            epochs,
            pace: Pace::default(),
            saved: None,
            published: None,
            is_wanted: false,
        }
    }

    /// The program reported, at the time `at`.
    pub fn report(&mut self, epoch: Option<f64>, epochs: Option<u32>, at: Duration) {
        self.epochs = epochs.or(self.epochs);
        if let Some(epoch) = epoch {
            self.pace.read(Reading { epoch, at });
        }
        if epoch.is_some() || epochs.is_some() {
            self.is_wanted |= !self.is_foreseen();
        }
    }

    /// The program's output said, at the time `at`, where it stands.
    pub fn stand(&mut self, stand: &Stand, at: Duration) {
        if stand.counts_anew {
            self.begin_anew(stand.epochs);
        }
        self.report(Some(stand.epoch), stand.epochs, at);
    }

    /// The program saved, of its own accord.
    pub fn save(&mut self, at: UnixTime) {
        self.saved = Some(at);
        self.is_wanted = true;
    }

    /// The program was started again.
    pub fn interrupt(&mut self) {
        self.pace.interrupt();
    }

    /// What was reported so far counted something else, steps rather than epochs say.
    pub fn begin_anew(&mut self, epochs: Option<u32>) {
        self.epochs = epochs;
        self.pace = Pace::default();
    }

    /// Whether the training has reached its end.
    pub fn is_finished(&self) -> bool {
        match (self.pace.last(), self.epochs) {
            (Some(last), Some(epochs)) => last.epoch >= f64::from(epochs),
            _ => false,
        }
    }

    /// Whether it is known that there are epochs left.
    pub fn has_epochs_left(&self) -> bool {
        self.pace.last().is_some() && self.epochs.is_some() && !self.is_finished()
    }

    /// Whether there is something that is not published yet, however small.
    pub fn has_news(&self) -> bool {
        let published = self.published.and_then(|published| published.reading);
        self.is_wanted || self.pace.last() != published
    }

    /// When there is something to publish, on the monotonic clock; `None` while there is nothing.
    pub fn due(&self) -> Option<Duration> {
        let earliest = self
            .published
            .map_or(Duration::ZERO, |published| published.at + self.min_interval);
        self.is_wanted.then_some(earliest)
    }

    /// What to publish now, the most important first. It then counts as published.
    pub fn publish(&mut self, now: Now) -> Vec<(Key, String)> {
        let epoch_s = self.pace.epoch_s();
        let reading = self.pace.last();
        let mut changes = Vec::new();
        if let Some(saved) = self.saved.take() {
            changes.push((Key::Saved, saved.to_string()));
        }
        if let Some(reading) = reading {
            changes.push((Key::Epoch, decimal(reading.epoch, 4)));
        }
        if let Some(epochs) = self.epochs {
            changes.push((Key::Epochs, epochs.to_string()));
        }
        if let Some(epoch_s) = epoch_s {
            changes.push((Key::EpochS, seconds(Seconds(epoch_s))));
        }
        if let Some(reading) = reading {
            let age_s = now.monotonic.saturating_sub(reading.at).as_secs();
            let at = now.unix.0.saturating_sub_unsigned(age_s);
            changes.push((Key::At, at.to_string()));
        }
        self.published = Some(Published {
            at: now.monotonic,
            epochs: self.epochs,
            reading,
            epoch_s,
        });
        self.is_wanted = false;
        changes
    }

    /// Whether the plugin knows as much from what was published last.
    fn is_foreseen(&self) -> bool {
        let Some(published) = self.published else {
            return false;
        };
        if published.epochs != self.epochs {
            return false;
        }
        match (self.pace.last(), published.reading, published.epoch_s) {
            (None, None, _) => true,
            (Some(last), Some(then), Some(epoch_s)) => {
                let elapsed_s = last.at.saturating_sub(then.at).as_secs_f64();
                (then.epoch + elapsed_s / epoch_s - last.epoch).abs() <= TOLERANCE
            }
            // Without seconds per epoch it foresees nothing.
            (last, then, _) => last == then,
        }
    }
}

/// Seconds as a directive has them: never 0 for something that takes time, and no longer than is believed.
pub fn seconds(duration: Seconds) -> String {
    decimal(duration.0.clamp(0.001, SECONDS_MAX), 3)
}

/// `number` with at most so many decimals, cut rather than rounded: an epoch that is almost done is not done.
fn decimal(number: f64, decimals: u8) -> String {
    let scale = 10_f64.powi(i32::from(decimals));
    // The tiny addition keeps 0.3 from being cut to 0.2999.
    format!("{}", (number * scale + 1e-6).floor() / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64) -> Now {
        Now {
            monotonic: Duration::from_secs(second),
            unix: UnixTime(1000 + i64::try_from(second).expect("small")),
        }
    }

    fn progress() -> Progress {
        Progress::new(None, Duration::from_secs(30))
    }

    fn text(changes: Vec<(Key, String)>) -> String {
        let words: Vec<_> = changes
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        words.join(" ")
    }

    #[test]
    fn the_first_report_is_published_at_once_and_the_second_for_its_pace() {
        let mut progress = progress();
        assert_eq!(progress.due(), None);
        progress.report(Some(1.0), Some(90), Duration::from_secs(5));
        assert_eq!(progress.due(), Some(Duration::ZERO));
        assert_eq!(text(progress.publish(at(7))), "epoch=1 epochs=90 at=1005");
        assert_eq!(progress.due(), None);
        progress.report(Some(2.0), Some(90), Duration::from_secs(15));
        assert_eq!(
            progress.due(),
            Some(Duration::from_secs(37)),
            "30 s after the one before"
        );
        assert_eq!(
            text(progress.publish(at(37))),
            "epoch=2 epochs=90 epoch_s=10 at=1015"
        );
    }

    #[test]
    fn only_what_cannot_be_foreseen_is_published() {
        // Published at epoch 2, after 200 s, with 100 s an epoch.
        let table = [(300, false), (309, false), (291, false), (311, true), (289, true)];
        for (second, is_published) in table {
            let mut progress = progress();
            progress.report(Some(1.0), None, Duration::from_secs(100));
            progress.report(Some(2.0), None, Duration::from_secs(200));
            progress.publish(at(200));
            progress.report(Some(3.0), None, Duration::from_secs(second));
            assert_eq!(progress.due().is_some(), is_published, "epoch 3 after {second} s");
            assert!(progress.has_news());
        }
    }

    /// So many updates in a day of epochs that take `epoch_s(number)` seconds, with a reading at each of 100 steps.
    fn updates_in_a_day(epoch_s: impl Fn(u32) -> f64) -> u32 {
        let mut progress = progress();
        let (mut second, mut updates, mut epoch) = (60.0, 0, 0);
        while second < 86_400.0 {
            let step_s = epoch_s(epoch) / 100.0;
            for step in 0..100 {
                second += step_s;
                let done = f64::from(epoch) + f64::from(step + 1) / 100.0;
                progress.report(Some(done), None, Duration::from_secs_f64(second));
                if progress.due().is_some_and(|due| due.as_secs_f64() <= second) {
                    progress.publish(at(second as u64));
                    updates += 1;
                }
            }
            epoch += 1;
        }
        updates
    }

    #[test]
    fn a_day_of_steady_epochs_costs_few_updates() {
        let steady = updates_in_a_day(|_| 300.0);
        assert!(steady <= 5, "{steady}");
        // One percent more or less, in no order.
        let uneven = updates_in_a_day(|epoch| {
            300.0 + f64::from(epoch.wrapping_mul(2_654_435_761) >> 16 & 0xff) / 128.0 * 3.0 - 3.0
        });
        assert!(uneven <= 20, "{uneven}");
        let slow_start = updates_in_a_day(|epoch| if epoch == 0 { 500.0 } else { 300.0 });
        assert!(slow_start <= 20, "{slow_start}");
        println!("updates a day: {steady} steady, {uneven} uneven, {slow_start} after a slow start");
    }

    #[test]
    fn a_new_total_and_a_save_are_published() {
        let mut progress = progress();
        progress.report(None, Some(90), Duration::ZERO);
        progress.publish(at(0));
        progress.report(None, Some(90), Duration::ZERO);
        assert_eq!(progress.due(), None);
        progress.report(None, Some(100), Duration::ZERO);
        assert!(progress.due().is_some());
        progress.publish(at(0));
        progress.save(UnixTime(1003));
        assert_eq!(progress.due(), Some(Duration::from_secs(30)));
        assert_eq!(text(progress.publish(at(40))), "saved=1003 epochs=100");
    }

    #[test]
    fn finished_is_the_last_epoch_reported() {
        let mut progress = Progress::new(Some(2), Duration::ZERO);
        assert!(!progress.is_finished());
        progress.report(Some(1.999_999), None, Duration::ZERO);
        assert!(!progress.is_finished());
        assert!(text(progress.publish(at(0))).starts_with("epoch=1.9999 "));
        progress.report(Some(2.0), None, Duration::ZERO);
        assert!(progress.is_finished());
    }

    #[test]
    fn numbers_are_short_and_in_range() {
        let table = [
            (0.3, "0.3"),
            (12.0, "12"),
            (0.0, "0.001"),
            (1e-9, "0.001"),
            (1e9, "31536000"),
            (2.00049, "2"),
        ];
        for (number, written) in table {
            assert_eq!(seconds(Seconds(number)), written);
        }
        assert_eq!(decimal(12.25, 4), "12.25");
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What is known of a training after some of its output.

use serde::{Serialize, Serializer};

/// Where a training stands. What the output does not say is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Reading {
    /// What kind of output it is, for people; `None` where nothing was recognised.
    pub format: Option<&'static str>,
    /// Epochs completed; whole unless the program itself prints a fraction.
    #[serde(serialize_with = "number")]
    pub epochs_done: Option<f64>,
    /// Epochs in all.
    #[serde(serialize_with = "number")]
    pub epochs_total: Option<f64>,
    /// How much of the epoch seen last is done, 0 to 1; 1 while it is complete and the next has not begun.
    pub fraction_in_epoch: Option<f64>,
    /// How much of the whole training is done, 0 to 1.
    pub overall_fraction: Option<f64>,
    /// Steps done: of the epoch, or of the run where the program counts through.
    #[serde(serialize_with = "number")]
    pub step: Option<f64>,
    /// Steps of the epoch, or of the run.
    #[serde(serialize_with = "number")]
    pub steps_total: Option<f64>,
    /// Seconds that one epoch takes.
    pub seconds_per_epoch: Option<f64>,
    /// Half the distance between the quartiles of the measured epochs, in seconds.
    pub seconds_per_epoch_spread: Option<f64>,
    /// Whether the output says that the training has ended.
    pub finished: Option<bool>,
    /// How often the training began again from an earlier place.
    pub restarts: u32,
    /// Whether this is the output of a training, and not of any program that counts something.
    #[serde(skip)]
    pub is_of_training: bool,
}

impl Reading {
    /// The same, where it is known from elsewhere that there are so many epochs in all.
    pub fn with_total(mut self, epochs: f64) -> Self {
        self.epochs_total = Some(epochs);
        if let Some(done) = self.epochs() {
            self.overall_fraction = Some((done / epochs).clamp(0.0, 1.0));
        }
        self
    }

    /// Epochs done with the part of the one under way.
    pub fn epochs(&self) -> Option<f64> {
        let done = self.epochs_done?;
        let part = self.fraction_in_epoch.filter(|part| *part < 1.0).unwrap_or(0.0);
        Some(done + part)
    }
}

/// A whole number without its fraction.
fn number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        None => serializer.serialize_none(),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => serializer.serialize_i64(*value as i64),
        Some(value) => serializer.serialize_f64(*value),
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What one line says of a training's progress.

use super::format::Format;

/// What was seen in one line. Nothing is filled in that the line does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sight {
    /// What kind of line it is.
    pub format: Format,
    /// Which epoch it speaks of.
    pub epoch: Option<Epoch>,
    /// Epochs in all, as printed beside the epoch.
    pub epochs: Option<f64>,
    /// The steps.
    pub steps: Option<Steps>,
    /// How much of what the steps count is done, where that is printed as a percentage.
    pub fraction: Option<f64>,
    /// Seconds of time.
    pub times: Times,
    /// How far this line is trusted where it contradicts what came before.
    pub is_weak: bool,
}

/// An epoch as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// The number.
    pub number: f64,
    /// What it means.
    pub means: Means,
    /// Which number the first epoch has.
    pub base: Base,
}

/// What the number of an epoch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// The training is within this epoch.
    Inside,
    /// This epoch is over.
    Over,
    /// So many epochs are completed, with a fraction.
    Completed,
}

/// The number of the first epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// 0, for certain.
    Zero,
    /// 1, for certain.
    One,
    /// Probably 1: there is a total beside it.
    LikelyOne,
    /// Probably 0, and nothing else is known.
    LikelyZero,
}

/// Steps done, of how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// Steps done.
    pub done: f64,
    /// Of so many.
    pub total: Option<f64>,
    /// What the total is of.
    pub scope: Scope,
}

/// What steps are counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One epoch.
    Epoch,
    /// The whole run.
    Run,
    /// The line does not say.
    Unknown,
}

/// Times that a line states, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Of one step.
    pub step_s: Option<f64>,
    /// Since the epoch (or the run, as the steps are counted) began.
    pub elapsed_s: Option<f64>,
    /// Until the end of what the steps count.
    pub left_s: Option<f64>,
    /// Until the end of the whole run.
    pub run_left_s: Option<f64>,
    /// Of one whole epoch.
    pub epoch_s: Option<f64>,
}

/// What a line says of the run as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// The program, or the job, begins again.
    Restart,
    /// The training has ended.
    Finished,
    /// So many epochs are to be trained.
    Epochs(f64),
    /// So many steps are to be done in all.
    Steps(f64),
    /// The whole training took so many seconds.
    Took(f64),
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Kinds of lines that speak of progress.

/// Which kind of line one is: its name is for people, the rest is what readers go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The name of the framework, or of the form.
    pub name: &'static str,
    /// Says nothing of who writes it: any other format says more.
    pub is_general: bool,
    /// Other programs than trainings print it as well.
    pub is_common: bool,
    /// Frameworks use it as it is: one that names itself elsewhere in the output says more.
    pub is_shared: bool,
    /// Its steps are epochs.
    pub counts_epochs: bool,
    /// A program that counts its epochs from 0 prints the number of the last one as how many there are.
    pub prints_last: bool,
}

impl Format {
    /// Lines by hand that name an epoch.
    pub const EPOCH_LINES: Self = Self {
        is_general: true,
        is_shared: true,
        ..Self::named("epoch lines")
    };
    /// Lines by hand that count steps.
    pub const STEP_LINES: Self = Self {
        is_general: true,
        is_common: true,
        ..Self::named("step lines")
    };
    /// tqdm around batches.
    pub const TQDM: Self = Self {
        is_common: true,
        is_shared: true,
        ..Self::named("tqdm")
    };
    /// tqdm around the epochs themselves.
    pub const TQDM_OVER_EPOCHS: Self = Self {
        counts_epochs: true,
        ..Self::named("tqdm over epochs")
    };
    /// Bars of Rich.
    pub const RICH: Self = Self {
        is_common: true,
        is_shared: true,
        prints_last: true,
        ..Self::named("Rich bar")
    };
    /// Bars of Ultralytics' YOLO.
    pub const ULTRALYTICS: Self = Self {
        prints_last: true,
        ..Self::named("Ultralytics")
    };

    /// A format of which only the name matters.
    pub const fn named(name: &'static str) -> Self {
        Self {
            name,
            is_general: false,
            is_common: false,
            is_shared: false,
            counts_epochs: false,
            prints_last: false,
        }
    }
}

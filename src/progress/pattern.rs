// SPDX-License-Identifier: GPL-2.0-or-later
//! A pattern of the user's own, for output that no reader knows.

use super::format::Format;
use super::sight::{Base, Epoch, Means, Scope, Sight, Steps, Times};
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::str::FromStr;

/// Longer patterns are refused.
const BYTES_MAX: usize = 4096;

/// A compiled pattern takes at most so much memory, and its matcher as much again.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// The names that a group may have.
const GROUPS: [&str; 9] = [
    "epoch",
    "running",
    "running0",
    "epochs",
    "step",
    "steps",
    "seconds_per_epoch",
    "seconds_per_step",
    "finished",
];

/// A regular expression whose named groups say what they find.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// Why a pattern cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// Far too long.
    #[error("the pattern has {0} bytes; at most {BYTES_MAX} are read")]
    TooLong(usize),
    /// Not a regular expression.
    #[error("the pattern is no regular expression: {0}")]
    Syntax(String),
    /// A group of an unknown name.
    #[error("the pattern has a group named {0}; groups may be named {known}", known = GROUPS.join(", "))]
    UnknownGroup(String),
    /// No group that says something.
    #[error("the pattern has no named group; write for example (?P<epoch>\\d+) for the epochs completed")]
    NoGroup,
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text.len() > BYTES_MAX {
            return Err(PatternError::TooLong(text.len()));
        }
        let mut builder = RegexBuilder::new(text);
        builder
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX);
        let regex = builder
            .build()
            .map_err(|error| PatternError::Syntax(error.to_string()))?;
        let mut names = regex.capture_names().flatten().peekable();
        if names.peek().is_none() {
            return Err(PatternError::NoGroup);
        }
        if let Some(unknown) = names.find(|name| !GROUPS.contains(name)) {
            return Err(PatternError::UnknownGroup(unknown.to_owned()));
        }
        Ok(Self(regex))
    }
}

impl Pattern {
    /// What the pattern finds last in `text`, and whether that says that the training has ended.
    pub(super) fn read(&self, text: &[u8]) -> Option<(Sight, bool)> {
        let found = self.0.captures_iter(text).last()?;
        let number = |name| number(&found, name);
        let epoch = [
            ("epoch", Means::Completed, Base::One),
            ("running", Means::Inside, Base::One),
            ("running0", Means::Inside, Base::Zero),
        ]
        .into_iter()
        .find_map(|(name, means, base)| number(name).map(|number| Epoch { number, means, base }));
        let scope = match epoch {
            Some(epoch) if epoch.means != Means::Completed => Scope::Epoch,
            _ => Scope::Unknown,
        };
        let sight = Sight {
            format: Format::named("pattern"),
            epoch,
            epochs: number("epochs").filter(|epochs| *epochs > 0.0),
            steps: number("step").map(|done| Steps {
                done,
                total: number("steps").filter(|steps| *steps > 0.0),
                scope,
            }),
            times: Times {
                epoch_s: number("seconds_per_epoch"),
                step_s: number("seconds_per_step"),
                ..Times::default()
            },
            ..Sight::default()
        };
        Some((sight, found.name("finished").is_some()))
    }
}

fn number(found: &Captures<'_>, name: &str) -> Option<f64> {
    let text = std::str::from_utf8(found.name(name)?.as_bytes()).ok()?;
    let number: f64 = text.trim().replace(',', "").parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Reader;

    #[test]
    fn wrong_patterns_are_explained() {
        let table = [
            ("(?P<epoch>", "no regular expression"),
            ("epoch \\d+", "no named group"),
            ("(?P<era>\\d+)", "a group named era"),
            ("(?P<epoch>\\w{1000}{1000})", "no regular expression"),
        ];
        for (text, part) in table {
            let error = Pattern::from_str(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(Pattern::from_str(&"x".repeat(5000)).is_err());
    }

    #[test]
    fn the_groups_say_what_they_find() {
        let reading = |pattern: &str, text: &str| {
            let mut reader = Reader::new(Some(pattern.parse().expect("a pattern")));
            reader.feed(text.as_bytes());
            reader.reading()
        };
        let found = reading(
            r"E=(?P<epoch>[\d.]+) of (?P<epochs>\d+)",
            "E=2 of 8\nepoch 7/9\nE=4 of 8\n",
        );
        assert_eq!(
            (found.epochs_done, found.epochs_total, found.overall_fraction),
            (Some(4.0), Some(8.0), Some(0.5))
        );
        let found = reading(r"<(?P<running>\d+):(?P<step>\d+):(?P<steps>\d+)>", "<3:5:10>\n");
        assert_eq!(
            (found.epochs_done, found.fraction_in_epoch),
            (Some(2.0), Some(0.5))
        );
        let found = reading(
            r"lap (?P<epoch>\d+) in (?P<seconds_per_epoch>\d+) s|(?P<finished>over)",
            "lap 1 in 30 s\nover\n",
        );
        assert_eq!(
            (found.seconds_per_epoch, found.finished),
            (Some(30.0), Some(true))
        );
    }
}

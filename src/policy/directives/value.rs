// SPDX-License-Identifier: GPL-2.0-or-later
//! Which values the keys may have.

use super::Directives;
use super::error::DirectiveError;
use super::key::Key;
use super::signal::{SaveSignal, SignalError, SignalName};
use crate::policy::units::{Seconds, UnixTime};
use bstr::ByteSlice;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The largest number of epochs that is believed.
pub const EPOCHS_MAX: u32 = 1_000_000_000;

/// The longest epoch or save that is believed: 365 days.
pub const SECONDS_MAX: f64 = 31_536_000.0;

/// The latest moment that is believed, 2100-01-01 UTC. A time in milliseconds is beyond it.
pub const TIME_MAX: UnixTime = UnixTime(4_102_444_800);

const PRIORITY_MAX: u8 = 100;

/// The urgency class of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Starts at once, in the place of normal jobs if need be.
    Urgent,
    /// Waits its turn, and may be asked to give way.
    Normal,
}

impl Urgency {
    const ALL: [Self; 2] = [Self::Urgent, Self::Normal];

    /// The class as it is written in a comment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Normal => "normal",
        }
    }
}

/// When a program can save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SaveKind {
    /// On request, at any step.
    Step,
    /// Only at an epoch's end.
    Epoch,
    /// Never.
    None,
}

impl SaveKind {
    const ALL: [Self; 3] = [Self::Step, Self::Epoch, Self::None];

    /// The kind as it is written in a comment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Epoch => "epoch",
            Self::None => "none",
        }
    }
}

/// A text that is neither `urgent` nor `normal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not known; write urgent or normal")]
pub struct UnknownUrgency;

impl FromStr for Urgency {
    type Err = UnknownUrgency;

    /// Accepts upper and lower case alike.
    fn from_str(text: &str) -> Result<Self, UnknownUrgency> {
        let class = Self::ALL
            .into_iter()
            .find(|class| text.eq_ignore_ascii_case(class.as_str()));
        class.ok_or(UnknownUrgency)
    }
}

impl fmt::Display for Urgency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SaveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one directive says; `epoch=12/90` speaks of two keys.
pub(super) fn read(key: Key, value: &[u8]) -> Result<Directives, DirectiveError> {
    let mut says = Directives::default();
    match key {
        Key::Urgency => says.urgency = Some(urgency(value)?),
        Key::Epochs => says.epochs = Some(epochs(key, value, value)?),
        Key::Epoch => {
            let (done, total) = split_epoch(value);
            says.epoch = Some(epoch(done, value)?);
            says.epochs = total.map(|total| epochs(key, total, value)).transpose()?;
        }
        Key::EpochS => says.epoch_s = Some(seconds(key, value)?),
        Key::At => says.at = Some(time(key, value)?),
        Key::Saved => says.saved = Some(time(key, value)?),
        Key::Save => says.save = Some(save(value)?),
        Key::SaveS => says.save_s = Some(seconds(key, value)?),
        Key::Signal => says.signal = Some(signal(value)?),
        Key::Priority => says.priority = Some(priority(value)?),
    }
    Ok(says)
}

/// The value of `epoch` in its parts: what is done, and the total behind a slash.
pub(super) fn split_epoch(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    match value.iter().position(|&byte| byte == b'/') {
        Some(slash) => (&value[..slash], Some(&value[slash + 1..])),
        None => (value, None),
    }
}

fn urgency(value: &[u8]) -> Result<Urgency, DirectiveError> {
    let class = value.to_str().ok().and_then(|text| text.parse().ok());
    class.ok_or_else(|| {
        let right = "write urgency=urgent or urgency=normal";
        DirectiveError::value(Key::Urgency, value, "is not known", right)
    })
}

fn save(value: &[u8]) -> Result<SaveKind, DirectiveError> {
    let kind = SaveKind::ALL
        .into_iter()
        .find(|kind| value.eq_ignore_ascii_case(kind.as_str().as_bytes()));
    kind.ok_or_else(|| {
        let right =
            "write save=step (can save at any step), save=epoch (only at an epoch's end) or save=none";
        DirectiveError::value(Key::Save, value, "is not known", right)
    })
}

/// `total` is all of `value`, or what stands behind its slash.
fn epochs(key: Key, total: &[u8], value: &[u8]) -> Result<u32, DirectiveError> {
    let number = whole(total).and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| (1..=EPOCHS_MAX).contains(number))
        .ok_or_else(|| {
            let (wrong, right) = match key {
                Key::Epoch => (
                    "does not say behind its slash how many epochs there are, a whole number",
                    "write the epochs completed so far and the total, such as epoch=12/90",
                ),
                _ => (
                    "is not a whole number",
                    "write the total number of epochs, such as epochs=90",
                ),
            };
            DirectiveError::value(key, value, format!("{wrong} from 1 to {EPOCHS_MAX}"), right)
        })
}

fn epoch(done: &[u8], value: &[u8]) -> Result<f64, DirectiveError> {
    let number = number(done).filter(|done| (0.0..=f64::from(EPOCHS_MAX)).contains(done));
    number.ok_or_else(|| {
        let wrong = format!("does not say how many epochs are done (a number from 0 to {EPOCHS_MAX})");
        let right = "write the epochs completed so far, such as epoch=12.25 or epoch=12/90";
        DirectiveError::value(Key::Epoch, value, wrong, right)
    })
}

fn seconds(key: Key, value: &[u8]) -> Result<Seconds, DirectiveError> {
    let may_be_zero = key == Key::SaveS;
    let number = number(value).filter(|number| (0.0..=SECONDS_MAX).contains(number));
    let number = number.filter(|&number| may_be_zero || number > 0.0);
    number.map(Seconds).ok_or_else(|| {
        let least = if may_be_zero { "from 0" } else { "above 0" };
        let (what, example) = if may_be_zero {
            ("a save", "20")
        } else {
            ("an epoch", "340.5")
        };
        DirectiveError::value(
            key,
            value,
            format!("is not a number of seconds {least} to {SECONDS_MAX} (365 days)"),
            format!("write how many seconds {what} takes, such as {key}={example}"),
        )
    })
}

fn time(key: Key, value: &[u8]) -> Result<UnixTime, DirectiveError> {
    let number = whole(value).and_then(|number| i64::try_from(number).ok());
    number
        .map(UnixTime)
        .filter(|&time| time <= TIME_MAX)
        .ok_or_else(|| {
            DirectiveError::value(
                key,
                value,
                format!("is not a time in whole seconds since 1970 (at most {TIME_MAX}, the year 2100)"),
                format!("write what `date +%s` prints, such as {key}=1764410000"),
            )
        })
}

fn priority(value: &[u8]) -> Result<u8, DirectiveError> {
    let number = whole(value).and_then(|number| u8::try_from(number).ok());
    number.filter(|&number| number <= PRIORITY_MAX).ok_or_else(|| {
        let wrong = format!("is not a whole number from 0 to {PRIORITY_MAX}");
        let right = "write how much the job is worth keeping, such as priority=50";
        DirectiveError::value(Key::Priority, value, wrong, right)
    })
}

fn signal(value: &[u8]) -> Result<SaveSignal, DirectiveError> {
    let text = value.to_str().map_err(|_| SignalError::Unknown);
    text.and_then(str::parse).map_err(|error| {
        let right = match error {
            SignalError::Target => {
                "write @batch (the batch shell), @steps (every step) or @full (both) behind the signal's name"
                    .to_owned()
            }
            SignalError::Unknown | SignalError::Uncatchable => {
                format!("write one of {}, such as signal=USR1@batch", SignalName::all())
            }
        };
        DirectiveError::value(Key::Signal, value, error.to_string(), right)
    })
}

/// A number written in digits and nothing else: no sign, no fraction.
fn whole(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    text.to_str().ok().filter(|_| digits)?.parse().ok()
}

/// A finite number.
fn number(text: &[u8]) -> Option<f64> {
    let number: f64 = text.to_str().ok()?.parse().ok()?;
    // Adding zero turns -0, which would be displayed with its sign, into 0.
    number.is_finite().then_some(number + 0.0)
}

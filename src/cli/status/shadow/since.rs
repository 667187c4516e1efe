// SPDX-License-Identifier: GPL-2.0-or-later
//! From when on: a time, or how long ago that is.

use crate::policy::units::UnixTime;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp};
use std::str::FromStr;

/// What `--since` was given.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli::status) enum Since {
    /// So long before now.
    Ago(Span),
    /// In this machine's time zone.
    Time(DateTime),
    /// Anywhere.
    Moment(Timestamp),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let moment = text.parse().map(Self::Moment);
        let time = moment.or_else(|_| text.parse().map(Self::Time));
        let since = time.or_else(|_| text.parse().map(Self::Ago)).map_err(|_| {
            "write how long ago, such as 90m, 12h or 7d, or a time such as 2025-11-29T08:00".to_owned()
        })?;
        // So that what is out of range is said of the command line.
        since.before(Timestamp::now()).map(|_| since)
    }
}

impl Since {
    /// The moment that it means at `now`.
    pub(super) fn before(self, now: Timestamp) -> Result<UnixTime, String> {
        let moment = match self {
            Self::Moment(moment) => Ok(moment),
            Self::Time(time) => time.to_zoned(TimeZone::system()).map(|time| time.timestamp()),
            Self::Ago(span) => span
                .abs()
                .to_duration(SpanRelativeTo::days_are_24_hours())
                .and_then(|time| now.checked_sub(time)),
        };
        let moment = moment.map_err(|error| error.to_string())?;
        Ok(UnixTime(moment.as_second()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lengths_of_time_are_understood() {
        let now = Timestamp::from_second(1_764_410_000).unwrap();
        let before = |text: &str| Since::from_str(text).unwrap().before(now).unwrap().0;
        assert_eq!(before("90m"), 1_764_410_000 - 5400);
        assert_eq!(before("7d"), 1_764_410_000 - 7 * 86_400);
        assert_eq!(before("2025-11-29T08:00:00Z"), 1_764_403_200);
        assert_eq!(before("2025-11-29T09:00") - before("2025-11-29T08:00"), 3600);
        for wrong in ["", "yesterday", "5", "99999999999d", "-"] {
            assert!(Since::from_str(wrong).is_err(), "{wrong:?}");
        }
    }
}

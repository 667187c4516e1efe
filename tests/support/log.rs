// SPDX-License-Identifier: GPL-2.0-or-later
//! slurmctld's log, with times.

use super::Cluster;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::fmt;
use std::fs;

/// One line of the log.
#[derive(Debug)]
pub struct LogLine {
    /// To the millisecond.
    pub at: Timestamp,
    /// What follows the time.
    pub text: String,
}

impl LogLine {
    /// `[2025-11-29T12:00:00.123] text`, in UTC as the clusters run.
    fn parse(line: &str) -> Option<Self> {
        let (time, text) = line.strip_prefix('[')?.split_once("] ")?;
        let at = time
            .parse::<DateTime>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()?
            .timestamp();
        Some(Self {
            at,
            text: text.to_owned(),
        })
    }

    /// Whether the line holds every one of `parts`.
    pub fn has(&self, parts: &[&str]) -> bool {
        parts.iter().all(|part| self.text.contains(part))
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.at.strftime("%H:%M:%S%.3f"), self.text)
    }
}

impl Cluster {
    /// All lines of slurmctld's log so far, of every start of slurmctld on this cluster.
    pub fn log(&self) -> Vec<LogLine> {
        let bytes = fs::read(self.folder().join("slurmctld.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .lines()
            .filter_map(LogLine::parse)
            .collect()
    }

    /// The first line that holds every one of `parts`.
    pub fn logged(&self, parts: &[&str]) -> Option<LogLine> {
        self.log().into_iter().find(|line| line.has(parts))
    }
}

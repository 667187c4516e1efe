// SPDX-License-Identifier: GPL-2.0-or-later
//! A line of the audit file, as far as a summary needs it.

use super::urgent::Victim;
use crate::policy::audit::VERSION;
use crate::policy::ids::{JobId, UserId};
use crate::policy::units::{Seconds, UnixTime};
use serde::Deserialize;
use serde::de::Error as _;
use std::collections::BTreeMap;

/// A line of the audit file. Kinds and fields that a summary does not need may hold anything.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Line {
    v: u32,
    /// When it was written.
    pub at: UnixTime,
    #[serde(default)]
    pub(super) shadow: bool,
    #[serde(flatten)]
    pub(super) told: Told,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Told {
    Waits {
        urgent: JobId,
        user: Option<UserId>,
        tasks: u32,
        submit: UnixTime,
    },
    Plan {
        urgent: JobId,
        user: Option<UserId>,
        nodes: Vec<String>,
        cost_gpu_s: f64,
        ready_s: Seconds,
        victims: Vec<Victim>,
    },
    Wait {
        urgent: JobId,
    },
    NoSet {
        urgent: JobId,
        protected: BTreeMap<String, u64>,
    },
    Started {
        urgent: JobId,
        task: Option<String>,
        user: Option<UserId>,
        start: UnixTime,
        waited_s: Option<Seconds>,
    },
    Withdrawn {
        urgent: JobId,
    },
    Lost {
        lines: u64,
    },
    #[serde(other)]
    Other,
}

impl Line {
    /// Reads one line of the file.
    ///
    /// # Errors
    /// It is no JSON, lacks what every line of its kind has, or is of a version that this Surgent does not know.
    pub fn parse(text: &[u8]) -> serde_json::Result<Self> {
        let line: Self = serde_json::from_slice(text)?;
        match line.v {
            VERSION => Ok(line),
            newer => Err(serde_json::Error::custom(format!(
                "it has version {newer}, and this Surgent reads {VERSION}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_audit_writes_can_be_read() {
        use crate::policy::audit::{Entry, Event};
        let entry = Entry {
            at: UnixTime(9),
            shadow: true,
            event: Event::Waits {
                urgent: JobId(3),
                user: None,
                partitions: Vec::new(),
                min_nodes: 2,
                tasks: 1,
                het: None,
                submit: UnixTime(8),
            },
        };
        let line = Line::parse(entry.line().unwrap().as_bytes()).unwrap();
        assert!(line.shadow && matches!(line.told, Told::Waits { tasks: 1, .. }));
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"at":1,"kind":"plan"}"#,
            r#"{"at":"x","kind":"a"}"#,
            "\u{0}",
        ] {
            assert!(Line::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent's own record in a job's AdminComment.
//!
//! `surgent{class=urgent first=1764410000 ask=17 asked=1764413600 deadline=1764413660 place=4294901759
//! preempted=1 by=17 stopped=1764413640 saved=yes waits_for=3,4}`
//!
//! It is the first thing in AdminComment, `class` is the first thing in it, and its fields are separated by one blank.
//! AdminComment is for administrators, who may have written something there: what stands behind the record is theirs
//! and is kept byte for byte, separated from the record by one blank that belongs to the record.
//!
//! What is between the braces is Surgent's: fields of a newer version are kept, a field whose value cannot be read is
//! left out. A record without a readable class or a closing brace is no record; the next one written takes the place of
//! those fields of it that can still be told to be Surgent's, so that damage, however often it happens, does not pile
//! up and eats nothing of anybody else's.

#[cfg(test)]
mod tests;

use super::directives::Urgency;
use super::ids::JobId;
use super::units::UnixTime;
use bstr::ByteSlice;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Write};
use std::str::FromStr;

/// What a record begins with.
const MARK: &[u8] = b"surgent{";

/// The longest record that is read. One with [`WAITS_FOR_MAX`] jobs and [`UNKNOWN_MAX_BYTES`] is well within it.
const RECORD_MAX_BYTES: usize = 16 * 1024;

/// How many victims a record names at most.
pub(super) const WAITS_FOR_MAX: usize = 1024;

/// How much of a newer version's fields is kept.
const UNKNOWN_MAX_BYTES: usize = 2048;

/// The keys that this version writes behind `class`.
const KEYS: [&str; 10] = [
    "first",
    "ask",
    "asked",
    "deadline",
    "place",
    "preempted",
    "by",
    "stopped",
    "saved",
    "waits_for",
];

/// What Surgent remembers of a job, through requeues and restarts of slurmctld.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The urgency class that the job was admitted with.
    pub class: Urgency,
    /// When the job was first submitted.
    pub first: Option<UnixTime>,
    /// The urgent job for which this one is asked to save.
    pub ask: Option<JobId>,
    /// When it was asked.
    pub asked: Option<UnixTime>,
    /// When it is to have saved.
    pub deadline: Option<UnixTime>,
    /// The priority that it is to have again once it was requeued; `None` where Slurm leaves it alone.
    pub place: Option<u32>,
    /// How often it was preempted for an urgent job.
    pub preempted: u32,
    /// The urgent job that preempted it last.
    pub by: Option<JobId>,
    /// When that was.
    pub stopped: Option<UnixTime>,
    /// Whether it had saved for it; `None` where that is not known.
    pub saved: Option<bool>,
    /// The jobs whose resources this urgent job waits for. Only the first 1,024 are written.
    pub waits_for: Vec<JobId>,
    /// Fields that a newer version wrote, as key and value, in their order. At most 2,048 bytes of them are written.
    pub unknown: Vec<(String, String)>,
}

/// A job was stopped for an urgent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// For whom.
    pub urgent: JobId,
    /// When.
    pub at: UnixTime,
    /// Whether it had saved; `None` where that is not known any more.
    pub saved: Option<bool>,
}

impl Record {
    /// The record of a job about which nothing is known but its class.
    pub fn new(class: Urgency) -> Self {
        Self {
            class,
            first: None,
            ask: None,
            asked: None,
            deadline: None,
            place: None,
            preempted: 0,
            by: None,
            stopped: None,
            saved: None,
            waits_for: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// The record at the beginning of an AdminComment; `None` if there is none, or a damaged one.
    pub fn read(admin_comment: &[u8]) -> Option<Self> {
        let mut fields = fields(body(admin_comment)?);
        let ("class", class) = fields.next()?? else {
            return None;
        };
        // Exactly as it is written, so that the look of `is_urgent_fast` is enough.
        let class = [Urgency::Urgent, Urgency::Normal]
            .into_iter()
            .find(|known| known.as_str() == class)?;
        let mut record = Self::new(class);
        let mut seen = [false; KEYS.len()];
        for field in fields {
            let (key, value) = field?;
            match KEYS.iter().position(|known| *known == key) {
                // The first of two counts, here as in the fields of a newer version.
                Some(index) if seen[index] => {}
                Some(index) => {
                    seen[index] = true;
                    record.set(key, value);
                }
                None if key == "class" => {}
                None => record.unknown.push((key.to_owned(), value.to_owned())),
            }
        }
        Some(record)
    }

    /// Notes that the job was stopped for an urgent one.
    pub fn note_stop(&mut self, stop: Stop) {
        self.preempted = self.preempted.saturating_add(1);
        self.by = Some(stop.urgent);
        self.stopped = Some(stop.at);
        self.saved = stop.saved;
    }

    /// `admin_comment` with this record at its beginning, in the place of the one that was there.
    ///
    /// All other text is kept. Longer than `admin_comment` by one record at most.
    pub fn write_into(&self, admin_comment: &[u8]) -> Vec<u8> {
        let other = other_text(admin_comment);
        let mut written = self.to_string().into_bytes();
        if !other.is_empty() {
            written.push(b' ');
            written.extend_from_slice(other);
        }
        written
    }

    /// Whether an AdminComment begins with the record of an urgent job.
    ///
    /// Looks at the first few bytes only and allocates nothing. Where [`Record::read`] finds a record, both agree.
    pub fn is_urgent_fast(admin_comment: &[u8]) -> bool {
        let behind = admin_comment.strip_prefix(b"surgent{class=urgent");
        behind
            .and_then(<[u8]>::first)
            .is_some_and(|byte| matches!(byte, b' ' | b'}'))
    }

    /// Sets a known field; leaves it alone if `value` cannot be read.
    fn set(&mut self, key: &str, value: &str) {
        match key {
            "first" => self.first = time(value),
            "ask" => self.ask = job(value),
            "asked" => self.asked = time(value),
            "deadline" => self.deadline = time(value),
            "place" => self.place = value.parse().ok(),
            "preempted" => self.preempted = value.parse().unwrap_or(0),
            "by" => self.by = job(value),
            "stopped" => self.stopped = time(value),
            "saved" => self.saved = yes_or_no(value),
            "waits_for" => {
                let jobs = value.split(',').take(WAITS_FOR_MAX).map(job);
                self.waits_for = jobs.collect::<Option<_>>().unwrap_or_default();
            }
            _ => {}
        }
    }
}

impl Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "surgent{{class={}", self.class)?;
        write_field(f, "first", self.first)?;
        write_field(f, "ask", self.ask)?;
        write_field(f, "asked", self.asked)?;
        write_field(f, "deadline", self.deadline)?;
        write_field(f, "place", self.place)?;
        write_field(f, "preempted", Some(self.preempted).filter(|&times| times > 0))?;
        write_field(f, "by", self.by)?;
        write_field(f, "stopped", self.stopped)?;
        write_field(
            f,
            "saved",
            self.saved.map(|saved| if saved { "yes" } else { "no" }),
        )?;
        let mut before = " waits_for=";
        for job in self.waits_for.iter().take(WAITS_FOR_MAX) {
            write!(f, "{before}{job}")?;
            before = ",";
        }
        let mut room_bytes = UNKNOWN_MAX_BYTES;
        for (key, value) in self.unknown.iter().filter(|(key, value)| is_unknown(key, value)) {
            let field_bytes = key.len() + value.len() + 2;
            if field_bytes > room_bytes {
                break;
            }
            room_bytes -= field_bytes;
            write!(f, " {key}={value}")?;
        }
        f.write_char('}')
    }
}

fn write_field(f: &mut fmt::Formatter<'_>, key: &str, value: Option<impl Display>) -> fmt::Result {
    match value {
        Some(value) => write!(f, " {key}={value}"),
        None => Ok(()),
    }
}

fn time(value: &str) -> Option<UnixTime> {
    i64::from_str(value).ok().map(UnixTime)
}

fn job(value: &str) -> Option<JobId> {
    u32::from_str(value).ok().map(JobId)
}

fn yes_or_no(value: &str) -> Option<bool> {
    match value {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// What stands between the braces of the record at the beginning of `text`.
fn body(text: &[u8]) -> Option<&str> {
    let inner = text.strip_prefix(MARK)?;
    let near = &inner[..inner.len().min(RECORD_MAX_BYTES)];
    let close = near.iter().position(|&byte| byte == b'}')?;
    near[..close].to_str().ok()
}

/// The fields of a record's body; `None` for one that does not have the form of a field.
fn fields(body: &str) -> impl Iterator<Item = Option<(&str, &str)>> {
    body.split(' ')
        .map(|field| field.split_once('=').filter(|(key, value)| is_field(key, value)))
}

/// Whether a record can hold this field, and give it back as it is.
fn is_field(key: &str, value: &str) -> bool {
    let is_key = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_value = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'{' | b'}');
    !key.is_empty() && key.bytes().all(is_key) && value.bytes().all(is_value)
}

/// Whether this is a field that only a newer version knows.
fn is_unknown(key: &str, value: &str) -> bool {
    key != "class" && !KEYS.contains(&key) && is_field(key, value)
}

/// What an AdminComment holds besides the record.
fn other_text(admin_comment: &[u8]) -> &[u8] {
    match own_bytes(admin_comment) {
        0 => admin_comment,
        own => {
            let behind = &admin_comment[own..];
            behind.strip_prefix(b" ").unwrap_or(behind)
        }
    }
}

/// How long the record at the beginning of `text` is, or that part of a damaged one which is certainly Surgent's.
fn own_bytes(text: &[u8]) -> usize {
    let Some(inner) = text.strip_prefix(MARK) else {
        return 0;
    };
    let mut end = MARK.len();
    if let (Some(body), Some(_)) = (body(text), Record::read(text)) {
        return end + body.len() + 1;
    }
    let mut start = end;
    for field in inner
        .split(|&byte| matches!(byte, b' ' | b'}'))
        .take_while(|field| is_own_field(field))
    {
        end = start + field.len();
        if text.get(end) == Some(&b'}') {
            break;
        }
        start = end + 1;
    }
    match text.get(end) {
        Some(b'}') => end + 1,
        _ => end,
    }
}

/// Whether a part of a damaged record is a field that this version writes.
fn is_own_field(field: &[u8]) -> bool {
    let field = field.to_str().ok().and_then(|field| field.split_once('='));
    field.is_some_and(|(key, value)| (key == "class" || KEYS.contains(&key)) && is_field(key, value))
}

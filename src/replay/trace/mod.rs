// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces: jobs as a cluster recorded them, in the forms that are about.
//!
//! A trace is read line by line. What memory it takes is bounded by [`JOBS_MAX`], however large the file.

mod intervals;
mod lines;
mod muri;
mod sacct;
mod shockwave;
mod swf;
mod table;
#[cfg(test)]
mod tests;

pub use sacct::COMMAND as SACCT_COMMAND;

use crate::policy::ids::UserId;
use lines::Lines;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use table::{COMMENT, Header, Row};

/// No trace has more jobs than this.
pub const JOBS_MAX: usize = 2_000_000;

/// No time in a trace is larger than this, in seconds: about thirty years.
pub const TIME_MAX_S: i64 = 1_000_000_000;

/// No job has more GPUs or nodes than this.
pub const COUNT_MAX: i64 = 1_000_000;

/// One job of a trace that held GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceJob {
    /// The line of the trace that says so, from 1 on.
    pub line: u64,
    /// Whose it was.
    pub user: UserId,
    /// When it was submitted, in seconds since any moment.
    pub submit_s: i64,
    /// How long it ran, in seconds, at least 1.
    pub run_s: i64,
    /// Its time limit in seconds, where the trace has one.
    pub limit_s: Option<i64>,
    /// Nodes that it held, where the trace tells.
    pub nodes: Option<u32>,
    /// GPUs that it held, at least 1.
    pub gpus: u32,
    /// How its training was divided, where the trace tells.
    pub training: Option<Training>,
    /// Whether it was urgent, where the trace tells.
    pub is_urgent: Option<bool>,
}

/// How a training is divided into epochs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Epochs in all, at least 1.
    pub epochs: u32,
}

/// A trace that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The jobs, in the order in which they were submitted.
    pub jobs: Vec<TraceJob>,
    /// Rows that are no job to replay, counted by the reason.
    pub skipped: BTreeMap<&'static str, u64>,
}

/// Why a trace cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Something is wrong in one line.
    #[error("line {line}: {what}")]
    Line {
        /// Which, from 1 on.
        line: u64,
        /// What, and what would be right.
        what: String,
    },
    /// Something is wrong with the whole.
    #[error("{0}")]
    Whole(String),
}

impl TraceError {
    fn at(line: u64, what: impl Into<String>) -> Self {
        let what = what.into();
        Self::Line { line, what }
    }
}

/// What the readers collect.
#[derive(Default)]
struct Collected {
    trace: Trace,
    users: HashMap<String, UserId>,
    /// The last submission, for forms that count time from one to the next.
    submit_s: i64,
}

/// A form whose first line names the columns.
struct Form {
    /// By these it is told.
    needed: &'static [&'static str],
    separator: char,
    read: fn(&Row<'_>, &mut Collected) -> Result<(), TraceError>,
}

const FORMS: [Form; 4] = [
    Form {
        needed: &intervals::NEEDED,
        separator: ',',
        read: intervals::read,
    },
    Form {
        needed: &muri::NEEDED,
        separator: ',',
        read: muri::read,
    },
    Form {
        needed: &shockwave::NEEDED,
        separator: '\t',
        read: shockwave::read,
    },
    Form {
        needed: &sacct::NEEDED,
        separator: '|',
        read: sacct::read,
    },
];

impl Form {
    /// The columns, if `line` begins a trace in this form.
    fn header(&self, line: &str) -> Option<Header> {
        Some(Header::new(line, self.separator)).filter(|header| header.has_all(self.needed))
    }
}

impl Collected {
    fn user(&mut self, name: &str) -> UserId {
        if let Some(known) = self.users.get(name) {
            return *known;
        }
        // There are no more users than jobs.
        let id = UserId(u32::try_from(self.users.len()).unwrap_or(u32::MAX));
        self.users.insert(name.to_owned(), id);
        id
    }

    fn add(&mut self, job: TraceJob) -> Result<(), TraceError> {
        if self.trace.jobs.len() == JOBS_MAX {
            let what = format!("there are more than {JOBS_MAX} jobs; give a part of the trace");
            return Err(TraceError::at(job.line, what));
        }
        self.trace.jobs.push(job);
        Ok(())
    }

    fn skip(&mut self, reason: &'static str) {
        *self.trace.skipped.entry(reason).or_default() += 1;
    }
}

/// Reads a trace, whose form is told by its first line.
///
/// # Errors
///
/// The first thing that is wrong, with its line; also where no job is left.
pub fn read(input: impl BufRead) -> Result<Trace, TraceError> {
    let mut lines = Lines::new(input);
    let Some((number, first)) = lines.next_line()? else {
        return Err(TraceError::Whole("the trace is empty".to_owned()));
    };
    let first = first.to_owned();
    let mut collected = Collected::default();
    let mut forms = FORMS.iter().filter_map(|form| Some((form, form.header(&first)?)));
    if swf::is_first_line(&first) {
        swf::read(&first, number, &mut lines, &mut collected)?;
    } else if let Some((form, header)) = forms.next() {
        if header.has_before_others(COMMENT) {
            let what = format!("{COMMENT} has to be the last column, as it may hold the separator");
            return Err(TraceError::at(number, what));
        }
        while let Some(line) = lines.next_line()? {
            (form.read)(&header.row(line)?, &mut collected)?;
        }
    } else {
        return Err(TraceError::at(number, unknown_form(&first)));
    }
    let mut trace = collected.trace;
    if trace.jobs.is_empty() {
        return Err(TraceError::Whole(
            "no job in the trace held a GPU and ran".to_owned(),
        ));
    }
    // Stable: of two that came together, the first one in the trace.
    trace.jobs.sort_by_key(|job| job.submit_s);
    Ok(trace)
}

fn unknown_form(first: &str) -> String {
    let forms = FORMS
        .iter()
        .map(|form| (form, Header::new(first, form.separator)));
    let nearest = forms.max_by_key(|(form, header)| header.count(form.needed));
    if let Some((form, header)) = nearest
        && header.count(form.needed) * 2 > form.needed.len()
    {
        let missing = form.needed.iter().filter(|name| !header.has_all(&[name]));
        let missing: Vec<&str> = missing.copied().collect();
        return format!(
            "no column is named {}; needed are {}",
            missing.join(" or "),
            form.needed.join(", ")
        );
    }
    const SHOWN_MAX_CHARS: usize = 60;
    let shown: String = first.chars().take(SHOWN_MAX_CHARS).collect();
    format!(
        "{shown:?} begins no trace that is known: neither the header of sacct -P with {}, nor those of the published \
         extracts of Helios and Philly ({}), of Muri ({}) or of Shockwave ({}), nor a line of the Standard Workload Format",
        sacct::NEEDED.join("|"),
        intervals::NEEDED.join(","),
        muri::NEEDED.join(","),
        shockwave::NEEDED.join(", "),
    )
}

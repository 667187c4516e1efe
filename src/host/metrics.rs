// SPDX-License-Identifier: GPL-2.0-or-later
//! The planner's counters, kept over restarts of slurmctld in a file from which `surgent metrics` takes them.
//!
//! Nothing depends on any of this. Only the planner's thread counts, reads and writes, and holds no lock of Slurm's then.

mod file;
#[cfg(test)]
mod tests;

pub use file::{MetricsFile, replace};

use super::core::unix_now;
use super::guard;
use crate::policy::audit::Entry;
use crate::policy::metrics::{Counters, FORM, LookTimes, Metrics, State};
use log::Level;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The file is written no more often, but for news that nobody should wait for.
const WRITE_EVERY: Duration = Duration::from_secs(3);
/// And no more seldom, so that the age of a file tells whether there is still a planner.
const WRITE_AT_LEAST_EVERY: Duration = Duration::from_secs(60);

/// Counts, and keeps what was counted.
#[derive(Debug, Default)]
pub struct Meter {
    file: Option<MetricsFile>,
    /// `None` until the file was read.
    counters: Option<Counters>,
    /// Whether there is more than the file says.
    is_changed: bool,
    /// When the file was last written, or was to be, and what was so then.
    tried: Option<(Instant, State)>,
    /// What was in the way the last time.
    complaint: Option<ErrorKind>,
}

impl Meter {
    /// The same, which keeps its file in this directory from now on.
    pub fn within(self, state_dir: &Path) -> Self {
        let file = MetricsFile::within(state_dir);
        match self.file.as_ref() == Some(&file) {
            true => self,
            false => Self {
                file: Some(file),
                ..Self::default()
            },
        }
    }

    /// Counts what has happened.
    pub fn count(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.change().count(entry);
        }
    }

    /// Counts a look at the cluster.
    pub fn looked(&mut self, times: &LookTimes) {
        self.change().looked(times);
    }

    /// Counts commands of Slurm's.
    pub fn ran_commands(&mut self, done: u64, failed: u64) {
        if done + failed > 0 {
            let counters = self.change();
            counters.commands_done += done;
            counters.commands_failed += failed;
        }
    }

    /// When there is something to be written.
    pub fn due_in(&self) -> Option<Duration> {
        let (at, _) = self.tried.filter(|_| self.is_changed)?;
        Some(WRITE_EVERY.saturating_sub(at.elapsed()))
    }

    /// Writes the file if it is time to, and says in the log if it cannot.
    pub fn write_if_due(&mut self, state: State) {
        self.count_faults();
        let is_due = self.tried.is_none_or(|(at, last)| {
            let is_news = (state.mode, state.latched) != (last.mode, last.latched);
            let rested = at.elapsed() >= WRITE_EVERY && (self.is_changed || state != last);
            is_news || rested || at.elapsed() >= WRITE_AT_LEAST_EVERY
        });
        if is_due {
            self.write(state);
        }
    }

    /// Writes the file, and says in the log if it cannot.
    pub fn write(&mut self, state: State) {
        self.count_faults();
        if let Some((level, sentence)) = self.try_to_write(state) {
            log::log!(level, "{sentence}");
        }
    }

    /// Gives a line for the log where there is news: that the file cannot be written, or can be again.
    fn try_to_write(&mut self, state: State) -> Option<(Level, String)> {
        let counters = self.counters().clone();
        let file = self.file.as_ref()?;
        let path = file.path().display();
        let written = file.write(&Metrics {
            form: FORM,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            written: unix_now(),
            state,
            counters,
        });
        self.tried = Some((Instant::now(), state));
        self.is_changed = written.is_err();
        // The text of an error may have a random name in it, and would be another each time.
        let complaint = written.as_ref().err().map(io::Error::kind);
        let before = std::mem::replace(&mut self.complaint, complaint);
        match written {
            Ok(()) => before.map(|_| (Level::Info, format!("{path} is written again"))),
            Err(error) => (before != complaint).then(|| {
                let sentence = format!(
                    "{path} cannot be written: {error}; `surgent metrics` shows what was counted until now"
                );
                (Level::Error, sentence)
            }),
        }
    }

    fn count_faults(&mut self) {
        let faults = guard::take_faults();
        if faults > 0 {
            self.change().faults += u64::from(faults);
        }
    }

    fn change(&mut self) -> &mut Counters {
        self.is_changed = true;
        self.counters()
    }

    fn counters(&mut self) -> &mut Counters {
        let file = self.file.as_ref();
        self.counters.get_or_insert_with(|| load(file))
    }
}

/// What was counted until now; nothing where there is no file, or none that can be used.
fn load(file: Option<&MetricsFile>) -> Counters {
    let anew = || Counters::new(unix_now());
    let Some(file) = file else { return anew() };
    match file.read() {
        Ok(metrics) => metrics.counters,
        Err(error) if error.kind() == ErrorKind::NotFound => anew(),
        Err(error) => {
            log::error!("{}: {error}; counting begins anew", file.path().display());
            anew()
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The cluster as it is now, for the subcommands that show it or plan for it: what Slurm's commands show, what Surgent is
//! in the middle of, and the site's settings.

use super::files;
use crate::host::config::ConfigFile;
use crate::host::metrics::MetricsFile;
use crate::host::state::StateFile;
use crate::policy::admission::ledger::Ledger;
use crate::policy::adopt::adopt;
use crate::policy::book::Book;
use crate::policy::settings::{Mode, Settings};
use crate::policy::snapshot::Snapshot;
use crate::slurm::command::Environment;
use crate::slurm::config::Config;
use crate::slurm::show::assemble::AsUrgent;
use crate::slurm::show::places::Places;
use crate::slurm::show::{self, Seen};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// From where it is known what Surgent is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// The planner's state file, and what Slurm's commands show.
    Planner,
    /// What Slurm's commands show, alone: requests and answers stand in the jobs' comments.
    Slurm,
    /// A snapshot that was saved.
    Snapshot,
}

/// From where the settings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SettingsFrom {
    /// `surgent.toml` beside slurm.conf, or the file that was named.
    File,
    /// The snapshot.
    Snapshot,
    /// There is no file that can be read here: the defaults.
    Defaults,
}

/// The cluster at one moment.
#[derive(Debug)]
pub(super) struct Cluster {
    /// Slurm's name of it.
    pub(super) name: Option<String>,
    /// What there is.
    pub(super) seen: Seen,
    /// What Surgent is in the middle of.
    pub(super) book: Book,
    /// By which it decides.
    pub(super) settings: Settings,
    /// Whence the book.
    pub(super) source: Source,
    /// Whence the settings.
    pub(super) settings_from: SettingsFrom,
    /// What keeps this from being the whole picture, each in one sentence.
    pub(super) notes: Vec<String>,
    /// What urgent jobs were charged, where the planner's state file tells.
    pub(super) ledger: Option<Ledger>,
    /// StateSaveLocation, whether or not this machine has it.
    pub(super) state_dir: Option<PathBuf>,
}

/// The site's settings, and how they are known.
pub(super) struct Known {
    /// The settings.
    pub(super) settings: Settings,
    /// Whence.
    pub(super) from: SettingsFrom,
    /// A sentence where they may not be those in force.
    pub(super) note: Option<String>,
}

impl Cluster {
    /// Looks at the cluster; `settings` is a file to take the settings from, instead of the site's.
    ///
    /// # Errors
    /// One sentence, where Slurm does not answer or the named file cannot be used.
    pub(super) fn read(environment: &Environment, settings: Option<&Path>) -> Result<Self, String> {
        Ok(Self::read_as(environment, settings, &|_| false)?.0)
    }

    /// The same, with waiting jobs that `as_urgent` names taken for urgent, and with the places where jobs may run.
    ///
    /// # Errors
    /// As [`Cluster::read`].
    pub(super) fn read_as(
        environment: &Environment,
        settings: Option<&Path>,
        as_urgent: &AsUrgent<'_>,
    ) -> Result<(Self, Places), String> {
        let config = Config::ask(environment).map_err(unanswered)?;
        let known = match settings {
            Some(file) => Known::of_file(file)?,
            None => Known::of_site(config.slurm_conf()),
        };
        let state_dir = config.get("StateSaveLocation").map(PathBuf::from);
        // Before the jobs: a request that goes out in between then stands in a record, and is adopted from there.
        let kept = state_dir
            .as_deref()
            .map(|folder| StateFile::within(folder).read());
        let (seen, places) = show::look_as(environment, as_urgent).map_err(unanswered)?;
        let mut notes = seen.gaps.clone();
        notes.extend(known.note);
        notes.extend(state_dir.as_deref().and_then(stepped_aside));
        let (mut book, ledger, source) = match kept {
            Some(Ok(Some(kept))) => (kept.book, Some(kept.ledger), Source::Planner),
            // On other machines there is none, and it is not for every user's eyes.
            Some(Ok(None) | Err(_)) | None => (Book::default(), None, Source::Slurm),
        };
        adopt(&mut book, &seen.facts);
        let cluster = Self {
            name: config.get("ClusterName").map(str::to_owned),
            seen,
            book,
            settings: known.settings,
            source,
            settings_from: known.from,
            notes,
            ledger,
            state_dir,
        };
        Ok((cluster, places))
    }

    /// The cluster as it was when a snapshot was saved.
    ///
    /// # Errors
    /// One line that names the file.
    pub(super) fn of_snapshot(path: &Path, settings: Option<&Path>) -> Result<Self, String> {
        let snapshot =
            Snapshot::parse(&files::text(path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        let known = match (settings, snapshot.settings) {
            (Some(file), _) => Known::of_file(file)?,
            (None, Some(settings)) => Known {
                settings,
                from: SettingsFrom::Snapshot,
                note: None,
            },
            (None, None) => Known::defaults(None),
        };
        Ok(Self {
            name: None,
            seen: Seen {
                facts: snapshot.facts,
                jobs: Vec::new(),
                controller: String::new(),
                version: String::new(),
                gaps: Vec::new(),
            },
            book: snapshot.book,
            settings: known.settings,
            source: Source::Snapshot,
            settings_from: known.from,
            notes: Vec::new(),
            ledger: None,
            state_dir: None,
        })
    }

    /// Notes where the mode keeps what is answered from happening.
    pub(super) fn note_mode(&mut self) {
        let mode = match self.settings.mode {
            Mode::On => return,
            Mode::Shadow => "shadow",
            Mode::Off => "off",
        };
        self.notes.push(format!(
            "the mode is {mode}, so nobody is asked to make way; this is what would happen in mode on"
        ));
    }
}

impl Known {
    /// Those of `surgent.toml` beside this slurm.conf, if this machine has it; else the defaults.
    pub(super) fn of_site(slurm_conf: Option<&Path>) -> Self {
        let Some(slurm_conf) = slurm_conf else {
            return Self::defaults(None);
        };
        match ConfigFile::beside(slurm_conf).changed() {
            Some(Ok(settings)) if slurm_conf.with_file_name("surgent.toml").exists() => Self {
                settings,
                from: SettingsFrom::File,
                note: None,
            },
            Some(Err(sentence)) => Self::defaults(Some(format!(
                "the settings that slurmctld read last are in force, and not these defaults: {sentence}"
            ))),
            Some(Ok(_)) | None => Self::defaults(None),
        }
    }

    fn of_file(path: &Path) -> Result<Self, String> {
        Ok(Self {
            settings: files::settings(path)?,
            from: SettingsFrom::File,
            note: None,
        })
    }

    fn defaults(note: Option<String>) -> Self {
        Self {
            settings: Settings::default(),
            from: SettingsFrom::Defaults,
            note,
        }
    }
}

/// A sentence where Surgent has turned itself off, as far as this user on this machine can see that.
fn stepped_aside(state_dir: &Path) -> Option<String> {
    let metrics = MetricsFile::within(state_dir).read().ok()?;
    let latched = "Surgent has stepped aside after faults until slurmctld is started again, and Slurm goes on as without it";
    metrics.state.latched.then(|| latched.to_owned())
}

fn unanswered(error: impl std::fmt::Display) -> String {
    format!("Slurm does not say how things are: {error}")
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent.toml`, beside slurm.conf: read at start and again when it has changed.

use crate::policy::settings::Settings;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// No `surgent.toml` is longer.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Size and time of change tell one version of a file from the next.
type Stamp = Option<(u64, Option<SystemTime>)>;

/// Watches one `surgent.toml`.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    seen: Option<Stamp>,
}

impl ConfigFile {
    /// The file that belongs to this slurm.conf.
    pub fn beside(slurm_conf: &Path) -> Self {
        Self {
            path: slurm_conf.with_file_name("surgent.toml"),
            seen: None,
        }
    }

    /// The settings, if the file has changed since the last call; a file that is not there gives the defaults.
    ///
    /// # Errors
    /// A sentence for the log where the file cannot be used; the settings in force stay.
    pub fn changed(&mut self) -> Option<Result<Settings, String>> {
        let stamp = std::fs::metadata(&self.path)
            .ok()
            .map(|meta| (meta.len(), meta.modified().ok()));
        if self.seen == Some(stamp) {
            return None;
        }
        self.seen = Some(stamp);
        if stamp.is_none() {
            return Some(Ok(Settings::default()));
        }
        Some(self.read().map_err(|error| {
            let error = error.trim().replace('\n', " ");
            format!("{}: {error}; the settings in force stay", self.path.display())
        }))
    }

    fn read(&self) -> Result<Settings, String> {
        let file = std::fs::File::open(&self.path).map_err(|error| error.to_string())?;
        let mut text = String::new();
        file.take(FILE_MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        Settings::parse(&text)
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The file that the counters are kept in.

use crate::policy::metrics::Metrics;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tempfile::Builder;

/// No file of counters is longer.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// For everybody to read: there is nobody's name in it.
const MODE: u32 = 0o644;
/// The name of a file that is not whole yet. Always the same, so that there is one at most, however often slurmctld is killed.
const UNFINISHED: &str = "surgent.metrics.unfinished";

/// `surgent.metrics.json` in StateSaveLocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsFile {
    path: PathBuf,
}

impl MetricsFile {
    /// The file in this directory.
    pub fn within(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join("surgent.metrics.json"),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What stands in it. Waits for nobody, and follows no link.
    ///
    /// # Errors
    /// Where there is none, or none that can be used; of the latter kind [`ErrorKind::InvalidData`] says what is wrong.
    pub fn read(&self) -> io::Result<Metrics> {
        let broken = |what: String| io::Error::new(ErrorKind::InvalidData, what);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(&self.path)
            .map_err(|error| match error.raw_os_error() {
                Some(libc::ELOOP) => broken("it is a symbolic link, which is not followed".to_owned()),
                _ => error,
            })?;
        if !file.metadata()?.is_file() {
            return Err(broken("it is no regular file".to_owned()));
        }
        let mut text = Vec::new();
        file.take(FILE_MAX_BYTES).read_to_end(&mut text)?;
        Metrics::parse(&text).map_err(broken)
    }

    /// Writes `metrics` in the place of what stands there.
    ///
    /// # Errors
    /// Then the old file is still whole.
    pub fn write(&self, metrics: &Metrics) -> io::Result<()> {
        // Mostly there is none; and one that cannot be removed is named when it is to be made anew.
        let _ = fs::remove_file(self.path.with_file_name(UNFINISHED));
        replace_by(
            Builder::new().prefix(UNFINISHED).rand_bytes(0),
            &self.path,
            &serde_json::to_vec(metrics)?,
        )
    }
}

/// Puts a file that everybody may read in the place of `path`, whatever that was but a folder; readers see the old one or
/// the new one. It is not flushed to disk: who loses it begins to count anew.
///
/// # Errors
/// Then `path` is as it was.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    // Hidden, and without the ending that node_exporter looks for. There may be two of us at a time.
    replace_by(Builder::new().prefix(".surgent.metrics."), path, text)
}

fn replace_by(by: &Builder<'_, '_>, path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = by.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text)?;
    file.as_file().set_permissions(Permissions::from_mode(MODE))?;
    file.persist(path)?;
    Ok(())
}

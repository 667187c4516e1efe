// SPDX-License-Identifier: GPL-2.0-or-later
//! The file that the counters are kept in.

use crate::host::kept_file::{self, Replacement};
use crate::policy::metrics::Metrics;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// For everybody to read: there is nobody's name in it. Not flushed to disk: who loses it begins to count anew.
const KEPT: Replacement = Replacement {
    unfinished: "surgent.metrics.unfinished",
    one_at_a_time: true,
    mode: 0o644,
    sync: false,
    bytes_max: 1 << 20,
};
/// Until it is whole it is hidden, and without the ending that node_exporter looks for. There may be two of us at a time.
const EXPOSED: Replacement = Replacement {
    unfinished: ".surgent.metrics.",
    one_at_a_time: false,
    // Nobody here reads it.
    bytes_max: u64::MAX,
    ..KEPT
};

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
        let text = kept_file::read(&self.path, KEPT.bytes_max)?;
        Metrics::parse(&text).map_err(|what| io::Error::new(ErrorKind::InvalidData, what))
    }

    /// Writes `metrics` in the place of what stands there.
    ///
    /// # Errors
    /// Then the old file is still whole.
    pub fn write(&self, metrics: &Metrics) -> io::Result<()> {
        kept_file::replace(&self.path, &serde_json::to_vec(metrics)?, &KEPT)
    }
}

/// Puts a file that everybody may read in the place of `path`, whatever that was but a folder; readers see the old one or
/// the new one. It is not flushed to disk: who loses it begins to count anew.
///
/// # Errors
/// Then `path` is as it was.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    kept_file::replace(path, text, &EXPOSED)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that are named on the command line.

use crate::policy::settings::Settings;
use std::io::Read as _;
use std::path::Path;

/// No snapshot is larger; one of 10,000 nodes and 40,000 jobs has about 40 MB.
const FILE_MAX_BYTES: u64 = 1 << 30;

/// The text of a file that was named.
///
/// # Errors
///
/// One line that names the file.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut text = String::new();
    let bytes = file
        .take(FILE_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    if bytes as u64 > FILE_MAX_BYTES {
        return Err(format!("{}: larger than any snapshot", path.display()));
    }
    Ok(text)
}

/// The settings in a file that was named.
///
/// # Errors
///
/// One line that names the file, and the place in it.
pub(super) fn settings(path: &Path) -> Result<Settings, String> {
    Settings::parse(&text(path)?).map_err(|error| format!("{}: {}", path.display(), error.trim_end()))
}

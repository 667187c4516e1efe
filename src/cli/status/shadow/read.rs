// SPDX-License-Identifier: GPL-2.0-or-later
//! The audit file, and those that were put aside.

use super::story::Stories;
use crate::policy::units::UnixTime;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// No line is longer: a plan for a job on a thousand nodes has a third of this.
const LINE_MAX_BYTES: u64 = 4 << 20;
/// More files than these are never kept.
const ASIDE_MAX: u32 = 10_000;

/// All that is told from `since` on.
///
/// # Errors
/// One line that names the file.
pub(super) fn read(path: &Path, since: UnixTime) -> Result<Stories, String> {
    let mut stories = Stories::default();
    each_line(path, since, &mut |line| stories.take(line, since))?;
    Ok(stories)
}

/// Hands every line of the files that were written to since then to `take`, the oldest first.
///
/// # Errors
/// One line that names the file.
pub(in crate::cli) fn each_line(
    path: &Path,
    since: UnixTime,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(), String> {
    // Of the files that were put aside, the latest has number 1.
    let aside = (1..=ASIDE_MAX).map(|number| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    });
    let mut aside: Vec<PathBuf> = aside.take_while(|file| is_wanted(file, since)).collect();
    aside.reverse();
    for file in aside {
        match read_one(&file, take) {
            // Put aside once more meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            read => read.map_err(|error| sentence(&file, &error))?,
        }
    }
    read_one(path, take).map_err(|error| sentence(path, &error))
}

/// Whether it is there, and was still written to after `since`.
fn is_wanted(file: &Path, since: UnixTime) -> bool {
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(since.0).unwrap_or(0));
    let modified = std::fs::metadata(file).and_then(|meta| meta.modified());
    modified.is_ok_and(|modified| modified >= since)
}

fn read_one(path: &Path, take: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
    // To open a FIFO would be to wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = (&mut reader).take(LINE_MAX_BYTES).read_until(b'\n', &mut line)?;
        if bytes == 0 {
            return Ok(());
        }
        // The last line may be on its way still.
        if line.ends_with(b"\n") || bytes as u64 == LINE_MAX_BYTES {
            take(&line);
        }
    }
}

fn sentence(path: &Path, error: &std::io::Error) -> String {
    let shown = path.display();
    match error.kind() {
        ErrorKind::PermissionDenied => format!(
            "{shown}: the audit file is for SlurmUser and its group; ask an administrator, or run this on the controller as root"
        ),
        ErrorKind::NotFound => format!(
            "{shown}: there is no audit file here; it is on the controller, once Surgent in mode shadow or on has had something to write"
        ),
        _ => format!("{shown}: {error}"),
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The audit file: only ever appended to, put aside by rename when it is large.

use crate::host::kept_file;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The owner's to write, and the group's to read: it tells who ran what.
const MODE: u32 = 0o640;

/// Where the audit goes.
#[derive(Debug)]
pub struct AuditFile {
    /// The file that is written to. Those put aside are `PATH.1`, the latest, and so on.
    pub path: PathBuf,
    /// It is put aside before it grows beyond this.
    pub bytes_max: u64,
    /// So many that were put aside are kept.
    pub keep: u32,
}

impl AuditFile {
    /// Appends whole lines in one go. The file is opened anew each time: somebody else may have put it aside.
    ///
    /// # Errors
    /// A part of a sentence; then nothing of `text` is in the file, as far as that can still be seen to.
    pub fn append(&self, text: &str) -> Result<(), String> {
        let (mut file, mut length) = self.open()?;
        if length > 0 && length + text.len() as u64 > self.bytes_max {
            self.put_aside()
                .map_err(|error| format!("it is full and cannot be put aside: {error}"))?;
            (file, length) = self.open()?;
        }
        // A machine that went down may have left half a line.
        let ends = match length.checked_sub(1) {
            None => true,
            Some(last) => {
                let mut byte = [0];
                file.read_exact_at(&mut byte, last).map_err(text_of)?;
                byte == *b"\n"
            }
        };
        let text = if ends {
            text.to_owned()
        } else {
            format!("\n{text}")
        };
        file.write_all(text.as_bytes()).map_err(|error| {
            // Without this the next line would stand behind half of this one. If it fails too, it is seen to then.
            let _ = file.set_len(length);
            text_of(error)
        })
    }

    /// Opens a regular file that is no link, and waits for nobody.
    fn open(&self) -> Result<(File, u64), String> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(MODE);
        let file = kept_file::open(&self.path, &mut options).map_err(text_of)?;
        let length = file.metadata().map_err(text_of)?.len();
        Ok((file, length))
    }

    fn put_aside(&self) -> std::io::Result<()> {
        for number in (1..self.keep).rev() {
            rename(&self.aside(number), &self.aside(number + 1))?;
        }
        rename(&self.path, &self.aside(1))
    }

    fn aside(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

/// One that is not there need not be renamed.
fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}

fn text_of(error: std::io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn within(folder: &Path, bytes_max: u64) -> AuditFile {
        AuditFile {
            path: folder.join("audit"),
            bytes_max,
            keep: 2,
        }
    }

    fn contents(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let mut contents: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        contents.sort();
        contents
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = expected
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = within(folder.path(), 8);
        for line in ["one\n", "two\n", "three\n", "four is longer than all\n", "five\n"] {
            file.append(line).unwrap();
        }
        assert_eq!(
            contents(folder.path()),
            pairs(&[
                ("audit", "five\n"),
                ("audit.1", "four is longer than all\n"),
                ("audit.2", "three\n"),
            ])
        );
        let mode = fs::metadata(&file.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !0o640, 0);
    }

    #[test]
    fn a_file_that_somebody_else_puts_aside_is_begun_anew_and_half_a_line_stays_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = within(folder.path(), 1000);
        file.append("one\n").unwrap();
        fs::rename(&file.path, folder.path().join("old")).unwrap();
        fs::write(&file.path, "{\"ha").unwrap();
        file.append("two\n").unwrap();
        assert_eq!(
            contents(folder.path()),
            pairs(&[("audit", "{\"ha\ntwo\n"), ("old", "one\n")])
        );
    }

    #[test]
    fn only_regular_files_are_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = within(folder.path(), 1000);
        let target = folder.path().join("target");
        fs::write(&target, "untouched").unwrap();
        symlink(&target, &file.path).unwrap();
        assert!(file.append("x\n").unwrap_err().contains("symbolic link"));
        assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");

        fs::remove_file(&file.path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &file.path, 0o600.into()).unwrap();
        assert_eq!(file.append("x\n").unwrap_err(), "it is no regular file");

        fs::remove_file(&file.path).unwrap();
        fs::create_dir(&file.path).unwrap();
        assert!(file.append("x\n").unwrap_err().contains("directory"));
    }

    /// A disk that is full takes the beginning of a text and refuses the rest. So does a file that must not grow.
    #[test]
    fn what_does_not_fit_on_the_disk_leaves_no_half_line() {
        const ROOM_BYTES: u64 = 5;
        const LIMIT_BYTES: u64 = 1 << 30;
        let folder = tempfile::tempdir().unwrap();
        let file = within(folder.path(), 2 * LIMIT_BYTES);
        let length = LIMIT_BYTES - ROOM_BYTES;
        // It takes no room but for its last byte.
        let before = File::create(&file.path).unwrap();
        before.set_len(length).unwrap();
        before.write_all_at(b"\n", length - 1).unwrap();
        // SAFETY: from now on too long a write fails instead of ending the process; no other test writes so much.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        let limit = rustix::process::Rlimit {
            current: Some(LIMIT_BYTES),
            maximum: rustix::process::getrlimit(rustix::process::Resource::Fsize).maximum,
        };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
        assert!(file.append("a longer line\n").unwrap_err().contains("large"));
        assert_eq!(fs::metadata(&file.path).unwrap().len(), length);
        file.append("1234\n").unwrap();
    }
}

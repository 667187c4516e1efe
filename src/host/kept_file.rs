// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that slurmctld keeps: opened without waiting for anybody, read whole or not at all, replaced whole.
//!
//! They stand where root or SlurmUser writes. A link there is followed only where somebody means it: what is read through
//! it would be believed, and what is written through it would be lost to somebody else.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use tempfile::Builder;

const MIB: u64 = 1 << 20;

/// How a file is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Replacement {
    /// What the name of the new file begins with until it is whole.
    pub unfinished: &'static str,
    /// That is all of its name, so that there is one at most however often slurmctld is killed. Otherwise there may be two at
    /// a time.
    pub one_at_a_time: bool,
    /// Who may read it.
    pub mode: u32,
    /// It is on disk before it takes the place of the old one: whoever loses it loses more than figures.
    pub sync: bool,
    /// No more is written: it could not be read again.
    pub bytes_max: u64,
}

/// Opens a regular file that is no link, and waits for nobody: the opening of a FIFO would.
///
/// # Errors
/// Those of the system; [`ErrorKind::InvalidData`] says what else it is.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => unfit("it is a symbolic link, which is not followed".to_owned()),
            _ => error,
        })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(unfit("it is no regular file".to_owned())),
    }
}

/// All that stands in such a file.
///
/// # Errors
/// As [`open`] and [`read_up_to`].
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_up_to(open(path, OpenOptions::new().read(true))?, bytes_max)
}

/// All that stands in `file`; half of it would be something that nobody has written.
///
/// # Errors
/// Where that is more than `bytes_max`, which are whole MiB.
pub fn read_up_to(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(unfit(format!("it is larger than {} MiB", bytes_max / MIB))),
        false => Ok(bytes),
    }
}

/// Puts a file in the place of `path`, whatever that was but a folder; readers see the old one or the new one.
///
/// # Errors
/// Then `path` is as it was.
pub fn replace(path: &Path, bytes: &[u8], by: &Replacement) -> io::Result<()> {
    if bytes.len() as u64 > by.bytes_max {
        let bytes_max = by.bytes_max / MIB;
        return Err(unfit(format!(
            "it would be larger than {bytes_max} MiB, and could not be read again"
        )));
    }
    let mut builder = Builder::new();
    builder.prefix(by.unfinished);
    if by.one_at_a_time {
        remove_unfinished(path, by);
        builder.rand_bytes(0);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(by.mode))?;
    if by.sync {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    Ok(())
}

/// Removes what was written when slurmctld was killed in the middle of it.
pub fn remove_unfinished(path: &Path, by: &Replacement) {
    // Mostly there is none; and one that cannot be removed is named when it is to be made anew.
    let _ = fs::remove_file(path.with_file_name(by.unfinished));
}

fn unfit(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Replacement = Replacement {
        unfinished: "kept.unfinished",
        one_at_a_time: true,
        mode: 0o640,
        sync: false,
        bytes_max: MIB,
    };

    #[test]
    fn what_is_too_long_is_neither_cut_nor_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let most = vec![b'x'; MIB as usize];
        replace(&path, &most, &SMALL).unwrap();
        assert_eq!(read(&path, MIB).unwrap(), most);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);

        let more = vec![b'y'; most.len() + 1];
        let error = replace(&path, &more, &SMALL).unwrap_err().to_string();
        assert!(error.contains("larger than 1 MiB"), "{error}");
        assert_eq!(read(&path, MIB).unwrap(), most, "the old one is still there");
        fs::write(&path, &more).unwrap();
        let error = read(&path, MIB).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
    }

    #[test]
    fn no_link_is_followed_and_what_was_left_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("kept"), folder.path().join("target"));
        fs::write(&target, "untouched").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let error = read(&path, MIB).unwrap_err().to_string();
        assert_eq!(error, "it is a symbolic link, which is not followed");
        fs::write(path.with_file_name(SMALL.unfinished), "{").unwrap();
        replace(&path, b"new", &SMALL).unwrap();
        assert_eq!(read(&path, MIB).unwrap(), b"new");
        assert_eq!(fs::read(&target).unwrap(), b"untouched");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(
            read(folder.path(), MIB).unwrap_err().to_string(),
            "it is no regular file"
        );
        assert_eq!(
            read(&folder.path().join("none"), MIB).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}

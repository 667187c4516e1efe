// SPDX-License-Identifier: GPL-2.0-or-later
//! The file that the program writes its reports to.
//!
//! A regular file: a program that writes to a pipe would stop, or end, with the monitor.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FallocateFlags, fallocate, inotify};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// The longest line that is read as a report.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What has been read is given back to the file system in pieces of this size: a program may report each of many
/// millions of steps, and the folder may lie in memory.
const RELEASE_BYTES: u64 = 1024 * 1024;

/// How often the file is looked at where the kernel does not tell: on a file system that others write to.
const LOOK_INTERVAL: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// The same where the kernel cannot tell at all, because too many ask it to.
const LOOK_INTERVAL_BLIND: Duration = Duration::from_millis(50);

/// The file, in a folder that only its user may enter.
#[derive(Debug)]
pub struct Reports {
    /// Vanishes with this.
    folder: TempDir,
    path: PathBuf,
    file: File,
    read_bytes: u64,
    released_bytes: u64,
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl Reports {
    /// Makes an empty file.
    pub fn create() -> io::Result<Self> {
        let only_user = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new()
            .prefix("surgent-")
            .permissions(only_user)
            .tempdir()?;
        let path = folder.path().join("reports");
        let file = create_file(&path)?;
        Ok(Self {
            folder,
            path,
            file,
            read_bytes: 0,
            released_bytes: 0,
            partial: Vec::new(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `changed` each time that something was written, on a thread of its own.
    pub fn watch(&self, changed: impl Fn() + Send + 'static) {
        let path = self.path.clone();
        thread::spawn(move || {
            let watch = watch_for_writes(&path);
            loop {
                match &watch {
                    Ok(watch) => wait_for_write(watch),
                    Err(_) => thread::sleep(LOOK_INTERVAL_BLIND),
                }
                changed();
            }
        });
    }

    /// Makes folder and file anew, in the same place, where somebody has removed them; whether that was so. Who cleans
    /// `TMPDIR` under a running job does not mean to make `surgent run` deaf.
    ///
    /// # Errors
    ///
    /// Where they cannot be made, or something else is there in the place of the folder.
    pub fn restore(&mut self) -> io::Result<bool> {
        if self.path.try_exists()? {
            return Ok(false);
        }
        match DirBuilder::new().mode(0o700).create(self.folder.path()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let found = fs::symlink_metadata(self.folder.path())?;
        let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if !is_own || found.mode() & 0o077 != 0 {
            return Err(io::Error::other("its folder is another one"));
        }
        self.file = create_file(&self.path)?;
        self.read_bytes = 0;
        self.released_bytes = 0;
        self.partial.clear();
        Ok(true)
    }

    /// Hands each complete line that has come since to `take`; with `is_end` also what stands behind the last of them.
    pub fn read(&mut self, is_end: bool, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        if self.file.metadata()?.len() < self.read_bytes {
            // Somebody has cut it off and begun anew.
            self.read_bytes = 0;
            self.released_bytes = 0;
            self.partial.clear();
        }
        self.file.seek(SeekFrom::Start(self.read_bytes))?;
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.read_bytes += count as u64;
            for piece in buffer[..count].split_inclusive(|&byte| byte == b'\n') {
                // One byte more than is read, so that a line that is too long is told from one that just fits.
                let room = (LINE_BYTES_MAX + 1).saturating_sub(self.partial.len());
                self.partial.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.ends_with(b"\n") {
                    take(&self.partial);
                    self.partial.clear();
                }
            }
        }
        if is_end && !self.partial.is_empty() {
            take(&self.partial);
            self.partial.clear();
        }
        self.release();
        Ok(())
    }

    fn release(&mut self) {
        let read_bytes = self.read_bytes - self.released_bytes;
        if read_bytes >= RELEASE_BYTES {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Not every file system can; there the file just grows.
            let _ = fallocate(&self.file, flags, self.released_bytes, read_bytes);
            self.released_bytes = self.read_bytes;
        }
    }
}

fn create_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn watch_for_writes(path: &Path) -> rustix::io::Result<rustix::fd::OwnedFd> {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, path, inotify::WatchFlags::MODIFY)?;
    Ok(watch)
}

/// Returns when the file was written to, or after a second.
fn wait_for_write(watch: &rustix::fd::OwnedFd) {
    let mut polled = [PollFd::new(watch, PollFlags::IN)];
    match poll(&mut polled, Some(&LOOK_INTERVAL)) {
        Ok(0) => {}
        // What exactly was written is seen in the file.
        Ok(_) => _ = rustix::io::read(watch, &mut [0; 4096]),
        // Interrupted by a signal, at most.
        Err(_) => thread::sleep(LOOK_INTERVAL_BLIND),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn append(reports: &Reports, bytes: &[u8]) {
        let mut file = OpenOptions::new()
            .append(true)
            .open(reports.path())
            .expect("it is there");
        file.write_all(bytes).expect("written");
    }

    fn read(reports: &mut Reports, is_end: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let take = |line: &[u8]| lines.push(String::from_utf8(line.to_vec()).expect("text"));
        reports.read(is_end, take).expect("it can be read");
        lines
    }

    fn lines(reports: &mut Reports) -> Vec<String> {
        read(reports, false)
    }

    #[test]
    fn lines_are_read_once_and_only_when_complete() {
        let mut reports = Reports::create().expect("a file");
        assert!(lines(&mut reports).is_empty());
        append(&reports, b"one\ntwo\nthr");
        assert_eq!(lines(&mut reports), ["one\n", "two\n"]);
        append(&reports, b"ee\n");
        assert_eq!(lines(&mut reports), ["three\n"]);
        append(&reports, b"last");
        assert!(lines(&mut reports).is_empty());
        assert_eq!(read(&mut reports, true), ["last"]);
        assert!(read(&mut reports, true).is_empty());
    }

    #[test]
    fn a_file_that_was_cut_off_is_read_from_its_beginning() {
        let mut reports = Reports::create().expect("a file");
        append(&reports, b"a long line\n");
        assert_eq!(lines(&mut reports), ["a long line\n"]);
        std::fs::write(reports.path(), b"anew\n").expect("written");
        assert_eq!(lines(&mut reports), ["anew\n"]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let mut reports = Reports::create().expect("a file");
        append(&reports, &vec![b'x'; 10 * LINE_BYTES_MAX]);
        assert!(lines(&mut reports).is_empty());
        assert_eq!(reports.partial.len(), LINE_BYTES_MAX + 1);
        append(&reports, b"\nshort\n");
        assert_eq!(lines(&mut reports)[1], "short\n");
    }

    #[test]
    fn what_was_read_is_given_back_and_reading_goes_on() {
        let mut reports = Reports::create().expect("a file");
        let line = [[b'y'; 1023].as_slice(), b"\n"].concat();
        for _ in 0..3 {
            append(&reports, &line.repeat(1024));
            assert_eq!(lines(&mut reports).len(), 1024);
        }
        append(&reports, b"end\n");
        assert_eq!(lines(&mut reports), ["end\n"]);
    }

    #[test]
    fn a_file_that_was_removed_is_there_again() {
        let mut reports = Reports::create().expect("a file");
        let folder = reports.path().parent().expect("a folder").to_owned();
        append(&reports, b"before\n");
        assert!(!reports.restore().expect("it is there"));
        fs::remove_dir_all(&folder).expect("removed");
        // What was written to it before is not lost.
        assert_eq!(lines(&mut reports), ["before\n"]);
        assert!(reports.restore().expect("it can be made"));
        assert_eq!(
            folder.metadata().expect("it is there").permissions().mode() & 0o777,
            0o700
        );
        append(&reports, b"after\n");
        assert_eq!(lines(&mut reports), ["after\n"]);

        fs::remove_file(reports.path()).expect("removed");
        assert!(reports.restore().expect("it can be made"));
        fs::remove_dir_all(&folder).expect("removed");
        std::os::unix::fs::symlink("/tmp", &folder).expect("a link");
        assert!(reports.restore().is_err(), "somebody else's folder");
    }

    #[test]
    fn only_its_user_may_look_into_the_folder() {
        let reports = Reports::create().expect("a file");
        let folder = reports.path().parent().expect("a folder").to_owned();
        let mode = folder.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(reports);
        assert!(!folder.exists());
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The state file: what Surgent is in the middle of, across restarts of slurmctld.

use super::kept_file::{self, Replacement};
use crate::policy::admission::ledger::Ledger;
use crate::policy::book::Book;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// For its owner alone, and on disk before anybody is asked.
const REPLACED: Replacement = Replacement {
    unfinished: "surgent.state.unfinished",
    one_at_a_time: true,
    mode: 0o600,
    sync: true,
    bytes_max: 16 << 20,
};
/// The form of the file.
const FORM: u32 = 1;

#[derive(Deserialize)]
struct State {
    form: u32,
    book: Book,
    #[serde(default)]
    ledger: Ledger,
}

/// [`State`] to be written.
#[derive(Serialize)]
struct StateView<'a> {
    form: u32,
    book: &'a Book,
    ledger: &'a Ledger,
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// What is under way.
    pub book: Book,
    /// What urgent jobs have used.
    pub ledger: Ledger,
}

impl Kept {
    /// Reads the bytes of a state file.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let state: State = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if state.form != FORM {
            return Err(format!("its form is {}, this Surgent knows {FORM}", state.form));
        }
        Ok(Self {
            book: state.book,
            ledger: state.ledger,
        })
    }

    /// What [`Kept::parse`] reads.
    ///
    /// # Errors
    /// None that is known; what cannot be written as JSON is in neither.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        bytes(&self.book, &self.ledger)
    }
}

fn bytes(book: &Book, ledger: &Ledger) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&StateView {
        form: FORM,
        book,
        ledger,
    })
}

/// `surgent.state` in StateSaveLocation.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    written: Option<Written>,
}

/// What stands in the file. Of the book, as it is written: it also has what is of use until slurmctld ends, and changes with
/// every step.
#[derive(Debug, PartialEq)]
struct Written {
    book: Vec<u8>,
    ledger: Ledger,
}

impl Written {
    fn is(&self, book: &[u8], ledger: &Ledger) -> bool {
        self.book == book && self.ledger == *ledger
    }
}

impl StateFile {
    /// The file in this directory.
    pub fn within(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join("surgent.state"),
            written: None,
        }
    }

    /// What was written last; nothing where there is no file.
    ///
    /// # Errors
    /// A sentence for the log where there is one that cannot be used. Of what is under way nothing is lost by that: the
    /// requests also stand in the jobs' records. What urgent jobs have used is forgotten.
    pub fn load(&mut self) -> Result<Kept, String> {
        kept_file::remove_unfinished(&self.path, &REPLACED);
        let kept = self.read().map(Option::unwrap_or_default).map_err(|error| {
            format!(
                "{}: {error}; going on from what stands in the jobs' AdminComments, and with no urgent GPU-hours used",
                self.path.display()
            )
        })?;
        // One that cannot be written as it was read would be written anew.
        self.written = serde_json::to_vec(&kept.book).ok().map(|book| Written {
            book,
            ledger: kept.ledger.clone(),
        });
        Ok(kept)
    }

    /// What stands in the file; `None` where there is none.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(&self) -> Result<Option<Kept>, String> {
        match kept_file::read(&self.path, REPLACED.bytes_max) {
            Ok(text) => Kept::parse(&text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Writes both unless that is what stands there: to a new file, flushed to disk, then renamed over the old one.
    ///
    /// # Errors
    /// A sentence for the log.
    pub fn store(&mut self, book: &Book, ledger: &Ledger) -> Result<(), String> {
        let cannot = |error: std::io::Error| format!("{} cannot be written: {error}", self.path.display());
        let text = serde_json::to_vec(book).map_err(|error| cannot(error.into()))?;
        if self
            .written
            .as_ref()
            .is_some_and(|written| written.is(&text, ledger))
        {
            return Ok(());
        }
        let all = bytes(book, ledger).map_err(|error| cannot(error.into()))?;
        kept_file::replace(&self.path, &all, &REPLACED).map_err(cannot)?;
        self.written = Some(Written {
            book: text,
            ledger: ledger.clone(),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::book::Campaign;
    use crate::policy::ids::JobId;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_was_stored_is_loaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let book = Book {
            campaigns: vec![Campaign::new(JobId(7), Vec::new())],
            ..Book::default()
        };
        let ledger = Ledger::default();
        StateFile::within(folder.path()).store(&book, &ledger).unwrap();
        let kept = Kept { book, ledger };
        assert_eq!(StateFile::within(folder.path()).load(), Ok(kept));
    }

    #[test]
    fn what_the_file_does_not_have_does_not_have_it_written_anew() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let inode = || {
            std::fs::metadata(folder.path().join("surgent.state"))
                .unwrap()
                .ino()
        };
        let mut file = StateFile::within(folder.path());
        let mut book = Book::default();
        file.store(&book, &Ledger::default()).unwrap();
        let before = inode();
        let mut actions = vec![crate::policy::book::Action::StartNow { job: JobId(7) }];
        book.tries
            .let_rest(&mut actions, crate::policy::units::UnixTime(5));
        assert_ne!(book, Book::default());
        file.store(&book, &Ledger::default()).unwrap();
        assert_eq!(inode(), before);
        book.said.insert(JobId(7), "waits".to_owned());
        file.store(&book, &Ledger::default()).unwrap();
        assert_ne!(inode(), before);
        // And a slurmctld that has just read it does not write it.
        let before = inode();
        let mut next = StateFile::within(folder.path());
        let kept = next.load().unwrap();
        next.store(&kept.book, &kept.ledger).unwrap();
        assert_eq!(inode(), before);
    }

    #[test]
    fn what_a_kill_left_half_written_is_neither_read_nor_kept() {
        let folder = tempfile::tempdir().unwrap();
        let left = || std::fs::read_dir(folder.path()).unwrap().count();
        std::fs::write(folder.path().join(REPLACED.unfinished), "{").unwrap();
        assert_eq!(StateFile::within(folder.path()).load(), Ok(Kept::default()));
        assert_eq!(left(), 0);
        std::fs::write(folder.path().join(REPLACED.unfinished), "{").unwrap();
        let book = Book {
            campaigns: vec![Campaign::new(JobId(7), Vec::new())],
            ..Book::default()
        };
        let mut file = StateFile::within(folder.path());
        file.store(&book, &Ledger::default()).unwrap();
        assert_eq!(file.load().unwrap().book, book);
        assert_eq!(left(), 1);
    }

    #[test]
    fn a_file_of_an_older_version_has_no_ledger() {
        let folder = tempfile::tempdir().unwrap();
        let text = "{\"form\":1,\"book\":{\"said\":{\"7\":\"waits\"}}}";
        std::fs::write(folder.path().join("surgent.state"), text).unwrap();
        let kept = StateFile::within(folder.path()).load().unwrap();
        assert_eq!(kept.book.said.len(), 1);
        assert_eq!(kept.ledger, Ledger::default());
    }

    #[test]
    fn a_file_that_is_missing_is_an_empty_book_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(StateFile::within(folder.path()).load(), Ok(Kept::default()));
        for damaged in ["", "{", "{\"form\":1}", "{\"form\":99,\"book\":{}}"] {
            std::fs::write(folder.path().join("surgent.state"), damaged).unwrap();
            let error = StateFile::within(folder.path()).load().unwrap_err();
            assert!(error.contains("surgent.state"), "{damaged:?} gave {error:?}");
        }
    }

    #[test]
    fn a_book_that_is_too_long_is_said_and_the_file_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = StateFile::within(folder.path());
        let mut book = Book::default();
        book.said.insert(JobId(7), "waits".to_owned());
        file.store(&book, &Ledger::default()).unwrap();
        let mut long = book.clone();
        long.said.insert(JobId(8), "x".repeat(17 << 20));
        let error = file.store(&long, &Ledger::default()).unwrap_err();
        assert!(error.contains("larger than 16 MiB"), "{error}");
        assert_eq!(StateFile::within(folder.path()).load().unwrap().book, book);
        std::fs::write(folder.path().join("surgent.state"), vec![b' '; (16 << 20) + 1]).unwrap();
        let error = file.load().unwrap_err();
        assert!(error.contains("larger than 16 MiB"), "{error}");
    }

    #[test]
    fn no_link_is_followed_and_nothing_but_a_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("surgent.state"), folder.path().join("target"));
        std::fs::write(&target, "{\"form\":1,\"book\":{}}").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let mut file = StateFile::within(folder.path());
        assert!(file.load().unwrap_err().contains("symbolic link"));
        file.store(&Book::default(), &Ledger::default()).unwrap();
        assert!(
            std::fs::symlink_metadata(&path).unwrap().is_file(),
            "the link is gone"
        );
        assert_eq!(
            std::fs::read_to_string(&target).unwrap(),
            "{\"form\":1,\"book\":{}}"
        );

        std::fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        assert!(file.load().unwrap_err().contains("no regular file"));
    }

    #[test]
    fn only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        StateFile::within(folder.path())
            .store(&Book::default(), &Ledger::default())
            .unwrap();
        let mode = std::fs::metadata(folder.path().join("surgent.state"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

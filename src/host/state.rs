// SPDX-License-Identifier: GPL-2.0-or-later
//! The state file: what Surgent is in the middle of, across restarts of slurmctld.

use crate::policy::book::Book;
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// No state file is longer.
const FILE_MAX_BYTES: u64 = 16 << 20;
/// The form of the file.
const FORM: u32 = 1;

#[derive(Serialize, Deserialize)]
struct State {
    form: u32,
    book: Book,
}

/// `surgent.state` in StateSaveLocation.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    written: Option<Book>,
}

impl StateFile {
    /// The file in this directory.
    pub fn within(state_dir: &Path) -> Self {
        Self {
            path: state_dir.join("surgent.state"),
            written: None,
        }
    }

    /// What was written last; an empty book where there is no file.
    ///
    /// # Errors
    /// A sentence for the log where there is one that cannot be used. Nothing is lost by that: the requests also
    /// stand in the jobs' records.
    pub fn load(&mut self) -> Result<Book, String> {
        let book = self.read().map_err(|error| {
            format!(
                "{}: {error}; going on from what stands in the jobs' AdminComments",
                self.path.display()
            )
        })?;
        self.written = Some(book.clone());
        Ok(book)
    }

    fn read(&self) -> Result<Book, String> {
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Book::default()),
            Err(error) => return Err(error.to_string()),
        };
        let mut text = Vec::new();
        file.take(FILE_MAX_BYTES)
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        let state: State = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        if state.form != FORM {
            return Err(format!("its form is {}, this Surgent knows {FORM}", state.form));
        }
        Ok(state.book)
    }

    /// Writes `book` unless it is what stands there: to a new file, flushed to disk, then renamed over the old one.
    ///
    /// # Errors
    /// A sentence for the log.
    pub fn store(&mut self, book: &Book) -> Result<(), String> {
        if self.written.as_ref() == Some(book) {
            return Ok(());
        }
        self.write(book)
            .map_err(|error| format!("{} cannot be written: {error}", self.path.display()))?;
        self.written = Some(book.clone());
        Ok(())
    }

    fn write(&self, book: &Book) -> std::io::Result<()> {
        let state = State {
            form: FORM,
            book: book.clone(),
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix("surgent.state.")
            .tempfile_in(folder)?;
        file.write_all(&serde_json::to_vec(&state)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::book::Campaign;
    use crate::policy::ids::JobId;

    #[test]
    fn what_was_stored_is_loaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let book = Book {
            campaigns: vec![Campaign::new(JobId(7), Vec::new())],
            ..Book::default()
        };
        StateFile::within(folder.path()).store(&book).unwrap();
        assert_eq!(StateFile::within(folder.path()).load(), Ok(book));
    }

    #[test]
    fn a_file_that_is_missing_is_an_empty_book_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(StateFile::within(folder.path()).load(), Ok(Book::default()));
        for damaged in ["", "{", "{\"form\":1}", "{\"form\":99,\"book\":{}}"] {
            std::fs::write(folder.path().join("surgent.state"), damaged).unwrap();
            let error = StateFile::within(folder.path()).load().unwrap_err();
            assert!(error.contains("surgent.state"), "{damaged:?} gave {error:?}");
        }
    }
}

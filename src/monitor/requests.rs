// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to save for a program that takes no signal for it: it looks, between two steps, into a file that counts them.
//!
//! A counter, so that nothing has to be taken back: a program has answered all requests up to the one that it saw, and
//! many processes may look at the same file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file, and whether the program looks there.
#[derive(Debug)]
pub struct Requests {
    path: PathBuf,
    made: u64,
    is_watched: bool,
}

impl Requests {
    /// None yet, and no file. The file is going to be in `folder`.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            path: folder.join("save-request"),
            made: 0,
            is_watched: false,
        }
    }

    /// Where the file is going to be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A program is about to be started: the requests to another one are not meant for it.
    pub fn begin(&mut self) {
        // Only fails where there is none.
        let _ = fs::remove_file(&self.path);
        self.is_watched = false;
    }

    /// The program has said that it looks at the file.
    pub fn watch(&mut self) {
        self.is_watched = true;
    }

    /// Whether the program looks at the file.
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// Makes one more request.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn make(&mut self) -> io::Result<()> {
        self.made += 1;
        // By rename: nobody reads one half of a number.
        let part = self.path.with_extension("part");
        fs::write(&part, format!("{}\n", self.made))?;
        fs::rename(part, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_and_a_new_program_finds_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut requests = Requests::in_folder(folder.path());
        let read = |requests: &Requests| fs::read_to_string(requests.path()).ok();
        assert_eq!(read(&requests), None);
        for expected in ["1\n", "2\n"] {
            requests.make().expect("its own folder");
            assert_eq!(read(&requests).as_deref(), Some(expected));
        }
        requests.watch();
        requests.begin();
        assert_eq!((read(&requests), requests.is_watched()), (None, false));
        requests.make().expect("its own folder");
        assert_eq!(read(&requests).as_deref(), Some("3\n"));
    }
}

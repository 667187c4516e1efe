// SPDX-License-Identifier: GPL-2.0-or-later
//! The facts behind the latest plans, in files for `surgent plan --snapshot`.
//!
//! A plan does not depend on any of this: what cannot be written is said in the log, once for each plan.

use crate::policy::ids::JobId;
use crate::policy::snapshot::SnapshotView;
use crate::policy::units::UnixTime;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{BufWriter, Error, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What the names of the files begin and end with.
const HEAD: &str = "plan-";
const TAIL: &str = ".json";
/// What the name of a file begins with until it is whole.
const UNFINISHED: &str = ".unfinished-";
/// A file's name says for so many urgent jobs at most whose plans it explains.
const NAMED_MAX: usize = 8;

/// Whom a plan stops, and for which urgent job.
pub type Choice = (JobId, Vec<JobId>);

/// `surgent.plans` in StateSaveLocation.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// What was kept last, or could not be.
    last: Vec<Choice>,
}

impl Records {
    /// The folder in this directory.
    pub fn within(state_dir: &Path) -> Self {
        Self {
            folder: state_dir.join("surgent.plans"),
            last: Vec::new(),
        }
    }

    /// Keeps what `choices` were made from, as of `now`, and of older files the newest, so that there are `most`. Returns
    /// the new file; `None` where there is nothing to keep or it was kept already: in shadow mode the same choices are
    /// made again and again.
    ///
    /// # Errors
    /// A sentence for the log.
    pub fn keep(
        &mut self,
        snapshot: &SnapshotView<'_>,
        now: UnixTime,
        choices: Vec<Choice>,
        most: usize,
    ) -> Option<Result<PathBuf, String>> {
        if choices.is_empty() || choices == self.last {
            return None;
        }
        let path = self.folder.join(file_name(now, &choices));
        self.last = choices;
        let kept = self
            .write(snapshot, &path)
            .and_then(|()| self.remove_old(&path, most));
        Some(kept.map(|()| path).map_err(|error| {
            let folder = self.folder.display();
            format!("{folder}: the facts behind the latest plan could not be kept: {error}")
        }))
    }

    /// What is chosen next is kept also where it is the same: where plans are carried out none is made twice.
    pub fn forget_last(&mut self) {
        self.last.clear();
    }

    fn write(&self, snapshot: &SnapshotView<'_>, path: &Path) -> std::io::Result<()> {
        self.make_folder()?;
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.folder)?;
        let mut buffer = BufWriter::with_capacity(1 << 16, file);
        serde_json::to_writer(&mut buffer, snapshot)?;
        buffer.flush()?;
        let file = buffer.into_inner().map_err(|error| error.into_error())?;
        file.persist(path)?;
        Ok(())
    }

    /// A folder that is none, but a link to one, is not written to.
    fn make_folder(&self) -> std::io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made,
        }
        match fs::symlink_metadata(&self.folder)?.is_dir() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::NotADirectory, "this is not a directory")),
        }
    }

    /// All but the newest `most` files of ours go, and whatever a crash left unfinished; `newest` stays.
    fn remove_old(&self, newest: &Path, most: usize) -> std::io::Result<()> {
        let mut others = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if name.starts_with(UNFINISHED) {
                fs::remove_file(&path)?;
            } else if let Some(made) = time_of(name).filter(|_| path != newest) {
                others.push((made, path));
            }
        }
        others.sort();
        let surplus = (others.len() + 1).saturating_sub(most);
        others
            .iter()
            .take(surplus)
            .try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// `plan-1764410000-5.json`: when, and for which urgent jobs.
fn file_name(now: UnixTime, choices: &[Choice]) -> String {
    let mut jobs: Vec<String> = choices.iter().map(|(urgent, _)| urgent.to_string()).collect();
    // Those of one array stand together.
    jobs.dedup();
    jobs.truncate(NAMED_MAX);
    format!("{HEAD}{now}-{}{TAIL}", jobs.join("-"))
}

/// The time in the name of a file of ours.
fn time_of(name: &str) -> Option<i64> {
    let (time, _) = name.strip_prefix(HEAD)?.strip_suffix(TAIL)?.split_once('-')?;
    time.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::book::Book;
    use crate::policy::facts::Facts;
    use crate::policy::settings::Settings;
    use crate::policy::snapshot::Snapshot;
    use std::os::unix::fs::symlink;

    fn keep_by(
        records: &mut Records,
        now: i64,
        urgent: &[u32],
        most: usize,
    ) -> Option<Result<PathBuf, String>> {
        let (facts, settings, book) = (Facts::at(UnixTime(now)), Settings::default(), Book::default());
        let choices = urgent.iter().map(|id| (JobId(*id), vec![JobId(70)])).collect();
        records.keep(
            &SnapshotView::of(&facts, &settings, &book),
            facts.now,
            choices,
            most,
        )
    }

    fn keep(folder: &Path, now: i64, urgent: &[u32], most: usize) -> Result<PathBuf, String> {
        keep_by(&mut Records::within(folder), now, urgent, most).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder.join("surgent.plans")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_newest_are_kept_for_their_owner_alone_and_strangers_stay() {
        let folder = tempfile::tempdir().unwrap();
        let first = keep(folder.path(), 9, &[1], 3).unwrap();
        let read = Snapshot::parse(&fs::read_to_string(&first).unwrap()).unwrap();
        assert_eq!(
            (read.facts.now, read.settings),
            (UnixTime(9), Some(Settings::default()))
        );
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&first), mode(first.parent().unwrap())), (0o600, 0o700));

        for stranger in ["notes.txt", "plan-mine.json", "plan-10-x.txt"] {
            fs::write(folder.path().join("surgent.plans").join(stranger), "").unwrap();
        }
        fs::write(folder.path().join("surgent.plans/.unfinished-x"), "{").unwrap();
        for now in [10, 11, 100] {
            keep(folder.path(), now, &[2, 3], 3).unwrap();
        }
        let ours = ["plan-10-2-3.json", "plan-100-2-3.json", "plan-11-2-3.json"];
        let strangers = ["notes.txt", "plan-10-x.txt", "plan-mine.json"];
        let mut expected: Vec<&str> = ours.into_iter().chain(strangers).collect();
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);

        // A clock that was set back does not cost the plan that was just made.
        keep(folder.path(), 5, &[4], 1).unwrap();
        assert!(names(folder.path()).contains(&"plan-5-4.json".to_owned()));
        assert_eq!(names(folder.path()).len(), 1 + strangers.len());
    }

    #[test]
    fn the_same_choices_are_kept_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut records = Records::within(folder.path());
        assert!(keep_by(&mut records, 9, &[], 3).is_none());
        for (now, urgent, kept) in [
            (9, &[1, 1, 2][..], true),
            (10, &[1, 1, 2], false),
            (11, &[1, 2], true),
        ] {
            assert_eq!(keep_by(&mut records, now, urgent, 3).is_some(), kept, "at {now}");
        }
        records.forget_last();
        assert!(keep_by(&mut records, 12, &[1, 2], 3).is_some());
        assert_eq!(
            names(folder.path()),
            ["plan-11-1-2.json", "plan-12-1-2.json", "plan-9-1-2.json"]
        );
    }

    #[test]
    fn no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), folder.path().join("surgent.plans")).unwrap();
        let error = keep(folder.path(), 9, &[1], 3).unwrap_err();
        assert!(
            error.contains("not a directory") && error.lines().count() == 1,
            "{error}"
        );
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

        fs::remove_file(folder.path().join("surgent.plans")).unwrap();
        let target = elsewhere.path().join("target");
        fs::write(&target, "untouched").unwrap();
        fs::create_dir(folder.path().join("surgent.plans")).unwrap();
        for link in ["plan-9-1.json", "plan-8-1.json"] {
            symlink(&target, folder.path().join("surgent.plans").join(link)).unwrap();
        }
        keep(folder.path(), 9, &[1], 1).unwrap();
        assert_eq!(names(folder.path()), ["plan-9-1.json"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "untouched");
    }

    #[test]
    fn what_cannot_be_written_is_one_sentence_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("gone");
        let error = keep(&missing, 9, &[1], 3).unwrap_err();
        assert!(
            error.contains("gone/surgent.plans: ") && error.lines().count() == 1,
            "{error}"
        );
    }
}

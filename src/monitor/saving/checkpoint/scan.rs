// SPDX-License-Identifier: GPL-2.0-or-later
//! What lies where checkpoints are looked for.

use super::names::is_temporary;
use glob::{MatchOptions, Pattern};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More files than any training's checkpoints have; a pattern such as `/**` would never end.
const FILES_MAX: usize = 20_000;

/// Deeper than any checkpoint's folders.
const DEPTH_MAX: usize = 8;

/// One file or folder that may be a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Each file of a folder by its path within, or the file itself by an empty path.
    pub parts: BTreeMap<PathBuf, Print>,
    /// The name of something in it that is still being written, or is missing from it.
    pub unfinished: Option<String>,
}

/// By what a file that was changed is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Print {
    /// When it was changed last, seconds and nanoseconds.
    pub changed: (i64, i64),
    /// Its length.
    pub bytes: u64,
    /// Its number in the file system: a file that was renamed to this name is another one.
    pub inode: u64,
}

/// Why nothing can be said of a pattern.
#[derive(Debug, thiserror::Error)]
#[error("{0} has more than {FILES_MAX} files; write a closer --checkpoint pattern")]
pub struct TooMany(String);

impl Found {
    /// The length of all its files.
    pub fn bytes(&self) -> u64 {
        self.parts.values().map(|print| print.bytes).sum()
    }

    /// When something in it was changed last.
    pub fn changed(&self) -> Option<(i64, i64)> {
        self.parts.values().map(|print| print.changed).max()
    }

    /// Its name without the folder that it is in.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// What matches `pattern`, except what has a temporary name. What vanishes or cannot be read meanwhile is left out.
///
/// # Errors
///
/// More files than can be followed.
pub fn scan(pattern: &Pattern) -> Result<Vec<Found>, TooMany> {
    scan_within(pattern, FILES_MAX)
}

/// The same with `room` for so many files.
fn scan_within(pattern: &Pattern, mut room: usize) -> Result<Vec<Found>, TooMany> {
    let options = MatchOptions {
        require_literal_leading_dot: true,
        ..MatchOptions::new()
    };
    // A pattern that was checked when the command line was read.
    let Ok(paths) = glob::glob_with(pattern.as_str(), options) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for path in paths {
        room = room.checked_sub(1).ok_or_else(|| TooMany(pattern.to_string()))?;
        let Ok(path) = path else { continue };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_temporary(&name) {
            continue;
        }
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        let mut one = Found {
            is_folder: metadata.is_dir(),
            parts: BTreeMap::new(),
            unfinished: None,
            path,
        };
        match one.is_folder {
            true => {
                let folder = one.path.clone();
                walk(&folder, Path::new(""), 0, &mut one, &mut room)
                    .ok_or_else(|| TooMany(folder.display().to_string()))?;
                note_missing(&mut one);
            }
            false => _ = one.parts.insert(PathBuf::new(), Print::of(&metadata)),
        }
        found.push(one);
    }
    Ok(found)
}

/// Adds the files of `folder`; `None` if there are too many.
fn walk(folder: &Path, within: &Path, depth: usize, found: &mut Found, room: &mut usize) -> Option<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Some(());
    };
    for entry in entries.flatten() {
        *room = room.checked_sub(1)?;
        let name = entry.file_name();
        if is_temporary(&name.to_string_lossy()) {
            found.unfinished = Some(name.to_string_lossy().into_owned());
            continue;
        }
        let (path, within) = (entry.path(), within.join(&name));
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() && depth < DEPTH_MAX => {
                walk(&path, &within, depth + 1, found, room)?;
            }
            Ok(metadata) => _ = found.parts.insert(within, Print::of(&metadata)),
            Err(_) => {}
        }
    }
    Some(())
}

/// PyTorch's distributed checkpoints are complete once their metadata, written last, are there.
fn note_missing(found: &mut Found) {
    let names = |name: &str| found.parts.keys().any(|part| part.ends_with(name));
    let is_sharded = found
        .parts
        .keys()
        .any(|part| part.extension().is_some_and(|e| e == "distcp"));
    if is_sharded && !names(".metadata") {
        found.unfinished = Some(".metadata (not there yet)".to_owned());
    }
}

impl Print {
    fn of(metadata: &Metadata) -> Self {
        Self {
            changed: (metadata.mtime(), metadata.mtime_nsec()),
            bytes: metadata.len(),
            inode: metadata.ino(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(folder: &Path, pattern: &str) -> Vec<Found> {
        let pattern = format!("{}/{pattern}", folder.display());
        scan(&Pattern::new(&pattern).expect("right")).expect("few")
    }

    #[test]
    fn files_and_folders_are_found_and_temporary_names_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["a.pt", "b.pt.tmp", ".c.pt"] {
            fs::write(at(name), "12345").expect("its own folder");
        }
        fs::create_dir_all(at("checkpoint-5/inner")).expect("its own folder");
        fs::write(at("checkpoint-5/inner/w"), "123").expect("its own folder");
        fs::write(at("checkpoint-5/checkpoint-is-incomplete.txt"), "").expect("its own folder");
        let all = found(folder.path(), "*");
        let names: Vec<_> = all.iter().map(Found::name).collect();
        assert_eq!(names, ["a.pt", "checkpoint-5"]);
        assert_eq!((all[0].bytes(), all[1].bytes()), (5, 3));
        assert_eq!(all[0].unfinished, None);
        assert_eq!(all[1].unfinished.as_deref(), Some("checkpoint-is-incomplete.txt"));
    }

    #[test]
    fn a_sharded_checkpoint_has_metadata() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("step-1")).expect("its own folder");
        fs::write(at("step-1/__0_0.distcp"), "123").expect("its own folder");
        assert!(found(folder.path(), "step-*")[0].unfinished.is_some());
        fs::write(at("step-1/.metadata"), "1").expect("its own folder");
        assert!(found(folder.path(), "step-*")[0].unfinished.is_none());
    }

    #[test]
    fn too_many_files_are_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("c")).expect("its own folder");
        for name in ["a", "b", "c/1", "c/2"] {
            fs::write(folder.path().join(name), "").expect("its own folder");
        }
        let pattern = format!("{}/*", folder.path().display());
        let pattern = Pattern::new(&pattern).expect("right");
        assert!(scan_within(&pattern, 5).is_ok());
        assert!(scan_within(&pattern, 4).is_err());
    }
}

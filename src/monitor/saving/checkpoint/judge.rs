// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a complete checkpoint was written since the program was asked. Pure: looks in, verdict out.

use super::format::Told;
use super::names::family;
use super::scan::Found;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For how long nothing may have changed, where no time is given.
///
/// A file whose format says that it is whole is written; the time only covers that it is written once more at once.
const SETTLE_WHOLE: Duration = Duration::from_millis(300);
/// A file that tells nothing, or a folder that has all that the one before it had.
const SETTLE: Duration = Duration::from_secs(2);
/// A folder of which it is not known what belongs to it: between two of its files the program may gather its state.
const SETTLE_FOLDER: Duration = Duration::from_secs(5);

/// A checkpoint has at least this part of the length of the one before it.
const SHRUNK: f64 = 0.9;

/// Follows what is found from look to look.
#[derive(Debug)]
pub struct Judge {
    /// For how long nothing may have changed.
    settle: Option<Duration>,
    /// For each pattern what was there when the program was asked.
    before: Vec<Vec<Found>>,
    seen: BTreeMap<PathBuf, Seen>,
}

#[derive(Debug)]
struct Seen {
    found: Found,
    /// Since when it has been as it is.
    since: Duration,
    /// What its format tells, once it has been looked at.
    told: Option<Result<Told, String>>,
}

/// What one look comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every pattern has a new checkpoint, all of them complete since then.
    Complete {
        /// On the monotonic clock of the looks.
        since: Duration,
    },
    /// Not yet. Where something lies still and is not complete, a sentence for each says why.
    NotYet(Vec<String>),
}

impl Judge {
    /// `before` is what each pattern matches now, before the program is asked.
    pub fn new(settle: Option<Duration>, before: Vec<Vec<Found>>) -> Self {
        Self {
            settle,
            before,
            seen: BTreeMap::new(),
        }
    }

    /// Whether anything has been written at all.
    pub fn has_news(&self) -> bool {
        !self.seen.is_empty()
    }

    /// For how long something may have to lie still until there is a verdict.
    pub fn settle_max(&self) -> Duration {
        self.settle.unwrap_or(SETTLE_FOLDER)
    }

    /// Looks at what each pattern matches `now`. `check` looks into a file; `is_killed` tells that a signal has ended the
    /// program, perhaps while it was writing.
    pub fn look(
        &mut self,
        matches: Vec<Vec<Found>>,
        now: Duration,
        is_killed: bool,
        check: impl Fn(&Path) -> Result<Told, String>,
    ) -> Verdict {
        let mut complete_since = Some(Duration::ZERO);
        let mut doubts = Vec::new();
        for (before, found) in self.before.iter().zip(matches) {
            let is_new = |found: &Found| {
                before
                    .iter()
                    .all(|old| old.path != found.path || old.parts != found.parts)
            };
            let mut newest = None;
            for found in found.into_iter().filter(is_new) {
                let earlier = earlier(before, &found);
                let seen = see(&mut self.seen, found, now);
                match seen.verdict(earlier, self.settle, now, is_killed, &check) {
                    Some(Ok(())) => newest = newest.max(Some(seen.since)),
                    Some(Err(doubt)) => {
                        complete_since = None;
                        doubts.push(format!("{} {doubt}", seen.found.path.display()));
                    }
                    None => complete_since = None,
                }
            }
            complete_since = complete_since
                .zip(newest)
                .map(|(since, newest)| since.max(newest));
        }
        match complete_since {
            Some(since) => Verdict::Complete { since },
            None => Verdict::NotYet(doubts),
        }
    }
}

/// The checkpoint that `found` is to be like: the one that it has replaced, else the newest with such a name.
fn earlier<'a>(before: &'a [Found], found: &Found) -> Option<&'a Found> {
    let family_of = family(&found.name());
    let same = |old: &&Found| old.is_folder == found.is_folder && old.unfinished.is_none();
    let replaced = before.iter().filter(same).find(|old| old.path == found.path);
    replaced.or_else(|| {
        let alike = before
            .iter()
            .filter(same)
            .filter(|old| family(&old.name()) == family_of);
        alike.max_by_key(|old| old.changed())
    })
}

/// Notes what is there now.
fn see(seen: &mut BTreeMap<PathBuf, Seen>, found: Found, now: Duration) -> &mut Seen {
    let fresh = |found: Found| Seen {
        found,
        since: now,
        told: None,
    };
    match seen.entry(found.path.clone()) {
        std::collections::btree_map::Entry::Vacant(vacant) => vacant.insert(fresh(found)),
        std::collections::btree_map::Entry::Occupied(occupied) => {
            let known = occupied.into_mut();
            if known.found != found {
                *known = fresh(found);
            }
            known
        }
    }
}

impl Seen {
    /// Complete, or certainly not; `None` where only time tells.
    fn verdict(
        &mut self,
        earlier: Option<&Found>,
        settle: Option<Duration>,
        now: Duration,
        is_killed: bool,
        check: impl Fn(&Path) -> Result<Told, String>,
    ) -> Option<Result<(), String>> {
        let still = now.saturating_sub(self.since);
        // Looking into a file that is being written is in vain, and not for nothing on a slow file system.
        if still < settle.unwrap_or(SETTLE_WHOLE).min(SETTLE_WHOLE) {
            return None;
        }
        if let Some(unfinished) = &self.found.unfinished {
            let doubt = format!("is not complete: it still has {unfinished}");
            return (still >= SETTLE).then_some(Err(doubt));
        }
        let found = &self.found;
        let told = self.told.get_or_insert_with(|| check_all(found, &check));
        let is_whole = matches!(told, Ok(Told::Whole)) && !found.is_folder;
        let is_like_earlier = earlier.is_some_and(|earlier| has_all_of(found, earlier));
        let needed = settle.unwrap_or(match (is_whole, found.is_folder && !is_like_earlier) {
            (true, _) => SETTLE_WHOLE,
            (false, false) => SETTLE,
            (false, true) => SETTLE_FOLDER,
        });
        if still < needed {
            return None;
        }
        Some(match told {
            Err(doubt) => Err(doubt.clone()),
            Ok(_) if found.bytes() == 0 => Err("is empty".to_owned()),
            Ok(_) => match earlier {
                Some(earlier) if !is_like_earlier => Err(format!(
                    "has {} files and {} bytes, and {} had {} and {}",
                    found.parts.len(),
                    found.bytes(),
                    earlier.path.display(),
                    earlier.parts.len(),
                    earlier.bytes()
                )),
                None if is_killed && !is_whole => {
                    Err("may have been cut off when the program was ended by a signal".to_owned())
                }
                _ => Ok(()),
            },
        })
    }
}

/// What the formats of all files of a checkpoint tell.
fn check_all(found: &Found, check: impl Fn(&Path) -> Result<Told, String>) -> Result<Told, String> {
    let mut all = Told::Whole;
    for (part, print) in &found.parts {
        let told = match part.as_os_str().is_empty() {
            true if print.bytes == 0 => Err("is empty".to_owned()),
            true => check(&found.path),
            // Folders may hold empty files, such as marks.
            false if print.bytes == 0 && !has_format(part) => Ok(Told::Whole),
            false => check(&found.path.join(part))
                .map_err(|doubt| format!("has {}, which {doubt}", part.display())),
        };
        if told? == Told::Nothing {
            all = Told::Nothing;
        }
    }
    Ok(all)
}

/// Whether an empty file of this name is broken.
fn has_format(part: &Path) -> bool {
    const ENDINGS: [&str; 12] = [
        "pt",
        "pth",
        "ckpt",
        "bin",
        "npz",
        "npy",
        "h5",
        "hdf5",
        "keras",
        "safetensors",
        "pkl",
        "distcp",
    ];
    let ending = part.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Whether each file of `earlier` has its like in `found`, and the whole is not much shorter.
fn has_all_of(found: &Found, earlier: &Found) -> bool {
    let count = |found: &Found| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for part in found.parts.keys() {
            *counts.entry(family(&part.to_string_lossy())).or_default() += 1;
        }
        counts
    };
    let there = count(found);
    let is_there = |(name, count): (&String, &usize)| there.get(name).is_some_and(|there| there >= count);
    count(earlier).iter().all(is_there) && found.bytes() as f64 >= earlier.bytes() as f64 * SHRUNK
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;

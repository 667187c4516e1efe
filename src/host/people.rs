// SPDX-License-Identifier: GPL-2.0-or-later
//! The users and groups that settings name, by number: looked up by the planner, never in a hook.
//!
//! A look-up takes as long as the site's directory of users takes to answer. So what is known of a name is kept, also
//! where the directory does not answer the next time; and as it may start later than slurmctld, a name that it does not
//! know yet is looked up again soon.

mod directory;
#[cfg(test)]
mod tests;

pub use self::directory::{Directory, Membership, System};
use crate::policy::admission::rules::{Circle, People};
use crate::policy::ids::{GroupId, UserId};
use crate::policy::labels::Name;
use crate::policy::settings::Settings;
use nix::errno::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Of a group, no more members are looked up.
const MEMBERS_MAX: usize = 20_000;
/// Groups get new members.
const ALL_AGAIN: Duration = Duration::from_secs(600);
/// An entry that stands for nobody may stand for somebody by now.
const MISSING_AGAIN: Duration = Duration::from_secs(60);
/// A directory that is slow to answer is left alone for at least this many times as long as it took.
const REST_FACTOR: u32 = 10;

/// Users by number, and the names that settings use for them.
pub type Users = BTreeMap<UserId, Name>;

/// All whom settings name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// By `[admission]`.
    pub people: People,
    /// By `victims.exempt_users`.
    pub exempt: Users,
}

/// Looks up names, and remembers them.
#[derive(Debug, Default)]
pub struct Finder<D = System> {
    directory: D,
    /// Login names do not change their numbers; `None` for one that nobody has.
    users: BTreeMap<String, Option<UserId>>,
    groups: BTreeMap<String, Members>,
    /// The entries that are not found, which the log has said.
    missing: BTreeSet<Entry>,
    /// Since all were looked up, and when to look again for those that were not found.
    looked: Option<(Instant, Instant)>,
}

/// A key of the settings, and one of its names.
type Entry = (&'static str, String);

#[derive(Clone, Debug, Default)]
struct Members {
    group: Option<GroupId>,
    users: BTreeSet<UserId>,
    /// The directory has told all of it since all were looked up.
    is_fresh: bool,
}

impl<D: Directory> Finder<D> {
    /// One that asks `directory`.
    pub fn with(directory: D) -> Self {
        Self {
            directory,
            users: BTreeMap::new(),
            groups: BTreeMap::new(),
            missing: BTreeSet::new(),
            looked: None,
        }
    }

    /// Looks up all that new settings name.
    pub fn find(&mut self, settings: &Settings) -> Named {
        self.missing.clear();
        self.find_all(settings)
    }

    /// Looks up again what it is time for: those that were not found, or everybody. `None` where it is time for nothing.
    pub fn find_again(&mut self, settings: &Settings) -> Option<Named> {
        let (all_at, missing_from) = self.looked?;
        if all_at.elapsed() >= ALL_AGAIN {
            Some(self.find_all(settings))
        } else if !self.missing.is_empty() && missing_from <= Instant::now() {
            Some(self.find_missing(settings, all_at))
        } else {
            None
        }
    }

    /// Keys of the settings with a name for which nobody was found, at the last look-up.
    pub fn missing(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.missing.iter().map(|(key, name)| (*key, name.as_str()))
    }

    fn find_all(&mut self, settings: &Settings) -> Named {
        for members in self.groups.values_mut() {
            members.is_fresh = false;
        }
        self.find_missing(settings, Instant::now())
    }

    /// Looks up those of whom nothing is known.
    fn find_missing(&mut self, settings: &Settings, all_at: Instant) -> Named {
        let begun = Instant::now();
        // Somebody may have got a login since.
        self.users.retain(|_, known| known.is_some());
        let mut round = Round {
            finder: self,
            missing: BTreeSet::new(),
        };
        let rules = &settings.admission;
        let named = Named {
            people: People {
                allowed: round.circle(
                    ("admission.allow_users", &rules.allow_users),
                    ("admission.allow_groups", &rules.allow_groups),
                ),
                denied: round.circle(
                    ("admission.deny_users", &rules.deny_users),
                    ("admission.deny_groups", &rules.deny_groups),
                ),
            },
            exempt: round.users("victims.exempt_users", &settings.victims.exempt_users),
        };
        let missing = round.missing;
        if missing.is_empty() && !self.missing.is_empty() {
            log::info!("all users and groups that the settings name are known now");
        }
        self.missing = missing;
        let rest = (begun.elapsed() * REST_FACTOR).clamp(MISSING_AGAIN, ALL_AGAIN);
        self.looked = Some((all_at, Instant::now() + rest));
        named
    }
}

/// One time at which names are looked up.
struct Round<'a, D> {
    finder: &'a mut Finder<D>,
    /// The entries that are not found.
    missing: BTreeSet<Entry>,
}

impl<D: Directory> Round<'_, D> {
    fn circle(&mut self, users: (&'static str, &[String]), groups: (&'static str, &[String])) -> Circle {
        let mut circle = Circle {
            users: self.users(users.0, users.1).into_keys().collect(),
            ..Circle::default()
        };
        for name in groups.1 {
            let members = self.group(groups.0, name);
            circle.groups.extend(members.group);
            circle.users.extend(members.users);
        }
        circle
    }

    /// Each of `names` may be a login name or a number.
    fn users(&mut self, key: &'static str, names: &[String]) -> Users {
        let mut users = Users::new();
        for name in names {
            let found = self.user(name);
            let number = || name.parse().ok().map(UserId);
            match found.unwrap_or_default().or_else(number) {
                Some(user) => _ = users.insert(user, Name::from(name.as_str())),
                None => self.miss(key, name, found.err(), "user", "it stands for nobody"),
            }
        }
        users
    }

    fn user(&mut self, name: &str) -> Result<Option<UserId>, Errno> {
        if let Some(known) = self.finder.users.get(name) {
            return Ok(*known);
        }
        let found = self.finder.directory.user(name)?;
        self.finder.users.insert(name.to_owned(), found);
        Ok(found)
    }

    fn group(&mut self, key: &'static str, name: &str) -> Members {
        let known = self.finder.groups.get(name).cloned().unwrap_or_default();
        if known.is_fresh {
            return known;
        }
        let members = match self.finder.directory.group(name) {
            Ok(Some(found)) => self.members(key, name, &found, &known),
            Ok(None) => {
                self.miss(key, name, None, "group", "it stands for nobody");
                Members::default()
            }
            Err(why) => {
                self.miss_members(key, name, why);
                known
            }
        };
        self.finder.groups.insert(name.to_owned(), members.clone());
        members
    }

    fn members(&mut self, key: &'static str, name: &str, found: &Membership, known: &Members) -> Members {
        if found.members.len() > MEMBERS_MAX {
            log::error!("{key}: {name:?} has more than {MEMBERS_MAX} members; the others are not looked at");
        }
        let mut members = Members {
            group: Some(found.group),
            users: BTreeSet::new(),
            is_fresh: true,
        };
        for member in found.members.iter().take(MEMBERS_MAX) {
            match self.user(member) {
                Ok(user) => members.users.extend(user),
                Err(why) => {
                    // The directory is away; it is not asked for thousands of others, each until its time is up.
                    self.miss_members(key, name, why);
                    members.users.extend(&known.users);
                    members.is_fresh = false;
                    break;
                }
            }
        }
        members
    }

    /// Notes that an entry is to be looked up again soon, and says so once.
    fn miss(&mut self, key: &'static str, name: &str, why: Option<Errno>, kind: &str, so: &str) {
        let entry = (key, name.to_owned());
        if !self.finder.missing.contains(&entry) && !self.missing.contains(&entry) {
            let what = match why {
                Some(why) => format!("could not be looked up ({})", why.desc()),
                None => format!("is no {kind} that this machine knows"),
            };
            log::error!("{key}: {name:?} {what}; {so} until a look-up finds it, the next one in a minute");
        }
        self.missing.insert(entry);
    }

    /// The same for a group that is known, whose members nobody tells now.
    fn miss_members(&mut self, key: &'static str, name: &str, why: Errno) {
        self.miss(
            key,
            name,
            Some(why),
            "group",
            "its members are those of the last time",
        );
    }
}

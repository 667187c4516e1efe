// SPDX-License-Identifier: GPL-2.0-or-later
//! The users and groups that `[admission]` names, by number: looked up by the planner, never in a hook.
//!
//! A look-up takes as long as the site's directory of users takes to answer. So what is known of a name is kept, also
//! where the directory does not answer the next time.

use crate::policy::admission::rules::{Circle, People};
use crate::policy::admission::settings::AdmissionSettings;
use crate::policy::ids::{GroupId, UserId};
use nix::unistd::{Group, User};
use std::collections::{BTreeMap, BTreeSet};

/// Of a group, no more members are looked up.
const MEMBERS_MAX: usize = 20_000;

/// Looks up names, and remembers them.
#[derive(Debug, Default)]
pub struct Finder {
    /// Login names do not change their numbers; `None` for one that nobody has.
    users: BTreeMap<String, Option<UserId>>,
    groups: BTreeMap<String, Members>,
}

#[derive(Clone, Debug, Default)]
struct Members {
    group: Option<GroupId>,
    users: BTreeSet<UserId>,
}

impl Finder {
    /// Looks up all that `settings` name.
    pub fn find(&mut self, settings: &AdmissionSettings) -> People {
        // Somebody may have got a login since.
        self.users.retain(|_, known| known.is_some());
        People {
            allowed: self.circle(
                ("allow_users", &settings.allow_users),
                ("allow_groups", &settings.allow_groups),
            ),
            denied: self.circle(
                ("deny_users", &settings.deny_users),
                ("deny_groups", &settings.deny_groups),
            ),
        }
    }

    fn circle(&mut self, users: (&str, &[String]), groups: (&str, &[String])) -> Circle {
        let mut circle = Circle::default();
        for name in users.1 {
            match self.user(name).or_else(|| name.parse().ok().map(UserId)) {
                Some(user) => _ = circle.users.insert(user),
                None => log::error!(
                    "admission.{}: {name:?} is no user that this machine knows; this entry stands for nobody",
                    users.0
                ),
            }
        }
        for name in groups.1 {
            let members = self.group(groups.0, name);
            circle.groups.extend(members.group);
            circle.users.extend(members.users);
        }
        circle
    }

    fn user(&mut self, name: &str) -> Option<UserId> {
        if let Some(known) = self.users.get(name) {
            return *known;
        }
        match User::from_name(name) {
            Ok(user) => {
                let id = user.map(|user| UserId(user.uid.as_raw()));
                self.users.insert(name.to_owned(), id);
                id
            }
            Err(error) => {
                log::error!("user {name:?} could not be looked up ({})", error.desc());
                None
            }
        }
    }

    fn group(&mut self, key: &str, name: &str) -> Members {
        let found = match (Group::from_name(name), name.parse()) {
            (Ok(None), Ok(number)) => Group::from_gid(nix::unistd::Gid::from_raw(number)),
            (found, _) => found,
        };
        match found {
            Ok(Some(group)) => {
                let names = group.mem.iter().take(MEMBERS_MAX);
                let members = Members {
                    group: Some(GroupId(group.gid.as_raw())),
                    users: names.filter_map(|name| self.user(name)).collect(),
                };
                if group.mem.len() > MEMBERS_MAX {
                    log::error!(
                        "admission.{key}: {name:?} has more than {MEMBERS_MAX} members; the others are not looked at"
                    );
                }
                self.groups.insert(name.to_owned(), members);
            }
            Ok(None) => {
                log::error!(
                    "admission.{key}: {name:?} is no group that this machine knows; this entry stands for nobody"
                );
                self.groups.remove(name);
            }
            Err(error) => log::error!(
                "admission.{key}: {name:?} could not be looked up ({}); its members are those of the last time",
                error.desc()
            ),
        }
        self.groups.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_and_numbers_are_found_and_others_stand_for_nobody() {
        let settings = AdmissionSettings {
            allow_users: list(&["root", "4242", "nobody-has-this-name"]),
            allow_groups: list(&["root", "0", "no-group-has-this-name"]),
            ..AdmissionSettings::default()
        };
        let mut finder = Finder::default();
        let people = finder.find(&settings);
        assert!(
            people
                .allowed
                .users
                .is_superset(&[UserId(0), UserId(4242)].into())
        );
        assert_eq!(people.allowed.groups, [GroupId(0)].into());
        assert_eq!(people.denied, Circle::default());
        assert_eq!(finder.find(&settings), people, "and again");
    }
}

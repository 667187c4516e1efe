// SPDX-License-Identifier: GPL-2.0-or-later
//! Who the users are that settings name: Slurm knows its jobs' users by number only.

use crate::policy::ids::UserId;
use crate::policy::labels::Name;
use nix::unistd::User;
use std::collections::BTreeMap;

/// Users whom settings name, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Users(BTreeMap<UserId, Name>);

impl Users {
    /// Looks up each of `names`, which may be a login name or a number. That may take as long as the site's directory of
    /// users takes to answer; so never from a hook, and only when settings are read.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        let mut users = BTreeMap::new();
        for name in names {
            match find(name) {
                Ok(id) => {
                    users.insert(id, Name::from(name.as_str()));
                }
                Err(why) => log::error!("victims.exempt_users: {name:?} {why}; this entry protects nobody"),
            }
        }
        Self(users)
    }

    /// The name that the settings use for this user; `None` where they do not speak of it.
    pub fn name(&self, id: UserId) -> Option<&Name> {
        self.0.get(&id)
    }
}

fn find(name: &str) -> Result<UserId, String> {
    match User::from_name(name) {
        Ok(Some(user)) => Ok(UserId(user.uid.as_raw())),
        Ok(None) => match name.parse() {
            Ok(id) => Ok(UserId(id)),
            Err(_) => Err("is no user that this machine knows".to_owned()),
        },
        Err(error) => Err(format!("could not be looked up ({})", error.desc())),
    }
}

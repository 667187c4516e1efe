// SPDX-License-Identifier: GPL-2.0-or-later
//! The site's directory of users and groups, as the system's own look-ups show it.

use crate::policy::ids::{GroupId, UserId};
use nix::Result;
use nix::unistd::{Gid, Group, User};

/// A group, and the login names of its members.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Its number.
    pub group: GroupId,
    /// Those whom it lists: not those whose own group it is.
    pub members: Vec<String>,
}

/// Who knows the users and groups of a site. It may be away, and takes as long as it takes to answer.
pub trait Directory {
    /// The user of this login name.
    ///
    /// # Errors
    /// Where it does not answer.
    fn user(&self, name: &str) -> Result<Option<UserId>>;

    /// The group of this name or, where there is none, of this number.
    ///
    /// # Errors
    /// As [`Directory::user`].
    fn group(&self, name: &str) -> Result<Option<Membership>>;
}

/// What `nsswitch.conf` names.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Directory for System {
    fn user(&self, name: &str) -> Result<Option<UserId>> {
        let user = User::from_name(name)?;
        Ok(user.map(|user| UserId(user.uid.as_raw())))
    }

    fn group(&self, name: &str) -> Result<Option<Membership>> {
        let group = match (Group::from_name(name)?, name.parse()) {
            (None, Ok(number)) => Group::from_gid(Gid::from_raw(number))?,
            (group, _) => group,
        };
        Ok(group.map(|group| Membership {
            group: GroupId(group.gid.as_raw()),
            members: group.mem,
        }))
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! By what names a site knows a job: whose it is, who pays for it, where it runs.

use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::HashSet;
use std::sync::Arc;

/// A name that many jobs share; kept once for all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Name(Arc<str>);

impl Name {
    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.as_str().to_owned()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Names that were seen, so that each is kept once.
#[derive(Debug, Default)]
pub struct Names(HashSet<Name>);

impl Names {
    /// `text` as a name.
    pub fn name(&mut self, text: &str) -> Name {
        if let Some(known) = self.0.get(text) {
            return known.clone();
        }
        let name = Name::from(text);
        self.0.insert(name.clone());
        name
    }
}

/// The names that settings may speak of; each is `None` where Slurm has none for this job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Its user's login name.
    pub user: Option<Name>,
    /// The account that it is charged to.
    pub account: Option<Name>,
    /// Its quality of service.
    pub qos: Option<Name>,
    /// The partition that it runs in.
    pub partition: Option<Name>,
}

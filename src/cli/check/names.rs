// SPDX-License-Identifier: GPL-2.0-or-later
//! Names in `surgent.toml` that stand for nobody and nothing: each a rule that does not hold.

use super::finding::Finding;
use crate::host::people::{Directory, Finder};
use crate::policy::settings::Settings;
use std::collections::BTreeSet;

/// Users, groups, and, where `partitions` are known, partitions that the settings name and that are not there.
pub fn findings(
    settings: &Settings,
    directory: impl Directory,
    partitions: Option<&BTreeSet<String>>,
) -> Vec<Finding> {
    let mut finder = Finder::with(directory);
    finder.find(settings);
    let people = finder.missing().map(|(key, name)| {
        let kind = match key.ends_with("groups") {
            true => "group",
            false => "user",
        };
        unknown(key, name, &format!("no {kind} that could be looked up here"))
    });
    let places = partitions.into_iter().flat_map(|known| {
        let lists = settings.lists().filter(|(key, _)| key.ends_with("_partitions"));
        let named = lists.flat_map(|(key, names)| names.iter().map(move |name| (key, name)));
        named
            .filter(|(_, name)| !known.contains(*name))
            .map(|(key, name)| unknown(key, name, "no partition of this cluster"))
    });
    people.chain(places).collect()
}

fn unknown(key: &str, name: &str, what: &str) -> Finding {
    Finding::warning(
        "surgent.toml",
        format!("{key}: {name:?} is {what}, and stands for nothing"),
        "mend the name, or remove it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::people::Membership;
    use crate::policy::ids::{GroupId, UserId};
    use nix::errno::Errno;

    #[derive(Debug)]
    struct Staff;

    impl Directory for Staff {
        fn user(&self, name: &str) -> Result<Option<UserId>, Errno> {
            Ok((name == "ada").then_some(UserId(1000)))
        }

        fn group(&self, name: &str) -> Result<Option<Membership>, Errno> {
            Ok((name == "staff").then(|| Membership {
                group: GroupId(50),
                members: vec!["ada".to_owned()],
            }))
        }
    }

    #[test]
    fn what_is_not_there_is_named_with_its_key() {
        let settings = Settings::parse(
            "[victims]\nexempt_users = [\"ada\", \"bob\", \"1001\"]\nexempt_partitions = [\"gpu\", \"cpu\"]\n\
             [admission]\nallow_groups = [\"staff\", \"stuff\"]\ndeny_partitions = [\"old\"]\n",
        )
        .unwrap();
        let known = BTreeSet::from(["gpu".to_owned()]);
        let found = |partitions| -> Vec<String> {
            let findings = findings(&settings, Staff, partitions).into_iter();
            let names = findings.map(|finding| finding.found.split(" is ").next().unwrap().to_owned());
            names.collect()
        };
        let people = [
            "admission.allow_groups: \"stuff\"",
            "victims.exempt_users: \"bob\"",
        ];
        assert_eq!(found(None), people);
        let places = [
            "victims.exempt_partitions: \"cpu\"",
            "admission.deny_partitions: \"old\"",
        ];
        assert_eq!(found(Some(&known)), [people, places].concat());
    }
}

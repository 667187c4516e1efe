// SPDX-License-Identifier: GPL-2.0-or-later
//! What becomes of names while the directory is there, is not there yet, or is away.

use super::*;
use std::cell::{Cell, RefCell};

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn settings(exempt: &[&str], users: &[&str], groups: &[&str]) -> Settings {
    let mut settings = Settings::default();
    settings.victims.exempt_users = list(exempt);
    settings.admission.allow_users = list(users);
    settings.admission.allow_groups = list(groups);
    settings
}

/// One that is away, answers with what it has, and counts how often it is asked.
#[derive(Debug, Default)]
struct Fake {
    away: Cell<bool>,
    users: RefCell<BTreeMap<String, u32>>,
    groups: RefCell<BTreeMap<String, (u32, Vec<String>)>>,
    asked: Cell<u32>,
}

impl Fake {
    fn answer<T>(&self, found: Option<T>) -> nix::Result<Option<T>> {
        self.asked.set(self.asked.get() + 1);
        match self.away.get() {
            true => Err(Errno::EIO),
            false => Ok(found),
        }
    }

    fn add(&self, name: &str, user: u32) {
        self.users.borrow_mut().insert(name.to_owned(), user);
    }
}

impl Directory for &Fake {
    fn user(&self, name: &str) -> nix::Result<Option<UserId>> {
        self.answer(self.users.borrow().get(name).map(|user| UserId(*user)))
    }

    fn group(&self, name: &str) -> nix::Result<Option<Membership>> {
        self.answer(self.groups.borrow().get(name).map(|(group, members)| Membership {
            group: GroupId(*group),
            members: members.clone(),
        }))
    }
}

fn finder(fake: &Fake) -> Finder<&Fake> {
    Finder::with(fake)
}

/// As if `time` had passed.
fn let_pass(finder: &mut Finder<&Fake>, time: Duration) {
    let (all_at, missing_from) = finder.looked.as_mut().unwrap();
    *all_at -= time;
    *missing_from -= time;
}

fn exempt(found: &Named) -> Vec<u32> {
    found.exempt.keys().map(|user| user.0).collect()
}

#[test]
fn names_and_numbers_are_found_and_others_stand_for_nobody() {
    let settings = settings(
        &["root", "4242", "nobody-has-this-name"],
        &["root", "4242", "nobody-has-this-name"],
        &["root", "0", "no-group-has-this-name"],
    );
    let mut finder = Finder::<System>::default();
    let named = finder.find(&settings);
    let allowed = &named.people.allowed;
    assert!(allowed.users.is_superset(&[UserId(0), UserId(4242)].into()));
    assert_eq!(allowed.groups, [GroupId(0)].into());
    assert_eq!(named.people.denied, Circle::default());
    assert_eq!(exempt(&named), [0, 4242]);
    assert_eq!(named.exempt[&UserId(0)], Name::from("root"));
    assert_eq!(finder.find(&settings), named, "and again");
}

#[test]
fn a_directory_that_starts_later_than_slurmctld_is_asked_again_soon() {
    for away in [true, false] {
        let fake = Fake::default();
        fake.away.set(away);
        let settings = settings(&["eve", "1017"], &[], &["ml"]);
        let mut finder = finder(&fake);
        assert_eq!(
            exempt(&finder.find(&settings)),
            [1017],
            "a number needs no directory"
        );
        assert_eq!(finder.find_again(&settings), None, "not at once");
        let_pass(&mut finder, MISSING_AGAIN);
        assert_eq!(exempt(&finder.find_again(&settings).unwrap()), [1017]);

        fake.away.set(false);
        fake.add("eve", 1001);
        fake.add("mallory", 1002);
        let ml = (7, list(&["mallory"]));
        fake.groups.borrow_mut().insert("ml".to_owned(), ml);
        let_pass(&mut finder, MISSING_AGAIN);
        let found = finder.find_again(&settings).unwrap();
        assert_eq!(exempt(&found), [1001, 1017]);
        assert_eq!(found.people.allowed.groups, [GroupId(7)].into());
        assert_eq!(found.people.allowed.users, [UserId(1002)].into());

        // Nobody is missing any more: the rest is for ten minutes.
        let_pass(&mut finder, MISSING_AGAIN);
        assert_eq!(finder.find_again(&settings), None);
        let_pass(&mut finder, ALL_AGAIN);
        assert_eq!(finder.find_again(&settings), Some(found));
    }
}

#[test]
fn what_is_known_is_kept_while_the_directory_is_away() {
    let fake = Fake::default();
    fake.add("eve", 1001);
    fake.add("mallory", 1002);
    let ml = (7, list(&["mallory"]));
    fake.groups.borrow_mut().insert("ml".to_owned(), ml);
    let settings = settings(&["eve"], &["eve"], &["ml"]);
    let mut finder = finder(&fake);
    let found = finder.find(&settings);
    fake.away.set(true);
    assert_eq!(finder.find(&settings), found, "settings are read again");
    let_pass(&mut finder, ALL_AGAIN);
    assert_eq!(finder.find_again(&settings), Some(found), "and ten minutes later");
}

#[test]
fn a_group_whose_members_are_not_answered_for_keeps_those_it_had() {
    let fake = Fake::default();
    let settings = settings(&[], &[], &["ml"]);
    let mut finder = finder(&fake);
    fake.add("eve", 1001);
    let ml = (7, list(&["eve"]));
    fake.groups.borrow_mut().insert("ml".to_owned(), ml);
    let found = finder.find(&settings);
    // Only those who have been asked about before are known.
    finder.users.clear();
    let away = Membership {
        group: GroupId(7),
        members: list(&["eve", "another"]),
    };
    fake.away.set(true);
    let known = finder.groups["ml"].clone();
    let mut round = Round {
        finder: &mut finder,
        missing: BTreeSet::new(),
    };
    let members = round.members("admission.allow_groups", "ml", &away, &known);
    assert_eq!(members.users, found.people.allowed.users);
    assert!(!members.is_fresh && round.missing.len() == 1);
}

#[test]
fn one_missing_name_does_not_have_all_others_looked_up_each_minute() {
    let fake = Fake::default();
    let members: Vec<String> = (0..100).map(|user| format!("gone-{user}")).collect();
    fake.groups.borrow_mut().insert("ml".to_owned(), (7, members));
    let settings = settings(&["nobody-has-this-name"], &[], &["ml"]);
    let mut finder = finder(&fake);
    finder.find(&settings);
    let before = fake.asked.get();
    let_pass(&mut finder, MISSING_AGAIN);
    finder.find_again(&settings).unwrap();
    assert_eq!(fake.asked.get() - before, 1);
}

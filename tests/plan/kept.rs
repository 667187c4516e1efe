// SPDX-License-Identifier: GPL-2.0-or-later
//! What is kept of a decision gives the same decision again, to the last byte.

use crate::cluster::{Dice, Size, random};
use surgent::policy::book::Book;
use surgent::policy::decision::Decision;
use surgent::policy::directives::{self, Urgency};
use surgent::policy::facts::Facts;
use surgent::policy::ids::{JobId, UserId};
use surgent::policy::record::Record;
use surgent::policy::settings::Settings;
use surgent::policy::snapshot::{Snapshot, SnapshotView};
use surgent::policy::step::step_and_tell;
use surgent::policy::units::UnixTime;

const SIZE: Size = Size {
    nodes: 12,
    jobs: 40,
    span: 4,
    wanted: 3,
    room: 1,
};

/// What is decided, with the JSON of each outcome.
fn decide(facts: &Facts, settings: &Settings, book: &mut Book) -> Vec<(JobId, String)> {
    let mut decisions = Vec::new();
    step_and_tell(book, facts, settings, &mut |decision: Decision<'_>| {
        let json = serde_json::to_string(decision.outcome).unwrap();
        decisions.push((decision.urgent, json));
    });
    decisions
}

/// Decides by the kept form, too, and compares.
fn decide_twice(seed: u64, facts: &Facts, settings: &Settings, book: &mut Book) -> usize {
    let json = serde_json::to_string(&SnapshotView::of(facts, settings, book)).unwrap();
    let mut kept = Snapshot::parse(&json).unwrap();
    assert_eq!(&kept.facts, facts, "seed {seed}");
    assert_eq!(kept.settings.as_ref(), Some(settings), "seed {seed}");
    let again = decide(&kept.facts, &kept.settings.unwrap(), &mut kept.book);
    let decided = decide(facts, settings, book);
    assert_eq!(again, decided, "seed {seed}");
    decided
        .iter()
        .filter(|(_, json)| json.contains(r#""outcome":"stop""#))
        .count()
}

/// Several urgent jobs, users, records, and text that is none.
fn crowd(seed: u64) -> (Facts, Settings) {
    let mut dice = Dice(seed);
    let (mut facts, settings) = random(&mut dice, SIZE);
    for job in &mut facts.running {
        job.user = UserId(dice.within(0, 3) as u32);
        if dice.one_in(4) {
            job.directives.as_mut().unwrap().save_s = None;
        }
        if dice.one_in(3) {
            job.directives =
                directives::parse(b"signal=USR1@batch epoch=0.1 epoch_s=0.3 save_s=3.3333333").ok();
        }
        job.record = dice.one_in(2).then(|| Record::new(Urgency::Normal));
        job.admin_comment = dice.pick(&[&b""[..], b"words", b"\xff\xfe\x00"]).to_vec();
    }
    for other in 1..3 {
        let mut job = facts.waiting[0].clone();
        job.id = JobId(1_000_000 + other);
        job.priority = other;
        job.tasks = other;
        facts.waiting.push(job);
    }
    (facts, settings)
}

#[test]
fn kept_facts_settings_and_book_decide_the_same() {
    let (mut plans, mut later) = (0, 0);
    for seed in 0..400 {
        let (mut facts, settings) = crowd(seed);
        let mut book = Book::default();
        plans += decide_twice(seed, &facts, &settings, &mut book);
        // Later: nobody has saved, deadlines are over, and others are asked in their place.
        facts.now = UnixTime(facts.now.0 + 700);
        later += decide_twice(seed, &facts, &settings, &mut book);
    }
    println!("{plans} plans, {later} further ones");
    assert!(plans > 300 && later > 100, "{plans} {later}");
}

#[test]
fn what_older_snapshots_lack_is_what_it_was() {
    let json = r#"{"version": 1, "facts": {"now": 5, "nodes": [], "running": [], "waiting": [], "gres": [],
        "parked": [{"id": 800, "begin": 0, "completing": false, "wanted": null, "record": null}]}}"#;
    let snapshot = Snapshot::parse(json).unwrap();
    assert!(!snapshot.facts.parked[0].held);
    assert_eq!((snapshot.settings, snapshot.book), (None, Book::default()));
}

#[test]
fn settings_that_no_file_could_have_are_refused() {
    let (facts, book) = (Facts::at(UnixTime(5)), Book::default());
    let mut settings = Settings::default();
    settings.victims.save_deadline_s.0 = 0.0;
    let json = serde_json::to_string(&SnapshotView::of(&facts, &settings, &book)).unwrap();
    let error = Snapshot::parse(&json).unwrap_err().to_string();
    assert!(error.contains("victims.save_deadline_s"), "{error}");
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Properties of `policy::record`.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use surgent::policy::directives::Urgency;
use surgent::policy::ids::JobId;
use surgent::policy::record::Record;
use surgent::policy::units::UnixTime;

fn record() -> impl Strategy<Value = Record> {
    let time = || option::of(any::<i64>().prop_map(UnixTime));
    let job = || any::<u32>().prop_map(JobId);
    let unknown = ("x[a-z0-9_]{0,5}", "[!-z|~]{0,6}");
    let class = prop_oneof![Just(Urgency::Urgent), Just(Urgency::Normal)];
    let request = (option::of(job()), time(), time(), option::of(any::<u32>()));
    let rest = (
        any::<u32>(),
        (option::of(job()), time(), option::of(any::<bool>())),
        vec(job(), 0..5),
        vec(unknown, 0..3),
    );
    (class, time(), request, rest).prop_map(|(class, first, (ask, asked, deadline, place), rest)| {
        let (preempted, (by, stopped, saved), waits_for, unknown) = rest;
        Record {
            class,
            first,
            ask,
            asked,
            deadline,
            place,
            preempted,
            by,
            stopped,
            saved,
            waits_for,
            unknown,
        }
    })
}

/// AdminComments without a record: anything that does not begin as one.
fn other() -> impl Strategy<Value = Vec<u8>> {
    let words = select(
        &[
            " ",
            "note",
            "surgent",
            "}",
            "{",
            "surgent{class=urgent}",
            "first=1",
            "",
        ][..],
    );
    let words = prop_oneof![4 => words.prop_map(str::to_owned), 1 => "\\PC{0,6}"];
    let text = vec(words, 0..8).prop_map(|words| words.join(" ").into_bytes());
    prop_oneof![text, vec(any::<u8>(), 0..40)].prop_filter("no record", |text| !text.starts_with(b"surgent{"))
}

/// AdminComments that begin with a record, a damaged one, or none.
fn admin_comment() -> impl Strategy<Value = Vec<u8>> {
    let damaged = (record(), other(), any::<Index>(), any::<u8>()).prop_map(|(record, other, at, byte)| {
        let mut text = record.write_into(&other);
        let at = at.index(text.len());
        text[at] = byte;
        text
    });
    let piece = select(
        &[
            "surgent{",
            "class=urgent",
            "class=no",
            "first=1",
            "ask=",
            " ",
            "}",
            "new=1",
            "x",
        ][..],
    );
    let pieces = vec(piece, 0..10).prop_map(|pieces| ["surgent{", &pieces.concat()].concat().into_bytes());
    prop_oneof![
        (record(), other()).prop_map(|(record, other)| record.write_into(&other)),
        damaged,
        pieces,
        other(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_is_read(record in record(), into in admin_comment()) {
        let written = record.write_into(&into);
        prop_assert_eq!(Record::is_urgent_fast(&written), record.class == Urgency::Urgent);
        prop_assert_eq!(Record::read(&written), Some(record));
    }

    #[test]
    fn the_last_writer_counts(first in record(), second in record(), into in admin_comment()) {
        let once = second.write_into(&into);
        prop_assert_eq!(&second.write_into(&once), &once);
        prop_assert_eq!(second.write_into(&first.write_into(&into)), once);
    }

    #[test]
    fn a_record_read_and_written_back_leaves_the_bytes(record in record(), other in other()) {
        let text = record.write_into(&other);
        prop_assert_eq!(Record::read(&text).unwrap().write_into(&text), text);
    }

    #[test]
    fn other_text_is_kept_byte_for_byte(record in record(), other in other()) {
        let blank = if other.is_empty() { "" } else { " " };
        let expected = [record.to_string().as_bytes(), blank.as_bytes(), &other].concat();
        prop_assert_eq!(record.write_into(&other), expected);
    }

    #[test]
    fn the_fast_look_agrees_with_the_reading(text in admin_comment()) {
        if let Some(record) = Record::read(&text) {
            prop_assert_eq!(Record::is_urgent_fast(&text), record.class == Urgency::Urgent);
        }
    }

    #[test]
    fn nothing_grows_by_more_than_a_record(record in record(), into in admin_comment()) {
        prop_assert!(record.write_into(&into).len() <= into.len() + record.to_string().len() + 1);
    }

    #[test]
    fn damage_does_not_pile_up(record in record(), note in "[a-z ]{0,20}", kind in 0..3_u8) {
        // What only a newer version knows cannot be told from a note once the closing brace is gone.
        let record = Record { unknown: Vec::new(), ..record };
        let damage = |text: &[u8]| {
            let text = String::from_utf8(text.to_vec()).unwrap();
            match kind {
                0 => text.replacen('}', "", 1),
                1 => text.replacen("class=", "class=x", 1),
                _ => text.replacen(" ", "  ", 1),
            }
        };
        let mut text = record.write_into(note.as_bytes());
        let whole = text.clone();
        for _ in 0..5 {
            text = record.write_into(damage(&text).as_bytes());
            prop_assert!(Record::read(&text).is_some());
            prop_assert!(text.ends_with(note.as_bytes()));
        }
        if kind < 2 {
            prop_assert_eq!(text, whole);
        }
    }
}

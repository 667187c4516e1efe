// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables for the record. What holds for every AdminComment is in tests/comments.

use super::*;

const WHOLE: &str = "surgent{class=urgent first=1764410000 ask=17 asked=1764413600 deadline=1764413660 \
                     place=4294901759 preempted=1 by=18 waits_for=3,4}";

#[test]
fn every_field_has_its_place() {
    let record = Record {
        first: Some(UnixTime(1_764_410_000)),
        ask: Some(JobId(17)),
        asked: Some(UnixTime(1_764_413_600)),
        deadline: Some(UnixTime(1_764_413_660)),
        place: Some(4_294_901_759),
        preempted: 1,
        by: Some(JobId(18)),
        waits_for: vec![JobId(3), JobId(4)],
        ..Record::new(Urgency::Urgent)
    };
    assert_eq!(record.to_string(), WHOLE);
    assert_eq!(Record::read(WHOLE.as_bytes()), Some(record));
    assert_eq!(Record::new(Urgency::Normal).to_string(), "surgent{class=normal}");
}

#[test]
fn what_is_no_record() {
    let none = [
        "",
        "note",
        "surgent",
        "surgent{}",
        "surgent{class=urgent",
        "surgent{class=urgnt}",
        "surgent{class=URGENT}",
        "surgent{first=1 class=urgent}",
        "surgent{class=urgent first=1 note of mine}",
        "surgent{class=urgent  first=1}",
        "surgent{class=urgent {}",
        " surgent{class=urgent}",
        "Surgent{class=urgent}",
    ];
    for text in none {
        assert_eq!(Record::read(text.as_bytes()), None, "{text}");
    }
    assert_eq!(Record::read(b"surgent{class=urgent x=\xff}"), None);
    assert_eq!(
        Record::read(format!("surgent{{class=urgent x={}}}", "y".repeat(20_000)).as_bytes()),
        None
    );
}

#[test]
fn a_field_that_cannot_be_read_does_not_take_the_class_with_it() {
    let text = b"surgent{class=urgent first=soon ask=-1 preempted=many waits_for=1,x by=7 by=8 new=1}";
    let record = Record::read(text).unwrap();
    let expected = "surgent{class=urgent by=7 new=1}";
    assert_eq!(record.to_string(), expected);
    assert_eq!(record.write_into(text), expected.as_bytes());
}

#[test]
fn writing_replaces_the_record_and_nothing_else() {
    let table = [
        ("", ""),
        (" ", "  "),
        ("note", " note"),
        (" note ", "  note "),
        ("surgent{class=urgent}", ""),
        ("surgent{class=urgent first=1 new=2} note", " note"),
        ("surgent{class=urgent}  note", "  note"),
        ("surgent{class=urgent}note", " note"),
        (
            "surgent{class=urgent} surgent{class=urgent}",
            " surgent{class=urgent}",
        ),
        ("note surgent{class=urgent}", " note surgent{class=urgent}"),
        // Damaged ones: what is certainly Surgent's goes, what may be somebody's stays.
        ("surgent{}", ""),
        ("surgent{", ""),
        ("surgent{class=urgent", ""),
        ("surgent{class=urgent first=1 note", " note"),
        ("surgent{class=urgent first=1  note", "  note"),
        ("surgent{class=urgnt first=1} note}", " note}"),
        ("surgent{class=urgent first=1 note of mine} x", " note of mine} x"),
        ("surgent{first=1} x", " x"),
        ("surgent{note=1} x", " note=1} x"),
        ("surgent{ x", " x"),
    ];
    for (before, behind) in table {
        let written = Record::new(Urgency::Normal).write_into(before.as_bytes());
        assert_eq!(
            String::from_utf8(written).unwrap(),
            format!("surgent{{class=normal}}{behind}"),
            "{before:?}"
        );
    }
}

#[test]
fn the_fast_look_wants_the_whole_word() {
    for text in ["surgent{class=urgent}", WHOLE, "surgent{class=urgent x"] {
        assert!(Record::is_urgent_fast(text.as_bytes()), "{text}");
    }
    for text in [
        "",
        "surgent{class=urgent",
        "surgent{class=urgently}",
        "surgent{class=normal}",
        "x",
    ] {
        assert!(!Record::is_urgent_fast(text.as_bytes()), "{text}");
    }
}

#[test]
fn a_record_is_bounded_and_holds_only_what_it_gives_back() {
    let mut record = Record::new(Urgency::Urgent);
    record.waits_for = (0..5000).map(|job| JobId(u32::MAX - job)).collect();
    record.unknown = ["a b", "}", "{", "class", "first", "", "Ä", "good"]
        .map(|key| (key.into(), "v".into()))
        .to_vec();
    record
        .unknown
        .extend((0..5000).map(|n| (format!("k{n}"), "v".to_owned())));
    let written = record.write_into(b"note");
    assert!(written.len() < RECORD_MAX_BYTES);
    let read = Record::read(&written).unwrap();
    assert_eq!(read.waits_for, record.waits_for[..WAITS_FOR_MAX]);
    assert_eq!(read.unknown[0].0, "good");
    assert_eq!(read.write_into(&written), written);
}

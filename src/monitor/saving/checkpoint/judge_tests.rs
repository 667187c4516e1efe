// SPDX-License-Identifier: GPL-2.0-or-later

use super::super::scan::Print;
use super::*;

fn print(changed: i64, bytes: u64) -> Print {
    Print {
        changed: (changed, 0),
        bytes,
        inode: 1,
    }
}

fn file(path: &str, changed: i64, bytes: u64) -> Found {
    Found {
        path: path.into(),
        is_folder: false,
        parts: [(PathBuf::new(), print(changed, bytes))].into(),
        unfinished: None,
    }
}

fn folder(path: &str, parts: &[(&str, u64)]) -> Found {
    let parts = parts
        .iter()
        .map(|(name, bytes)| (PathBuf::from(name), print(7, *bytes)));
    Found {
        path: path.into(),
        is_folder: true,
        parts: parts.collect(),
        unfinished: None,
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// As the ending says: whole, broken, or nothing known.
fn check(path: &Path) -> Result<Told, String> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("pt") => Ok(Told::Whole),
        Some("bad") => Err("is not complete: cut off".to_owned()),
        _ => Ok(Told::Nothing),
    }
}

/// At these times in milliseconds this is found; the verdicts in one word each.
fn verdicts(before: Vec<Found>, looks: &[(u64, Vec<Found>)]) -> String {
    verdicts_after(before, looks, false)
}

fn verdicts_after(before: Vec<Found>, looks: &[(u64, Vec<Found>)], is_killed: bool) -> String {
    let mut judge = Judge::new(None, vec![before]);
    let words =
        looks.iter().map(
            |(at, found)| match judge.look(vec![found.clone()], ms(*at), is_killed, check) {
                Verdict::Complete { since } => format!("complete@{}", since.as_millis()),
                Verdict::NotYet(doubts) if doubts.is_empty() => "wait".to_owned(),
                Verdict::NotYet(_) => "doubt".to_owned(),
            },
        );
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_is_complete_once_it_has_lain_still() {
    let (growing, grown) = (file("m.x", 1, 50), file("m.x", 2, 100));
    assert_eq!(
        verdicts(
            vec![],
            &[
                (0, vec![]),
                (100, vec![growing]),
                (2000, vec![grown.clone()]),
                (3900, vec![grown.clone()]),
                (4000, vec![grown]),
            ]
        ),
        "wait wait wait wait complete@2000"
    );
}

#[test]
fn a_file_that_says_it_is_whole_needs_less_time() {
    let whole = file("m.pt", 1, 50);
    let looks = [(0, vec![whole.clone()]), (300, vec![whole])];
    assert_eq!(verdicts(vec![], &looks), "wait complete@0");
}

#[test]
fn what_was_there_before_the_request_does_not_count() {
    let old = file("m.pt", 1, 50);
    let new = file("m.pt", 9, 50);
    let looks = [(0, vec![old.clone()]), (9000, vec![old.clone()])];
    assert_eq!(verdicts(vec![old.clone()], &looks), "wait wait");
    let looks = [(9500, vec![new.clone()]), (9900, vec![new])];
    assert_eq!(verdicts(vec![old], &looks), "wait complete@9500");
}

#[test]
fn truncated_empty_and_shrunk_files_never_count() {
    let table = [
        (vec![], file("m.bad", 9, 50)),
        (vec![], file("m.x", 9, 0)),
        (vec![file("m.x", 1, 100)], file("m.x", 9, 50)),
        (vec![file("step-10.x", 1, 100)], file("step-20.x", 9, 50)),
    ];
    for (before, found) in table {
        let shown = format!("{found:?}");
        let looks = [(0, vec![found.clone()]), (60_000, vec![found])];
        assert_eq!(verdicts(before, &looks), "wait doubt", "{shown}");
    }
}

#[test]
fn a_file_of_another_name_is_no_measure() {
    let final_one = file("final.x", 9, 50);
    let looks = [(0, vec![final_one.clone()]), (2000, vec![final_one])];
    assert_eq!(
        verdicts(vec![file("step-10.x", 1, 100)], &looks),
        "wait complete@0"
    );
}

#[test]
fn a_folder_has_what_the_one_before_it_had() {
    let before = folder("c-1", &[("w-1.x", 100), ("optimizer.x", 200)]);
    let half = folder("c-2", &[("w-2.x", 100)]);
    let whole = folder("c-2", &[("w-2.x", 100), ("optimizer.x", 200)]);
    let looks = [
        (0, vec![half.clone()]),
        (8000, vec![half]),
        (9000, vec![whole.clone()]),
        (11_000, vec![whole]),
    ];
    assert_eq!(verdicts(vec![before], &looks), "wait doubt wait complete@9000");
}

#[test]
fn a_first_folder_takes_longer_and_broken_or_unfinished_parts_spoil_it() {
    let good = folder("c-1", &[("w.pt", 100), ("done", 0)]);
    let looks = [
        (0, vec![good.clone()]),
        (4900, vec![good.clone()]),
        (5000, vec![good.clone()]),
    ];
    assert_eq!(verdicts(vec![], &looks), "wait wait complete@0");
    for bad in [
        folder("c-1", &[("w.bad", 100)]),
        folder("c-1", &[("w.pt", 0)]),
        folder("c-1", &[]),
        Found {
            unfinished: Some("incomplete.txt".to_owned()),
            ..good
        },
    ] {
        let shown = format!("{bad:?}");
        let looks = [(0, vec![bad.clone()]), (60_000, vec![bad])];
        assert_eq!(verdicts(vec![], &looks), "wait doubt", "{shown}");
    }
}

#[test]
fn one_that_is_still_written_keeps_the_others_waiting() {
    let (first, second) = (file("r0.pt", 1, 50), file("r1.pt", 1, 50));
    let later = file("r1.pt", 2, 60);
    let looks = [
        (0, vec![first.clone(), second.clone()]),
        (200, vec![first.clone(), later.clone()]),
        (300, vec![first.clone(), later.clone()]),
        (500, vec![first, later]),
    ];
    assert_eq!(verdicts(vec![], &looks), "wait wait wait complete@200");
}

#[test]
fn every_pattern_needs_a_new_checkpoint() {
    let mut judge = Judge::new(Some(Duration::ZERO), vec![vec![], vec![]]);
    let model = file("m.pt", 1, 50);
    let verdict = judge.look(vec![vec![model.clone()], vec![]], ms(9), false, check);
    assert_eq!(verdict, Verdict::NotYet(vec![]));
    let verdict = judge.look(vec![vec![model], vec![file("o.pt", 1, 1)]], ms(10), false, check);
    assert_eq!(verdict, Verdict::Complete { since: ms(10) });
}

#[test]
fn a_killed_program_may_have_been_writing() {
    let unknown = file("m.x", 9, 100);
    let looks = [(0, vec![unknown.clone()]), (2000, vec![unknown])];
    assert_eq!(verdicts_after(vec![], &looks, true), "wait doubt");
    assert_eq!(
        verdicts_after(vec![file("m.x", 1, 100)], &looks, true),
        "wait complete@0",
        "it is as long as the one before"
    );
    let whole = file("m.pt", 9, 100);
    let looks = [(0, vec![whole.clone()]), (300, vec![whole])];
    assert_eq!(verdicts_after(vec![], &looks, true), "wait complete@0");
}

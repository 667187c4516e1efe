// SPDX-License-Identifier: GPL-2.0-or-later
//! The examples of docs/directives.md are true.

use surgent::policy::directives::{Key, edit, parse};

const PAGE: &str = include_str!("../../docs/directives.md");

/// The lines of the fenced blocks that follow the heading, up to the next heading.
fn examples(heading: &str) -> Vec<&'static str> {
    let section = PAGE
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .expect("the heading");
    let blocks: Vec<_> = section.split("```").skip(1).step_by(2).collect();
    blocks
        .iter()
        .flat_map(|block| block.lines().skip(1))
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn comments_that_are_shown_as_right_are_accepted() {
    let examples = examples("Forms");
    assert!(examples.len() >= 4);
    for comment in examples {
        let says = parse(comment.as_bytes()).unwrap_or_else(|error| panic!("{comment}: {error}"));
        assert!(!says.is_empty(), "{comment}");
    }
}

#[test]
fn refusals_are_shown_word_for_word() {
    let examples = examples("Refusals");
    assert!(examples.len() >= 12 && examples.len().is_multiple_of(2));
    for pair in examples.chunks(2) {
        let refusal = parse(pair[0].as_bytes()).expect_err(pair[0]).to_string();
        assert_eq!(pair[1].trim_start(), refusal, "{}", pair[0]);
    }
}

#[test]
fn every_key_is_in_the_table() {
    for key in Key::ALL {
        assert!(PAGE.contains(&format!("\n| `{key}` |")), "{key}");
    }
}

#[test]
fn edits_are_shown_byte_for_byte() {
    let changes = [
        (Key::Epoch, "13".to_owned()),
        (Key::Saved, "1764410000".to_owned()),
    ];
    let section = PAGE
        .split("\n## ")
        .find(|section| section.starts_with("What the monitor"))
        .expect("the heading");
    let rows: Vec<_> = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .collect();
    assert!(rows.len() >= 5);
    for row in rows {
        let cells: Vec<_> = row
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let before = if cells[0] == "(empty)" { "" } else { cells[0] };
        let after = edit(before.as_bytes(), &changes).unwrap_or_else(|error| panic!("{before}: {error}"));
        assert_eq!(String::from_utf8(after).expect("UTF-8"), cells[1]);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The lines of the log that the documentation explains are lines that the code writes.

use crate::markdown::{Page, root};
use regex::Regex;
use std::fs;
use std::path::Path;

/// So much of a line that is quoted in part, or is made of several texts, has to be text of the code.
const SHARE_MIN: f64 = 0.5;
/// A text of the code with less fixed text would be found in every line.
const FIXED_MIN: usize = 10;
/// Shorter pieces of text are everywhere.
const PIECE_MIN: usize = 6;
/// The least that a quote shows of a piece that it does not show to its end.
const PREFIX_MIN: usize = 10;

/// The texts of the code that goes into slurmctld, and of `surgent run`, each in the pieces between what is filled in.
fn texts() -> Vec<Vec<String>> {
    let text = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)""#).unwrap();
    let joined = Regex::new("\"\n\\s*\"").unwrap();
    let continued = Regex::new(r"\\\n\s*").unwrap();
    let filled_in = Regex::new(r"\{[^}]*\}|%[0-9.]*[a-z]").unwrap();
    let mut found = Vec::new();
    let mut folders = vec![
        root().join("src/host"),
        root().join("src/policy"),
        root().join("src/shim"),
        root().join("src/slurm"),
        root().join("src/monitor"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let code = fs::read_to_string(&path).unwrap();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let code = lines.collect::<Vec<_>>().join("\n").replace("'\"'", "");
            // C joins texts that stand beside one another.
            let code = joined.replace_all(&code, "");
            for text in text.captures_iter(&code) {
                let text = continued.replace_all(&text[1], "").replace("\\\"", "\"");
                let text = text.trim_start_matches("surgent: ");
                found.push(filled_in.split(text).map(str::to_owned).collect());
            }
        }
    }
    found
}

/// Whether `line` is this text with something filled in.
fn is_of(line: &str, text: &[String]) -> bool {
    let [first, middle @ .., last] = text else {
        return text == [line];
    };
    let fixed: usize = text.iter().map(String::len).sum();
    let inner = line
        .strip_prefix(first.as_str())
        .and_then(|rest| rest.strip_suffix(last.as_str()));
    let in_order = |inner| {
        middle
            .iter()
            .try_fold(inner, |rest: &str, piece| {
                rest.split_once(piece.as_str()).map(|(_, rest)| rest)
            })
            .is_some()
    };
    fixed >= FIXED_MIN && inner.is_some_and(in_order)
}

/// How much of `line` is fixed text of the code. A quote may leave out parts, where it has an ellipsis.
fn share(line: &str, pieces: &[&str]) -> f64 {
    // Words with digits and the like.
    let filled_in = Regex::new(r"\S*[0-9@]\S*").unwrap();
    let (mut length, mut known) = (0, 0);
    for fragment in line.split('…').flat_map(|part| part.split("...")).map(bare) {
        let mut is_known = vec![false; fragment.len()];
        for piece in pieces {
            for (at, _) in fragment.match_indices(piece) {
                is_known[at..at + piece.len()].fill(true);
            }
            // Where the quote breaks off in the middle of a text.
            let begins = fragment
                .char_indices()
                .map(|(at, _)| at)
                .find(|at| piece.starts_with(&fragment[*at..]));
            if let Some(at) = begins.filter(|at| fragment.len() - at >= PREFIX_MIN) {
                is_known[at..].fill(true);
            }
        }
        let is_filled_in = |at: usize| {
            filled_in
                .find_iter(fragment)
                .any(|word| word.range().contains(&at))
        };
        for at in (0..fragment.len()).filter(|at| !is_filled_in(*at)) {
            length += 1;
            known += usize::from(is_known[at]);
        }
    }
    known as f64 / length as f64
}

/// Without what stands between text and what is filled in.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric())
}

fn unknown(lines: &[String]) -> Vec<&String> {
    let texts = texts();
    let pieces = texts.iter().flatten().map(|piece| bare(piece));
    let pieces: Vec<&str> = pieces.filter(|piece| piece.len() >= PIECE_MIN).collect();
    let is_known = |line: &str| {
        let line = line.trim_start_matches("surgent: ");
        texts.iter().any(|text| is_of(line, text)) || share(line, &pieces) >= SHARE_MIN
    };
    lines.iter().filter(|line| !is_known(line)).collect()
}

#[test]
fn the_table_of_log_lines_is_true() {
    let page = Page::read(Path::new("docs/admin.md"));
    let section = page.text.split("## What the log says").nth(1).unwrap();
    let rows = section.split("\n## ").next().unwrap().lines();
    let lines: Vec<String> = rows
        .filter_map(|row| row.strip_prefix("| `")?.split("` |").next())
        .map(str::to_owned)
        .collect();
    assert!(lines.len() > 20, "{lines:#?}");
    assert_eq!(unknown(&lines), Vec::<&String>::new());
}

#[test]
fn log_lines_elsewhere_are_true() {
    let mut lines = Vec::new();
    for page in Page::all() {
        let quoted = page.code().into_iter().filter_map(|code| {
            // Behind the time that Slurm puts in front.
            let at = code
                .find("surgent: ")
                .filter(|at| *at == 0 || code.starts_with('['))?;
            (code != "surgent: ").then(|| code[at..].to_owned())
        });
        lines.extend(quoted);
    }
    assert!(lines.len() > 5, "{lines:#?}");
    assert_eq!(unknown(&lines), Vec::<&String>::new());
}

#[test]
fn the_diagnostics_of_the_man_page_are_true() {
    let page = include_str!("../../packaging/man/surgent-plugin.8");
    let section = page.split(".Sh DIAGNOSTICS").nth(1).unwrap();
    let ours = section.split("These are Slurm's own").next().unwrap();
    let lines: Vec<String> = ours
        .lines()
        .filter_map(|line| line.strip_prefix(".It "))
        .map(|line| line.replace("\\&", ""))
        .collect();
    assert!(lines.len() > 8, "{lines:#?}");
    assert_eq!(unknown(&lines), Vec::<&String>::new());
}

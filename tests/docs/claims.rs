// SPDX-License-Identifier: GPL-2.0-or-later
//! The tests that docs/security.md names are there.

use crate::markdown::{Page, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The names of all functions, and of all fuzz targets, in these folders.
fn functions(folders: [&str; 2]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.lines().map(str::trim_start);
                let named = lines.filter_map(|line| {
                    line.trim_start_matches("pub ")
                        .strip_prefix("fn ")?
                        .split('(')
                        .next()
                });
                names.extend(named.map(str::to_owned));
            }
        }
    }
    names
}

#[test]
fn each_claim_about_security_has_its_tests() {
    let page = Page::read("docs/security.md".as_ref());
    let (_, tried) = page.text.split_once("## What was tried").expect("the heading");
    let known = functions(["src", "tests"]);
    let rows: Vec<&str> = tried
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .collect();
    assert!(rows.len() > 15, "{rows:#?}");
    for row in rows {
        let tests = row.split('|').nth(2).unwrap_or_default();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test stands behind: {row}");
        for name in names {
            assert!(known.contains(name), "there is no test {name}: {row}");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! CHANGELOG.md has the form of Keep a Changelog, and all parts have the version of the crate.

use regex::Regex;

const CHANGELOG: &str = include_str!("../../CHANGELOG.md");

#[test]
fn the_changelog_has_its_form() {
    let release = Regex::new(r"^## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$").unwrap();
    let groups = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    let mut headings = CHANGELOG.lines().filter(|line| line.starts_with('#'));
    assert_eq!(headings.next(), Some("# Changelog"));
    assert_eq!(headings.next(), Some("## [Unreleased]"));
    let mut seen: Vec<&str> = Vec::new();
    for heading in headings {
        match heading.strip_prefix("### ") {
            Some(group) => {
                assert!(
                    groups.contains(&group),
                    "{heading} is no group of Keep a Changelog"
                );
                assert!(!seen.contains(&group), "{heading} is there twice for one release");
                seen.push(group);
            }
            None => {
                assert!(
                    release.is_match(heading),
                    "{heading} is to be ## [X.Y.Z] - YYYY-MM-DD"
                );
                seen.clear();
            }
        }
    }
}

#[test]
fn the_python_module_has_the_version_of_the_crate() {
    let version = format!("version = {:?}", env!("CARGO_PKG_VERSION"));
    let project = include_str!("../../packaging/python/pyproject.toml");
    assert!(
        project.lines().any(|line| line == version),
        "pyproject.toml is to have {version}"
    );
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The rules of the tree that a compiler does not check.

use std::fs;
use std::path::{Path, PathBuf};

/// Longer files are split.
const LINES_MAX: usize = 600;

fn files(folder: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|ending| endings.iter().any(|known| ending == *known))
            {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no files in {folder}");
    found
}

/// Lines of code: no comments, no tests beside the code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .map(str::trim)
        .filter(|line| !line.starts_with("//"))
}

#[test]
fn every_source_file_names_its_licence() {
    for folder in ["benches", "src", "tests", "slurm-headers"] {
        for (path, text) in files(folder, &["rs", "c", "h", "py", "sh", "mk"]) {
            let head = text
                .lines()
                .take(2)
                .any(|line| line.contains("SPDX-License-Identifier: GPL-2.0-or-later"));
            assert!(head, "{} does not begin with its SPDX line", path.display());
        }
    }
}

#[test]
fn files_stay_short() {
    for folder in ["src", "tests"] {
        for (path, text) in files(folder, &["rs", "c", "h", "py"]) {
            let lines = text.lines().count();
            assert!(
                lines <= LINES_MAX,
                "{} has {lines} lines; split it",
                path.display()
            );
        }
    }
}

/// policy and progress know nobody; slurm knows policy; host and monitor know policy and slurm; nothing knows cli.
#[test]
fn modules_know_only_whom_they_may() {
    let forbidden = [
        ("src/policy", &["host", "slurm", "monitor", "progress", "cli"][..]),
        ("src/progress", &["policy", "host", "slurm", "monitor", "cli"]),
        ("src/slurm", &["host", "monitor", "progress", "cli"]),
        ("src/host", &["monitor", "progress", "cli"]),
        ("src/monitor", &["host", "cli"]),
    ];
    for (folder, strangers) in forbidden {
        for (path, text) in files(folder, &["rs"]) {
            for stranger in strangers {
                let named = format!("crate::{stranger}");
                assert!(!text.contains(&named), "{} uses {named}", path.display());
            }
        }
    }
}

#[test]
fn the_policy_and_the_readers_have_no_clock_no_input_and_no_output() {
    // A length of time is none.
    const DURATION: &str = "use std::time::Duration;";
    let pure = ["src/policy", "src/progress"];
    for (path, text) in pure.into_iter().flat_map(|folder| files(folder, &["rs"])) {
        let is_reader = path.components().any(|part| part.as_os_str() == "progress");
        for line in code(&text).filter(|line| !is_reader || *line != DURATION) {
            for banned in [
                "std::fs",
                "std::net",
                "std::time",
                "std::env",
                "std::thread",
                "println!",
                "SystemTime",
                "Instant",
            ] {
                assert!(!line.contains(banned), "{} uses {banned}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_stays_in_the_host() {
    for folder in [
        "src/policy",
        "src/progress",
        "src/slurm",
        "src/monitor",
        "src/cli",
    ] {
        for (path, text) in files(folder, &["rs"]) {
            let found = code(&text).any(|line| line.contains("unsafe ") || line.contains("unsafe{"));
            assert!(!found, "{} has unsafe code", path.display());
        }
    }
}

#[test]
fn what_c_calls_is_in_one_file_and_guarded() {
    for (path, text) in files("src", &["rs"]) {
        let exports = text.matches("#[unsafe(no_mangle)]").count();
        if path.ends_with("host/exports.rs") {
            // surgent_core_abi returns a constant.
            let guarded = text.matches("    hook(Hook::").count();
            assert_eq!(guarded, exports - 1, "an exported function goes past the guard");
        } else {
            assert_eq!(exports, 0, "{} exports symbols", path.display());
        }
    }
}

#[test]
fn nothing_that_is_shipped_unwraps() {
    for folder in [
        "src/policy",
        "src/progress",
        "src/host",
        "src/slurm",
        "src/monitor",
        "src/cli",
    ] {
        for (path, text) in files(folder, &["rs"]) {
            if path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests") {
                continue;
            }
            for line in code(&text) {
                assert!(!line.contains(".unwrap()"), "{}: {line}", path.display());
            }
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Where Slurm's headers cannot be had, whoever builds reads one sentence that says what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What `slurm-headers/fetch` says when it fails.
fn complaint(change: impl FnOnce(&mut Command) -> &mut Command) -> String {
    let mut command = Command::new(root().join("slurm-headers/fetch"));
    command.env_remove("SLURM_SRC");
    let output = change(&mut command).output().expect("the script runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty(), "{said}");
    said
}

fn assert_is_one_sentence(said: &str, hint: &str) {
    let sentence = said.trim_end().strip_prefix("slurm-headers/fetch: ");
    let sentence = sentence.unwrap_or_else(|| panic!("{said}"));
    assert!(sentence.ends_with('.') && sentence.lines().count() == 1, "{said}");
    assert!(!sentence.contains(". "), "more than one sentence: {said}");
    assert!(sentence.contains(hint), "{said:?} does not say {hint:?}");
}

#[test]
fn a_tree_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path();
    let write = |name: &str, text: &str| {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let of_tree = || complaint(|fetch| fetch.env("SLURM_SRC", tree));
    assert_is_one_sentence(
        &complaint(|fetch| fetch.env("SLURM_SRC", tree.join("none"))),
        "set it to",
    );
    assert_is_one_sentence(&of_tree(), "set SLURM_SRC to");
    write("META", "  Version:\t24.11.5\n");
    write("src/slurmctld/slurmctld.h", "");
    assert_is_one_sentence(&of_tree(), "run ./configure");
    write("config.h", "");
    write("slurm/slurm_version.h", "#define SLURM_VERSION_NUMBER 0x160508\n");
    assert_is_one_sentence(&of_tree(), "run ./configure");
}

#[test]
fn a_slurm_whose_source_cannot_be_found_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let slurmctld = folder.path().join("slurmctld");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    for script in ["echo slurm 1.2.3", "exit 127"] {
        fs::write(&slurmctld, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&slurmctld, fs::Permissions::from_mode(0o755)).unwrap();
        let said = complaint(|fetch| fetch.env("PATH", &path));
        assert_is_one_sentence(&said, "set SLURM_SRC=");
    }
}

#[test]
fn make_says_where_plugins_would_go() {
    let output = Command::new("make")
        .args(["install-plugindir", "PLUGINDIR="])
        .current_dir(root())
        .output()
        .expect("make runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(said.lines().next().unwrap().contains("PLUGINDIR=/"), "{said}");
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Plugins that were built with other headers than slurmctld: Slurm refuses those of another patch level, and of the same
//! one Surgent finds out by itself, before it reads what is not there.

use crate::scene::{by_factors, quick};
use crate::support::{Cluster, LIMIT, Outcome, finish, places};
use crate::{on_cluster, skips};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PLUGINS: [&str; 3] = [
    "job_submit_surgent.so",
    "preempt_surgent.so",
    "site_factor_surgent.so",
];

/// A record of Slurm's: its type, how its definition begins or ends in the headers, and where that may be.
struct Record {
    name: &'static str,
    mark: &'static str,
    files: &'static [&'static str],
}

const JOB: Record = Record {
    name: "job_record_t",
    mark: "struct job_record {",
    files: &["src/common/job_record.h", "src/slurmctld/slurmctld.h"],
};
const DETAILS: Record = Record {
    name: "job_details_t",
    mark: "struct job_details {|} job_details_t;",
    files: JOB.files,
};
const PARTITION: Record = Record {
    name: "part_record_t",
    mark: "} part_record_t;",
    files: &["src/common/part_record.h", "src/slurmctld/slurmctld.h"],
};
const NODE: Record = Record {
    name: "node_record_t",
    mark: "struct node_record {",
    files: &["src/common/node_conf.h"],
};
const RESOURCES: Record = Record {
    name: "job_resources_t",
    mark: "struct job_resources {",
    files: &["src/common/job_resources.h"],
};
const JOB_GRES: Record = Record {
    name: "gres_job_state_t",
    mark: "} gres_job_state_t;",
    files: &["src/interfaces/gres.h", "src/common/gres.h"],
};
const DESCRIPTION: Record = Record {
    name: "job_desc_msg_t",
    mark: "} job_desc_msg_t;",
    files: &["slurm/slurm.h"],
};
const SETTINGS: Record = Record {
    name: "slurm_conf_t",
    mark: "} slurm_conf_t;",
    files: &["slurm/slurm.h"],
};

impl Record {
    /// Adds a field of eight bytes before the field at this part of the definition, from 0 to 1. Gives the file that was
    /// changed, and what it was before.
    fn widen(&self, tree: &Path, part: f64) -> Outcome<(PathBuf, String)> {
        for file in self.files.iter().map(|file| tree.join(file)) {
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            let mut lines: Vec<&str> = text.lines().collect();
            let Some(fields) = self.mark.split('|').find_map(|mark| fields(&lines, mark)) else {
                continue;
            };
            let place = fields[((fields.len() - 1) as f64 * part) as usize];
            lines.insert(place, "\tuint64_t surgent_test;");
            write(&file, &(lines.join("\n") + "\n"))?;
            return Ok((file, text));
        }
        Err(format!("{} is not defined where it was", self.name).into())
    }
}

fn write(file: &Path, text: &str) -> Outcome {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// The lines of the definition with this first or last line that begin a field.
fn fields(lines: &[&str], mark: &str) -> Option<Vec<usize>> {
    let found = lines.iter().position(|line| line.starts_with(mark))?;
    let opens = |line: &&str| line.starts_with("typedef struct") || line.starts_with("struct");
    let (first, last) = match mark.starts_with('}') {
        true => (lines[..found].iter().rposition(opens)?, found),
        false => (
            found,
            found + lines[found..].iter().position(|line| line.starts_with('}'))?,
        ),
    };
    let is_field = |line: &str| {
        line.strip_prefix('\t')
            .is_some_and(|text| text.contains(';') && text.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    Some((first + 1..last).filter(|at| is_field(lines[*at])).collect())
}

/// A copy of the headers that the plugins are built with.
fn headers(folder: &Path) -> Outcome<PathBuf> {
    let fetched = finish(
        &mut Command::new(places::root().join("slurm-headers/fetch")),
        "slurm-headers/fetch",
    )?;
    let tree = fetched.lines().last().unwrap_or_default().to_owned();
    let copy = folder.join("tree");
    for part in ["META", "config.h", "slurm", "src"] {
        let target = copy.join(part);
        fs::create_dir_all(&copy).map_err(|error| format!("{}: {error}", copy.display()))?;
        finish(
            Command::new("cp")
                .args(["-r", &format!("{tree}/{part}")])
                .arg(&target),
            "cp",
        )?;
    }
    Ok(copy)
}

/// Builds the plugins with these headers, for the core that is there.
fn build(tree: &Path, out: &Path, variables: &[&str]) -> Outcome {
    let core = places::plugins()?.join("libsurgent.so");
    finish(
        Command::new("make")
            // It may run as part of another make.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .current_dir(places::root())
            .args(["--silent", "shims", "CARGO=true"])
            .args(variables)
            .arg(format!("CORE={}", core.display()))
            .arg(format!("SLURM_SRC={}", tree.display()))
            .arg(format!("OUT={}", out.display())),
        "make shims",
    )
    .map(drop)
}

/// Puts plugins in the place of those of the cluster, as an upgrade does.
fn install(cluster: &Cluster, from: &Path) -> Outcome {
    for name in PLUGINS {
        let target = cluster.folder().join("plugins").join(name);
        let new = target.with_extension("new");
        fs::copy(from.join(name), &new)
            .and_then(|_| fs::rename(&new, &target))
            .map_err(|error| format!("{}: {error}", target.display()))?;
    }
    Ok(())
}

fn folder() -> Outcome<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| format!("no folder: {error}").into())
}

#[test]
fn slurm_refuses_plugins_of_another_patch_level_and_does_not_crash() -> Outcome {
    on_cluster(quick(), |cluster| {
        let folder = folder()?;
        let tree = headers(folder.path())?;
        next_patch_level(&tree)?;
        build(&tree, &folder.path().join("out"), &[])?;
        cluster.stop_controller()?;
        install(cluster, &folder.path().join("out"))?;
        let status = cluster.run_controller_to_its_end()?;
        assert_eq!(status.code(), Some(1), "{status}");
        let said = |parts: &[&str]| assert!(cluster.logged(parts).is_some(), "{parts:?} in the log");
        said(&["Incompatible Slurm plugin", "preempt_surgent.so"]);
        said(&["fatal: ", "preempt"]);
        // With the right ones it starts as if nothing had been.
        install(cluster, &places::plugins()?)?;
        cluster.start_controller()?;
        cluster.controller_is_well()
    })
}

/// Makes the tree say that it is the patch release after this one.
fn next_patch_level(tree: &Path) -> Outcome {
    let edit = |file: &str, change: &dyn Fn(&str) -> Option<String>| -> Outcome {
        let path = tree.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        let lines: Vec<String> = text
            .lines()
            .map(|line| change(line).unwrap_or_else(|| line.to_owned()))
            .collect();
        write(&path, &(lines.join("\n") + "\n"))
    };
    edit("META", &|line| {
        let (before, micro) = line.trim().strip_prefix("Version:")?.trim().rsplit_once('.')?;
        Some(format!("  Version: {before}.{}", micro.parse::<u32>().ok()? + 1))
    })?;
    let next_number = |line: &str| {
        let number = line.strip_prefix("#define SLURM_VERSION_NUMBER 0x")?;
        let number = u32::from_str_radix(number.trim(), 16).ok()?;
        Some(format!("#define SLURM_VERSION_NUMBER 0x{:06x}", number + 1))
    };
    edit("slurm/slurm_version.h", &next_number)?;
    edit("config.h", &next_number)
}

#[test]
fn headers_that_are_not_those_of_their_release_are_an_error_at_compile_time() -> Outcome {
    if skips() {
        return Ok(());
    }
    let folder = folder()?;
    let tree = headers(folder.path())?;
    JOB.widen(&tree, 0.5)?;
    let said = build(&tree, folder.path(), &[])
        .expect_err("it must not compile")
        .to_string();
    for part in ["job_record_t", "SLURM_CHANGED=1"] {
        assert!(said.contains(part), "{said}");
    }
    Ok(())
}

#[test]
fn jobs_of_another_layout_are_found_before_they_are_read() -> Outcome {
    step_aside_from(&[(&JOB, 0.02), (&JOB, 1.0), (&DETAILS, 0.02), (&DESCRIPTION, 0.1)])
}

#[test]
fn other_records_of_another_layout_are_found_before_they_are_read() -> Outcome {
    step_aside_from(&[
        (&PARTITION, 0.3),
        (&NODE, 0.3),
        (&RESOURCES, 0.0),
        (&JOB_GRES, 0.0),
        (&SETTINGS, 0.1),
    ])
}

/// Tries plugins in whose headers one record is wider, at this part of it, one after the other.
fn step_aside_from(cases: &[(&Record, f64)]) -> Outcome {
    on_cluster(by_factors(quick()), |cluster| {
        let folder = folder()?;
        let (tree, out) = (headers(folder.path())?, folder.path().join("out"));
        for (record, part) in cases {
            let (file, text) = record.widen(&tree, *part)?;
            build(&tree, &out, &["SLURM_CHANGED=1", "--always-make"])?;
            write(&file, &text)?;
            steps_aside(cluster, &out, record.name)
                .map_err(|failure| failure.during(&format!("{} widened at {part}", record.name)))?;
        }
        Ok(())
    })
}

/// Starts slurmctld with these plugins: they say once what does not fit, and Slurm schedules as without them.
fn steps_aside(cluster: &mut Cluster, plugins: &Path, record: &str) -> Outcome {
    cluster.stop_controller()?;
    install(cluster, plugins)?;
    let before = cluster.log().len();
    cluster.start_controller()?;
    // So that every kind: one that stays, four that run, and one that waits for them.
    let arguments = ["--exclusive", "--gres=gpu:4", "--comment=epochs=3"];
    let running: Vec<_> = (0..4)
        .map(|_| cluster.sbatch(&arguments, "sleep 1"))
        .collect::<Outcome<_>>()?;
    for job in &running {
        cluster.wait_for_state(*job, "RUNNING", LIMIT)?;
    }
    let urgent = cluster.sbatch(
        &[
            "--nodes=2",
            "--exclusive",
            "--gres=gpu:4",
            "--comment=urgency=urgent",
        ],
        "true",
    )?;
    cluster.ask(
        "scontrol",
        &[
            "update",
            &format!("JobId={}", running[0]),
            "Comment=epochs=3 epoch=1",
        ],
    )?;
    let asides = |cluster: &Cluster| -> Vec<String> {
        let lines = cluster.log().into_iter().skip(before).map(|line| line.text);
        lines
            .filter(|text| text.contains("Surgent steps aside"))
            .collect()
    };
    cluster.wait_for("Surgent to step aside", LIMIT, |cluster| {
        Ok(!asides(cluster).is_empty())
    })?;
    for job in running.iter().chain([&urgent]) {
        cluster.wait_for_state(*job, "COMPLETED", 2 * LIMIT)?;
        assert_eq!(
            cluster.job(*job)?.restarts(),
            0,
            "{record}: job {job} was disturbed"
        );
    }
    let said = asides(cluster);
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(
        said[0].contains(&format!("a {record} of this slurmctld has ")),
        "{said:#?}"
    );
    cluster.controller_is_well()
}

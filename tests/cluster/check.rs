// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent check` on a real cluster: silent where all is well, and precise where it is not.

use crate::on_cluster;
use crate::scene::by_factors;
use crate::support::{Cluster, Outcome, Preempt, places};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Exit code and answer of `surgent check --json`.
fn check(command: &mut Command) -> Outcome<(i32, Value)> {
    let output = command
        .args(["check", "--json"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("surgent: {error}"))?;
    let answer = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((output.status.code().unwrap_or(-1), answer))
}

fn check_as_root(cluster: &Cluster) -> Outcome<(i32, Value)> {
    check(&mut cluster.command(&places::surgent()?.display().to_string()))
}

/// What was found about something: its level and its sentence.
fn about(answer: &Value, about: &str) -> (String, String) {
    let all = answer["findings"].as_array().expect("findings");
    let found = all.iter().find(|finding| finding["about"] == about);
    let text = |key: &str| {
        found
            .map_or("", |finding| finding[key].as_str().expect("text"))
            .to_owned()
    };
    (text("level"), text("found"))
}

#[test]
fn a_good_site_is_told_so_and_each_fault_is_named() -> Outcome {
    // Without factors the site is told of that from 23.11 on, where priority/multifactor is what Slurm takes by itself.
    on_cluster(by_factors(Cluster::builder()), |cluster| {
        let (code, answer) = check_as_root(cluster)?;
        assert_eq!((code, &answer["worst"]), (0, &"note".into()), "{answer:#}");
        let good = [
            "slurmctld",
            "clock",
            "PreemptType",
            "PreemptMode",
            "JobSubmitPlugins",
            "PrioritySiteFactorPlugin",
            "preempt_surgent.so",
            "job_submit_surgent.so",
            "surgent.toml",
        ];
        for good in good {
            assert_eq!(about(&answer, good).0, "ok", "{good}: {answer:#}");
        }
        let release = about(&answer, "slurmctld").1;
        // Whoever may not look at a file is told so, and nothing else is wrong.
        let surgent = places::surgent()?.display().to_string();
        let (code, _) = check(&mut cluster.command_as_nobody(&surgent))?;
        assert_eq!(code, 0);

        let toml = cluster.folder().join("surgent.toml");
        fs::write(&toml, "mode = \"on\"\n[victims]\nmin_runtime = 3\n").map_err(|error| error.to_string())?;
        let (code, answer) = check_as_root(cluster)?;
        let (level, found) = about(&answer, "surgent.toml");
        assert_eq!((code, level.as_str()), (3, "error"));
        assert!(
            found.contains("line 3") && found.contains("min_runtime"),
            "{found}"
        );
        fs::write(&toml, "").map_err(|error| error.to_string())?;
        fs::set_permissions(&toml, Permissions::from_mode(0o666)).map_err(|error| error.to_string())?;
        let (code, answer) = check_as_root(cluster)?;
        assert_eq!(
            (code, about(&answer, &toml.display().to_string()).0.as_str()),
            (3, "error")
        );
        fs::set_permissions(&toml, Permissions::from_mode(0o644)).map_err(|error| error.to_string())?;

        // Built for another patch level, as after an upgrade of Slurm; slurmctld has the old file mapped.
        let plugin = cluster.folder().join("plugins/preempt_surgent.so");
        let bytes = fs::read(&plugin).map_err(|error| error.to_string())?;
        let of_other_release = other_micro(&bytes, &release);
        let new = plugin.with_extension("new");
        fs::write(&new, of_other_release)
            .and_then(|()| fs::rename(&new, &plugin))
            .map_err(|error| error.to_string())?;
        let (code, answer) = check_as_root(cluster)?;
        let (level, found) = about(&answer, "preempt_surgent.so");
        assert_eq!((code, level.as_str()), (3, "error"), "{answer:#}");
        assert!(found.contains("refuses"), "{found}");
        // slurmctld would not start again with it, and this is when somebody asks.
        cluster.kill_controller()?;
        let (code, answer) = check_as_root(cluster)?;
        assert_eq!((code, about(&answer, "slurmctld").0.as_str()), (3, "error"));
        let (level, found) = about(&answer, "preempt_surgent.so");
        assert_eq!(level, "error", "{answer:#}");
        assert!(found.contains("refuses"), "{found}");
        assert_eq!(about(&answer, "surgent.toml").0, "ok", "{answer:#}");

        fs::remove_file(&plugin).map_err(|error| error.to_string())?;
        let (_, found) = about(&check_as_root(cluster)?.1, "preempt_surgent.so");
        assert!(found.contains("PluginDir"), "{found}");
        Ok(())
    })
}

/// The plugin with another patch level wherever it says that of `release`, which ends in `22.05.8` or the like.
fn other_micro(plugin: &[u8], release: &str) -> Vec<u8> {
    let numbers = release.rsplit(' ').next().unwrap_or_default().split('.');
    let numbers: Vec<u8> = numbers.map(|number| number.parse().expect("a number")).collect();
    let version = u32::from_be_bytes([0, numbers[0], numbers[1], numbers[2]]);
    let (said, other) = (version.to_ne_bytes(), (version + 1).to_ne_bytes());
    let mut bytes = plugin.to_vec();
    let places: Vec<usize> = bytes
        .windows(4)
        .enumerate()
        .filter_map(|(at, window)| (window == said).then_some(at))
        .collect();
    assert!(!places.is_empty(), "the plugin does not say its version");
    for at in places {
        bytes[at..at + 4].copy_from_slice(&other);
    }
    bytes
}

#[test]
fn a_site_without_surgent_is_told_what_to_write() -> Outcome {
    on_cluster(Cluster::builder().preempt(Preempt::Nothing), |cluster| {
        let (code, answer) = check_as_root(cluster)?;
        assert_eq!((code, &answer["worst"]), (3, &"error".into()));
        for missing in [
            "PreemptType",
            "PreemptMode",
            "JobSubmitPlugins",
            "preempt_surgent.so",
        ] {
            assert_eq!(about(&answer, missing).0, "error", "{missing}: {answer:#}");
        }
        let plain = cluster
            .command(&places::surgent()?.display().to_string())
            .args(["check", "--all"])
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&plain.stdout);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("PreemptType=preempt/surgent"), "{text}");
        Ok(())
    })
}

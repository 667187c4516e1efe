// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent metrics` shows what has happened, in exact numbers, also after slurmctld was killed.

use crate::audit::wait_for_kind;
use crate::scene::{TOML, quick, start, urgent};
use crate::support::{Cluster, LIMIT, Outcome, Training, finish, places};
use crate::{on_cluster, skips, tell};
use prometheus_parse::{Scrape, Value};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use surgent::host::metrics::{Meter, MetricsFile};
use surgent::policy::metrics::State;
use surgent::policy::settings::Mode;

/// A longer wait for what happens within a minute.
const MINUTES: Duration = Duration::from_secs(150);

/// What `surgent metrics` prints.
pub fn metrics(cluster: &Cluster) -> Outcome<String> {
    let surgent = places::surgent()?.display().to_string();
    finish(cluster.command(&surgent).arg("metrics"), "surgent metrics")
}

/// The value of one series, named as it is printed.
pub fn value(text: &str, series: &str) -> f64 {
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("the text of metrics");
    let labels: Vec<(&str, &str)> = labels
        .trim_end_matches('}')
        .split(',')
        .filter_map(|label| label.split_once('='))
        .collect();
    let sample = scrape.samples.iter().find(|sample| {
        let has = |(label, value): &(&str, &str)| sample.labels.get(label) == Some(*value);
        sample.metric == name && labels.iter().all(has)
    });
    match &sample.unwrap_or_else(|| panic!("no {series} in\n{text}")).value {
        Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => *value,
        other => panic!("{series} is {other:?}"),
    }
}

/// Waits until a series has this value; the text that shows it.
pub fn wait_for_value(cluster: &Cluster, series: &str, wanted: f64) -> Outcome<String> {
    cluster.wait_until(&format!("{series} to be {wanted}"), MINUTES, |cluster| {
        let text = metrics(cluster)?;
        Ok((value(&text, series) == wanted).then_some(text))
    })
}

/// What has happened in mode on: one urgent job was started after a victim had missed its deadline and another had taken
/// its place.
fn assert_tells_the_story(text: &str) {
    for (series, count) in [
        ("surgent_urgent_starts_total{mode=on}", 1.0),
        ("surgent_plans_total{mode=on,why=first}", 1.0),
        ("surgent_plans_total{mode=on,why=replanned}", 1.0),
        ("surgent_plans_total{mode=on,why=widened}", 0.0),
        ("surgent_saves_asked_total{mode=on}", 3.0),
        ("surgent_saves_acknowledged_total{mode=on}", 2.0),
        ("surgent_saves_missed_total{mode=on}", 1.0),
        ("surgent_stops_total{mode=on,saved=true}", 2.0),
        ("surgent_stops_total{mode=on,saved=false}", 0.0),
        ("surgent_given_up_total{mode=on}", 0.0),
        ("surgent_latched", 0.0),
        ("surgent_faults_total", 0.0),
    ] {
        assert_eq!(value(text, series), count, "{series} in\n{text}");
    }
    for line in [
        "surgent_urgent_wait_seconds_count{mode=\"on\"} 1",
        "surgent_save_seconds_count{mode=\"on\"} 2",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "{line} is not in\n{text}"
        );
    }
}

/// The sums are those of the audit file, of which each was looked at while it happened.
fn assert_sums(cluster: &Cluster, text: &str) -> Outcome {
    let stopped = wait_for_kind(cluster, "stopped", 2)?;
    for (series, key) in [
        ("surgent_lost_gpu_seconds_total{mode=on}", "lost_gpu_s"),
        ("surgent_saved_gpu_seconds_total{mode=on}", "kept_gpu_s"),
    ] {
        let sum: f64 = stopped.iter().map(|line| line[key].as_f64().unwrap()).sum();
        assert_eq!(value(text, series), sum, "{series} in\n{text}");
    }
    for line in stopped {
        let [start, saved, at] = ["start", "saved", "at"].map(|key| line[key].as_f64().unwrap());
        // Each had four GPUs, and had not saved before.
        assert_eq!(line["kept_gpu_s"], 4.0 * (saved - start), "{line}");
        assert_eq!(line["lost_gpu_s"], 4.0 * (at - saved).max(0.0), "{line}");
    }
    Ok(())
}

#[test]
fn the_numbers_are_those_of_what_happened_also_after_slurmctld_was_killed() -> Outcome {
    let toml = TOML.replace("save_deadline_s = 20", "save_deadline_s = 10");
    on_cluster(quick().toml(&toml), |cluster| {
        let training = |name: &'static str, priority: u32| {
            let comment = format!("--comment=priority={priority}");
            (name, Training::new(name).lasting(60, 0.1).sbatch(&comment))
        };
        let (deaf, program) = training("deaf", 10);
        let deaf = (deaf, program.option("--ignore-requests"));
        start(
            cluster,
            [training("a", 80), training("b", 80), training("c", 80), deaf],
        )?;
        let first = urgent(cluster, "urgent", 2)?;
        cluster.wait_for_state(first, "COMPLETED", LIMIT)?;
        wait_for_kind(cluster, "restored", 2)?;
        // Told with the last of it.
        let text = wait_for_value(cluster, "surgent_plans_in_progress", 0.0)?;
        assert_tells_the_story(&text);
        assert_sums(cluster, &text)?;
        assert!(value(&text, "surgent_commands_total{outcome=done}") >= 5.0);
        promtool_is_content(&text)?;

        // What Slurm itself has not saved yet, it loses: the urgent job would start once more.
        wait_for_job_state(cluster)?;
        cluster.kill_controller()?;
        let text = metrics(cluster)?;
        assert_tells_the_story(&text);
        cluster.start_controller()?;
        shadow_is_counted_apart(cluster, &toml)?;
        assert_sums(cluster, &metrics(cluster)?)?;
        a_link_is_not_written_through(cluster)?;
        is_for_who_may_enter(cluster)
    })
}

/// Waits until slurmctld has saved its jobs as they are now.
fn wait_for_job_state(cluster: &Cluster) -> Outcome {
    let now = SystemTime::now();
    cluster.wait_for("slurmctld to save its jobs", LIMIT, |cluster| {
        let file = fs::metadata(cluster.folder().join("state/job_state"));
        let saved = file.and_then(|file| file.modified());
        Ok(saved.is_ok_and(|saved| saved > now))
    })
}

fn shadow_is_counted_apart(cluster: &mut Cluster, toml: &str) -> Outcome {
    let path = cluster.folder().join("surgent.toml");
    fs::write(path, format!("mode = \"shadow\"\n{toml}")).map_err(|error| error.to_string())?;
    let text = wait_for_value(cluster, "surgent_mode{mode=shadow}", 1.0)?;
    assert_eq!(value(&text, "surgent_mode{mode=on}"), 0.0);
    urgent(cluster, "second", 3)?;
    let text = wait_for_value(cluster, "surgent_plans_total{mode=shadow,why=first}", 1.0)?;
    assert_tells_the_story(&text);
    for series in ["surgent_saves_asked_total", "surgent_urgent_starts_total"] {
        assert_eq!(value(&text, &format!("{series}{{mode=shadow}}")), 0.0, "{text}");
    }
    cluster.controller_is_well()
}

/// While an urgent job waits the file is written every few seconds.
fn a_link_is_not_written_through(cluster: &mut Cluster) -> Outcome {
    let file = cluster.folder().join("state/surgent.metrics.json");
    let elsewhere = cluster.folder().join("elsewhere");
    fs::write(&elsewhere, "untouched")
        .and_then(|()| fs::remove_file(&file))
        .and_then(|()| symlink(&elsewhere, &file))
        .map_err(|error| error.to_string())?;
    let text = cluster.wait_until("the link to be replaced", MINUTES, metrics_of)?;
    assert_tells_the_story(&text);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap_or_default(), "untouched");
    cluster.controller_is_well()
}

fn metrics_of(cluster: &Cluster) -> Outcome<Option<String>> {
    metrics(cluster).map(Some)
}

fn is_for_who_may_enter(cluster: &Cluster) -> Outcome {
    let surgent = places::surgent()?.display().to_string();
    let of_nobody = |arguments: &[&str]| -> Outcome<(i32, String, String)> {
        let mut command = cluster.command_as_nobody(&surgent);
        let output = command
            .arg("metrics")
            .args(arguments)
            .stdin(Stdio::null())
            .output();
        let output = output.map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((
            output.status.code().unwrap_or(-1),
            text(&output.stdout),
            text(&output.stderr),
        ))
    };
    let state = cluster.folder().join("state");
    let mode =
        |mode| fs::set_permissions(&state, Permissions::from_mode(mode)).map_err(|error| error.to_string());
    mode(0o755)?;
    let (code, text, said) = of_nobody(&[])?;
    assert_eq!((code, said.as_str()), (0, ""));
    assert_tells_the_story(&text);
    mode(0o700)?;
    let (code, text, said) = of_nobody(&[])?;
    assert_eq!((code, text.as_str()), (1, ""));
    assert!(
        said.contains("surgent.metrics.json is not for this user: "),
        "{said}"
    );
    let (code, _, said) = of_nobody(&["--state-dir", "/nowhere"])?;
    assert_eq!(code, 1);
    assert!(
        said.contains("/nowhere/surgent.metrics.json is not there: "),
        "{said}"
    );

    let output = cluster.folder().join("surgent.prom");
    let arguments = ["metrics", "--output", &output.display().to_string()];
    finish(
        cluster.command(&surgent).args(arguments),
        "surgent metrics --output",
    )?;
    assert_tells_the_story(&fs::read_to_string(&output).unwrap_or_default());
    let mode = fs::metadata(&output).map_err(|error| error.to_string())?.mode();
    assert_eq!(mode & 0o777, 0o644);
    Ok(())
}

/// Where Prometheus' own tool is installed.
fn promtool_is_content(text: &str) -> Outcome {
    let spawned = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = spawned else {
        tell("skipped, for promtool is not installed: what it says of the metrics");
        return Ok(());
    };
    std::io::Write::write_all(&mut promtool.stdin.take().expect("a pipe"), text.as_bytes())
        .map_err(|error| format!("promtool: {error}"))?;
    let output = promtool.wait_with_output().map_err(|error| error.to_string())?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[test]
fn that_surgent_has_stepped_aside_is_shown_until_slurmctld_is_restarted() -> Outcome {
    if skips() {
        return Ok(());
    }
    let setup = quick()
        .plugins(places::plugins_with_faults()?)
        .controller_env("SURGENT_FAULT", "planner");
    on_cluster(setup, |cluster| {
        let text = wait_for_value(cluster, "surgent_latched", 1.0)?;
        assert_eq!(value(&text, "surgent_faults_total"), 3.0);
        let says_so = |cluster: &Cluster| -> Outcome<bool> {
            let surgent = places::surgent()?.display().to_string();
            Ok(cluster
                .ask(&surgent, &["status"])?
                .contains("Surgent has stepped aside"))
        };
        assert!(says_so(cluster)?);
        cluster.stop_controller()?;
        cluster.controller_environment("SURGENT_FAULT", "none");
        cluster.start_controller()?;
        let text = wait_for_value(cluster, "surgent_latched", 0.0)?;
        assert_eq!(value(&text, "surgent_faults_total"), 3.0, "counting goes on");
        assert!(!says_so(cluster)?);
        Ok(())
    })
}

/// A file system of a few pages, in a folder of its own.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where this machine does not let us have one.
    fn mount(folder: &Path) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        mount
            .is_ok_and(|status| status.success())
            .then(|| Self(folder.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_is_lost() -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        tell("skipped, for no tmpfs can be mounted here: what a full disk does to the metrics");
        return Ok(());
    };
    let state = |campaigns| State {
        mode: Mode::On,
        latched: false,
        campaigns,
        waiting: 0,
    };
    let read = || MetricsFile::within(&disk.0).read().expect("a whole file");
    let mut meter = Meter::default().within(&disk.0);
    meter.write(state(1));
    meter.ran_commands(5, 0);
    let filler = disk.0.join("filler");
    let filled = fs::write(&filler, vec![0; 1 << 20]);
    assert!(filled.is_err(), "the disk is full");
    meter.write(state(2));
    assert_eq!((read().state.campaigns, read().counters.commands_done), (1, 0));
    let files = fs::read_dir(&disk.0).map_err(|error| error.to_string())?.count();
    assert_eq!(files, 2, "nothing is left behind of what did not fit");
    fs::remove_file(&filler).map_err(|error| error.to_string())?;
    meter.write(state(3));
    assert_eq!((read().state.campaigns, read().counters.commands_done), (3, 5));
    Ok(())
}

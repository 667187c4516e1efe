// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use crate::policy::audit::Event;
use crate::policy::ids::JobId;
use crate::policy::settings::Mode;
use crate::policy::units::UnixTime;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

const STATE: State = State {
    mode: Mode::On,
    latched: false,
    campaigns: 0,
    waiting: 0,
};

fn given_up() -> Entry {
    Entry {
        at: UnixTime(9),
        shadow: false,
        event: Event::GivenUp { urgent: JobId(7) },
    }
}

fn file(folder: &Path) -> PathBuf {
    MetricsFile::within(folder).path().to_owned()
}

/// What `surgent metrics` would read.
fn given_up_in(folder: &Path) -> u64 {
    let metrics = MetricsFile::within(folder).read().unwrap();
    metrics.counters.on.given_up
}

/// A planner that starts, counts one and ends.
fn count_one(folder: &Path) {
    let mut meter = Meter::default().within(folder);
    meter.count(&[given_up()]);
    meter.write(STATE);
}

#[test]
fn what_a_kill_left_half_written_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("surgent.metrics.unfinished"), "{").unwrap();
    count_one(folder.path());
    assert_eq!(given_up_in(folder.path()), 1);
    let left = fs::read_dir(folder.path()).unwrap().flatten();
    let names: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["surgent.metrics.json"]);
}

#[test]
fn counting_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    count_one(folder.path());
    let since = MetricsFile::within(folder.path()).read().unwrap().counters.since;
    count_one(folder.path());
    let metrics = MetricsFile::within(folder.path()).read().unwrap();
    assert_eq!((metrics.counters.on.given_up, metrics.counters.since), (2, since));
    let mode = fs::metadata(file(folder.path())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing else is left behind"
    );
}

#[test]
fn a_file_that_cannot_be_used_is_replaced_and_never_written_through() {
    let folder = tempfile::tempdir().unwrap();
    count_one(folder.path());
    let good = fs::read_to_string(file(folder.path())).unwrap();
    let other_buckets = good.replace("86400.0", "86401.0");
    let other_form = good.replace("{\"form\":1,", "{\"form\":2,");
    assert!(other_buckets != good && other_form != good);
    let too_long = format!("{good}{}", " ".repeat(2 << 20));
    for broken in [
        "",
        "{",
        "[]",
        &other_buckets,
        &other_form,
        &too_long[..good.len() - 1],
    ] {
        fs::write(file(folder.path()), broken).unwrap();
        assert!(MetricsFile::within(folder.path()).read().is_err());
        count_one(folder.path());
        assert_eq!(given_up_in(folder.path()), 1, "{broken}");
    }

    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, &good).unwrap();
    fs::remove_file(file(folder.path())).unwrap();
    symlink(&elsewhere, file(folder.path())).unwrap();
    count_one(folder.path());
    assert_eq!(given_up_in(folder.path()), 1, "the link was not followed");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), good);

    fs::remove_file(file(folder.path())).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, file(folder.path()), 0o600.into()).unwrap();
    count_one(folder.path());
    assert_eq!(given_up_in(folder.path()), 1, "nobody waited for the pipe");
}

#[test]
fn what_cannot_be_written_is_said_once_and_written_later() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("state");
    let mut meter = Meter::default().within(&folder);
    meter.count(&[given_up()]);
    let (level, sentence) = meter.try_to_write(STATE).unwrap();
    assert_eq!(level, Level::Error);
    assert!(
        sentence.contains("state/surgent.metrics.json cannot be written: "),
        "{sentence}"
    );
    assert_eq!(meter.try_to_write(STATE), None, "it is said once");
    assert!(meter.due_in().is_some());
    fs::create_dir(&folder).unwrap();
    let (level, sentence) = meter.try_to_write(STATE).unwrap();
    assert_eq!(level, Level::Info);
    assert!(
        sentence.ends_with("surgent.metrics.json is written again"),
        "{sentence}"
    );
    assert_eq!(meter.due_in(), None);
    assert_eq!(given_up_in(&folder), 1);
}

#[test]
fn news_are_written_at_once_and_all_else_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let mut meter = Meter::default().within(folder.path());
    meter.write_if_due(STATE);
    meter.count(&[given_up()]);
    meter.write_if_due(STATE);
    assert_eq!(given_up_in(folder.path()), 0, "it was just written");
    assert!(meter.due_in().is_some_and(|time| time <= WRITE_EVERY));
    let latched = State {
        latched: true,
        ..STATE
    };
    meter.write_if_due(latched);
    let metrics = MetricsFile::within(folder.path()).read().unwrap();
    assert!(metrics.state.latched && metrics.counters.on.given_up == 1);
}

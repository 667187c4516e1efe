// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;
use crate::policy::metrics::{Counters, FORM, HoldTimes, LookTimes, Metrics, State, Tally};
use crate::policy::settings::Mode;
use crate::policy::units::{Seconds, UnixTime};
use prometheus_parse::{Scrape, Value};
use std::io::Write as _;
use std::process::{Command, Stdio};

fn metrics() -> Metrics {
    let mut counters = Counters::new(UnixTime(1_764_400_000));
    counters.on = Tally {
        urgent_starts: 3,
        stops_unsaved: 1,
        lost_gpu_s: 12.5,
        ..Tally::default()
    };
    counters.on.urgent_wait.observe(0.3);
    counters.on.urgent_wait.observe(90_000.0);
    counters.shadow.plans_first = 7;
    counters.looked(&LookTimes {
        holds: vec![HoldTimes {
            wait_s: Seconds(0.0),
            held_s: Seconds(0.002),
        }],
        plan_s: Seconds(1.0),
    });
    Metrics {
        form: FORM,
        version: "1.2.3".to_owned(),
        written: UnixTime(1_764_410_000),
        state: State {
            mode: Mode::Shadow,
            latched: true,
            campaigns: 2,
            waiting: 4,
        },
        counters,
    }
}

fn shown() -> String {
    exposition::text(&families::of(&metrics())).unwrap()
}

#[test]
fn a_parser_of_prometheus_reads_each_number() {
    let text = shown();
    let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap();
    let value = |name: &str, labels: &[(&str, &str)]| {
        let sample = scrape.samples.iter().find(|sample| {
            let has = |(label, value): &(&str, &str)| sample.labels.get(label) == Some(*value);
            sample.metric == name && labels.iter().all(has)
        });
        let sample = sample.unwrap_or_else(|| panic!("no {name}{labels:?} in\n{text}"));
        match &sample.value {
            Value::Counter(value) | Value::Gauge(value) => *value,
            other => panic!("{name} is {other:?}"),
        }
    };
    let on = ("mode", "on");
    assert_eq!(value("surgent_urgent_starts_total", &[on]), 3.0);
    assert_eq!(value("surgent_stops_total", &[on, ("saved", "false")]), 1.0);
    assert_eq!(value("surgent_lost_gpu_seconds_total", &[on]), 12.5);
    let shadow = ("mode", "shadow");
    assert_eq!(value("surgent_plans_total", &[shadow, ("why", "first")]), 7.0);
    assert_eq!(value("surgent_urgent_starts_total", &[shadow]), 0.0);
    assert_eq!(
        (value("surgent_mode", &[on]), value("surgent_mode", &[shadow])),
        (0.0, 1.0)
    );
    assert_eq!(
        (
            value("surgent_latched", &[]),
            value("surgent_plans_in_progress", &[])
        ),
        (1.0, 2.0)
    );
    assert_eq!(value("surgent_build_info", &[("version", "1.2.3")]), 1.0);
    assert_eq!(
        value("surgent_metrics_written_timestamp_seconds", &[]),
        1_764_410_000.0
    );
    for line in [
        "surgent_urgent_wait_seconds_bucket{mode=\"on\",le=\"0.1\"} 0",
        "surgent_urgent_wait_seconds_bucket{mode=\"on\",le=\"0.5\"} 1",
        "surgent_urgent_wait_seconds_bucket{mode=\"on\",le=\"86400\"} 1",
        "surgent_urgent_wait_seconds_bucket{mode=\"on\",le=\"+Inf\"} 2",
        "surgent_urgent_wait_seconds_sum{mode=\"on\"} 90000.3",
        "surgent_lock_held_seconds_bucket{le=\"0.0025\"} 1",
        "surgent_plan_seconds_count 1",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "{line} is not in\n{text}"
        );
    }
}

/// The conventions that Prometheus' own checker asks for; and the checker, where it is installed.
#[test]
fn every_metric_is_named_and_explained_as_prometheus_wants() {
    let text = shown();
    for line in text.lines().filter(|line| line.starts_with("# TYPE ")) {
        let mut words = line.split(' ').skip(2);
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        assert!(name.starts_with("surgent_"), "{name}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        assert!(
            kind != "histogram" || name.ends_with("_seconds"),
            "{name} has no unit"
        );
        let help = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("# HELP {name} ")));
        assert!(
            help.is_some_and(|help| help.ends_with('.')),
            "{name} is not explained"
        );
    }
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        eprintln!("skipped, for promtool is not installed: what it says of the metrics");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn the_page_names_every_metric() {
    let page = include_str!("../../../docs/metrics.md");
    for family in families::of(&metrics()) {
        let name = family.name();
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not described");
    }
}

#[test]
fn a_file_of_metrics_is_replaced_as_a_whole_or_stays() {
    let folder = tempfile::tempdir().unwrap();
    let state_dir = folder.path().join("state");
    let output = folder.path().join("surgent.prom");
    let run = |output: &Path| {
        let args = Args {
            state_dir: Some(state_dir.clone()),
            output: Some(output.to_owned()),
        };
        answer(&args)
    };
    std::fs::write(&output, "old").unwrap();
    let sentence = run(&output).unwrap_err();
    assert!(
        sentence.contains("surgent.metrics.json is not there: "),
        "{sentence}"
    );
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "old");

    std::fs::create_dir(&state_dir).unwrap();
    let file = MetricsFile::within(&state_dir);
    file.write(&metrics()).unwrap();
    run(&output).unwrap();
    assert_eq!(std::fs::read_to_string(&output).unwrap(), shown());
    let sentence = run(&folder.path().join("gone/surgent.prom")).unwrap_err();
    assert!(
        sentence.contains("gone/surgent.prom cannot be written: "),
        "{sentence}"
    );

    let null = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    let sentence = run(&null).unwrap_err();
    assert!(
        sentence.ends_with("null cannot be written: it is no regular file"),
        "{sentence}"
    );

    std::fs::write(file.path(), "{").unwrap();
    let sentence = run(&output).unwrap_err();
    assert!(
        sentence.contains("surgent.metrics.json cannot be used: "),
        "{sentence}"
    );
}

const ALERTS: &str = "packaging/examples/prometheus-alerts.yml";

#[test]
fn the_alerts_are_about_metrics_that_there_are() {
    let rules = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(ALERTS)).unwrap();
    let known: Vec<String> = families::of(&metrics())
        .iter()
        .flat_map(|family| ["", "_bucket", "_count"].map(|ending| format!("{}{ending}", family.name())))
        .collect();
    let named = regex::Regex::new("surgent_[a-z_]+").unwrap();
    let named: Vec<&str> = named.find_iter(&rules).map(|name| name.as_str()).collect();
    assert!(named.len() >= 7, "{named:?}");
    for name in named {
        assert!(known.iter().any(|known| known == name), "{name} is no metric");
    }
    let promtool = Command::new("promtool")
        .args(["check", "rules", ALERTS])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    match promtool {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(_) => eprintln!("skipped, for promtool is not installed: what it says of the alerts"),
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The screen of a made-up cluster, and what is true of every screen.

use super::choose::{Filter, Order};
use super::gather::gather;
use super::report::{Report, State};
use super::text::{Sections, describe};
use crate::cli::cluster::{Cluster, SettingsFrom, Source};
use crate::cli::screen::{Screen, local};
use crate::policy::book::{Asked, Book, Campaign, Stance};
use crate::policy::directives::{self, Urgency};
use crate::policy::facts::{Facts, Holding, RunningJob, WaitingJob};
use crate::policy::ids::{JobId, NodeIndex, UserId};
use crate::policy::labels::{Labels, Name};
use crate::policy::record::Record;
use crate::policy::request::Request;
use crate::policy::settings::Settings;
use crate::policy::snapshot::Snapshot;
use crate::policy::units::UnixTime;
use crate::slurm::show::{Seen, SeenJob};
use proptest::prelude::*;
use std::str::FromStr as _;
use unicode_width::UnicodeWidthStr as _;

const NOW: UnixTime = UnixTime(1_764_410_000);
const ALL: Sections = Sections {
    urgent: true,
    training: true,
};

fn ago(seconds: i64) -> UnixTime {
    UnixTime(NOW.0 - seconds)
}

/// A job on node `node`, with two of its four GPUs.
fn job(id: u32, node: u32, comment: &str) -> RunningJob {
    let holding =
        serde_json::json!({"node": node, "amounts": {"cpus": 16, "memory_mib": 64000, "gres": [[0, 2]]}});
    let holding: Holding = serde_json::from_value(holding).unwrap();
    RunningJob {
        user: UserId(1000),
        labels: Labels {
            user: Some(Name::from("alice")),
            partition: Some(Name::from("gpu")),
            ..Labels::default()
        },
        submit: Some(ago(20_000)),
        holdings: vec![holding],
        directives: directives::parse(comment.as_bytes()).ok(),
        ..RunningJob::new(JobId(id), ago(20_000))
    }
}

fn seen(id: u32, name: &str, user: &str, state: &str) -> SeenJob {
    SeenJob {
        id: JobId(id),
        array: None,
        het: None,
        name: name.to_owned(),
        user: user.to_owned(),
        user_id: UserId(1000),
        account: Some("vision".to_owned()),
        qos: None,
        partition: Some("gpu".to_owned()),
        state: state.to_owned(),
        reason: None,
        submit: None,
        eligible: None,
        start: None,
        end: None,
        time_limit_s: None,
        priority: None,
        nodes: String::new(),
        node_count: 1,
        comment: Vec::new(),
        admin_comment: Vec::new(),
        restarts: 0,
        preempt_time: None,
    }
}

fn urgent(id: u32) -> WaitingJob {
    let request = Request {
        min_nodes: 2,
        ..Request::default()
    };
    WaitingJob {
        record: Some(Record::new(Urgency::Urgent)),
        ..WaitingJob::new(JobId(id), 4_294_963_200, ago(90), request)
    }
}

fn asked(job: u32, saved: Option<UnixTime>) -> Asked {
    Asked {
        job: JobId(job),
        start: ago(20_000),
        signal: "USR1@batch".parse().ok(),
        asked: ago(12),
        deadline: UnixTime(NOW.0 + 48),
        saved,
        gone: None,
        stake: None,
        interrupted: false,
        was_behind_gate: false,
        delivered: true,
        known_since: None,
        tried: None,
        stance: Stance::Victim,
    }
}

fn facts(running: Vec<RunningJob>, waiting: Vec<WaitingJob>) -> Facts {
    // The nodes of the documented example, whose kinds of resources these jobs hold.
    let example = Snapshot::parse(include_str!("../../../docs/examples/snapshot.json")).unwrap();
    Facts {
        now: NOW,
        running,
        waiting,
        parked: Vec::new(),
        ..example.facts
    }
}

fn cluster(facts: Facts, jobs: Vec<SeenJob>, campaigns: Vec<Campaign>) -> Cluster {
    Cluster {
        name: Some("alps".to_owned()),
        seen: Seen {
            facts,
            jobs,
            controller: "head".to_owned(),
            version: "22.05.8".to_owned(),
            gaps: Vec::new(),
        },
        book: Book {
            campaigns,
            ..Book::default()
        },
        settings: Settings::default(),
        source: Source::Planner,
        settings_from: SettingsFrom::File,
        notes: Vec::new(),
        ledger: None,
        state_dir: None,
    }
}

/// A plan in progress, and one job of each kind beside it.
fn scene() -> Cluster {
    let at = NOW.0 - 300;
    let progress = format!("epoch=12.25/90 epoch_s=1200 at={at}");
    let running = vec![
        job(
            101,
            0,
            &format!(
                "save=step save_s=10 signal=USR1@batch saved={} {progress}",
                NOW.0 - 4
            ),
        ),
        job(
            102,
            1,
            &format!(
                "save=step save_s=20 signal=USR1@batch saved={} {progress}",
                NOW.0 - 3000
            ),
        ),
        job(103, 2, "epochs=90"),
        job(
            104,
            2,
            &format!("save=step save_s=40 signal=USR1@batch epoch=500 epoch_s=1200 at={at}"),
        ),
        job(105, 3, ""),
    ];
    let names = ["resnet", "sweep-lr0.001-bs256-warmup", "训练", "bert", "sh"];
    let mut jobs: Vec<SeenJob> = (101..)
        .zip(names)
        .map(|(id, name)| seen(id, name, "alice", "RUNNING"))
        .collect();
    jobs.push(SeenJob {
        comment: format!("save=step {progress}").into(),
        admin_comment: b"surgent{class=normal preempted=2 by=800}".to_vec(),
        ..seen(110, "again", "bob", "PENDING")
    });
    jobs.push(SeenJob {
        reason: Some("Resources".to_owned()),
        ..seen(900, "infer", "carol", "PENDING")
    });
    let campaign = Campaign {
        nodes: vec![NodeIndex(0), NodeIndex(1)],
        ..Campaign::new(JobId(900), vec![asked(101, None), asked(102, None)])
    };
    cluster(facts(running, vec![urgent(900)]), jobs, vec![campaign])
}

fn shown(report: &Report, columns: u16) -> String {
    describe(report, ALL, &Screen::new(Some(columns), false))
}

#[test]
fn the_page_shows_such_a_screen() {
    let mut report = gather(&scene(), false);
    Order::from_str("cost").unwrap().sort(&mut report.training);
    let screen = shown(&report, 200).replace(&local(NOW), "2025-11-29 09:53:20 UTC");
    let page = include_str!("../../../docs/status.md");
    assert!(
        page.contains(&format!("```text\n{screen}```\n")),
        "docs/status.md does not show this:\n{screen}"
    );
}

#[test]
fn who_has_saved_is_known_from_the_jobs_alone() {
    let mut by_slurm = scene();
    let book = std::mem::take(&mut by_slurm.book);
    for asked in &book.campaigns[0].victims {
        let job = by_slurm
            .seen
            .facts
            .running
            .iter_mut()
            .find(|job| job.id == asked.job);
        job.unwrap().record = Some(Record {
            ask: Some(JobId(900)),
            asked: Some(asked.asked),
            deadline: Some(asked.deadline),
            ..Record::new(Urgency::Normal)
        });
    }
    crate::policy::adopt::adopt(&mut by_slurm.book, &by_slurm.seen.facts);
    let plans = |cluster: &Cluster| serde_json::to_value(gather(cluster, false).plans).unwrap();
    let (mut known, rebuilt) = (plans(&scene()), plans(&by_slurm));
    assert_eq!(rebuilt[0]["victims"][0]["state"], "saved");
    // Where the urgent job is to run is in the planner's book alone.
    known[0]["nodes"] = serde_json::json!([]);
    assert_eq!(rebuilt, known);
}

#[test]
fn a_screen_of_nothing_says_so() {
    let mut nothing = cluster(facts(Vec::new(), Vec::new()), Vec::new(), Vec::new());
    nothing.settings_from = SettingsFrom::Defaults;
    nothing.source = Source::Slurm;
    nothing.notes = vec!["PrivateData=jobs: only your own jobs are shown".to_owned()];
    let text = shown(&gather(&nothing, false), 100);
    for line in [
        "Urgent jobs: none",
        "Plans in progress: none",
        "Training jobs: none",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{text}");
    }
    let head = text.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(
        head.contains("from Slurm's commands; the default settings are assumed"),
        "{text}"
    );
    assert!(head.contains("Note: PrivateData=jobs"), "{text}");
}

#[test]
fn filters_leave_what_was_asked_for() {
    let left = |filter: Filter| {
        let mut report = gather(&scene(), true);
        filter.apply(&mut report);
        let ids = |rows: Vec<u32>| rows;
        (
            ids(report.urgent.iter().map(|row| row.who.job.0).collect()),
            report.plans.len(),
            ids(report.training.iter().map(|row| row.who.job.0).collect()),
        )
    };
    let of = |user: &str| Filter {
        users: vec![user.to_owned()],
        ..Filter::default()
    };
    assert_eq!(left(of("bob")), (vec![], 0, vec![110]));
    assert_eq!(left(of("carol")), (vec![900], 1, vec![]));
    // A plan is of interest to those who make way, too.
    assert_eq!(left(of("alice")), (vec![], 1, vec![101, 102, 103, 104, 105]));
    assert_eq!(left(of("1000")).2.len(), 6);
    let states = Filter {
        states: vec![State::Waiting, State::Saved],
        ..Filter::default()
    };
    assert_eq!(left(states), (vec![900], 1, vec![101, 110]));
    let elsewhere = Filter {
        partitions: vec!["cpu".to_owned()],
        ..Filter::default()
    };
    assert_eq!(left(elsewhere), (vec![], 0, vec![]));
}

#[test]
fn what_is_not_known_sorts_last_either_way() {
    let order = |key: &str| {
        let mut report = gather(&scene(), false);
        Order::from_str(key).unwrap().sort(&mut report.training);
        report
            .training
            .iter()
            .map(|row| row.who.job.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(order("cost"), [101, 102, 104, 103, 110]);
    assert_eq!(order("-cost"), [104, 102, 101, 103, 110]);
    assert_eq!(order("-id"), [110, 104, 103, 102, 101]);
    assert_eq!(order("saved"), [101, 102, 103, 104, 110]);
    assert!(Order::from_str("price").unwrap_err().contains("cost"));
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_screen(
        names in proptest::collection::vec(("\\PC{0,40}|[\\x00-\\x20\\u{202e}\\u{1b}]{0,9}", "[a-z训]{1,40}"), 5),
        ids in proptest::collection::btree_set(1_000_000_000u32.., 5),
        columns in 60u16..200,
        epochs in 1u32..1_000_000,
        epoch_s in 1.0f64..1e7,
    ) {
        let comment = format!(
            "save=step signal=USR1@batch epoch=0.5/{epochs} epoch_s={epoch_s:.3} at={} saved={}", NOW.0, NOW.0 - 99_999_999
        );
        let running: Vec<_> = ids.iter().map(|id| job(*id, 0, &comment)).collect();
        let jobs = ids.iter().zip(&names).map(|(id, (name, user))| seen(*id, name, user, "RUNNING")).collect();
        let victims = ids.iter().map(|id| asked(*id, None)).collect();
        let mut waiting = urgent(4_294_967_295);
        waiting.tasks = 4_000_000;
        let mut cluster = cluster(facts(running, vec![waiting]), jobs, vec![Campaign::new(JobId(4_294_967_295), victims)]);
        cluster.notes = names.iter().map(|(name, _)| name.clone()).collect();
        let report = gather(&cluster, true);
        let text = shown(&report, columns);
        for line in text.lines() {
            prop_assert!(line.width() <= usize::from(columns).min(100), "{line:?}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
        let json = serde_json::to_string(&report).unwrap();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }

    #[test]
    fn every_order_is_one(costs in proptest::collection::vec(proptest::option::of(0.0f64..1e9), 0..20), falls: bool) {
        let running: Vec<_> = (1..).zip(&costs).map(|(id, _)| job(id, 0, "epochs=3")).collect();
        let mut report = gather(&cluster(facts(running, Vec::new()), Vec::new(), Vec::new()), false);
        for (row, cost) in report.training.iter_mut().zip(&costs) {
            row.cost_gpu_s = *cost;
        }
        Order::from_str(if falls { "-cost" } else { "cost" }).unwrap().sort(&mut report.training);
        let sorted: Vec<_> = report.training.iter().map(|row| row.cost_gpu_s).collect();
        let known = sorted.iter().take_while(|cost| cost.is_some()).count();
        prop_assert!(sorted[known..].iter().all(Option::is_none));
        let falls_or_rises = |a: &Option<f64>, b: &Option<f64>| if falls { a >= b } else { a <= b };
        prop_assert!(sorted[..known].is_sorted_by(falls_or_rises), "{sorted:?}");
    }
}

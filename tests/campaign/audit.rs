// SPDX-License-Identifier: GPL-2.0-or-later
//! What the audit tells of what happened.

use crate::full_cluster;
use crate::world::World;
use serde_json::Value;
use surgent::policy::admission::ledger::{Charged, Payer};
use surgent::policy::admission::settings::Budget;
use surgent::policy::admission::usage::Spent;
use surgent::policy::audit::{Entry, Event, charged};
use surgent::policy::directives::Urgency;
use surgent::policy::ids::{JobId, UserId};
use surgent::policy::labels::Labels;
use surgent::policy::record::Record;
use surgent::policy::settings::{Mode, Settings};
use surgent::policy::units::UnixTime;

/// Every start and stop that took place is told once, and no other; no save is told that was none.
pub fn assert_tells_all(world: &World) {
    let told: Vec<String> = world
        .audit
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Started { urgent, .. } => Some(format!("start {urgent}")),
            Event::Stopped {
                urgent, job, saved, ..
            } => {
                assert!(saved.is_some(), "{entry:?}");
                Some(format!("requeue {job} for {urgent}"))
            }
            Event::Saved { job, .. } => Some(format!("save {job}")),
            _ => None,
        })
        .collect();
    let is_urgent = |id: &str| world.jobs[&id.parse::<u32>().unwrap()].is_urgent();
    let happened = world.events.iter().filter(|event| match event.split_once(' ') {
        Some(("start", job)) => is_urgent(job),
        Some(("requeue", _)) => true,
        _ => false,
    });
    let count = |events: &[&String], event: &str| events.iter().filter(|other| **other == event).count();
    let happened: Vec<&String> = happened.collect();
    let saves: Vec<&String> = world
        .events
        .iter()
        .filter(|event| event.starts_with("save "))
        .collect();
    let told: Vec<&String> = told.iter().collect();
    for event in &happened {
        assert_eq!(
            count(&told, event),
            count(&happened, event),
            "{event}: {:#?}\n{}",
            world.events,
            text(world)
        );
    }
    for event in &told {
        // One save may answer two requests: a late one for one urgent job, and the next for another.
        let happened = count(&happened, event) + count(&saves, event);
        let repeats = event.starts_with("save ") && happened > 0;
        assert!(
            repeats || count(&told, event) <= happened,
            "{event}: {}",
            text(world)
        );
    }
}

fn text(world: &World) -> String {
    let lines = world.audit.iter().map(|entry| entry.line().unwrap() + "\n");
    lines.collect()
}

fn lines(world: &World) -> Vec<Value> {
    let text = text(world);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The kinds of the events, with the job and why where they have one.
fn gist(world: &World) -> Vec<String> {
    let gist = lines(world).into_iter().map(|line| {
        let mut words = line["kind"].as_str().unwrap().to_owned();
        for key in ["job", "why", "how"] {
            match &line[key] {
                Value::Null => {}
                Value::String(text) => words += &format!(" {text}"),
                other => words += &format!(" {other}"),
            }
        }
        words
    });
    gist.collect()
}

#[test]
fn the_story_of_an_urgent_job_is_told_once_and_in_order() {
    let mut world = full_cluster();
    world.run(40);
    let expected = [
        "waits",
        "plan first",
        "asked 1",
        "asked 2",
        "saved 1",
        "saved 2",
        "gate_opened preempted",
        "stopped 1",
        "stopped 2",
        "started",
        "restored 1",
        "restored 2",
    ];
    assert_eq!(gist(&world), expected);
    assert_tells_all(&world);
    let all = lines(&world);
    let of = |kind: &str| all.iter().find(|line| line["kind"] == kind).unwrap();
    assert!(
        all.iter()
            .all(|line| line["v"] == 1 && line["urgent"] == 9 && line["shadow"].is_null())
    );
    let (plan, saved, stopped) = (of("plan"), of("saved"), of("stopped"));
    assert_eq!(plan["nodes"], serde_json::json!(["n0", "n1"]));
    let victim = &plan["victims"][0];
    assert_eq!(
        (&victim["job"], &victim["signal"]),
        (&1.into(), &"URG@full".into())
    );
    assert!(victim["cost_gpu_s"].as_f64().unwrap() > 0.0);
    assert_eq!(saved["saved"], stopped["saved"]);
    assert_eq!(saved["after_s"], 2.0);
    assert_eq!(victim["start"], stopped["start"]);
    assert!(stopped["at"].as_i64() > stopped["saved"].as_i64());
}

fn told(change: impl FnOnce(&mut World)) -> Vec<String> {
    let mut world = full_cluster();
    change(&mut world);
    gist(&world)
}

#[test]
fn each_end_of_a_request_has_its_reason() {
    let late = told(|world| {
        world.jobs.get_mut(&1).unwrap().save_s = None;
        world.run(60);
    });
    let at = |event: &str| {
        let mut late = late.iter();
        late.position(|told| told == event)
            .unwrap_or_else(|| panic!("{event} is not told"))
    };
    assert!(at("missed 1 deadline") < at("called_off 1 missed"));
    assert!(at("plan replanned") < at("asked 3") && at("asked 3") < at("stopped 3"));

    let unwilling = told(|world| {
        world.run(2);
        world.jobs.get_mut(&1).unwrap().requeue = false;
        world.run(30);
    });
    assert!(
        unwilling.contains(&"missed 1 not_requeueable".to_owned()),
        "{unwilling:?}"
    );

    let cancelled = told(|world| {
        world.run(2);
        world.cancel(9);
        world.run(30);
    });
    for event in [
        "withdrawn",
        "called_off 1 urgent_gone",
        "called_off 2 urgent_gone",
    ] {
        assert!(cancelled.contains(&event.to_owned()), "{event}: {cancelled:?}");
    }

    let fits = told(|world| {
        world.run(2);
        // The nodes do not come back before Slurm looks, so that the policy sees them first.
        world.nodes_back_at = 0;
        world.cancel(3);
        world.cancel(4);
        world.decide();
        world.run(30);
    });
    assert!(fits.contains(&"called_off 1 fits".to_owned()), "{fits:?}");

    let off = told(|world| {
        world.run(2);
        world.settings.mode = Mode::Off;
        world.run(10);
    });
    assert!(off.contains(&"called_off 2 mode".to_owned()), "{off:?}");

    let ended = told(|world| {
        world.run(2);
        world.cancel(1);
        world.run(30);
    });
    assert!(ended.contains(&"left 1 ended".to_owned()), "{ended:?}");
    assert!(!ended.contains(&"stopped 1".to_owned()), "{ended:?}");
}

#[test]
fn a_job_that_is_stopped_without_a_save_is_told_to_be() {
    let mut world = full_cluster();
    for id in 1..=4 {
        world.jobs.get_mut(&id).unwrap().comment = b"save=none".to_vec();
    }
    world.settings = Settings::parse("victims.unsavable = \"stop\"\nurgent.patience_s = 10\n").unwrap();
    world.run(30);
    let stopped = lines(&world).into_iter().find(|line| line["kind"] == "stopped");
    let stopped = stopped.unwrap();
    assert!(
        stopped["saved"].is_null() && stopped["asked"].is_number(),
        "{stopped}"
    );
    assert_eq!(gist(&world)[..2], ["waits", "no_set"]);
}

#[test]
fn what_does_not_change_is_told_once_also_in_shadow_mode() {
    let mut world = full_cluster();
    world.settings.mode = Mode::Shadow;
    world.run(100);
    assert_eq!(gist(&world), ["waits", "plan first"]);
    assert!(lines(&world).iter().all(|line| line["shadow"] == true));

    let mut world = full_cluster();
    world.jobs.get_mut(&9).unwrap().want_nodes = 5;
    world.run(100);
    assert_eq!(gist(&world), ["waits", "no_set"]);
}

#[test]
fn a_restart_repeats_no_more_than_requests() {
    for second in 1..12 {
        let mut world = full_cluster();
        world.run(second);
        world.crash(true);
        world.run(50);
        assert_tells_all(&world);
        let repeatable = |told: &String| told.starts_with("asked") || told.starts_with("gate_opened");
        let mut told: Vec<String> = gist(&world)
            .into_iter()
            .filter(|told| !repeatable(told))
            .collect();
        let count = told.len();
        told.sort();
        told.dedup();
        assert_eq!(told.len(), count, "crash at {second}: {:#?}", gist(&world));
    }
}

#[test]
fn a_stop_that_is_seen_only_after_a_restart_is_told_as_one() {
    let mut world = full_cluster();
    while world.gates.is_empty() {
        world.tick();
    }
    world.schedule();
    world.crash(true);
    world.run(50);
    assert_tells_all(&world);

    let mut world = World::new(4);
    for id in 1..=4 {
        world.train(id, &[id - 1], Some(2));
    }
    world.submit_urgent_het(9, &[1, 1]);
    while !world.happened("requeue 1 by command") {
        world.tick();
    }
    world.crash(true);
    world.run(50);
    let told = gist(&world);
    let count = |event: &str| told.iter().filter(|told| *told == event).count();
    let gates = count("gate_opened requeued_by_command");
    assert_eq!(
        (count("stopped 1"), count("stopped 2"), gates),
        (1, 1, 1),
        "{told:?}"
    );
}

#[test]
fn a_heterogeneous_job_that_slurm_does_not_start_is_told_to_be_given_up() {
    let mut world = World::new(4);
    for id in 1..=4 {
        world.train(id, &[id - 1], Some(2));
    }
    world.submit_urgent_het(9, &[1, 1]);
    world.backfill_works = false;
    world.run(200);
    let told = gist(&world);
    let at = |event: &str| told.iter().position(|told| told == event).unwrap();
    assert!(
        at("gate_opened requeued_by_command") < at("stopped 1"),
        "{told:?}"
    );
    assert!(at("stopped 1") < at("given_up"), "{told:?}");
    assert_eq!(
        told.iter().filter(|told| *told == "given_up").count(),
        1,
        "{told:?}"
    );
}

const PAGE: &str = include_str!("../../docs/audit.md");

/// The story on the page, as the code tells it.
fn story() -> String {
    let mut world = World::new(3);
    world.now = 1_764_410_000;
    for (id, account) in [(4711, "vision"), (4712, "speech"), (4713, "vision")] {
        world.train(id, &[id - 4711], Some(4));
        world.jobs.get_mut(&id).unwrap().labels = Labels {
            account: Some(account.into()),
            partition: Some("gpu".into()),
            ..Labels::default()
        };
    }
    world.submit_urgent(4720, 2);
    let record = Record {
        first: Some(UnixTime(world.now)),
        ..Record::new(Urgency::Urgent)
    };
    world.jobs.get_mut(&4720).unwrap().admin_comment = record.to_string().into_bytes();
    world.run(40);
    text(&world)
}

/// What is told of the budget in the same story: eight GPUs after an hour, and at the end.
fn charges() -> String {
    let line = |at: i64, run_s: i64, over: bool| {
        let (user, account) = (UserId(1001), "vision");
        let start = UnixTime(1_764_410_007);
        let run = Charged {
            job: JobId(4720),
            payer: Payer {
                user,
                account: Some(account.into()),
            },
            start,
            until: UnixTime(start.0 + run_s),
            over,
            gpu_h: 8.0 * run_s as f64 / 3600.0,
        };
        let budget = Budget {
            gpu_hours_per_user: Some(50.0),
            ..Budget::default()
        };
        let mut spent = Spent::default();
        spent.add(user, Some(account), run.gpu_h);
        let entry = Entry {
            at: UnixTime(at),
            shadow: false,
            event: charged(&run, &budget, &spent),
        };
        entry.line().unwrap() + "\n"
    };
    line(1_764_413_607, 3600, false) + &line(1_764_414_512, 4500, true)
}

fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("\n```{language}\n");
    let blocks = PAGE.split(fence.as_str()).skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap()).collect()
}

#[test]
fn the_example_of_the_page_is_true() {
    assert_eq!(
        blocks("json")[0],
        story().trim_end(),
        "the story is now:\n{}",
        story()
    );
    assert_eq!(blocks("json")[1], charges().trim_end());
}

/// Each question of the page, asked of its example: a command, and behind it what it prints.
#[test]
fn the_questions_of_the_page_are_answered_as_it_says() {
    let has_jq = std::process::Command::new("jq").arg("--version").output();
    if has_jq.is_err() {
        eprintln!("skipped, for jq is not installed: the questions of docs/audit.md");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("surgent.audit.jsonl"), story() + &charges()).unwrap();
    let questions = blocks("console");
    assert!(questions.len() >= 4);
    for question in questions {
        let (command, answer) = question.split_once('\n').unwrap();
        let output = std::process::Command::new("sh")
            .args(["-c", command.strip_prefix("$ ").unwrap()])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            said.trim_end(),
            answer,
            "{command}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn the_page_names_every_event() {
    for kind in [
        "admitted",
        "refused",
        "made_normal",
        "class_changed",
        "budget_charged",
        "waits",
        "plan",
        "wait",
        "no_set",
        "asked",
        "saved",
        "missed",
        "gate_opened",
        "stopped",
        "left",
        "started",
        "withdrawn",
        "called_off",
        "given_up",
        "restored",
        "lost",
    ] {
        assert!(PAGE.contains(&format!("| `{kind}` |")), "{kind} is not described");
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The life of an urgent job as the policy sees it, second by second, in a world where its actions come true.

mod audit;
mod forgotten;
mod het;
mod metrics;
mod patience;
mod places;
mod rounds;
mod setbacks;
mod turns;
mod world;

use proptest::prelude::*;
use std::collections::BTreeMap;
use surgent::policy::book::Book;
use world::{Job, State, World};

/// Four nodes, four trainings of one node each; job 9 wants two nodes.
fn full_cluster() -> World {
    let mut world = World::new(4);
    for id in 1..=4 {
        world.train(id, &[id - 1], Some(2));
    }
    world.submit_urgent(9, 2);
    world
}

#[test]
fn victims_save_are_requeued_and_come_back() {
    let mut world = full_cluster();
    world.run(30);
    for victim in [1, 2] {
        let ask = world.position(&format!("ask {victim} for 9"));
        let save = world.position(&format!("save {victim}"));
        let gate = world.position("gate 9");
        let requeue = world.position(&format!("requeue {victim} for 9"));
        let start = world.position("start 9");
        let restore = world.position(&format!("restore {victim}"));
        assert!(ask < save && save < gate && gate < requeue && requeue < start && start < restore);
        let record = world.jobs[&victim].record().unwrap();
        assert_eq!((record.ask, record.preempted), (None, 1));
    }
    for bystander in [3, 4] {
        assert!(
            !world
                .events
                .iter()
                .any(|event| event.ends_with(&format!(" {bystander}")))
        );
        assert!(world.jobs[&bystander].is_running());
    }
    assert!(world.gates.is_empty());
    assert!(world.book.campaigns.is_empty());
}

#[test]
fn an_urgent_job_that_fits_disturbs_nobody() {
    let mut world = World::new(4);
    world.train(1, &[0], Some(2));
    world.train(2, &[1], Some(2));
    world.submit_urgent(9, 2);
    world.run(5);
    assert_eq!(world.events, ["start 9"]);
}

#[test]
fn an_urgent_job_that_can_never_fit_disturbs_nobody() {
    let mut world = full_cluster();
    world.jobs.get_mut(&9).unwrap().want_nodes = 5;
    world.run(100);
    assert!(world.events.is_empty(), "{:?}", world.events);
    let told = world
        .said
        .iter()
        .filter(|sentence| sentence.contains("job 9"))
        .count();
    assert_eq!(told, 1, "it is said once, not every second: {:?}", world.said);
}

#[test]
fn urgent_jobs_do_not_stop_urgent_jobs() {
    let mut world = full_cluster();
    for id in 1..=3 {
        world.jobs.get_mut(&id).unwrap().admin_comment = b"surgent{class=urgent}".to_vec();
    }
    world.run(50);
    assert!(world.events.is_empty(), "{:?}", world.events);
}

#[test]
fn a_job_whose_user_forbids_requeueing_is_no_victim() {
    let mut world = full_cluster();
    world.jobs.get_mut(&1).unwrap().requeue = false;
    world.run(30);
    assert!(world.happened("start 9"));
    assert!(!world.happened("ask 1 for 9"));
}

#[test]
fn who_does_not_save_in_time_is_passed_over_for_another() {
    let mut world = full_cluster();
    world.jobs.get_mut(&1).unwrap().save_s = None;
    world.run(60);
    assert!(world.position("ask 1 for 9") < world.position("call off 1"));
    assert!(world.position("ask 3 for 9") < world.position("start 9"));
    assert!(world.jobs[&1].is_running(), "it was never stopped");
    assert_eq!(world.jobs[&1].record().unwrap().ask, None);
}

#[test]
fn who_saves_too_late_and_is_taken_after_all_gets_its_place_back() {
    let mut world = full_cluster();
    world.jobs.get_mut(&1).unwrap().save_s = Some(22);
    for id in [3, 4] {
        world.jobs.get_mut(&id).unwrap().requeue = false;
    }
    world.run(60);
    assert!(world.position("call off 1") < world.position("save 1"));
    assert!(world.position("save 1") < world.position("requeue 1 for 9"));
    assert!(world.position("requeue 1 for 9") < world.position("restore 1"));
    assert_eq!(world.jobs[&1].record().unwrap().preempted, 1);
    assert_well(&world);
}

#[test]
fn cancelling_the_urgent_job_stops_nobody() {
    let mut world = full_cluster();
    world.run(2);
    assert!(world.happened("ask 1 for 9"));
    world.cancel(9);
    world.run(30);
    assert!((1..=4).all(|id| world.jobs[&id].is_running()));
    assert!(world.happened("call off 1") && world.happened("call off 2"));
    assert!(world.book.campaigns.is_empty());
}

#[test]
fn nodes_that_come_free_meanwhile_spare_the_victims() {
    let mut world = full_cluster();
    world.run(2);
    world.cancel(3);
    world.cancel(4);
    world.run(30);
    assert!(world.happened("start 9"));
    assert!(world.jobs[&1].is_running() && world.jobs[&2].is_running());
}

#[test]
fn two_urgent_jobs_share_no_victim() {
    let mut world = full_cluster();
    world.submit_urgent(10, 2);
    world.run(30);
    assert!(world.happened("start 9") && world.happened("start 10"));
    let requeues: Vec<_> = world
        .events
        .iter()
        .filter(|event| event.starts_with("requeue"))
        .collect();
    assert_eq!(requeues.len(), 4, "{requeues:?}");
}

#[test]
fn a_crash_at_any_second_ends_well_with_and_without_the_state_file() {
    for state_file in [true, false] {
        for second in 0..12 {
            let mut world = full_cluster();
            world.run(second);
            world.crash(state_file);
            world.run(15);
            assert!(world.happened("start 9"), "crash at {second}: {:?}", world.events);
            world.run(45);
            let let_off = world.events.iter().any(|event| event.starts_with("call off"));
            assert!(!let_off, "crash at {second}: {:?}", world.events);
            assert_well(&world);
        }
    }
}

/// Until the urgent job 9 starts; book and jobs as they were in each second before.
fn past_until_start(world: &mut World) -> Vec<(Book, BTreeMap<u32, Job>)> {
    let mut past = Vec::new();
    while !world.happened("start 9") {
        past.push((world.book.clone(), world.jobs.clone()));
        world.tick();
    }
    past
}

/// As they were in the last of these.
fn run_until_start(world: &mut World) -> (Book, BTreeMap<u32, Job>) {
    past_until_start(world).pop().unwrap()
}

#[test]
fn who_was_stopped_when_slurmctld_was_killed_comes_back() {
    // The planner has seen that the urgent job started, or has not.
    for seen in [false, true] {
        let mut world = full_cluster();
        let (before, _) = run_until_start(&mut world);
        if !seen {
            world.book = before;
        }
        world.crash_in_the_act(9);
        world.run(60);
        for victim in [1, 2] {
            world.position(&format!("revive {victim}"));
            world.position(&format!("restore {victim}"));
        }
        assert_well(&world);
    }
}

#[test]
fn who_was_stopped_and_runs_on_in_the_eyes_of_the_next_slurmctld_comes_back() {
    // The urgent job is still there afterwards, or its user cancels it.
    for waits in [true, false] {
        let mut world = full_cluster();
        let (_, before) = run_until_start(&mut world);
        let started = world.position("start 9");
        world.crash_with_ends_unwritten(before);
        if !waits {
            world.cancel(9);
        }
        world.run(60);
        for victim in [1, 2] {
            world.position(&format!("requeue {victim} by command"));
            world.position(&format!("restore {victim}"));
        }
        let later = world.events.iter().skip(started + 1);
        let starts = later.filter(|event| *event == "start 9");
        assert_eq!(starts.count(), usize::from(waits), "{:?}", world.events);
        assert_well(&world);
    }
}

#[test]
fn who_ends_by_himself_after_a_crash_is_left_alone() {
    let mut world = full_cluster();
    while !world.happened("gate 9") {
        world.tick();
    }
    world.crash(true);
    world.cancel(1);
    world.run(60);
    assert_eq!(world.jobs[&1].state, State::Gone);
    assert!(world.happened("start 9"));
    assert_well(&world);
}

#[test]
fn a_spanning_victim_is_paid_for_once() {
    let mut world = World::new(4);
    world.train(1, &[0, 1], Some(2));
    world.train(2, &[2], Some(2));
    world.train(3, &[3], Some(2));
    world.submit_urgent(9, 2);
    // Two nodes of job 1 cost as much as jobs 2 and 3 together; then the lower id is taken.
    world.run(30);
    let requeued: Vec<_> = world
        .events
        .iter()
        .filter(|event| event.starts_with("requeue"))
        .collect();
    assert!(
        requeued == ["requeue 1 for 9"] || requeued.len() == 2,
        "{requeued:?}"
    );
    assert_well(&world);
}

#[test]
fn the_urgent_job_shows_whom_it_waits_for_until_it_runs() {
    let mut world = full_cluster();
    world.run(3);
    let waits_for = world.jobs[&9].record().unwrap().waits_for;
    assert_eq!(waits_for.iter().map(|job| job.0).collect::<Vec<_>>(), [1, 2]);
    world.run(20);
    assert!(world.jobs[&9].record().unwrap().waits_for.is_empty());
}

#[test]
fn who_cannot_save_is_stopped_only_where_the_site_allows_it_and_patience_is_over() {
    let unsavable = |settings: &str| {
        let mut world = full_cluster();
        for id in 1..=4 {
            world.jobs.get_mut(&id).unwrap().comment = b"save=none".to_vec();
        }
        world.settings = surgent::policy::settings::Settings::parse(settings).unwrap();
        world
    };
    let mut protect = unsavable("[urgent]\npatience_s = 10\n");
    protect.run(60);
    assert!(protect.events.is_empty(), "{:?}", protect.events);

    let mut stop = unsavable("[victims]\nunsavable = \"stop\"\n[urgent]\npatience_s = 10\n");
    stop.run(10);
    assert!(
        stop.events.is_empty(),
        "patience is not over yet: {:?}",
        stop.events
    );
    stop.run(10);
    assert!(
        stop.happened("requeue 1 for 9") && stop.happened("start 9"),
        "{:?}",
        stop.events
    );
}

/// Who borrows a reservation gets the time that he asked for, which may be more than Surgent's patience.
#[test]
fn nobody_else_is_asked_while_slurm_gives_victims_a_grace() {
    let mut world = full_cluster();
    world.grace_s = 100;
    world.run(150);
    assert_only_two_made_way(&world);
}

#[test]
fn patience_begins_when_the_grace_is_over() {
    let mut world = full_cluster();
    world.grace_s = 45;
    world.run(40);
    // When they are stopped, their nodes are still to be cleared.
    world.nodes_back_at = world.now + 25;
    world.run(10);
    for victim in [1, 2] {
        world.jobs.get_mut(&victim).unwrap().stop(world.now);
    }
    world.run(30);
    assert_only_two_made_way(&world);
}

fn assert_only_two_made_way(world: &World) {
    assert!(world.happened("start 9"), "{:?}", world.events);
    let asked = |id: u32| world.happened(&format!("ask {id} for 9"));
    assert!(
        asked(1) && asked(2) && !asked(3) && !asked(4),
        "{:?}",
        world.events
    );
    let widened = world.said.iter().any(|said| said.contains("does not start"));
    assert!(!widened, "{:?}", world.said);
}

#[test]
fn turning_surgent_off_lets_everybody_go() {
    let mut world = full_cluster();
    world.run(1);
    world.settings.mode = surgent::policy::settings::Mode::Off;
    world.run(10);
    assert!(world.book.campaigns.is_empty());
    assert!((1..=4).all(|id| world.jobs[&id].is_running()));
    assert_well(&world);
}

#[test]
fn shadow_mode_speaks_and_touches_nothing() {
    let mut world = full_cluster();
    world.settings.mode = surgent::policy::settings::Mode::Shadow;
    world.run(100);
    assert!(world.events.is_empty());
    assert_eq!(world.said.len(), 1, "{:?}", world.said);
    assert!(world.said[0].starts_with("plan for job 9: stop jobs 1, 2"));
}

/// Holds at any time.
fn assert_safe(world: &World) {
    let mut gated: Vec<_> = world.gates.values().flatten().collect();
    gated.sort_unstable();
    let count = gated.len();
    gated.dedup();
    assert_eq!(
        gated.len(),
        count,
        "a victim of two urgent jobs: {:?}",
        world.gates
    );
    for (at, event) in world.events.iter().enumerate() {
        if let Some(rest) = event.strip_prefix("requeue ") {
            let victim = rest.split(' ').next().unwrap();
            let before = &world.events[..at];
            let mut asked = before
                .iter()
                .enumerate()
                .filter(|(_, event)| event.starts_with(&format!("ask {victim} ")));
            let (first_asked, _) = asked
                .next()
                .unwrap_or_else(|| panic!("{event} unasked: {:#?}", world.events));
            // A request that is repeated after a crash may find the job saved for the first one.
            // Of a run that slurmctld has forgotten altogether nothing is left to be stopped.
            let began = before
                .iter()
                .rposition(|event| *event == format!("start {victim}"))
                .filter(|began| !before[*began..].contains(&format!("lose {victim}")));
            let since = began.map_or(first_asked, |began| began.max(first_asked));
            let saved = before[since..]
                .iter()
                .any(|event| *event == format!("save {victim}"));
            assert!(saved, "{event} without a save: {:#?}", world.events);
        }
    }
}

/// Holds once nothing is going on any more.
fn assert_well(world: &World) {
    assert_safe(world);
    assert!(world.gates.is_empty(), "{:?}", world.gates);
    for (id, job) in &world.jobs {
        if job.state != State::Gone {
            let record = job.record().unwrap();
            assert_eq!(record.ask, None, "job {id} is still asked: {:#?}", world.events);
        }
    }
}

#[derive(Clone, Debug)]
enum Fault {
    Crash { state_file: bool },
    CommandsFail(bool),
    Cancel(u32),
    ForbidRequeue(u32),
    Urgent { nodes: u32 },
    Off(bool),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        any::<bool>().prop_map(|state_file| Fault::Crash { state_file }),
        any::<bool>().prop_map(Fault::CommandsFail),
        (1u32..13).prop_map(Fault::Cancel),
        (1u32..7).prop_map(Fault::ForbidRequeue),
        (1u32..4).prop_map(|nodes| Fault::Urgent { nodes }),
        any::<bool>().prop_map(Fault::Off),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nobody_is_stopped_unsaved_and_nobody_is_forgotten(
        save_s in prop::collection::vec(prop::option::of(0i64..30), 6),
        faults in prop::collection::vec((0u32..60, fault()), 0..12),
    ) {
        let mut world = World::new(6);
        let state_file_stays = !faults
            .iter()
            .any(|(_, fault)| matches!(fault, Fault::Crash { state_file: false }));
        for (at, save_s) in (0u32..).zip(&save_s) {
            world.train(at + 1, &[at], *save_s);
        }
        let mut next_urgent = 7;
        for second in 0..60 {
            for (_, fault) in faults.iter().filter(|(when, _)| *when == second) {
                match fault {
                    Fault::Crash { state_file } => world.crash(*state_file),
                    Fault::CommandsFail(fail) => world.commands_fail = *fail,
                    Fault::Cancel(id) => if world.jobs.contains_key(id) { world.cancel(*id) },
                    Fault::ForbidRequeue(id) => world.jobs.get_mut(id).unwrap().requeue = false,
                    Fault::Urgent { nodes } => {
                        world.submit_urgent(next_urgent, *nodes);
                        next_urgent += 1;
                    }
                    Fault::Off(off) => world.settings.mode = match off {
                        true => surgent::policy::settings::Mode::Off,
                        false => surgent::policy::settings::Mode::On,
                    },
                }
            }
            world.tick();
            assert_safe(&world);
        }
        // The storm is over, and whoever still waits is cancelled: everything must come to rest.
        world.commands_fail = false;
        world.settings.mode = surgent::policy::settings::Mode::On;
        world.run(80);
        for id in 7..next_urgent {
            if !world.jobs[&id].is_running() {
                world.cancel(id);
            }
        }
        world.run(200);
        assert_well(&world);
        if state_file_stays {
            audit::assert_tells_all(&world);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Urgent heterogeneous jobs: their victims are requeued by command, all at once, and only once.

use crate::world::{State, World};
use crate::{assert_safe, assert_well};
use proptest::prelude::*;
use surgent::policy::audit::Event;
use surgent::policy::facts::Hindrance;

/// Four nodes, four trainings of one node each; job 9 wants two nodes for one component and one for the other.
fn full_cluster() -> World {
    let mut world = World::new(4);
    for id in 1..=4 {
        world.train(id, &[id - 1], Some(2));
    }
    world.submit_urgent_het(9, &[2, 1]);
    world
}

fn requeues(world: &World) -> Vec<&str> {
    let requeues = world.events.iter().filter(|event| event.starts_with("requeue"));
    requeues.map(String::as_str).collect()
}

/// Job 9 and its victims are done with: no request, no training stopped more often than it was restored.
fn assert_at_rest(world: &World) {
    assert_well(world);
    assert!(world.gates.is_empty());
    for id in 1..=4 {
        let of_it = |what: &str| {
            world
                .events
                .iter()
                .filter(|event| event.starts_with(what))
                .count()
        };
        let requeued = of_it(&format!("requeue {id} "));
        assert!(requeued <= 1, "job {id} was requeued twice: {:#?}", world.events);
        assert_eq!(requeued, of_it(&format!("restore {id}")), "{:#?}", world.events);
    }
}

#[test]
fn all_victims_are_requeued_once_all_have_saved_and_all_components_start() {
    let mut world = full_cluster();
    world.jobs.get_mut(&2).unwrap().save_s = Some(9);
    world.run(40);
    let slowest = world.position("save 2");
    for victim in 1..=3 {
        let requeue = world.position(&format!("requeue {victim} by command"));
        assert!(slowest < requeue && requeue < world.position("start 9"));
        assert!(world.position("start 10") < world.position(&format!("restore {victim}")));
    }
    assert!(!world.happened("ask 4 for 9") && world.jobs[&4].is_running());
    assert!(
        !world.events.iter().any(|event| event.starts_with("gate")),
        "{:#?}",
        world.events
    );
    assert!(world.book.campaigns.is_empty());
    assert_at_rest(&world);
}

#[test]
fn a_component_that_can_never_fit_beside_the_other_disturbs_nobody() {
    let mut world = World::new(4);
    for id in 1..=4 {
        world.train(id, &[id - 1], Some(2));
    }
    world.submit_urgent_het(9, &[2, 3]);
    world.run(200);
    assert!(world.events.is_empty(), "{:?}", world.events);
}

#[test]
fn what_blocks_one_component_blocks_all_and_is_named() {
    for (hindrance, named) in [
        (Hindrance::Held, "it is held"),
        (Hindrance::Licenses, "it lacks licenses"),
    ] {
        let mut world = full_cluster();
        world.jobs.get_mut(&10).unwrap().hindrance = Some(hindrance);
        world.run(200);
        assert!(world.events.is_empty(), "{:?}", world.events);
        assert!(
            world
                .said
                .iter()
                .any(|said| said.contains(&format!("job 9 waits: {named}"))),
            "{:?}",
            world.said
        );
    }
}

#[test]
fn a_component_that_is_not_urgent_blocks_all() {
    let mut world = full_cluster();
    world.jobs.get_mut(&10).unwrap().admin_comment = b"surgent{class=normal}".to_vec();
    world.run(200);
    assert!(world.events.is_empty(), "{:?}", world.events);
    assert!(world.said[0].contains("not all components"), "{:?}", world.said);
}

#[test]
fn nobody_is_requeued_for_a_job_that_is_cancelled_held_or_made_normal_before_all_have_saved() {
    let undo: [fn(&mut World); 4] = [
        |world| {
            world.cancel(9);
            world.cancel(10);
        },
        |world| world.jobs.get_mut(&9).unwrap().hindrance = Some(Hindrance::Held),
        |world| world.jobs.get_mut(&9).unwrap().admin_comment = b"surgent{class=normal}".to_vec(),
        |world| world.jobs.get_mut(&10).unwrap().admin_comment = b"surgent{class=normal}".to_vec(),
    ];
    for (at, undo) in undo.into_iter().enumerate() {
        let mut world = full_cluster();
        world.jobs.get_mut(&2).unwrap().save_s = Some(9);
        world.run(6);
        assert!(world.happened("save 1"));
        undo(&mut world);
        world.run(60);
        assert!(requeues(&world).is_empty(), "{at}: {:#?}", world.events);
        assert!((1..=4).all(|id| world.jobs[&id].is_running()));
        assert!(
            (1..=3).all(|id| world.happened(&format!("call off {id}"))),
            "{at}"
        );
        assert_at_rest(&world);
    }
}

/// slurmctld ended in the middle of the command, which tries again until the next one hears it (round 72430).
#[test]
fn whom_a_command_of_the_last_slurmctld_requeues_was_stopped() {
    let mut world = full_cluster();
    while !world.happened("ask 3 for 9") {
        world.tick();
    }
    world.commands_fail = true;
    while !world
        .said
        .iter()
        .any(|said| said.contains("requeueing jobs 1, 2, 3"))
    {
        world.tick();
    }
    world.crash(true);
    world.commands_fail = false;
    world.tick();
    assert!(requeues(&world).is_empty(), "{:#?}", world.events);
    for id in 1..=3 {
        let now = world.now;
        world.jobs.get_mut(&id).unwrap().stop(now);
    }
    world.run(40);
    let of = |is: fn(&Event) -> bool| world.audit.iter().filter(|entry| is(&entry.event)).count();
    let ends = (
        of(|event| matches!(event, Event::Stopped { .. })),
        of(|event| matches!(event, Event::Left { .. })),
    );
    assert_eq!(ends, (3, 0), "{:#?}", world.audit);
    assert!(world.happened("start 9") && world.happened("restore 3"));
    assert_well(&world);
}

/// The next slurmctld takes them for running, and would let them start at once when they are requeued; the job it puts off by two
/// minutes, as it could not start a component of it at first (round 73022).
#[test]
fn who_is_requeued_once_more_does_not_start_before_the_job() {
    let mut world = full_cluster();
    let mut before = world.jobs.clone();
    while !world.happened("requeue 1 by command") {
        before.clone_from(&world.jobs);
        world.tick();
    }
    world.crash_with_ends_unwritten(before);
    let crashed = world.events.len();
    let again = |world: &World| {
        requeues(world)
            .iter()
            .filter(|event| event.contains(" 3 "))
            .count()
            == 2
    };
    while !again(&world) {
        world.decide();
        world.now += 1;
    }
    world.decide();
    world.put_off(9);
    world.run(60);
    let told = &world.events[crashed..];
    let at = |event: &str| told.iter().position(|told| told == event);
    assert!(
        at("hasten 9").is_some() && at("hasten 9") < at("start 9"),
        "{told:#?}"
    );
    for victim in 1..=3 {
        assert!(at("start 10") < at(&format!("restore {victim}")), "{told:#?}");
        assert_eq!(at(&format!("start {victim}")), None, "{told:#?}");
    }
    assert_well(&world);
}

/// The command fails at first; when it would work, the job is held.
#[test]
fn nobody_is_requeued_for_a_job_that_is_held_while_the_command_fails() {
    let mut world = full_cluster();
    world.run(3);
    world.commands_fail = true;
    world.run(4);
    assert!(
        world
            .said
            .iter()
            .any(|said| said.contains("requeueing jobs 1, 2, 3")),
        "{:?}",
        world.said
    );
    world.jobs.get_mut(&9).unwrap().hindrance = Some(Hindrance::Held);
    world.commands_fail = false;
    world.run(150);
    assert!(requeues(&world).is_empty(), "{:#?}", world.events);
    assert_at_rest(&world);
}

#[test]
fn who_saves_late_is_passed_over_before_anybody_is_requeued() {
    let mut world = full_cluster();
    world.jobs.get_mut(&1).unwrap().save_s = None;
    world.run(80);
    assert!(world.position("ask 4 for 9") < world.position("requeue 2 by command"));
    assert!(world.happened("start 9") && world.jobs[&1].is_running());
    assert!(!world.happened("requeue 1 by command"));
    assert_at_rest(&world);
}

#[test]
fn a_victim_that_an_administrator_requeues_is_no_sign_that_the_others_have_saved() {
    let mut world = full_cluster();
    world.jobs.get_mut(&2).unwrap().save_s = Some(9);
    world.run(6);
    let now = world.now;
    world.jobs.get_mut(&1).unwrap().stop(now);
    world.run(60);
    assert!(world.position("save 2") < world.position("requeue 3 by command"));
    assert!(world.happened("start 9") && !world.happened("requeue 1 by command"));
}

#[test]
fn a_victim_that_runs_again_before_the_job_has_started_is_left_alone() {
    let mut world = full_cluster();
    world.backfill_works = false;
    while requeues(&world).is_empty() {
        world.tick();
    }
    // An administrator lifts the delay, so that Slurm's backfill scheduler starts it.
    world.jobs.get_mut(&1).unwrap().state = State::Pending { begin: 0 };
    world.run(20);
    assert!(world.jobs[&1].is_running() && !world.happened("start 9"));
    world.run(150);
    assert_eq!(requeues(&world).len(), 3, "{:#?}", world.events);
    assert_at_rest(&world);
}

#[test]
fn slurm_that_does_not_start_it_is_given_one_try() {
    let mut world = full_cluster();
    world.backfill_works = false;
    world.run(4000);
    assert_eq!(requeues(&world).len(), 3, "{:#?}", world.events);
    assert!(
        (1..=4).all(|id| world.jobs[&id].is_running()),
        "the victims went on"
    );
    let told = world.said.iter().filter(|said| said.contains("given up")).count();
    assert_eq!(told, 1, "{:?}", world.said);
    // Until its user does something about it.
    let held = |world: &mut World, hindrance| world.jobs.get_mut(&9).unwrap().hindrance = hindrance;
    held(&mut world, Some(Hindrance::Held));
    world.run(5);
    held(&mut world, None);
    world.backfill_works = true;
    world.run(60);
    assert!(world.happened("start 9") && world.happened("start 10"));
    assert_well(&world);
}

#[test]
fn nodes_that_go_to_others_are_no_reason_never_to_try_again() {
    let mut world = full_cluster();
    while requeues(&world).is_empty() {
        world.tick();
    }
    world.submit_urgent(20, 3);
    world.run(120);
    assert!(world.happened("start 20"));
    assert!(
        world.said.iter().any(|said| said.contains("given up for now")),
        "{:?}",
        world.said
    );
    world.cancel(20);
    world.run(800);
    assert!(world.happened("start 9") && world.happened("start 10"));
}

#[test]
fn a_plain_urgent_job_is_served_before_it_and_both_are() {
    let mut world = World::new(6);
    for id in 1..=6 {
        world.train(id, &[id - 1], Some(2));
    }
    world.submit_urgent_het(9, &[2, 1]);
    world.submit_urgent(20, 2);
    world.run(60);
    let first_for_it = world
        .events
        .iter()
        .position(|event| event.ends_with("by command"));
    assert!(
        world.position("start 20") < first_for_it.unwrap(),
        "{:#?}",
        world.events
    );
    assert!(world.happened("start 9") && world.happened("start 10"));
    assert_eq!(requeues(&world).len(), 5, "{:#?}", world.events);
    assert_safe(&world);
}

#[test]
fn a_crash_at_any_second_ends_well_with_and_without_the_state_file() {
    for state_file in [true, false] {
        for second in 0..20 {
            let mut world = full_cluster();
            world.run(second);
            world.crash(state_file);
            world.run(25);
            assert!(world.happened("start 9"), "crash at {second}: {:?}", world.events);
            world.run(60);
            let let_off = world.events.iter().any(|event| event.starts_with("call off"));
            assert!(!let_off, "crash at {second}: {:?}", world.events);
            assert_eq!(requeues(&world).len(), 3, "crash at {second}: {:?}", world.events);
            let started = world.position("start 10");
            let restored = world.events.iter().position(|event| event.starts_with("restore"));
            assert!(Some(started) < restored, "crash at {second}: {:?}", world.events);
            assert_at_rest(&world);
        }
    }
}

#[derive(Clone, Debug)]
enum Fault {
    Crash { state_file: bool },
    CommandsFail(bool),
    Backfill(bool),
    CancelTraining(u32),
    ForbidRequeue(u32),
    Hold(bool),
    Urgent,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        any::<bool>().prop_map(|state_file| Fault::Crash { state_file }),
        any::<bool>().prop_map(Fault::CommandsFail),
        any::<bool>().prop_map(Fault::Backfill),
        (1u32..5).prop_map(Fault::CancelTraining),
        (1u32..5).prop_map(Fault::ForbidRequeue),
        any::<bool>().prop_map(Fault::Hold),
        Just(Fault::Urgent),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_nobody_is_stopped_unsaved_and_nobody_is_forgotten(
        save_s in prop::collection::vec(prop::option::of(0i64..20), 4),
        faults in prop::collection::vec((0u32..60, fault()), 0..10),
    ) {
        let mut world = full_cluster();
        for (id, save_s) in (1u32..).zip(&save_s) {
            world.jobs.get_mut(&id).unwrap().save_s = *save_s;
        }
        let mut plain = 20;
        for second in 0..60 {
            for (_, fault) in faults.iter().filter(|(when, _)| *when == second) {
                match fault {
                    Fault::Crash { state_file } => world.crash(*state_file),
                    Fault::CommandsFail(fail) => world.commands_fail = *fail,
                    Fault::Backfill(works) => world.backfill_works = *works,
                    Fault::CancelTraining(id) => world.cancel(*id),
                    Fault::ForbidRequeue(id) => world.jobs.get_mut(id).unwrap().requeue = false,
                    Fault::Hold(held) => {
                        world.jobs.get_mut(&9).unwrap().hindrance = held.then_some(Hindrance::Held);
                    }
                    Fault::Urgent => {
                        world.submit_urgent(plain, 1);
                        plain += 1;
                    }
                }
            }
            world.tick();
            assert_safe(&world);
            prop_assert!(!world.gates.contains_key(&9));
        }
        world.commands_fail = false;
        world.backfill_works = true;
        world.run(150);
        for id in (9..11).chain(20..plain) {
            if !matches!(world.jobs[&id].state, State::Running { .. }) {
                world.cancel(id);
            }
        }
        world.run(200);
        assert_well(&world);
    }
}

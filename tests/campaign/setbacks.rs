// SPDX-License-Identifier: GPL-2.0-or-later
//! What is nobody's fault: clocks that are stepped, commands that do not work for longer than any deadline.

use crate::audit::assert_tells_all;
use crate::full_cluster;
use crate::world::World;
use surgent::policy::book::{Action, Phase};
use surgent::policy::step::step;
use surgent::policy::units::UnixTime;

/// Two jobs have been asked, and save.
fn asked() -> World {
    let mut world = full_cluster();
    while !world.happened("ask 2 for 9") {
        world.tick();
    }
    world
}

fn step_clock(world: &mut World, by_s: i64) {
    world.now += by_s;
    world.book.clock_stepped(by_s, UnixTime(world.now));
    world.decide();
}

fn count(world: &World, event: &str) -> usize {
    world.events.iter().filter(|other| *other == event).count()
}

#[test]
fn a_clock_that_is_stepped_forward_takes_no_time_from_those_who_save() {
    let mut world = asked();
    step_clock(&mut world, 100_000);
    world.run(30);
    assert!(world.happened("start 9"), "{:?}", world.events);
    assert!(!world.happened("call off 1") && !world.happened("call off 2"));
    assert_eq!(count(&world, "ask 1 for 9"), 1);
    assert!(world.book.campaigns.is_empty());
    assert_tells_all(&world);
}

#[test]
fn a_clock_that_is_put_right_has_everybody_asked_again() {
    let mut world = asked();
    // Until then it was fast.
    step_clock(&mut world, -100_000);
    world.run(150);
    assert!(world.happened("start 9"), "{:?}", world.events);
    assert_eq!(count(&world, "ask 1 for 9"), 2);
    assert!(world.book.campaigns.is_empty());
}

#[test]
fn who_was_stopped_when_the_clock_was_put_back_starts_again_when_it_shows_that_time() {
    let mut world = full_cluster();
    while !world.happened("gate 9") {
        world.tick();
    }
    let before = world.now;
    step_clock(&mut world, -40);
    while !world.happened("restore 1") {
        assert!(world.now < before + 60, "{:?}", world.events);
        world.tick();
    }
    assert!(world.now >= before + 2, "{} s too early", before + 2 - world.now);
    world.run(30);
    assert!(world.book.campaigns.is_empty());
    assert_eq!(world.book.restart_after, None);
}

#[test]
fn who_could_not_be_asked_in_time_is_asked_anew_after_a_while() {
    let mut world = full_cluster();
    world.commands_fail = true;
    let deadline_s = world.settings.victims.save_deadline_s.0 as usize;
    // Four nodes, two at a time.
    world.run(3 * deadline_s + 100);
    world.commands_fail = false;
    world.run(700);
    assert!(world.happened("start 9"), "{:?}", world.events);
    assert!(world.book.campaigns.is_empty());
    assert_tells_all(&world);
}

#[test]
fn who_cannot_be_let_go_does_not_keep_an_urgent_job_from_its_next_plan() {
    let mut world = full_cluster();
    world.settings.urgent.max_widen = 0;
    while !world.happened("gate 9") {
        world.tick();
    }
    // Slurm does not start it.
    let pass = |world: &mut World, seconds: i64| {
        for _ in 0..seconds {
            world.now += 1;
            world.decide();
        }
    };
    world.commands_fail = true;
    pass(&mut world, 40);
    let phase = |world: &World| match &world.book.campaigns[..] {
        [campaign] => campaign.phase,
        others => panic!("one campaign is under way, not {others:?}"),
    };
    assert!(
        matches!(phase(&world), Phase::GivenUp { .. }),
        "{:?}",
        phase(&world)
    );
    pass(&mut world, 1000);
    assert!(
        matches!(phase(&world), Phase::GivenUp { .. }),
        "{:?}",
        phase(&world)
    );
    pass(&mut world, 300);
    assert!(matches!(phase(&world), Phase::Saving), "{:?}", phase(&world));
    world.commands_fail = false;
    world.run(700);
    assert!(world.happened("start 9"), "{:?}", world.events);
    assert!(world.book.campaigns.is_empty());
}

#[test]
fn what_does_not_work_is_not_tried_five_times_a_second() {
    let mut world = asked();
    world.cancel(9);
    // Both are let off, and Slurm's commands do not work.
    let begun = world.now;
    let mut tries = 0;
    while world.now < begun + 10 {
        for _ in 0..5 {
            let facts = world.facts();
            let actions = step(&mut world.book, &facts, &world.settings);
            let calls = actions
                .iter()
                .filter(|action| matches!(action, Action::CallOff { .. }));
            tries += calls.count();
        }
        world.now += 1;
    }
    assert_eq!(tries, 2 * 5, "each of both, every two seconds");
}

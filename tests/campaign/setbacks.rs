// SPDX-License-Identifier: GPL-2.0-or-later
//! What is nobody's fault: clocks that are stepped, commands that do not work for longer than any deadline.

use crate::audit::assert_tells_all;
use crate::full_cluster;
use crate::world::World;
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
    world.run(30);
    assert!(world.happened("start 9"), "{:?}", world.events);
    assert_eq!(count(&world, "ask 1 for 9"), 2);
    assert!(world.book.campaigns.is_empty());
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

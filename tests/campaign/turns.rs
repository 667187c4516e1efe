// SPDX-License-Identifier: GPL-2.0-or-later
//! Two urgent jobs that could take the nodes of each other's victims: one gate after the other.

use crate::world::World;

/// Four trainings that save in the same second. Job 9 wants one of their nodes, job 10 two; Slurm takes no notice of the
/// first gate for `idle_s`. How long that one alone was open.
fn alone_s(idle_s: i64) -> (World, i64) {
    let mut world = World::new(4);
    for id in 1..=4 {
        world.train(id, &[id - 1], Some(3));
    }
    world.submit_urgent(9, 1);
    world.submit_urgent(10, 2);
    while world.gates.is_empty() {
        world.tick();
    }
    let mut alone_s = 0;
    for _ in 0..idle_s {
        assert!(world.gates.contains_key(&9));
        alone_s += i64::from(world.gates.len() == 1);
        world.now += 1;
        world.decide();
    }
    (world, alone_s)
}

#[test]
fn the_second_gate_opens_when_the_first_job_has_started() {
    let (mut world, alone_s) = alone_s(5);
    assert_eq!(alone_s, 5);
    world.run(20);
    assert!(world.position("start 9") < world.position("gate 10"));
    assert!(world.happened("start 10"));
    let told = world
        .said
        .iter()
        .filter(|said| said.starts_with("job 10 waits for job 9"));
    assert_eq!(told.count(), 1, "{:?}", world.said);
    let stopped = world.events.iter().filter(|event| event.starts_with("requeue"));
    assert_eq!(stopped.count(), 3, "{:?}", world.events);
}

#[test]
fn or_when_that_has_taken_its_time() {
    let (mut world, alone_s) = alone_s(15);
    assert!((10..=12).contains(&alone_s), "{alone_s} s");
    assert!(world.happened("put forward 10") && !world.happened("put forward 9"));
    world.run(20);
    assert!(world.happened("start 9") && world.happened("start 10"));
}

#[test]
fn a_node_that_a_victim_has_left_is_not_taken_for_free_by_whoever_stands_before() {
    let mut world = World::new(2);
    world.train(1, &[0], Some(9));
    world.train(2, &[1], Some(1));
    world.submit_urgent(9, 1);
    world.submit_urgent(10, 1);
    while world.gates.is_empty() {
        world.tick();
    }
    assert!(world.gates.contains_key(&10));
    let now = world.now;
    world.jobs.get_mut(&2).unwrap().stop(now);
    world.now += 1;
    world.decide();
    assert!(!world.happened("call off 1"), "{:?}", world.events);
}

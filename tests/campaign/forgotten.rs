// SPDX-License-Identifier: GPL-2.0-or-later
//! Victims of whose end Surgent knows, and the next slurmctld does not.

use crate::world::State;
use crate::{assert_well, full_cluster};
use surgent::policy::audit::Event;

/// Slurm writes its jobs up to five seconds late. Here these are lost, and the nodes look as if nothing had been.
#[test]
fn who_was_seen_to_end_and_runs_on_in_the_eyes_of_the_next_slurmctld_comes_back() {
    for (lost_s, later_s) in (0..7).flat_map(|later| (1..6).map(move |lost| (lost, later))) {
        let mut world = full_cluster();
        world.ends_show = false;
        let mut past = vec![world.jobs.clone()];
        while !world.happened("start 9") {
            world.tick();
            past.push(world.jobs.clone());
        }
        let started = world.position("start 9");
        world.run(later_s);
        let before = past.len().saturating_sub(1 + lost_s);
        world.crash_with_ends_unwritten(past.swap_remove(before));
        let crashed = world.events.len();
        world.run(40);
        let events = &world.events[crashed..];
        let told = format!("{lost_s} s lost, {later_s} s after the start: {:?}", world.events);
        for victim in [1, 2] {
            let is = |text: &str, event: &String| *event == format!("{text} {victim}");
            let requeue = format!("requeue {victim} by command");
            assert_eq!(
                events.iter().filter(|event| **event == requeue).count(),
                1,
                "{told}"
            );
            assert!(events.iter().any(|event| is("restore", event)), "{told}");
        }
        let starts = world.events[started + 1..]
            .iter()
            .filter(|event| *event == "start 9");
        assert_eq!(starts.count(), 1, "{told}");
        let asked = events.iter().filter(|event| event.starts_with("call off"));
        assert_eq!(asked.count(), 0, "{told}");
        assert_well(&world);
        let stops = world
            .audit
            .iter()
            .filter(|entry| matches!(entry.event, Event::Stopped { .. }));
        assert_eq!(stops.count(), 2, "{told}: {:?}", world.audit);
    }
}

/// The urgent job is lost as well, and perhaps that others were asked to make way for it.
#[test]
fn who_was_being_stopped_for_a_job_that_slurm_has_forgotten_comes_back() {
    for lost_s in 1..6 {
        let mut world = full_cluster();
        world.ends_show = false;
        let mut past = vec![(world.book.clone(), world.jobs.clone())];
        while !world.happened("start 9") {
            world.tick();
            past.push((world.book.clone(), world.jobs.clone()));
        }
        // Surgent has not seen that they ended.
        world.book = past[past.len() - 2].0.clone();
        let before = past.len().saturating_sub(1 + lost_s);
        world.crash_with_ends_unwritten(past.swap_remove(before).1);
        world.cancel(9);
        world.run(3);
        for victim in [1, 2] {
            world.jobs.get_mut(&victim).unwrap().state = State::Killed;
        }
        world.run(40);
        for victim in [1, 2] {
            world.position(&format!("revive {victim}"));
            let restored = world
                .events
                .iter()
                .filter(|event| **event == format!("restore {victim}"));
            assert_eq!(restored.count(), 1, "{lost_s} s lost: {:?}", world.events);
        }
        assert_well(&world);
    }
}

/// They were not being stopped: the gate had just been opened.
#[test]
fn whose_gate_was_open_in_vain_is_let_off() {
    let mut world = full_cluster();
    while !world.happened("gate 9") {
        world.tick();
    }
    world.crash(true);
    world.cancel(9);
    world.run(60);
    for victim in [1, 2] {
        assert!(world.jobs[&victim].is_running());
        world.position(&format!("call off {victim}"));
    }
    assert_well(&world);
}

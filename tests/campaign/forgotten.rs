// SPDX-License-Identifier: GPL-2.0-or-later
//! Victims of whose end Surgent knows, and the next slurmctld does not.

use crate::world::{State, World};
use crate::{assert_safe, assert_well, full_cluster, past_until_start, run_until_start};
use proptest::prelude::*;
use surgent::policy::audit::Event;
use surgent::policy::ids::JobId;
use surgent::policy::units::UnixTime;

/// Slurm writes its jobs up to five seconds late. Here these are lost, and the nodes look as if nothing had been.
#[test]
fn who_was_seen_to_end_and_runs_on_in_the_eyes_of_the_next_slurmctld_comes_back() {
    for (lost_s, later_s) in (0..5).flat_map(|later| (1..6 - later).map(move |lost| (lost, later))) {
        let mut world = full_cluster();
        world.ends_show = false;
        let mut past = past_until_start(&mut world);
        let started = world.position("start 9");
        world.run(later_s);
        let before = past.len().saturating_sub(lost_s);
        world.crash_with_ends_unwritten(past.swap_remove(before).1);
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
        let mut past = past_until_start(&mut world);
        // Surgent has not seen that they ended.
        world.book = past.last().unwrap().0.clone();
        let before = past.len().saturating_sub(lost_s);
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

/// One that had begun anew on the same node would have trained for as long as slurmctld was away.
#[test]
fn after_a_long_time_whoever_stands_as_running_has_long_to_report() {
    let mut world = full_cluster();
    world.ends_show = false;
    let (_, before) = run_until_start(&mut world);
    world.run(3);
    world.crash_with_ends_unwritten(before);
    world.cancel(9);
    world.now += 600;
    world.run(50);
    assert!(!world.happened("requeue 1 by command"), "{:?}", world.events);
    world.run(30);
    world.position("requeue 1 by command");
    world.position("requeue 2 by command");
    assert_well(&world);
}

/// Slurm would refuse to requeue it, and its nodes do not come free for minutes.
#[test]
fn who_may_not_be_requeued_any_more_does_not_hold_the_urgent_job_up() {
    let mut world = full_cluster();
    world.ends_show = false;
    let (book, before) = run_until_start(&mut world);
    world.book = book;
    world.crash_with_ends_unwritten(before);
    for victim in world
        .book
        .campaigns
        .iter_mut()
        .flat_map(|campaign| &mut campaign.victims)
    {
        victim.gone = Some(UnixTime(world.now));
    }
    world.jobs.get_mut(&1).unwrap().requeue = false;
    let crashed = world.events.len();
    world.run(30);
    let told = &world.events[crashed..];
    assert!(told.contains(&"ask 3 for 9".to_owned()), "{told:?}");
    assert!(told.contains(&"start 9".to_owned()), "{told:?}");
    assert!(!told.contains(&"requeue 1 by command".to_owned()), "{told:?}");
}

/// Of one victim slurmctld hears that it has ended, of the other it does not.
#[test]
fn whom_slurm_has_ended_does_not_start_before_the_urgent_job() {
    let mut world = full_cluster();
    let (book, before) = run_until_start(&mut world);
    world.book = book;
    world.crash_with_ends_unwritten(before);
    world.jobs.get_mut(&1).unwrap().state = State::Killed;
    let crashed = world.events.len();
    world.run(60);
    let told = &world.events[crashed..];
    let at = |event: &str| told.iter().position(|told| told == event);
    assert!(
        at("revive 1") < at("start 9") && at("start 9").is_some(),
        "{told:?}"
    );
    assert_eq!((at("start 1"), at("ask 3 for 9")), (None, None), "{told:?}");
    assert_well(&world);
}

/// It had missed its deadline, and slurmctld was killed before it had written that its request was taken back.
#[test]
fn whose_request_was_taken_back_and_is_there_again_is_let_off_again() {
    let mut world = full_cluster();
    world.jobs.get_mut(&1).unwrap().save_s = None;
    let mut past = past_until_start(&mut world);
    past.retain(|(_, jobs)| jobs[&1].record().unwrap().ask == Some(JobId(9)));
    world.crash_with_ends_unwritten(past.pop().unwrap().1);
    world.run(60);
    assert!(world.jobs[&1].is_running());
    assert_well(&world);
}

/// It was started again, and slurmctld was killed before it had written that and before Surgent had seen it.
#[test]
fn who_has_begun_anew_unnoticed_saves_before_he_makes_way_again() {
    for wanted in [true, false] {
        let mut world = full_cluster();
        world.ends_show = false;
        let (_, before) = run_until_start(&mut world);
        world.run(3);
        world.crash_with_ends_unwritten(before);
        if !wanted {
            world.cancel(9);
        }
        world.run(1);
        world.begin_unnoticed(1);
        let crashed = world.events.len();
        world.run(60);
        let of_first: Vec<&String> = world.events[crashed..]
            .iter()
            .filter(|event| event.split(' ').any(|word| word == "1"))
            .collect();
        if wanted {
            assert_eq!(
                of_first[..3],
                ["ask 1 for 9", "save 1", "requeue 1 for 9"],
                "{:?}",
                world.events
            );
        } else {
            assert_eq!(of_first, ["call off 1"], "{:?}", world.events);
        }
        world.position("requeue 2 by command");
        assert_well(&world);
    }
}

/// What happens in a second.
#[derive(Clone, Debug)]
enum Blow {
    Urgent {
        nodes: u32,
    },
    CommandsFail(bool),
    /// slurmctld is killed, and has not written the last seconds.
    Crash {
        lost_s: usize,
        ends_show: bool,
    },
    Cancel(u32),
}

fn blow() -> impl Strategy<Value = Blow> {
    prop_oneof![
        (1u32..4).prop_map(|nodes| Blow::Urgent { nodes }),
        any::<bool>().prop_map(Blow::CommandsFail),
        (0usize..6, any::<bool>()).prop_map(|(lost_s, ends_show)| Blow::Crash { lost_s, ends_show }),
        (1u32..10).prop_map(Blow::Cancel),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_slurmctld_forgets_nobody_is_stopped_unsaved_and_all_comes_to_rest(
        save_s in prop::collection::vec(prop::option::of(0i64..10), 4),
        blows in prop::collection::vec((1u32..40, blow()), 0..10),
    ) {
        let mut world = World::new(4);
        for (at, save_s) in (0u32..).zip(&save_s) {
            world.train(at + 1, &[at], *save_s);
        }
        world.submit_urgent(5, 2);
        let mut past = vec![world.jobs.clone()];
        let mut next_urgent = 6;
        for second in 1..40 {
            for (_, blow) in blows.iter().filter(|(when, _)| *when == second) {
                match *blow {
                    Blow::Urgent { nodes } => {
                        world.submit_urgent(next_urgent, nodes);
                        next_urgent += 1;
                    }
                    Blow::CommandsFail(fail) => world.commands_fail = fail,
                    Blow::Crash { lost_s, ends_show } => {
                        world.ends_show = ends_show;
                        past.truncate(past.len().saturating_sub(lost_s).max(1));
                        let written = past.last().unwrap().clone();
                        world.crash_with_ends_unwritten(written);
                    }
                    Blow::Cancel(id) => if world.jobs.contains_key(&id) { world.cancel(id) },
                }
            }
            world.tick();
            past.push(world.jobs.clone());
            assert_safe(&world);
        }
        world.commands_fail = false;
        world.run(60);
        world.requeue_missing();
        world.run(60);
        for id in 5..next_urgent {
            if world.jobs.get(&id).is_some_and(|job| !job.is_running()) {
                world.cancel(id);
            }
        }
        world.run(200);
        assert_well(&world);
    }
}

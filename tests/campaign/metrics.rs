// SPDX-License-Identifier: GPL-2.0-or-later
//! What is counted of what happened.

use crate::full_cluster;
use crate::world::World;
use surgent::policy::metrics::{Counters, Tally};
use surgent::policy::record::Record;
use surgent::policy::settings::{Mode, Settings};
use surgent::policy::units::UnixTime;

/// All that the audit has told so far, counted, and kept in a file after each event.
fn counted(world: &World) -> Counters {
    let mut counters = Counters::new(UnixTime(0));
    for entry in &world.audit {
        counters.count(entry);
        counters = serde_json::from_str(&serde_json::to_string(&counters).unwrap()).unwrap();
    }
    counters
}

/// How often each thing has happened: starts, first plans, saves asked for, acknowledged and missed, stops after a save
/// and without.
fn figures(tally: &Tally) -> [u64; 7] {
    [
        tally.urgent_starts,
        tally.plans_first,
        tally.saves_asked,
        tally.saves_acknowledged,
        tally.saves_missed,
        tally.stops_saved,
        tally.stops_unsaved,
    ]
}

#[test]
fn two_victims_that_save_are_counted_once_whenever_slurmctld_is_killed() {
    for second in 0..15 {
        let mut world = full_cluster();
        let record = Record {
            first: Some(UnixTime(world.now - 100)),
            ..world.jobs[&9].record().unwrap()
        };
        world.jobs.get_mut(&9).unwrap().admin_comment = record.to_string().into_bytes();
        world.run(second);
        world.crash(true);
        world.run(60);
        let counters = counted(&world);
        assert_eq!(figures(&counters.on), [1, 1, 2, 2, 0, 2, 0], "killed at {second}");
        assert_eq!(counters.on.save.count(), 2);
        assert_eq!(counters.on.urgent_wait.count(), 1);
        assert!(counters.on.urgent_wait.sum_s() >= 100.0);
        assert_eq!(figures(&counters.shadow), [0; 7]);
    }
}

#[test]
fn a_missed_save_and_the_plan_that_follows_are_counted() {
    let mut world = full_cluster();
    world.jobs.get_mut(&1).unwrap().save_s = None;
    world.run(80);
    let counters = counted(&world);
    assert_eq!(figures(&counters.on), [1, 1, 3, 2, 1, 2, 0]);
    assert_eq!(counters.on.plans_replanned, 1);
}

#[test]
fn stops_without_a_save_are_told_from_the_others() {
    let mut world = full_cluster();
    for id in 1..=4 {
        world.jobs.get_mut(&id).unwrap().comment = b"save=none".to_vec();
    }
    world.settings = Settings::parse("victims.unsavable = \"stop\"\nurgent.patience_s = 10\n").unwrap();
    world.run(60);
    let counters = counted(&world);
    assert_eq!(figures(&counters.on), [1, 1, 0, 0, 0, 0, 2]);
    assert_eq!(counters.on.no_set, 1);
}

#[test]
fn what_would_be_done_is_counted_apart() {
    let mut world = full_cluster();
    world.settings.mode = Mode::Shadow;
    world.run(100);
    let counters = counted(&world);
    assert_eq!(figures(&counters.shadow), [0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(figures(&counters.on), [0; 7]);
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurm takes its time to start what fits, or has its own reasons not to. Nobody is asked in vain for that.

use crate::world::World;
use std::collections::BTreeSet;
use surgent::policy::book::{Action, Book};
use surgent::policy::ids::JobId;
use surgent::policy::step::step;
use surgent::policy::units::UnixTime;

/// Four nodes, with a training on each of the first so many. Their saves take long.
fn cluster(trainings: u32) -> World {
    let mut world = World::new(4);
    for id in 1..=trainings {
        world.train(id, &[id - 1], Some(1000));
    }
    world
}

/// Takes ten steps, of which two come in one second, in a world where nothing starts; each urgent job is an array of so
/// many `tasks`. Who was asked, and when first; who was let go. `after_first` happens after the first step.
fn watch(
    world: &mut World,
    tasks: u32,
    after_first: impl Fn(&mut World),
) -> (BTreeSet<(JobId, UnixTime)>, BTreeSet<JobId>) {
    // By then Slurm has tried them.
    world.now += 2;
    let (mut book, mut asked, mut let_go) = (Book::default(), BTreeSet::new(), BTreeSet::new());
    for round in 0..10 {
        let mut facts = world.facts();
        for job in &mut facts.waiting {
            job.tasks = tasks;
        }
        let actions = step(&mut book, &facts, &world.settings);
        for action in &actions {
            if let Action::Ask { job, asked: at, .. } = action {
                asked.insert((*job, *at));
            }
        }
        for campaign in &book.campaigns {
            let gone = campaign.victims.iter().map(|victim| victim.job);
            let active: BTreeSet<_> = campaign.active().map(|victim| victim.job).collect();
            let_go.extend(gone.filter(|job| !active.contains(job)));
        }
        if round == 0 {
            after_first(world);
        }
        world.now += round % 2;
    }
    (asked, let_go)
}

#[test]
fn who_makes_way_is_not_let_go_for_a_place_of_one_that_stands_before() {
    let mut world = cluster(3);
    // The first fits on the free node, but is not started.
    world.submit_urgent(8, 1);
    world.submit_urgent(9, 1);
    let (asked, let_go) = watch(&mut world, 1, |_| {});
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(let_go.is_empty(), "{let_go:?}");
}

#[test]
fn nor_for_the_place_of_another_task_of_the_same_array() {
    let mut world = cluster(3);
    world.submit_urgent(9, 1);
    let (asked, let_go) = watch(&mut world, 2, |_| {});
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(let_go.is_empty(), "{let_go:?}");
}

#[test]
fn a_node_that_comes_free_spares_a_victim_of_an_array_for_good() {
    let mut world = cluster(4);
    world.submit_urgent(9, 1);
    let (asked, _) = watch(&mut world, 2, |world| world.cancel(4));
    assert_eq!(asked.len(), 2, "{asked:?}");
}

#[test]
fn the_record_of_an_array_names_all_whom_its_tasks_wait_for() {
    let mut world = cluster(4);
    world.submit_urgent(8, 1);
    world.now += 2;
    let mut book = Book::default();
    let mut shown = Vec::new();
    for _ in 0..4 {
        let mut facts = world.facts();
        facts.waiting[0].tasks = 2;
        for action in step(&mut book, &facts, &world.settings) {
            if let Action::ShowWait { urgent, waits_for } = action {
                let array = world.jobs.get_mut(&urgent.0).unwrap();
                let mut record = array.record().unwrap();
                record.waits_for.clone_from(&waits_for);
                array.admin_comment = record.write_into(&array.admin_comment);
                shown.push(waits_for);
            }
        }
        world.now += 1;
    }
    assert_eq!(shown, [[JobId(1), JobId(2)]]);
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! More urgent jobs than can be planned for in one turn: the others in the next ones, in the order of the queue.

use crate::world::World;
use surgent::policy::book::Book;
use surgent::policy::facts::Facts;
use surgent::policy::plan::Outcome;
use surgent::policy::round::Round;
use surgent::policy::settings::{Mode, Settings};
use surgent::policy::step::step_within;

/// For whom the next turn plans, and who would make way, where there is time for one plan.
fn turn(book: &mut Book, facts: &Facts, settings: &Settings) -> Vec<(u32, Vec<u32>)> {
    let mut planned = Vec::new();
    step_within(1, book, facts, settings, &mut |decision| {
        let victims = match decision.outcome {
            Outcome::Stop(plan) => plan.victims.iter().map(|victim| victim.job.0).collect(),
            _ => Vec::new(),
        };
        planned.push((decision.urgent.0, victims));
    });
    planned
}

/// Three trainings of one node each, and urgent jobs from 11 on, all of which Slurm has tried.
fn world(wanted: &[u32]) -> (World, Facts) {
    let mut world = World::new(3);
    for id in 1..=3 {
        world.train(id, &[id - 1], Some(2));
    }
    for (id, nodes) in (11..).zip(wanted) {
        world.submit_urgent(id, *nodes);
    }
    let mut facts = world.facts();
    for job in &mut facts.waiting {
        job.tested = true;
    }
    (world, facts)
}

#[test]
fn whoever_comes_behind_hopeless_jobs_has_his_turn_and_the_first_is_always_tried() {
    // Of four nodes there are only three.
    let (world, facts) = world(&[4, 4, 4, 4, 4]);
    let mut book = Book::default();
    let mut turns = Vec::new();
    for _ in 0..7 {
        let planned = turn(&mut book, &facts, &world.settings);
        turns.push(planned.iter().map(|(urgent, _)| *urgent).collect::<Vec<_>>());
    }
    let expected: [&[u32]; 7] = [
        &[11],
        &[11, 12],
        &[11, 13],
        &[11, 14],
        &[11, 15],
        &[11],
        &[11, 12],
    ];
    assert_eq!(turns, expected);
}

#[test]
fn others_make_way_for_him_although_hopeless_jobs_stand_before() {
    let (world, facts) = world(&[4, 4, 4, 1]);
    let mut book = Book::default();
    for _ in 0..4 {
        turn(&mut book, &facts, &world.settings);
    }
    assert_eq!(book.campaigns.len(), 1);
    assert_eq!(book.campaigns[0].urgent.0, 14);
    assert_eq!(book.round, Round::default());
}

#[test]
fn what_one_would_take_is_not_there_for_those_behind_in_later_turns() {
    let (mut world, facts) = world(&[1, 1, 1]);
    world.settings.mode = Mode::Shadow;
    let mut book = Book::default();
    let mut victims = Vec::new();
    for _ in 0..3 {
        victims.extend(turn(&mut book, &facts, &world.settings).pop());
    }
    assert_eq!(victims, [(11, vec![1]), (12, vec![2]), (13, vec![3])]);
}

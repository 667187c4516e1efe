// SPDX-License-Identifier: GPL-2.0-or-later
//! The places of urgent jobs at the head of the queue.

use crate::world::World;
use surgent::policy::book::{Action, Book};
use surgent::policy::facts::Facts;
use surgent::policy::queue::UrgentOrder;
use surgent::policy::step::step;
use surgent::policy::units::UnixTime;

/// The places that are given in one step, with what they are then.
fn places(book: &mut Book, facts: &mut Facts, world: &World) -> Vec<u32> {
    let actions = step(book, facts, &world.settings);
    let given = actions.iter().filter_map(|action| match action {
        Action::Reclass { job, place, .. } => Some((*job, *place)),
        _ => None,
    });
    let given: Vec<_> = given.collect();
    for (id, place) in &given {
        let job = facts.waiting.iter_mut().find(|job| job.id == *id).unwrap();
        job.priority = *place;
    }
    given.into_iter().map(|(_, place)| place).collect()
}

#[test]
fn a_place_that_is_not_its_any_more_is_given_back_and_what_another_one_has_raised_stays() {
    let mut world = World::new(3);
    world.settings.queue.urgent_order = UrgentOrder::Priority;
    world.submit_urgent(11, 1);
    let mut facts = world.facts();
    let mut book = Book::default();
    let job = &mut facts.waiting[0];
    // It has not waited for so long that its order is no matter any more.
    job.record.as_mut().unwrap().first = Some(facts.now);
    job.worth = Some(80);
    let high = places(&mut book, &mut facts, &world);
    assert_eq!(high.len(), 1);

    facts.waiting[0].worth = Some(10);
    assert!(
        places(&mut book, &mut facts, &world).is_empty(),
        "so soon after that"
    );
    facts.now = UnixTime(facts.now.0 + 61);
    assert_eq!(places(&mut book, &mut facts, &world), [high[0] - 70]);
    assert!(places(&mut book, &mut facts, &world).is_empty());

    facts.waiting[0].priority = high[0] + 5;
    facts.now = UnixTime(facts.now.0 + 61);
    assert!(
        places(&mut book, &mut facts, &world).is_empty(),
        "an administrator's"
    );
}

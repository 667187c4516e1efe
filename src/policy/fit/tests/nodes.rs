// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes that are not like the others: with cores, owners, reservations, sharers, features.

use super::*;

#[test]
fn a_job_holds_whole_cores() {
    let mut facts = cluster(1);
    facts.nodes[0].cpus_per_core = 2;
    let one_of_each_core = |tasks| {
        request(|request| {
            request.candidates = request.candidates[..1].to_vec().into();
            (request.tasks, request.cpus_per_core) = (Some(tasks), Some(1));
        })
    };
    let mut ledger = Ledger::of(&facts);
    assert!(ledger.fits(&Demand::of(&one_of_each_core(4))).is_some());
    assert!(ledger.fits(&Demand::of(&one_of_each_core(5))).is_none());
    ledger.reserve(JobId(1), &Demand::of(&one_of_each_core(3)), &[NodeIndex(0)]);
    let cpus = |tasks| Demand::of(&request(|request| request.tasks = Some(tasks)));
    assert!(ledger.fits(&cpus(2)).is_some());
    assert!(ledger.fits(&cpus(3)).is_none());
    ledger.reserve(JobId(2), &cpus(1), &[NodeIndex(0)]);
    assert!(
        ledger.fits(&cpus(1)).is_none(),
        "the other CPU of the core is not free"
    );
}

#[test]
fn a_reserved_node_is_for_the_jobs_of_its_reservation() {
    let mut facts = cluster(1);
    facts.nodes[0].availability = Availability::Reserved;
    assert_eq!(where_it_fits(&facts, |_| {}), None);
    assert_eq!(
        where_it_fits(&facts, |request| request.in_reservation = true),
        Some(vec![0])
    );
    for (availability, fits) in [
        (Availability::Up, true),
        (Availability::Down, false),
        (Availability::Drained, false),
        (Availability::PoweringDown, false),
    ] {
        facts.nodes[0].availability = availability;
        assert_eq!(where_it_fits(&facts, |_| {}).is_some(), fits, "{availability:?}");
    }
}

#[test]
fn a_node_for_one_user_alone_is_not_won_by_stopping_others() {
    let mut facts = cluster(2);
    let mine = |request: &mut Request| request.user_node = true;
    facts.running = vec![job(1, &[0, 1], &amounts(1, 1, 0), JobTraits::default())];
    let mut ledger = Ledger::of(&facts);
    assert_eq!(ledger.fits(&Demand::of(&request(mine))), None);
    // Slurm looks at who is there before it looks at who might leave.
    ledger.release(&facts.running[0]);
    assert_eq!(ledger.fits(&Demand::of(&request(mine))), None);
    facts.running[0].user = ME;
    assert!(where_it_fits(&facts, mine).is_some());

    facts.running[0].user = OTHER;
    facts.running[0].traits.user_node = true;
    assert_eq!(where_it_fits(&facts, |_| {}), None, "kept for the other user");

    facts.running[0].traits = JobTraits {
        whole_node: true,
        ..JobTraits::default()
    };
    let mut ledger = Ledger::of(&facts);
    ledger.release(&facts.running[0]);
    assert!(ledger.fits(&Demand::of(&request(mine))).is_some());
}

#[test]
fn cpus_are_shared_among_those_who_share_and_with_nobody_else() {
    let mut facts = cluster(1);
    let shared = JobTraits {
        shared: true,
        ..JobTraits::default()
    };
    let full = amounts(8, 1_000, 0);
    facts.running = vec![job(1, &[0], &full, shared)];
    let sharing = |request: &mut Request| {
        request.choices = vec![Choice {
            nodes: vec![NodeIndex(0)].into(),
            jobs_per_cpu: Some(2),
            ..Choice::default()
        }];
    };
    assert!(where_it_fits(&facts, sharing).is_some());
    assert_eq!(where_it_fits(&facts, |_| {}), None);
    facts.running.push(job(2, &[0], &full, shared));
    assert_eq!(where_it_fits(&facts, sharing), None);
    let mut ledger = Ledger::of(&facts);
    ledger.release(&facts.running[1]);
    assert!(ledger.fits(&Demand::of(&request(sharing))).is_some());
    facts.running = vec![job(1, &[0], &amounts(1, 1, 0), JobTraits::default())];
    assert_eq!(where_it_fits(&facts, sharing), None);
}

#[test]
fn nodes_of_a_kind_are_among_those_chosen() {
    let facts = cluster(4);
    let counted = |at_least, nodes: &[u32]| Counted {
        at_least,
        nodes: nodes.iter().map(|node| NodeIndex(*node)).collect(),
    };
    let with = |min_nodes, max_nodes, counted: Vec<Counted>| {
        where_it_fits(&facts, |request| {
            (request.min_nodes, request.max_nodes) = (min_nodes, Some(max_nodes));
            request.choices = vec![Choice {
                nodes: request.candidates.clone(),
                counted,
                ..Choice::default()
            }];
        })
    };
    assert_eq!(with(1, 1, vec![counted(1, &[3])]), Some(vec![3]));
    assert_eq!(with(2, 2, vec![counted(1, &[3])]), Some(vec![0, 3]));
    assert_eq!(with(1, 1, vec![counted(1, &[3]), counted(1, &[2])]), None);
    let one_task = where_it_fits(&facts, |request| {
        request.tasks = Some(1);
        request.choices = vec![Choice {
            nodes: request.candidates.clone(),
            counted: vec![counted(1, &[0]), counted(1, &[1]), counted(2, &[0, 1])],
            ..Choice::default()
        }];
    });
    assert_eq!(one_task, Some(vec![0, 1]));
    assert_eq!(
        with(1, 2, vec![counted(1, &[3]), counted(1, &[2])]),
        Some(vec![2, 3])
    );
    assert_eq!(
        with(
            2,
            2,
            vec![counted(1, &[0, 3]), counted(1, &[1, 3]), counted(2, &[2, 3])]
        ),
        Some(vec![2, 3])
    );
}

#[test]
fn what_is_asked_for_in_total_is_to_be_had_of_counted_nodes_alone() {
    let facts = cluster(4);
    let with = |per_job, kind: &[u32]| {
        where_it_fits(&facts, |request| {
            (request.min_nodes, request.max_nodes) = (2, Some(2));
            request.gres.push(GresRequest {
                per_job,
                ..GresRequest::none(GPU)
            });
            request.choices = vec![Choice {
                nodes: request.candidates.clone(),
                counted: vec![Counted {
                    at_least: 1,
                    nodes: kind.iter().map(|node| NodeIndex(*node)).collect(),
                }],
                ..Choice::default()
            }];
        })
    };
    assert_eq!(with(4, &[3]), Some(vec![0, 3]));
    assert_eq!(with(5, &[3]), None);
    assert_eq!(with(5, &[2, 3]), Some(vec![2, 3]));
}

#[test]
fn few_nodes_that_give_a_bit_of_all_do_where_the_richest_of_one_kind_do_not() {
    let mut facts = cluster(3);
    facts.running = vec![
        job(1, &[0], &amounts(7, 0, 0), JobTraits::default()),
        job(2, &[1], &amounts(0, 0, 1), JobTraits::default()),
        job(3, &[2], &amounts(0, 0, 1), JobTraits::default()),
    ];
    let found = where_it_fits(&facts, |request| {
        (request.tasks, request.max_nodes) = (Some(16), Some(2));
        request.gres.push(GresRequest {
            per_job: 6,
            ..GresRequest::none(GPU)
        });
    });
    assert_eq!(found, Some(vec![1, 2]));
}

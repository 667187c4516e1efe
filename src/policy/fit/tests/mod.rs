// SPDX-License-Identifier: GPL-2.0-or-later
//! What fits where. Whether Slurm agrees is for `tests/cluster/shapes.rs` to show.

mod nodes;

use super::*;
use crate::policy::facts::{Choice, Counted, GresRequest, Holding, JobTraits, Request};
use crate::policy::resources::GresId;
use crate::policy::units::UnixTime;

const GPU: GresId = GresId(0);
const A100: GresId = GresId(1);
const ME: UserId = UserId(1);
const OTHER: UserId = UserId(2);

fn amounts(cpus: u32, memory_mib: u64, gpus: u64) -> Amounts {
    let mut amounts = Amounts::new(cpus, memory_mib);
    amounts.add_gres(GPU, gpus);
    amounts
}

/// Nodes of 8 CPUs, 16,000 MiB and 4 GPUs; those of the nodes with even numbers are A100.
fn cluster(nodes: u32) -> Facts {
    let mut facts = Facts::at(UnixTime(1000));
    assert_eq!(facts.gres.id("gpu", None), GPU);
    assert_eq!(facts.gres.id("gpu", Some("a100")), A100);
    facts.nodes = (0..nodes)
        .map(|index| {
            let mut total = amounts(8, 16_000, 4);
            total.add_gres(A100, if index % 2 == 0 { 4 } else { 0 });
            Node::new(NodeIndex(index), format!("n{index}"), total)
        })
        .collect();
    facts
}

fn job(id: u32, nodes: &[u32], held: &Amounts, traits: JobTraits) -> RunningJob {
    RunningJob {
        user: OTHER,
        traits,
        holdings: nodes
            .iter()
            .map(|node| Holding {
                node: NodeIndex(*node),
                amounts: held.clone(),
            })
            .collect(),
        ..RunningJob::new(JobId(id), UnixTime(1))
    }
}

/// An empty node, one half used, one with a single CPU and GPU left, and one that a job has alone.
fn crowded() -> Facts {
    let mut facts = cluster(4);
    let whole = JobTraits {
        whole_node: true,
        ..JobTraits::default()
    };
    facts.running = vec![
        job(11, &[1], &amounts(4, 8_000, 2), JobTraits::default()),
        job(12, &[2], &amounts(7, 15_000, 3), JobTraits::default()),
        job(13, &[3], &amounts(1, 1_000, 0), whole),
    ];
    facts
}

fn request(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request {
        user: Some(ME),
        min_nodes: 1,
        cpus_per_task: 1,
        candidates: (0..4).map(NodeIndex).collect(),
        ..Request::default()
    };
    change(&mut request);
    request
}

fn where_it_fits(facts: &Facts, change: impl FnOnce(&mut Request)) -> Option<Vec<u32>> {
    let nodes = Ledger::of(facts).fits(&Demand::of(&request(change)))?;
    let mut nodes: Vec<_> = nodes.into_iter().map(|node| node.0).collect();
    nodes.sort_unstable();
    Some(nodes)
}

type Change = fn(&mut Request);
/// Where it is to fit; `None` if nowhere.
type Nodes = Option<&'static [u32]>;
/// Name, what is asked for, what else, and where it is to fit.
type GresCase = (&'static str, fn() -> GresRequest, Change, Nodes);

#[test]
fn requests_fit_where_there_is_room() {
    let facts = crowded();
    let table: [(&str, Change, Option<&[u32]>); 28] = [
        ("a task", |_| {}, Some(&[0])),
        ("two nodes", |r| r.min_nodes = 2, Some(&[0, 1])),
        ("three nodes", |r| r.min_nodes = 3, Some(&[0, 1, 2])),
        ("four nodes", |r| r.min_nodes = 4, None),
        ("a whole node", |r| r.whole_node = true, Some(&[0])),
        (
            "two whole nodes",
            |r| (r.whole_node, r.min_nodes) = (true, 2),
            None,
        ),
        ("the taken node", |r| r.required = vec![NodeIndex(3)], None),
        ("the fullest", |r| r.required = vec![NodeIndex(2)], Some(&[2])),
        (
            "a node that is no candidate",
            |r| (r.candidates, r.required) = (vec![NodeIndex(0)].into(), vec![NodeIndex(1)]),
            None,
        ),
        ("cpus of two nodes", |r| r.tasks = Some(12), Some(&[0, 1])),
        (
            "cpus of one node",
            |r| (r.tasks, r.max_nodes) = (Some(12), Some(1)),
            None,
        ),
        ("all cpus", |r| r.tasks = Some(13), Some(&[0, 1, 2])),
        ("more than all cpus", |r| r.tasks = Some(14), None),
        // 8 / 3 and 4 / 3: three tasks, whatever the CPUs sum up to.
        (
            "tasks of three cpus",
            |r| (r.tasks, r.cpus_per_task) = (Some(3), 3),
            Some(&[0, 1]),
        ),
        (
            "too many of them",
            |r| (r.tasks, r.cpus_per_task) = (Some(4), 3),
            None,
        ),
        (
            "tasks that share what they would have on a node",
            |r| (r.tasks, r.tasks_per_node, r.overcommit) = (Some(10), Some(5), true),
            None,
        ),
        (
            "tasks without cpus of their own",
            |r| (r.tasks, r.cpus_per_task, r.overcommit) = (Some(64), 3, true),
            Some(&[0]),
        ),
        ("five tasks on a node", |r| r.tasks_per_node = Some(5), Some(&[0])),
        (
            "at most three tasks on a node",
            |r| (r.tasks, r.tasks_per_node) = (Some(6), Some(3)),
            Some(&[0, 1]),
        ),
        ("a node of six cpus", |r| r.cpus_per_node = 6, Some(&[0])),
        ("memory", |r| r.memory = MemoryRequest::PerNode(8_001), Some(&[0])),
        (
            "memory on two nodes",
            |r| (r.memory, r.min_nodes) = (MemoryRequest::PerNode(8_000), 2),
            Some(&[0, 1]),
        ),
        ("all memory", |r| r.memory = MemoryRequest::AllOfNode, Some(&[0])),
        (
            "memory for each cpu",
            |r| (r.memory, r.tasks) = (MemoryRequest::PerCpu(5_000), Some(4)),
            Some(&[0, 1]),
        ),
        (
            "memory for each cpu of a whole node",
            |r| (r.memory, r.whole_node) = (MemoryRequest::PerCpu(2_001), true),
            None,
        ),
        (
            "a partition of single nodes",
            |r| {
                r.min_nodes = 2;
                r.choices = vec![Choice {
                    nodes: r.candidates.clone(),
                    max_nodes: Some(1),
                    ..Choice::default()
                }];
            },
            None,
        ),
        (
            "a partition of whole nodes, or another",
            |r| {
                let choice = |nodes: &[u32], whole_node| Choice {
                    nodes: nodes.iter().map(|node| NodeIndex(*node)).collect(),
                    whole_node,
                    ..Choice::default()
                };
                r.choices = vec![choice(&[1, 2, 3], true), choice(&[1], false)];
            },
            Some(&[1]),
        ),
        ("nowhere", |r| r.choices = vec![Choice::default()], None),
    ];
    for (name, change, nodes) in table {
        assert_eq!(where_it_fits(&facts, change).as_deref(), nodes, "{name}");
    }
}

#[test]
fn generic_resources_are_counted_on_each_node_and_in_all() {
    let facts = crowded();
    let table: [GresCase; 15] = [
        (
            "on a node",
            || GresRequest {
                per_node: 4,
                ..GresRequest::none(GPU)
            },
            |_| {},
            Some(&[0]),
        ),
        (
            "on two nodes",
            || GresRequest {
                per_node: 2,
                ..GresRequest::none(GPU)
            },
            |r| r.min_nodes = 2,
            Some(&[0, 1]),
        ),
        (
            "too many on two nodes",
            || GresRequest {
                per_node: 3,
                ..GresRequest::none(GPU)
            },
            |r| r.min_nodes = 2,
            None,
        ),
        (
            "of a model",
            || GresRequest {
                per_node: 1,
                ..GresRequest::none(A100)
            },
            |r| r.min_nodes = 2,
            Some(&[0, 2]),
        ),
        (
            "in all",
            || GresRequest {
                per_job: 7,
                ..GresRequest::none(GPU)
            },
            |_| {},
            Some(&[0, 1, 2]),
        ),
        (
            "too many in all",
            || GresRequest {
                per_job: 8,
                ..GresRequest::none(GPU)
            },
            |_| {},
            None,
        ),
        (
            "in all on one node",
            || GresRequest {
                per_job: 5,
                ..GresRequest::none(GPU)
            },
            |r| r.max_nodes = Some(1),
            None,
        ),
        (
            "for a task each",
            || GresRequest {
                per_task: 1,
                ..GresRequest::none(GPU)
            },
            |r| r.tasks = Some(6),
            Some(&[0, 1]),
        ),
        // Two tasks on the first node, one on the second.
        (
            "two for a task each",
            || GresRequest {
                per_task: 2,
                ..GresRequest::none(GPU)
            },
            |r| r.tasks = Some(3),
            Some(&[0, 1]),
        ),
        (
            "three for a task each",
            || GresRequest {
                per_task: 3,
                ..GresRequest::none(GPU)
            },
            |r| r.tasks = Some(2),
            None,
        ),
        (
            "with two cpus each",
            || GresRequest {
                per_job: 6,
                cpus_each: 2,
                ..GresRequest::none(GPU)
            },
            |_| {},
            Some(&[0, 1]),
        ),
        (
            "with three cpus each",
            || GresRequest {
                per_job: 4,
                cpus_each: 3,
                ..GresRequest::none(GPU)
            },
            |_| {},
            None,
        ),
        (
            "with one cpu each, for more tasks than that",
            || GresRequest {
                per_job: 1,
                cpus_each: 1,
                cpus_by_job: true,
                ..GresRequest::none(GPU)
            },
            |r| r.tasks = Some(6),
            Some(&[0, 1]),
        ),
        (
            "with memory each",
            || GresRequest {
                per_job: 3,
                memory_each_mib: 6_000,
                ..GresRequest::none(GPU)
            },
            |_| {},
            Some(&[0, 1]),
        ),
        (
            "with too much memory each",
            || GresRequest {
                per_node: 1,
                memory_each_mib: 16_001,
                ..GresRequest::none(GPU)
            },
            |_| {},
            None,
        ),
    ];
    for (name, gres, change, nodes) in table {
        let found = where_it_fits(&facts, |request| {
            request.gres.push(gres());
            change(request);
        });
        assert_eq!(found.as_deref(), nodes, "{name}");
    }
}

#[test]
fn who_leaves_gives_back_what_was_held() {
    let facts = crowded();
    let demand = Demand::of(&request(|request| request.min_nodes = 4));
    let mut ledger = Ledger::of(&facts);
    let whole = facts.job(JobId(13)).unwrap();
    let held = [&whole.holdings[0].amounts];
    assert_eq!(ledger.offer(NodeIndex(3), &demand), None);
    assert!(
        ledger
            .offer_without(NodeIndex(3), held.into_iter(), &demand)
            .is_some()
    );
    assert_eq!(ledger.occupants(NodeIndex(3)), [JobId(13)]);
    ledger.release(whole);
    assert!(ledger.fits(&demand).is_some());
    // Once only.
    ledger.release(whole);
    assert_eq!(ledger.occupants(NodeIndex(3)), []);
    assert_eq!(
        ledger.offer(NodeIndex(3), &demand).map(|offer| offer.gres(GPU)),
        Some(4)
    );
}

#[test]
fn what_is_set_aside_is_gone_for_the_next() {
    let mut facts = cluster(2);
    let mut ledger = Ledger::of(&facts);
    let five = request(|request| {
        request.candidates = request.candidates[..2].to_vec().into();
        request.gres.push(GresRequest {
            per_job: 5,
            memory_each_mib: 4_000,
            ..GresRequest::none(GPU)
        });
    });
    let five = Demand::of(&five);
    let nodes = ledger.fits(&five).unwrap();
    ledger.reserve(JobId(1), &five, &nodes);
    assert_eq!(ledger.fits(&five), None);
    let three = |request: &mut Request| {
        request.candidates = request.candidates[..2].to_vec().into();
        request.gres.push(GresRequest {
            per_node: 3,
            ..GresRequest::none(GPU)
        });
    };
    let place = ledger.fits(&Demand::of(&request(three)));
    assert_eq!(place, Some(vec![NodeIndex(1)]));
    let all_memory = request(|request| request.memory = MemoryRequest::PerNode(13_000));
    assert_eq!(ledger.fits(&Demand::of(&all_memory)), None);

    // Whole nodes are set aside whole.
    facts.running.clear();
    let mut ledger = Ledger::of(&facts);
    let whole = Demand::of(&request(|request| request.whole_node = true));
    ledger.reserve(JobId(1), &whole, &[NodeIndex(0)]);
    assert_eq!(ledger.fits(&whole), Some(vec![NodeIndex(1)]));
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A full cluster of any size: eight GPUs a node, shared evenly by so many jobs, some of which span nodes.

use surgent::policy::directives::{Directives, SaveKind};
use surgent::policy::facts::{
    Availability, Facts, GresRequest, Holding, MemoryRequest, Node, Request, RunningJob, WaitingJob,
};
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::resources::Amounts;
use surgent::policy::units::{Seconds, UnixTime};

pub const NOW: i64 = 1_764_410_000;
const CPUS: u32 = 120;
const GPUS: u64 = 40;
/// One job in so many spans nodes.
const SPANNING: u32 = 20;
const SPAN: u32 = 4;

/// `nodes` nodes with `jobs_per_node` jobs on each, and `urgent` urgent jobs of eight nodes that each need a fifth of a
/// node's GPUs there.
pub fn full(nodes: u32, jobs_per_node: u32, urgent: u32) -> Facts {
    let mut facts = Facts::at(UnixTime(NOW));
    for index in 0..nodes {
        let mut total = Amounts::new(CPUS, u64::from(CPUS) * 4000);
        facts.gres.add(&mut total, "gpu", Some("h100"), GPUS);
        facts.nodes.push(Node {
            index: NodeIndex(index),
            name: format!("node{index}"),
            availability: Availability::Up,
            total,
            cpus_per_core: 1,
        });
    }
    let mut share = Amounts::new(CPUS / jobs_per_node, u64::from(CPUS / jobs_per_node) * 4000);
    facts
        .gres
        .add(&mut share, "gpu", Some("h100"), GPUS / u64::from(jobs_per_node));
    let mut id = 0;
    for first in (0..nodes).step_by(SPAN as usize) {
        let span = SPAN.min(nodes - first);
        for seat in 0..jobs_per_node {
            let places: Vec<Vec<u32>> = match id % SPANNING {
                0 => vec![(first..first + span).collect()],
                _ => (first..first + span).map(|node| vec![node]).collect(),
            };
            for on in places {
                id += 1;
                facts.running.push(job(id, seat, &on, &share));
            }
        }
    }
    let gpu = facts.gres.id("gpu", None);
    for at in 0..urgent {
        let request = Request {
            min_nodes: 8,
            max_nodes: Some(8),
            cpus_per_task: 1,
            memory: MemoryRequest::PerNode(100_000),
            gres: vec![GresRequest {
                per_node: GPUS / 2,
                ..GresRequest::none(gpu)
            }],
            candidates: (0..nodes).map(NodeIndex).collect(),
            ..Request::default()
        };
        let id = JobId(10_000_000 + at);
        facts
            .waiting
            .push(WaitingJob::new(id, 1000 - at, UnixTime(NOW - 60), request));
    }
    facts
}

fn job(id: u32, seat: u32, on: &[u32], share: &Amounts) -> RunningJob {
    // Different for each job and the same every time.
    let vary = |salt: u32, below: u32| (id.wrapping_mul(2_654_435_761).rotate_left(salt) >> 7) % below;
    let save = match seat % 4 {
        0 => SaveKind::Epoch,
        _ => SaveKind::Step,
    };
    let start = UnixTime(NOW - 4000 - i64::from(vary(1, 100_000)));
    RunningJob {
        end: Some(UnixTime(NOW + 10_000 + i64::from(vary(2, 100_000)))),
        holdings: on
            .iter()
            .map(|node| Holding {
                node: NodeIndex(*node),
                amounts: share.clone(),
            })
            .collect(),
        directives: Some(Directives {
            epochs: Some(100),
            epoch: Some(f64::from(vary(3, 1000)) / 1000.0),
            epoch_s: Some(Seconds(60.0 + f64::from(vary(4, 300)))),
            at: Some(UnixTime(NOW - i64::from(vary(5, 3000)))),
            save: Some(save),
            save_s: Some(Seconds(f64::from(5 + vary(6, 60)))),
            saved: Some(UnixTime(NOW - i64::from(vary(7, 4000)))),
            signal: "USR1@batch".parse().ok(),
            priority: u8::try_from(vary(8, 101)).ok(),
            ..Directives::default()
        }),
        ..RunningJob::new(JobId(id), start)
    }
}

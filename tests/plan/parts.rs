// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes and jobs of which the tests build their clusters.

use crate::cluster::NOW;
use surgent::policy::facts::{Availability, GresRequest, Node, WaitingJob};
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::request::Request;
use surgent::policy::resources::{Amounts, GresId};
use surgent::policy::units::UnixTime;

/// A node that is up.
pub fn node(index: u32, total: Amounts) -> Node {
    Node {
        index: NodeIndex(index),
        name: format!("n{index}"),
        availability: Availability::Up,
        total,
        cpus_per_core: 1,
    }
}

/// An urgent job that Slurm has tried to start.
pub fn waiting(id: u32, request: Request) -> WaitingJob {
    WaitingJob {
        application: None,
        id: JobId(id),
        priority: 1,
        submit: UnixTime(NOW - 100),
        blocked: false,
        hindrance: None,
        tested: true,
        request,
        tasks: 1,
        het: None,
        worth: None,
        record: None,
        admin_comment: Vec::new(),
    }
}

/// So many for the whole job; none is not asked for.
pub fn in_all(id: GresId, count: u64) -> Vec<GresRequest> {
    let request = GresRequest {
        id,
        per_node: 0,
        per_job: count,
        per_task: 0,
        cpus_each: 0,
        cpus_by_job: false,
        memory_each_mib: 0,
    };
    Vec::from_iter((count > 0).then_some(request))
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes and jobs of which the tests build their clusters.

use crate::cluster::NOW;
use surgent::policy::facts::{GresRequest, Node, WaitingJob};
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::request::Request;
use surgent::policy::resources::{Amounts, GresId};
use surgent::policy::units::UnixTime;

/// A node that is up.
pub fn node(index: u32, total: Amounts) -> Node {
    Node::new(NodeIndex(index), format!("n{index}"), total)
}

/// An urgent job that Slurm has tried to start.
pub fn waiting(id: u32, request: Request) -> WaitingJob {
    WaitingJob::new(JobId(id), 1, UnixTime(NOW - 100), request)
}

/// So many for the whole job; none is not asked for.
pub fn in_all(id: GresId, count: u64) -> Vec<GresRequest> {
    let request = GresRequest {
        per_job: count,
        ..GresRequest::none(id)
    };
    Vec::from_iter((count > 0).then_some(request))
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The normal queue: first in, first out, with EASY backfill (Lifka, "The ANL/IBM SP scheduling system", 1995), which
//! starts a later job if the first one is not delayed by that.

use super::room::{Room, Shape};

/// So many waiting jobs are looked at in one round, as Slurm's `bf_max_job_test` has it by default.
const TESTED_MAX: usize = 500;

/// A job that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Its place in the workload.
    pub at: usize,
    /// What it takes.
    pub shape: Shape,
    /// How long it may hold that, by its time limit.
    pub limit_s: i64,
}

/// A job that runs.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// When its time limit is over.
    pub end_s: i64,
    /// GPUs on each of its nodes.
    pub gpus: u32,
    /// Its nodes.
    pub nodes: &'a [u32],
}

/// The jobs that start now, and where, in this order. `waiting` are in order; `holders` are asked for where the first
/// ones do not fit.
pub fn starts<'a>(
    room: &Room,
    waiting: impl Iterator<Item = Waiting>,
    holders: impl FnOnce() -> Vec<Holder<'a>>,
    now_s: i64,
) -> Vec<(usize, Vec<u32>)> {
    let mut room = room.clone();
    let mut starts = Vec::new();
    let mut waiting = waiting.take(TESTED_MAX).peekable();
    let mut begun = Vec::new();
    while let Some(job) = waiting.next_if(|job| room.has(job.shape)) {
        if let Some(nodes) = room.place(job.shape) {
            take(&mut room, job.shape, &nodes);
            begun.push((now_s + job.limit_s, job.shape.gpus, nodes.clone()));
            starts.push((job.at, nodes));
        }
    }
    let Some(head) = waiting.next() else {
        return starts;
    };
    // Nothing is smaller than one GPU.
    if !room.has(Shape { nodes: 1, gpus: 1 }) {
        return starts;
    }
    let mut holders = holders();
    holders.extend(begun.iter().map(|(end_s, gpus, nodes)| Holder {
        end_s: *end_s,
        gpus: *gpus,
        nodes,
    }));
    let mut shadow = Shadow::new(&room, head.shape, holders);
    for job in waiting {
        if !room.has(job.shape) {
            continue;
        }
        let ends_before = now_s + job.limit_s <= shadow.start_s;
        let usable = |node| match ends_before {
            true => room.on(node),
            false => room.on(node).min(shadow.spare[node as usize]),
        };
        if let Some(nodes) = room.place_within(job.shape, usable) {
            take(&mut room, job.shape, &nodes);
            if !ends_before {
                shadow.take(job.shape, &nodes);
            }
            starts.push((job.at, nodes));
        }
    }
    starts
}

fn take(room: &mut Room, shape: Shape, nodes: &[u32]) {
    for node in nodes {
        room.take(*node, shape.gpus);
    }
}

/// When and where the first job of the queue is going to start.
struct Shadow {
    start_s: i64,
    /// By node: what is left then.
    spare: Vec<u32>,
}

impl Shadow {
    fn new(room: &Room, head: Shape, mut holders: Vec<Holder<'_>>) -> Self {
        let mut then = room.clone();
        holders.sort_by_key(|holder| holder.end_s);
        for holder in holders {
            for node in holder.nodes {
                then.give(*node, holder.gpus);
            }
            if let Some(nodes) = then.place(head) {
                take(&mut then, head, &nodes);
                return Self {
                    start_s: holder.end_s,
                    spare: (0..then.nodes()).map(|node| then.on(node)).collect(),
                };
            }
        }
        // It never fits, as where nodes are set aside for urgent jobs: nobody has to mind it.
        Self {
            start_s: i64::MAX,
            spare: vec![u32::MAX; room.nodes() as usize],
        }
    }

    fn take(&mut self, shape: Shape, nodes: &[u32]) {
        for node in nodes {
            self.spare[*node as usize] = self.spare[*node as usize].saturating_sub(shape.gpus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::workload::Machine;

    fn waiting(at: usize, nodes: u32, gpus: u32, limit_s: i64) -> Waiting {
        Waiting {
            at,
            shape: Shape { nodes, gpus },
            limit_s,
        }
    }

    #[test]
    fn later_jobs_start_only_where_they_do_not_delay_the_first() {
        let mut room = Room::new(Machine {
            nodes: 2,
            gpus_per_node: 4,
        });
        room.take(0, 4);
        room.take(1, 2);
        let holders = || {
            vec![
                Holder {
                    end_s: 100,
                    gpus: 4,
                    nodes: &[0],
                },
                Holder {
                    end_s: 200,
                    gpus: 2,
                    nodes: &[1],
                },
            ]
        };
        let queue = [
            waiting(0, 1, 4, 50),   // the head: starts on node 0 at 100
            waiting(1, 1, 1, 1000), // on node 1, which the head does not need
            waiting(2, 2, 1, 10),   // node 0 is full
            waiting(3, 1, 1, 1000),
            waiting(4, 1, 1, 1000), // nothing is left
        ];
        let started = starts(&room, queue.into_iter(), holders, 0);
        assert_eq!(started, [(1, vec![1]), (3, vec![1])]);

        // A head that needs both nodes lets only those in that end before.
        let queue = [waiting(0, 2, 4, 50), waiting(1, 1, 1, 201), waiting(2, 1, 1, 200)];
        assert_eq!(starts(&room, queue.into_iter(), holders, 0), [(2, vec![1])]);
    }
}

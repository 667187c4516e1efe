// SPDX-License-Identifier: GPL-2.0-or-later
//! Free GPUs, node by node.

use crate::replay::workload::{Job, Machine};

/// What a job takes: so many GPUs on each of so many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes.
    pub nodes: u32,
    /// GPUs on each.
    pub gpus: u32,
}

impl Shape {
    /// What `job` takes.
    pub fn of(job: &Job) -> Self {
        Self {
            nodes: job.nodes,
            gpus: job.gpus_per_node,
        }
    }
}

/// The free GPUs of every node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    free: Vec<u32>,
    /// At place g: how many nodes have at least g GPUs free.
    with: Vec<u32>,
}

impl Room {
    /// An empty machine.
    pub fn new(machine: Machine) -> Self {
        Self {
            free: vec![machine.gpus_per_node; machine.nodes as usize],
            with: vec![machine.nodes; machine.gpus_per_node as usize + 1],
        }
    }

    /// Free GPUs of `node`.
    pub fn on(&self, node: u32) -> u32 {
        self.free[node as usize]
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        // Made from a u32.
        self.free.len() as u32
    }

    /// Takes GPUs of a node that has them free.
    pub fn take(&mut self, node: u32, gpus: u32) {
        let free = &mut self.free[node as usize];
        for level in (*free - gpus + 1)..=*free {
            self.with[level as usize] -= 1;
        }
        *free -= gpus;
    }

    /// Gives GPUs back.
    pub fn give(&mut self, node: u32, gpus: u32) {
        let free = &mut self.free[node as usize];
        for level in (*free + 1)..=(*free + gpus) {
            self.with[level as usize] += 1;
        }
        *free += gpus;
    }

    /// Whether there is room for `shape`.
    pub fn has(&self, shape: Shape) -> bool {
        self.with
            .get(shape.gpus as usize)
            .is_some_and(|nodes| *nodes >= shape.nodes)
    }

    /// Nodes for `shape`: those that are left with the fewest GPUs, as Slurm packs them.
    pub fn place(&self, shape: Shape) -> Option<Vec<u32>> {
        self.place_within(shape, |node| self.on(node))
    }

    /// The same where `usable` GPUs of a node can be had, no more than are free.
    pub fn place_within(&self, shape: Shape, usable: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
        if !self.has(shape) {
            return None;
        }
        let mut fit: Vec<(u32, u32)> = (0..self.nodes())
            .filter(|node| usable(*node) >= shape.gpus)
            .map(|node| (self.on(node), node))
            .collect();
        let wanted = shape.nodes as usize;
        if fit.len() < wanted {
            return None;
        }
        if fit.len() > wanted {
            fit.select_nth_unstable(wanted - 1);
            fit.truncate(wanted);
        }
        let mut nodes: Vec<u32> = fit.into_iter().map(|(_, node)| node).collect();
        nodes.sort_unstable();
        Some(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_nodes_that_do_are_taken() {
        let mut room = Room::new(Machine {
            nodes: 4,
            gpus_per_node: 8,
        });
        room.take(1, 6);
        room.take(2, 3);
        let shape = |nodes, gpus| Shape { nodes, gpus };
        assert_eq!(room.place(shape(1, 2)), Some(vec![1]));
        assert_eq!(room.place(shape(2, 3)), Some(vec![0, 2]));
        assert_eq!(room.place(shape(3, 5)), Some(vec![0, 2, 3]));
        assert_eq!(room.place(shape(3, 6)), None);
        assert_eq!(room.place(shape(1, 9)), None);
        room.give(1, 6);
        room.give(2, 3);
        assert_eq!(room.place(shape(4, 8)), Some(vec![0, 1, 2, 3]));
        assert_eq!(
            room.place_within(shape(1, 8), |node| if node == 3 { 8 } else { 0 }),
            Some(vec![3])
        );
    }
}

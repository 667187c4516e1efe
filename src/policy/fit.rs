// SPDX-License-Identifier: GPL-2.0-or-later
//! Would a job fit? What is free on every node, and what a job needs of a set of nodes.
//!
//! This follows what Slurm's select/cons_tres checks for nodes, CPUs, memory and generic resources. Slurm has the
//! last word: a plan that it does not agree with is given up, never forced.

use super::facts::{Availability, Facts, MemoryRequest, Request, RunningJob};
use super::ids::{JobId, NodeIndex};
use super::resources::Amounts;

/// What each usable node has free, and who is on it.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Sorted by node.
    slots: Vec<Slot>,
}

/// One usable node in a [`Ledger`].
#[derive(Clone, Debug)]
struct Slot {
    node: NodeIndex,
    total: Amounts,
    free: Amounts,
    /// Who holds something here: running jobs, and urgent jobs for which room was set aside.
    occupants: Vec<JobId>,
}

impl Ledger {
    /// The cluster as it is. Nodes that can take no job are left out.
    pub fn of(facts: &Facts) -> Self {
        let mut slots: Vec<Slot> = facts
            .nodes
            .iter()
            .filter(|node| node.availability == Availability::Up)
            .map(|node| Slot {
                node: node.index,
                total: node.total.clone(),
                free: node.total.clone(),
                occupants: Vec::new(),
            })
            .collect();
        slots.sort_by_key(|slot| slot.node);
        let mut ledger = Self { slots };
        for job in facts.running.iter().filter(|job| !job.traits.completing) {
            for holding in &job.holdings {
                ledger.occupy(holding.node, job.id, &holding.amounts, job.traits.whole_node);
            }
        }
        ledger
    }

    fn position(&self, node: NodeIndex) -> Option<usize> {
        // Where every node is usable, its index is its place.
        let guess = node.0 as usize;
        if self.slots.get(guess).is_some_and(|slot| slot.node == node) {
            return Some(guess);
        }
        self.slots.binary_search_by_key(&node, |slot| slot.node).ok()
    }

    fn slot(&self, node: NodeIndex) -> Option<&Slot> {
        self.slots.get(self.position(node)?)
    }

    fn slot_mut(&mut self, node: NodeIndex) -> Option<&mut Slot> {
        let at = self.position(node)?;
        self.slots.get_mut(at)
    }

    /// Gives back all that `job` holds.
    pub fn release(&mut self, job: &RunningJob) {
        for holding in &job.holdings {
            let Some(slot) = self.slot_mut(holding.node) else {
                continue;
            };
            let Some(at) = slot.occupants.iter().position(|id| *id == job.id) else {
                continue;
            };
            slot.occupants.remove(at);
            if slot.occupants.is_empty() {
                slot.free = slot.total.clone();
            } else {
                slot.free.add(&holding.amounts);
            }
        }
    }

    /// Sets room aside on `nodes` for a waiting job, so that the next one does not count on it too.
    ///
    /// Totals are taken from the nodes in order, as much as each has beyond the share that every node must give.
    pub fn reserve(&mut self, id: JobId, demand: &Demand, nodes: &[NodeIndex]) {
        let mut open = demand.total.clone();
        for &node in nodes {
            let Some(offer) = self.offer(node, demand) else {
                continue;
            };
            let mut share = demand.per_node.clone();
            share.cpus = share.cpus.max(open.cpus.min(offer.cpus));
            for &(kind, left) in open.clone().gres_counts() {
                let have = share.gres(kind);
                share.add_gres(kind, left.min(offer.gres(kind)).saturating_sub(have));
            }
            match demand.memory {
                MemoryRequest::PerCpu(mib) => share.memory_mib = mib.saturating_mul(u64::from(share.cpus)),
                MemoryRequest::AllOfNode => share.memory_mib = offer.memory_mib,
                MemoryRequest::PerNode(_) | MemoryRequest::Unsaid => {}
            }
            open.take(&share);
            self.occupy(node, id, &share, demand.whole_node);
        }
    }

    /// The jobs that hold something on `node`.
    pub fn occupants(&self, node: NodeIndex) -> &[JobId] {
        self.slot(node).map_or(&[], |slot| &slot.occupants)
    }

    /// What `node` can give to `demand` as things are, or `None` where that is less than every node must give.
    pub fn offer(&self, node: NodeIndex, demand: &Demand) -> Option<Amounts> {
        let slot = self.slot(node)?;
        slot.offer(&slot.free, !slot.occupants.is_empty(), demand)
    }

    /// What `node` could give to `demand` if each of `gone` had left it: jobs that are on it, with what they hold there.
    ///
    /// The more are gone, the more it offers.
    pub fn offer_without<'a>(
        &self,
        node: NodeIndex,
        gone: impl ExactSizeIterator<Item = &'a Amounts>,
        demand: &Demand,
    ) -> Option<Amounts> {
        let slot = self.slot(node)?;
        if gone.len() >= slot.occupants.len() {
            return slot.offer(&slot.total, false, demand);
        }
        let mut free = slot.free.clone();
        for held in gone {
            free.add(held);
        }
        slot.offer(&free, true, demand)
    }

    /// A set of `candidates` on which `demand` fits as things are, or `None`.
    pub fn fits(&self, demand: &Demand) -> Option<Vec<NodeIndex>> {
        let offers = demand
            .candidates
            .iter()
            .filter_map(|&node| Some((node, self.offer(node, demand)?)))
            .collect();
        demand.choose(offers)
    }

    fn occupy(&mut self, node: NodeIndex, id: JobId, amounts: &Amounts, whole_node: bool) {
        if let Some(slot) = self.slot_mut(node) {
            slot.free.take(amounts);
            if whole_node {
                slot.free = Amounts::default();
            }
            slot.occupants.push(id);
        }
    }
}

impl Slot {
    /// See [`Ledger::offer`]; with `free` in the place of what is free now.
    fn offer(&self, free: &Amounts, occupied: bool, demand: &Demand) -> Option<Amounts> {
        if demand.whole_node && occupied {
            return None;
        }
        if demand.memory == MemoryRequest::AllOfNode && free.memory_mib < self.total.memory_mib {
            return None;
        }
        let mut offer = free.clone();
        if let MemoryRequest::PerCpu(mib) = demand.memory {
            let by_memory = offer.memory_mib / mib.max(1);
            offer.cpus = offer.cpus.min(u32::try_from(by_memory).unwrap_or(u32::MAX));
        }
        offer.covers(&demand.per_node).then_some(offer)
    }
}

/// A [`Request`] worked out into what each node and all nodes together must give.
#[derive(Clone, Debug)]
pub struct Demand {
    /// At least so many nodes.
    pub min_nodes: usize,
    /// At most so many nodes.
    pub max_nodes: usize,
    /// What every node must give.
    pub per_node: Amounts,
    /// What all nodes must give together: CPUs and generic resources.
    pub total: Amounts,
    /// Memory, where it goes by CPU.
    pub memory: MemoryRequest,
    /// Whole nodes.
    pub whole_node: bool,
    /// Nodes that it may use, sorted.
    pub candidates: Vec<NodeIndex>,
    /// Nodes that it must have.
    pub required: Vec<NodeIndex>,
}

impl Demand {
    /// Works out `request`.
    pub fn of(request: &Request) -> Self {
        let cpus_per_task = request.cpus_per_task.max(1);
        let min_nodes = request.min_nodes.max(1);
        let tasks = match (request.tasks, request.tasks_per_node) {
            (Some(tasks), _) => tasks,
            (None, Some(per_node)) => per_node.saturating_mul(min_nodes),
            (None, None) => min_nodes,
        };
        let tasks_on_node = request.tasks_per_node.unwrap_or(1).max(1);
        let cpus_per_node = request
            .cpus_per_node
            .max(tasks_on_node.saturating_mul(cpus_per_task));
        let cpus_total = request
            .min_cpus
            .max(tasks.saturating_mul(cpus_per_task))
            .max(cpus_per_node.saturating_mul(min_nodes));

        let memory_mib = match request.memory {
            MemoryRequest::PerNode(mib) => mib,
            MemoryRequest::PerCpu(mib) => mib.saturating_mul(u64::from(cpus_per_node)),
            MemoryRequest::Unsaid | MemoryRequest::AllOfNode => 0,
        };
        let mut per_node = Amounts::new(cpus_per_node, memory_mib);
        let mut total = Amounts::new(cpus_total, 0);
        for gres in &request.gres {
            let on_node = gres
                .per_node
                .max(gres.per_task.saturating_mul(u64::from(tasks_on_node)));
            let in_all = gres
                .per_job
                .max(gres.per_task.saturating_mul(u64::from(tasks)))
                .max(on_node.saturating_mul(u64::from(min_nodes)));
            per_node.add_gres(gres.id, on_node);
            total.add_gres(gres.id, in_all);
        }
        let mut candidates = request.candidates.clone();
        candidates.sort_unstable();
        Self {
            min_nodes: min_nodes as usize,
            max_nodes: request
                .max_nodes
                .map_or(usize::MAX, |most| most.max(min_nodes) as usize),
            per_node,
            total,
            memory: request.memory,
            whole_node: request.whole_node,
            candidates,
            required: request.required.clone(),
        }
    }

    /// The nodes among `offers` (what each can give, from [`Ledger::offer`]) on which this fits together, or `None`.
    ///
    /// Takes the required nodes, then those that offer most, so that the fewest are used.
    pub fn choose(&self, mut offers: Vec<(NodeIndex, Amounts)>) -> Option<Vec<NodeIndex>> {
        let scarce = self.total.gres_counts().first().map(|entry| entry.0);
        offers.sort_by_key(|(node, offer)| {
            let wanted = !self.required.contains(node);
            let rich = scarce.map_or(u64::from(offer.cpus), |kind| offer.gres(kind));
            (wanted, std::cmp::Reverse(rich), *node)
        });
        let mut open = self.total.clone();
        let mut nodes = Vec::new();
        for (node, offer) in offers {
            let enough = nodes.len() >= self.min_nodes && open == Amounts::default();
            if enough || nodes.len() == self.max_nodes {
                break;
            }
            open.take(&offer);
            nodes.push(node);
        }
        let satisfied = nodes.len() >= self.min_nodes
            && open == Amounts::default()
            && self.required.iter().all(|node| nodes.contains(node));
        satisfied.then_some(nodes)
    }

    /// This demand spread evenly over exactly `nodes` nodes: each then gives its part of the totals.
    pub fn spread_over(&self, nodes: usize) -> Self {
        let parts = nodes.max(1);
        let mut even = self.clone();
        even.min_nodes = parts;
        even.max_nodes = parts;
        let cpus = u32::try_from((self.total.cpus as usize).div_ceil(parts)).unwrap_or(u32::MAX);
        even.per_node.cpus = even.per_node.cpus.max(cpus);
        for &(kind, count) in self.total.gres_counts() {
            let part = count.div_ceil(parts as u64);
            let have = even.per_node.gres(kind);
            even.per_node.add_gres(kind, part.saturating_sub(have));
        }
        if let MemoryRequest::PerCpu(mib) = self.memory {
            even.per_node.memory_mib = mib.saturating_mul(u64::from(even.per_node.cpus));
        }
        even
    }

    /// The numbers of nodes worth trying: from the fewest that may do to the most that may help.
    pub fn node_counts(&self) -> std::ops::RangeInclusive<usize> {
        let most_useful = (self.total.cpus as usize).max(self.min_nodes);
        let most = self.max_nodes.min(self.candidates.len()).min(most_useful);
        self.min_nodes..=most
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Would a job fit? What is free on every node, and who is in the way.
//!
//! This follows what Slurm's select/cons_tres checks for nodes, CPUs, memory and generic resources. Slurm has the
//! last word: a plan that it does not agree with is given up, never forced.

pub use super::demand::Demand;
use super::facts::{Availability, Facts, MemoryRequest, Node, RunningJob};
use super::ids::{JobId, NodeIndex, UserId};
use super::looks::Looks;
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
    /// Memory and generic resources.
    free: Amounts,
    /// CPUs in use, counted once for each job that uses them.
    used_cpus: u64,
    cpus_per_core: u32,
    /// Who holds something here: running jobs, and urgent jobs for which room was set aside.
    occupants: Vec<JobId>,
    /// Its occupant lets nobody else in.
    exclusive: bool,
    /// Whether its occupants share CPUs; `None` without any.
    shared: Option<bool>,
    /// It is in a reservation.
    reserved: bool,
    users: Users,
    /// Whose jobs alone it is kept for.
    owner: Option<UserId>,
}

/// Whose jobs are on a node, but for those that have it alone.
///
/// This stays as it is when jobs are released: for `--exclusive=user`, Slurm looks at who is there before it looks at
/// who might make way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Users {
    #[default]
    Nobody,
    One(UserId),
    Several,
}

/// What somebody takes of a node.
struct Share<'a> {
    id: JobId,
    user: Option<UserId>,
    amounts: &'a Amounts,
    whole_node: bool,
    user_node: bool,
    shared: bool,
}

impl Ledger {
    /// The cluster as it is. Nodes that can take no job are left out.
    pub fn of(facts: &Facts) -> Self {
        let usable = |node: &&Node| matches!(node.availability, Availability::Up | Availability::Reserved);
        let mut slots: Vec<Slot> = facts.nodes.iter().filter(usable).map(Slot::of).collect();
        slots.sort_by_key(|slot| slot.node);
        let mut ledger = Self { slots };
        for job in facts.running.iter().filter(|job| !job.traits.completing) {
            for holding in &job.holdings {
                let share = Share {
                    id: job.id,
                    user: Some(job.user),
                    amounts: &holding.amounts,
                    whole_node: job.traits.whole_node,
                    user_node: job.traits.user_node,
                    shared: job.traits.shared,
                };
                ledger.occupy(holding.node, &share);
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
            self.release_on(holding.node, job.id, &holding.amounts);
        }
    }

    /// Sets room aside on `nodes` for a waiting job, so that the next one does not count on it too.
    ///
    /// `nodes` are what [`Ledger::fits`] or [`Demand::choose`] gave. Totals are taken from the nodes in order, as much as
    /// each has beyond the share that every node must give.
    pub fn reserve(&mut self, id: JobId, demand: &Demand, nodes: &[NodeIndex]) {
        let demand = demand.way_onto(nodes);
        let mut open = demand.total.clone();
        for &node in nodes {
            let Some((offer, slot)) = self.offer(node, demand).zip(self.slot(node)) else {
                continue;
            };
            let taken = demand.share(&offer, &open);
            open.take(&taken);
            let amounts = demand.held(&taken, &slot.total, slot.cpus_per_core);
            let share = Share {
                id,
                user: demand.user,
                amounts: &amounts,
                whole_node: demand.whole_node,
                user_node: demand.user_node,
                shared: demand.jobs_per_cpu.is_some(),
            };
            self.occupy(node, &share);
        }
    }

    /// The jobs that hold something on `node`.
    pub fn occupants(&self, node: NodeIndex) -> &[JobId] {
        self.slot(node).map_or(&[], |slot| &slot.occupants)
    }

    /// What nobody holds on `node`, whether or not it can be used; CPUs that jobs share count as held by each.
    pub fn free(&self, node: NodeIndex) -> Option<&Amounts> {
        Some(&self.slot(node)?.free)
    }

    /// What `node` can give to `demand` as things are, or `None` where that is less than every node must give.
    pub fn offer(&self, node: NodeIndex, demand: &Demand) -> Option<Amounts> {
        let slot = self.slot(node)?;
        slot.offer(&slot.free, slot.used_cpus, !slot.occupants.is_empty(), demand)
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
            return slot.offer(&slot.total, 0, false, demand);
        }
        let mut free = slot.free.clone();
        let mut used_cpus = slot.used_cpus;
        for held in gone {
            free.add(held);
            used_cpus = used_cpus.saturating_sub(u64::from(held.cpus));
        }
        slot.offer(&free, used_cpus, true, demand)
    }

    /// A set of nodes on which `demand` fits as things are, in whatever way, or `None`.
    pub fn fits(&self, demand: &Demand) -> Option<Vec<NodeIndex>> {
        self.fits_counted(demand, &Looks::up_to(u64::MAX))
    }

    /// The same; what it takes is charged to `looks`.
    pub(super) fn fits_counted(&self, demand: &Demand, looks: &Looks) -> Option<Vec<NodeIndex>> {
        demand.ways().find_map(|way| {
            looks.take(way.candidates.len() as u64);
            let offers = way
                .candidates
                .iter()
                .filter_map(|&node| Some((node, self.offer(node, way)?)))
                .collect();
            way.choose_counted(offers, looks)
        })
    }

    /// Makes `node` what it is in `other`, which has the same nodes.
    pub(super) fn restore(&mut self, node: NodeIndex, other: &Self) {
        if let Some((slot, known)) = self.position(node).zip(other.slot(node)) {
            self.slots[slot] = known.clone();
        }
    }

    /// Gives back what a job holds on one node.
    pub(super) fn release_on(&mut self, node: NodeIndex, job: JobId, held: &Amounts) {
        if let Some(slot) = self.slot_mut(node) {
            slot.release(job, held);
        }
    }

    /// How many nodes there are.
    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    fn occupy(&mut self, node: NodeIndex, share: &Share<'_>) {
        if let Some(slot) = self.slot_mut(node) {
            slot.occupy(share);
        }
    }
}

impl Slot {
    fn of(node: &Node) -> Self {
        Self {
            node: node.index,
            total: node.total.clone(),
            free: node.total.clone(),
            used_cpus: 0,
            cpus_per_core: node.cpus_per_core.max(1),
            occupants: Vec::new(),
            exclusive: false,
            shared: None,
            reserved: node.availability == Availability::Reserved,
            users: Users::Nobody,
            owner: None,
        }
    }

    fn occupy(&mut self, share: &Share<'_>) {
        self.free.take(share.amounts);
        self.used_cpus += u64::from(share.amounts.cpus);
        self.occupants.push(share.id);
        self.exclusive |= share.whole_node;
        self.shared = Some(share.shared || self.shared == Some(true));
        if share.user_node {
            self.owner = share.user.or(self.owner);
        }
        if let Some(user) = share.user.filter(|_| !share.whole_node) {
            self.users = match self.users {
                Users::Nobody => Users::One(user),
                Users::One(other) if other == user => self.users,
                _ => Users::Several,
            };
        }
    }

    fn release(&mut self, id: JobId, held: &Amounts) {
        let Some(at) = self.occupants.iter().position(|occupant| *occupant == id) else {
            return;
        };
        self.occupants.remove(at);
        self.used_cpus = self.used_cpus.saturating_sub(u64::from(held.cpus));
        self.free.add(held);
        if self.occupants.is_empty() {
            self.free = self.total.clone();
            self.used_cpus = 0;
            self.exclusive = false;
            self.shared = None;
        }
    }

    /// Whether `demand` may be here at all, beside the occupants.
    fn admits(&self, occupied: bool, demand: &Demand) -> bool {
        let among_others = occupied
            && (self.exclusive || demand.whole_node || self.shared != Some(demand.jobs_per_cpu.is_some()));
        let foreign = demand.user.is_some_and(|user| {
            self.owner.is_some_and(|owner| owner != user)
                || demand.user_node && self.users != Users::Nobody && self.users != Users::One(user)
        });
        !among_others && !foreign && (demand.in_reservation || !self.reserved)
    }

    /// See [`Ledger::offer`]; with `free` and `used_cpus` in the place of what is so now.
    fn offer(&self, free: &Amounts, used_cpus: u64, occupied: bool, demand: &Demand) -> Option<Amounts> {
        if !self.admits(occupied, demand) {
            return None;
        }
        if demand.memory == MemoryRequest::AllOfNode && free.memory_mib < self.total.memory_mib {
            return None;
        }
        let jobs_per_cpu = u64::from(demand.jobs_per_cpu.unwrap_or(1).max(1));
        let all_cpus = u64::from(self.total.cpus).saturating_mul(jobs_per_cpu);
        let free_cpus = all_cpus.saturating_sub(used_cpus).min(u64::from(self.total.cpus));
        let mut offer = free.clone();
        offer.cpus = u32::try_from(free_cpus).unwrap_or(u32::MAX);
        demand.limit(self.node, self.cpus_per_core, &mut offer)?;
        offer.covers(&demand.per_node).then_some(offer)
    }
}

#[cfg(test)]
mod tests;

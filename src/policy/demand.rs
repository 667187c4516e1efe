// SPDX-License-Identifier: GPL-2.0-or-later
//! What a job needs of a node, and of several together.

mod choose;

use super::ids::{NodeIndex, UserId};
use super::node_set::NodeSet;
use super::request::{Choice, Counted, MemoryRequest, Request};
use super::resources::{Amounts, GresId};
use smallvec::SmallVec;

/// A [`Request`] worked out into what each node and all nodes together must give.
#[derive(Clone, Debug)]
pub struct Demand {
    /// At least so many nodes.
    pub min_nodes: usize,
    /// At most so many nodes.
    pub max_nodes: usize,
    /// What every node must give.
    pub per_node: Amounts,
    /// What all nodes must give together: CPUs, generic resources, and nodes of a kind, which are counted in the same way.
    pub total: Amounts,
    /// Memory.
    pub memory: MemoryRequest,
    /// Whole nodes.
    pub whole_node: bool,
    /// Nodes that it may use.
    pub candidates: NodeSet,
    /// Nodes that it must have, sorted.
    pub required: Vec<NodeIndex>,
    /// Whose it is; `None` where that does not matter.
    pub(super) user: Option<UserId>,
    /// Nodes that no other user's job is on.
    pub(super) user_node: bool,
    /// It may use reserved nodes among its candidates.
    pub(super) in_reservation: bool,
    /// So many jobs may use a CPU at once; `None` where CPUs are not shared.
    pub(super) jobs_per_cpu: Option<u32>,
    /// Of each task; 0 where tasks need none of their own.
    cpus_per_task: u32,
    /// At most so many on each node.
    tasks_per_node: Option<u32>,
    /// CPUs of each core that it can use.
    cpus_per_core: Option<u32>,
    /// CPUs on each node at least, whatever the tasks need.
    cpus_per_node: u32,
    companions: SmallVec<[Companion; 2]>,
    kinds: Vec<Kind>,
    /// The same job on other sets of nodes.
    others: Vec<Demand>,
}

/// What nodes that were taken do not give yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// So many nodes more at least.
    pub nodes: usize,
    /// Of the totals.
    pub open: Amounts,
}

/// What comes with each of a generic resource, and what it comes with.
#[derive(Clone, Copy, Debug)]
struct Companion {
    id: GresId,
    per_task: u64,
    cpus_each: u32,
    /// Of a node, the job counts only the CPUs that come with these.
    cpus_alone: bool,
    memory_each_mib: u64,
}

/// Nodes of a kind, or something that they have; counted like one more generic resource.
#[derive(Clone, Debug)]
struct Kind {
    id: GresId,
    nodes: NodeSet,
    /// What is counted; the nodes themselves if `None`.
    of: Option<GresId>,
}

/// Kinds of nodes have ids from this on, far from those of generic resources.
const KINDS_FROM: u32 = 1 << 31;

impl Demand {
    /// Works out `request`: in the way that Slurm tries first, with the others beside it (see [`Demand::ways`]).
    pub fn of(request: &Request) -> Self {
        let only = [Choice {
            nodes: request.candidates.clone(),
            ..Choice::default()
        }];
        let choices = match request.choices.is_empty() {
            true => &only[..],
            false => &request.choices[..],
        };
        let mut ways = choices.iter().map(|choice| Self::within(request, choice));
        // There is at least one choice.
        let first = ways.next();
        let mut first = first.unwrap_or_else(|| Self::within(request, &only[0]));
        first.others = ways.collect();
        first
    }

    /// This demand as it is in each set of nodes that it may be put on, best first. All nodes must be of one of these.
    pub fn ways(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// This demand where only the nodes that `may_use` names are to be had.
    pub fn on(&self, may_use: impl Fn(NodeIndex) -> bool) -> Self {
        let mut narrow = self.clone();
        narrow.candidates = narrow.candidates.only(&may_use);
        for other in &mut narrow.others {
            other.candidates = other.candidates.only(&may_use);
        }
        narrow
    }

    /// Whether `node` is among the candidates of any way.
    pub fn may_use(&self, node: NodeIndex) -> bool {
        self.ways().any(|way| way.candidates.has(node))
    }

    /// The way in which `nodes` were chosen.
    pub(super) fn way_onto(&self, nodes: &[NodeIndex]) -> &Self {
        let may_use = |way: &&Self| nodes.iter().all(|node| way.candidates.has(*node));
        self.ways().find(may_use).unwrap_or(self)
    }

    fn within(request: &Request, choice: &Choice) -> Self {
        let cpus_per_task = match request.overcommit {
            true => 0,
            false => request.cpus_per_task.max(1),
        };
        let tasks_per_node = request.tasks_per_node.filter(|tasks| *tasks > 0);
        let tasks_on_node = tasks_per_node.unwrap_or(1);
        let of_a_kind = choice.counted.iter().map(|counted| counted.at_least).max();
        let mut min_nodes = request
            .min_nodes
            .max(choice.min_nodes)
            .max(of_a_kind.unwrap_or(1))
            .max(1);
        if let (Some(tasks), Some(most)) = (request.tasks, tasks_per_node) {
            min_nodes = min_nodes.max(tasks.div_ceil(most));
        }
        let tasks = match (request.tasks, tasks_per_node) {
            (Some(tasks), _) => tasks,
            (None, Some(per_node)) => per_node.saturating_mul(min_nodes),
            (None, None) => min_nodes,
        };
        // A node without a task is of no use.
        let most_tasks = request
            .tasks
            .filter(|tasks| *tasks > 0)
            .map(|tasks| tasks.max(min_nodes));
        let max_nodes = [request.max_nodes, choice.max_nodes, most_tasks]
            .into_iter()
            .flatten()
            .min();
        // A node has the CPUs for as many tasks as it is said to get, also where they then share them.
        let cpus_for_tasks = tasks_on_node.saturating_mul(request.cpus_per_task.max(1));
        let cpus_per_node = request.cpus_per_node.max(cpus_for_tasks);
        let cpus_total = request
            .min_cpus
            .max(tasks.saturating_mul(cpus_per_task))
            .max(cpus_per_node.saturating_mul(min_nodes));

        let by_gres = request.gres.iter().any(|gres| gres.memory_each_mib > 0);
        let memory = if by_gres {
            MemoryRequest::Unsaid
        } else {
            request.memory
        };
        let memory_mib = match memory {
            MemoryRequest::PerNode(mib) => mib,
            MemoryRequest::PerCpu(mib) => mib.saturating_mul(u64::from(cpus_per_node)),
            MemoryRequest::Unsaid | MemoryRequest::AllOfNode => 0,
        };
        let mut per_node = Amounts::new(cpus_per_node, memory_mib);
        let mut total = Amounts::new(cpus_total, 0);
        let mut companions = SmallVec::new();
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
            if gres.per_task > 0 || gres.cpus_each > 0 || gres.memory_each_mib > 0 {
                companions.push(Companion {
                    id: gres.id,
                    per_task: gres.per_task,
                    cpus_each: gres.cpus_each,
                    cpus_alone: gres.cpus_by_job && gres.per_job > 0,
                    memory_each_mib: gres.memory_each_mib,
                });
            }
        }
        let kinds = kinds(&choice.counted, request, &mut total);
        let mut required = request.required.clone();
        required.sort_unstable();
        required.dedup();
        Self {
            min_nodes: min_nodes as usize,
            max_nodes: max_nodes.map_or(usize::MAX, |most| most as usize),
            per_node,
            total,
            memory,
            whole_node: request.whole_node || choice.whole_node,
            candidates: choice.nodes.clone(),
            required,
            user: request.user,
            user_node: request.user_node || choice.user_node,
            in_reservation: request.in_reservation,
            jobs_per_cpu: choice
                .jobs_per_cpu
                .filter(|_| !request.whole_node && !choice.whole_node),
            cpus_per_task,
            tasks_per_node,
            cpus_per_core: request.cpus_per_core,
            cpus_per_node: request.cpus_per_node,
            companions,
            kinds,
            others: Vec::new(),
        }
    }

    /// Cuts `offer`, what a node has free for this job, down to what the job can use of it; `None` if that is nothing.
    pub(super) fn limit(&self, node: NodeIndex, cpus_per_core: u32, offer: &mut Amounts) -> Option<()> {
        let mut step = cpus_per_core;
        if let Some(usable) = self.cpus_per_core.filter(|usable| *usable < cpus_per_core) {
            offer.cpus = offer.cpus / cpus_per_core * usable;
            step = usable;
        }
        if let MemoryRequest::PerCpu(mib) = self.memory {
            let by_memory = u32::try_from(offer.memory_mib / mib.max(1)).unwrap_or(u32::MAX);
            if by_memory < offer.cpus {
                // A whole node comes with memory for all of its CPUs, or not at all; else as many cores as have some.
                offer.cpus = if self.whole_node {
                    0
                } else {
                    by_memory / step.max(1) * step
                };
            }
        }
        let mut tasks = match self.cpus_per_task {
            0 => u32::MAX,
            each => offer.cpus / each,
        };
        if let Some(most) = self.tasks_per_node.filter(|_| !self.whole_node) {
            tasks = tasks.min(most);
        }
        for companion in &self.companions {
            tasks = tasks.min(companion.limit(offer));
        }
        if tasks == 0 {
            return None;
        }
        for companion in self.companions.iter().filter(|companion| companion.per_task > 0) {
            offer.keep_gres(companion.id, companion.per_task.saturating_mul(u64::from(tasks)));
        }
        let for_tasks = tasks
            .saturating_mul(self.cpus_per_task.max(1))
            .max(self.cpus_per_node);
        if !self.companions.iter().any(|companion| companion.cpus_each > 0) {
            offer.cpus = offer.cpus.min(for_tasks);
        }
        let alone = self.companions.iter().filter(|companion| companion.cpus_alone);
        if let Some(cpus) = alone.map(|companion| companion.cpus(offer)).max() {
            offer.cpus = offer.cpus.min(cpus);
        }
        for kind in &self.kinds {
            if kind.nodes.has(node) {
                offer.add_gres(kind.id, kind.of.map_or(1, |id| offer.gres(id)));
            }
        }
        Some(())
    }

    /// What this takes of a node's `offer` while `open` is still to be found.
    pub(super) fn share(&self, offer: &Amounts, open: &Amounts) -> Amounts {
        let mut share = self.per_node.clone();
        share.cpus = share.cpus.max(open.cpus.min(offer.cpus));
        for &(kind, left) in open.gres_counts() {
            let have = share.gres(kind);
            share.add_gres(kind, left.min(offer.gres(kind)).saturating_sub(have));
        }
        for companion in &self.companions {
            share.cpus = share.cpus.max(companion.cpus(&share));
            let memory_mib = companion.memory_each_mib.saturating_mul(share.gres(companion.id));
            share.memory_mib = share.memory_mib.max(memory_mib);
        }
        share
    }

    /// What a job that uses `share` of a node with `total` holds of it.
    pub(super) fn held(&self, share: &Amounts, total: &Amounts, cpus_per_core: u32) -> Amounts {
        let mut held = share.clone();
        let usable = self
            .cpus_per_core
            .unwrap_or(cpus_per_core)
            .clamp(1, cpus_per_core);
        let cpus = share.cpus.div_ceil(usable).saturating_mul(cpus_per_core);
        held.cpus = if self.whole_node { total.cpus } else { cpus };
        match self.memory {
            MemoryRequest::PerCpu(mib) => held.memory_mib = mib.saturating_mul(u64::from(held.cpus)),
            MemoryRequest::AllOfNode => held.memory_mib = total.memory_mib,
            MemoryRequest::PerNode(_) | MemoryRequest::Unsaid => {}
        }
        for kind in &self.kinds {
            held.keep_gres(kind.id, 0);
        }
        held
    }

    /// What is still missing where nodes that offer `sum` together, `count` of them, are taken; `None` if nothing is.
    /// Whether the required nodes are among them is not looked at.
    pub(super) fn missing(&self, sum: &Amounts, count: usize) -> Option<Missing> {
        let mut open = self.total.clone();
        open.take(sum);
        let nodes = self.min_nodes.saturating_sub(count);
        (nodes > 0 || open != Amounts::default()).then_some(Missing { nodes, open })
    }

    /// This demand spread evenly over exactly `nodes` nodes: each then gives its part of the totals.
    pub fn spread_over(&self, nodes: usize) -> Self {
        let parts = nodes.max(1);
        let mut even = self.clone();
        even.min_nodes = parts;
        even.max_nodes = parts;
        let cpus = u32::try_from((self.total.cpus as usize).div_ceil(parts)).unwrap_or(u32::MAX);
        even.per_node.cpus = even.per_node.cpus.max(cpus);
        for &(kind, count) in self
            .total
            .gres_counts()
            .iter()
            .filter(|(kind, _)| kind.0 < KINDS_FROM)
        {
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

impl Companion {
    /// The CPUs that come with as many as there are in `amounts`.
    fn cpus(&self, amounts: &Amounts) -> u32 {
        let cpus = u64::from(self.cpus_each).saturating_mul(amounts.gres(self.id));
        u32::try_from(cpus).unwrap_or(u32::MAX)
    }

    /// Cuts `offer` down to as many as can be had with what comes with them; the tasks that these are for.
    fn limit(&self, offer: &mut Amounts) -> u32 {
        let mut most = offer.gres(self.id);
        if let Some(by_cpus) = offer.cpus.checked_div(self.cpus_each) {
            most = most.min(u64::from(by_cpus));
        }
        if let Some(by_memory) = offer.memory_mib.checked_div(self.memory_each_mib) {
            most = most.min(by_memory);
        }
        offer.keep_gres(self.id, most);
        match self.per_task {
            0 => u32::MAX,
            per_task => u32::try_from(most / per_task).unwrap_or(u32::MAX),
        }
    }
}

/// The kinds of nodes that there must be, and how many of each, which is added to `total`.
fn kinds(counted: &[Counted], request: &Request, total: &mut Amounts) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut add = |counted: &Counted, of, count| {
        let id = GresId(KINDS_FROM + u32::try_from(kinds.len()).unwrap_or(0));
        total.add_gres(id, count);
        kinds.push(Kind {
            id,
            nodes: counted.nodes.clone(),
            of,
        });
    };
    for one in counted {
        add(one, None, u64::from(one.at_least));
    }
    // Slurm looks for the counted nodes first, and then wants all that is asked for in total of nodes like these.
    for gres in request
        .gres
        .iter()
        .filter(|gres| gres.per_job > 0 || gres.per_task > 0)
    {
        for one in counted {
            let tasks = request.tasks.unwrap_or(1);
            let wanted = gres.per_job.max(gres.per_task.saturating_mul(u64::from(tasks)));
            add(one, Some(gres.id), wanted);
        }
    }
    kinds
}

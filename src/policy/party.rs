// SPDX-License-Identifier: GPL-2.0-or-later
//! Who is served at one place of the queue: a waiting job, or all components of a heterogeneous one.

use super::facts::{Facts, Hindrance, PlaceInQueue, WaitingJob};
use super::fit::{Demand, Ledger};
use super::ids::{JobId, NodeIndex};
use super::looks::Looks;
use super::outlook::Outlook;
use super::places::{self, Places};
use super::plan::{Constraints, Outcome, plan_within};
use super::request::Request;
use super::together;
use super::units::UnixTime;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Of one array at most so many tasks are planned for at a time.
const TASKS_MAX: usize = 64;

/// Waiting jobs that start together or not at all; mostly one.
#[derive(Clone, Debug)]
pub struct Party<'a> {
    /// By offset; at least one.
    components: Vec<&'a WaitingJob>,
    /// Not all components of the heterogeneous job are here.
    incomplete: bool,
    /// See [`Party::demands`].
    demands: OnceCell<Vec<Demand>>,
}

impl<'a> Party<'a> {
    /// All parties that wait, in the order in which their first components are listed.
    pub fn all(facts: &'a Facts) -> Vec<Self> {
        let mut parties: Vec<Self> = Vec::new();
        let mut places: BTreeMap<JobId, usize> = BTreeMap::new();
        for job in &facts.waiting {
            let known = job.het.and_then(|het| places.get(&het.leader));
            if let Some(at) = known {
                parties[*at].components.push(job);
                continue;
            }
            if let Some(het) = job.het {
                places.insert(het.leader, parties.len());
            }
            parties.push(Self {
                components: vec![job],
                incomplete: false,
                demands: OnceCell::new(),
            });
        }
        for party in &mut parties {
            party.components.sort_by_key(|job| job.het.map(|het| het.offset));
            let first = party.components[0];
            let count = first
                .het
                .filter(|het| het.leader == first.id)
                .and_then(|het| het.of);
            party.incomplete =
                first.het.is_some() && count.map(|count| count as usize) != Some(party.components.len());
        }
        parties
    }

    /// The party that `job` is of.
    pub fn of(facts: &'a Facts, job: JobId) -> Option<Self> {
        let mut parties = Self::all(facts).into_iter();
        parties.find(|party| party.components.iter().any(|component| component.id == job))
    }

    /// The id by which it goes: the job's, or the first component's.
    pub fn id(&self) -> JobId {
        self.leader().het.map_or(self.leader().id, |het| het.leader)
    }

    /// The job itself, or the first component that is here.
    pub fn leader(&self) -> &'a WaitingJob {
        self.components[0]
    }

    /// All of it, by offset.
    pub fn components(&self) -> &[&'a WaitingJob] {
        &self.components
    }

    /// Whether these are components of a heterogeneous job.
    pub fn is_het(&self) -> bool {
        self.leader().het.is_some()
    }

    /// Free resources would not start it.
    pub fn is_blocked(&self) -> bool {
        self.incomplete || self.components.iter().any(|job| job.blocked)
    }

    /// What blocks it, where that is known.
    pub fn hindrance(&self) -> Option<Hindrance> {
        let named = self.components.iter().find_map(|job| job.hindrance);
        named.or(self.incomplete.then_some(Hindrance::HetJob))
    }

    /// Slurm has tried to start all of it.
    pub fn is_tested(&self) -> bool {
        self.components.iter().all(|job| job.tested)
    }

    /// How many such parties this stands for: the tasks of an array.
    pub fn tasks(&self) -> u32 {
        self.leader().tasks
    }

    /// For how many of them places are looked for at a time.
    pub fn tasks_served(&self) -> usize {
        (self.tasks() as usize).min(TASKS_MAX)
    }

    /// When it was submitted.
    pub fn submit(&self) -> UnixTime {
        self.leader().submit
    }

    /// Sorts parties as they are served.
    pub fn place_in_queue(&self) -> PlaceInQueue {
        self.leader().place_in_queue()
    }

    /// What its users ask for.
    pub fn wishes(&self) -> Vec<Request> {
        self.components.iter().map(|job| job.request.wishes()).collect()
    }

    /// What each component asks of nodes. Worked out when it is first asked for: of a job on many nodes it is long.
    fn demands(&self) -> &[Demand] {
        let components = self.components.iter();
        self.demands
            .get_or_init(|| components.map(|job| Demand::of(&job.request)).collect())
    }

    /// Whether a part of it may run on this node.
    pub fn may_use(&self, node: NodeIndex) -> bool {
        self.demands().iter().any(|demand| demand.may_use(node))
    }

    /// Nodes for each component on which all fit as things are, or `None`.
    pub fn place(&self, ledger: &Ledger) -> Option<Places> {
        place_all(self.demands(), ledger)
    }

    /// The same, on `nodes` if it fits there.
    pub fn place_preferably(&self, nodes: &[NodeIndex], ledger: &Ledger) -> Option<Places> {
        let nodes: BTreeSet<NodeIndex> = nodes.iter().copied().collect();
        let there = |demand: &Demand| demand.on(|node| nodes.contains(&node));
        let there: Vec<Demand> = self.demands().iter().map(there).collect();
        place_all(&there, ledger).or_else(|| self.place(ledger))
    }

    /// Sets room aside for all of it.
    pub fn reserve(&self, ledger: &mut Ledger, places: &[Vec<NodeIndex>]) {
        for ((job, demand), nodes) in self.components.iter().zip(self.demands()).zip(places) {
            ledger.reserve(job.id, demand, nodes);
        }
    }

    /// Decides what to do for it, given what `ledger` says is free.
    pub fn plan(&self, outlook: &Outlook<'_>, ledger: &Ledger, constraints: &Constraints) -> Outcome {
        match self.components[..] {
            [job] => plan_within(outlook, ledger, job, constraints),
            _ => together::plan(outlook, ledger, &self.components, constraints),
        }
    }
}

fn place_all(demands: &[Demand], ledger: &Ledger) -> Option<Places> {
    match demands {
        [demand] => Some(vec![ledger.fits(demand)?]),
        demands => places::find(ledger, &places::apart(demands), &Looks::up_to(u64::MAX)),
    }
}

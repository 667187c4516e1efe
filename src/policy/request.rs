// SPDX-License-Identifier: GPL-2.0-or-later
//! What a waiting job asks for.

use super::features::Constraint;
use super::ids::{JobId, NodeIndex, UserId};
use super::node_set::NodeSet;
use super::resources::GresId;
use serde::{Deserialize, Serialize};

/// What a waiting job asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// Who asks; `None` where that does not matter.
    pub user: Option<UserId>,
    /// At least so many nodes.
    pub min_nodes: u32,
    /// At most so many.
    pub max_nodes: Option<u32>,
    /// CPUs in all.
    pub min_cpus: u32,
    /// Tasks in all.
    pub tasks: Option<u32>,
    /// Tasks on each node.
    pub tasks_per_node: Option<u32>,
    /// CPUs for each task.
    pub cpus_per_task: u32,
    /// Its tasks need no CPUs of their own (`--overcommit`).
    pub overcommit: bool,
    /// CPUs on each node at least.
    pub cpus_per_node: u32,
    /// CPUs of each core that it can use; all of them if `None`.
    pub cpus_per_core: Option<u32>,
    /// Memory.
    pub memory: MemoryRequest,
    /// Generic resources.
    pub gres: Vec<GresRequest>,
    /// Whole nodes, shared with nobody.
    pub whole_node: bool,
    /// Nodes that no other user's job is on (`--exclusive=user`).
    pub user_node: bool,
    /// It asks for a reservation.
    pub in_reservation: bool,
    /// Nodes that it may use, where `choices` does not say that.
    pub candidates: NodeSet,
    /// Where it may run, best first; within one of these.
    pub choices: Vec<Choice>,
    /// Nodes that it must have.
    pub required: Vec<NodeIndex>,
    /// The job that it is to enlarge, which Slurm never stops for it.
    pub expands: Option<JobId>,
}

impl Request {
    /// What its user asks for: this, but for the nodes that are fit for it at present.
    pub fn wishes(&self) -> Self {
        let mut wishes = self.clone();
        wishes.candidates = NodeSet::default();
        for choice in &mut wishes.choices {
            choice.nodes = NodeSet::default();
            for counted in &mut choice.counted {
                counted.nodes = NodeSet::default();
            }
        }
        wishes
    }

    /// Leaves of each choice the sets of its nodes that have what `constraint`, the `--constraint` text, asks for.
    /// `features` are those of the nodes, in their order, with commas between them.
    pub fn constrain<Text: AsRef<[u8]>>(&mut self, constraint: &[u8], features: &[(NodeIndex, Text)]) {
        if !constraint.is_empty() {
            let constraint = Constraint::parse(&String::from_utf8_lossy(constraint));
            let choices = std::mem::take(&mut self.choices);
            // Not understood: no node is known to do.
            self.choices = constraint.map_or_else(Vec::new, |constraint| {
                let sets = choices
                    .iter()
                    .flat_map(|choice| choice.suitable(&constraint, features));
                sets.collect()
            });
        }
        // Without any, it may run nowhere; an empty list would stand for "anywhere".
        if self.choices.is_empty() {
            self.choices.push(Choice::default());
        }
    }
}

/// One set of nodes that a job may be put on: those of a partition, with the features that it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// The partition.
    pub partition: String,
    /// The nodes.
    pub nodes: NodeSet,
    /// At least so many.
    pub min_nodes: u32,
    /// At most so many.
    pub max_nodes: Option<u32>,
    /// Whole nodes only.
    pub whole_node: bool,
    /// Nodes that no other user's job is on.
    pub user_node: bool,
    /// So many jobs may use a CPU at once; `None` where CPUs are not shared.
    pub jobs_per_cpu: Option<u32>,
    /// What kinds of nodes there must be among those that it gets.
    pub counted: Vec<Counted>,
}

impl Choice {
    /// Each set of its nodes that has the features.
    fn suitable<Text: AsRef<[u8]>>(
        &self,
        constraint: &Constraint,
        features: &[(NodeIndex, Text)],
    ) -> impl Iterator<Item = Self> {
        let has_feature = |node: NodeIndex, name: &str| {
            let at = features.binary_search_by_key(&node, |entry| entry.0);
            let text = at.map_or(&[][..], |at| features[at].1.as_ref());
            text.split(|byte| *byte == b',').any(|one| one == name.as_bytes())
        };
        let sets = constraint.suitable(&self.nodes, has_feature);
        sets.into_iter().map(|set| Self {
            nodes: set.nodes,
            counted: set.counted,
            ..self.clone()
        })
    }
}

/// So many of these nodes there must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many.
    pub at_least: u32,
    /// Of these.
    pub nodes: NodeSet,
}

/// Memory that a job asks for, in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRequest {
    /// It does not say.
    #[default]
    Unsaid,
    /// So much on each node.
    PerNode(u64),
    /// So much for each CPU.
    PerCpu(u64),
    /// All that its nodes have (`--mem=0`).
    AllOfNode,
}

/// One generic resource that a job asks for; a count of 0 is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GresRequest {
    /// Which.
    pub id: GresId,
    /// `--gres`, `--gpus-per-node`.
    pub per_node: u64,
    /// `--gpus`.
    pub per_job: u64,
    /// `--gpus-per-task`.
    pub per_task: u64,
    /// CPUs that come with each (`--cpus-per-gpu`).
    #[serde(default)]
    pub cpus_each: u32,
    /// It is the job that asks for these, not a default of its partition.
    #[serde(default)]
    pub cpus_by_job: bool,
    /// Memory that comes with each (`--mem-per-gpu`), in MiB.
    #[serde(default)]
    pub memory_each_mib: u64,
}

impl GresRequest {
    /// Nothing of it is asked.
    pub fn none(id: GresId) -> Self {
        Self {
            id,
            per_node: 0,
            per_job: 0,
            per_task: 0,
            cpus_each: 0,
            cpus_by_job: false,
            memory_each_mib: 0,
        }
    }

    /// Adds it to `requests`. Where it is of one model, `any` is the same resource of any model: what one model takes is gone
    /// for those who want any.
    pub fn add_to(self, requests: &mut Vec<Self>, any: Option<GresId>) {
        requests.push(self);
        requests.extend(any.map(|id| Self {
            id,
            cpus_each: 0,
            memory_each_mib: 0,
            ..self
        }));
    }
}

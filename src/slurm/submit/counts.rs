// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes, tasks and CPUs of a job, worked out as sbatch and slurmctld do it.

use super::Options;

/// What is known so far; `None` is what nobody has said yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub min_nodes: u32,
    pub max_nodes: Option<u32>,
    /// The least number of nodes was given or follows from what was.
    pub nodes_said: bool,
    pub tasks: Option<u32>,
    pub tasks_per_node: Option<u32>,
    pub cpus_per_task: Option<u32>,
    pub min_cpus: u32,
    /// On each node at least.
    pub cpus_per_node: u32,
}

impl Counts {
    /// What sbatch makes of `options` for a job that must have so many nodes.
    pub fn of_sbatch(options: &Options, required: usize) -> Result<Self, String> {
        let required = u32::try_from(required).unwrap_or(u32::MAX);
        let mut nodes_said = options.nodes.is_some();
        let mut min_nodes = options.nodes.map_or(1, |nodes| nodes.min);
        let mut max_nodes = options.nodes.and_then(|nodes| nodes.max);
        if required > 0 {
            min_nodes = match nodes_said {
                true => min_nodes.max(required),
                false => required,
            };
            nodes_said = true;
        }
        if max_nodes.is_some_and(|max| max < min_nodes) {
            return Err(format!(
                "--nodelist names {required} nodes, and --nodes allows fewer: sbatch does not take that"
            ));
        }
        let exact = max_nodes.is_none_or(|max| max == min_nodes);
        let mut tasks = options.ntasks;
        if tasks.is_none() && exact {
            tasks = options
                .ntasks_per_node
                .map(|per_node| min_nodes.saturating_mul(per_node));
        }
        // How many sbatch takes it to be, where it does not say so to slurmctld.
        let mut taken = tasks.unwrap_or(1);
        match tasks {
            None if nodes_said && exact => {
                taken = min_nodes;
                let per_node = [options.sockets_per_node, options.threads_per_core];
                for per_node in per_node.into_iter().flatten() {
                    taken = taken.saturating_mul(per_node);
                    tasks = Some(taken);
                }
            }
            Some(tasks) if nodes_said => {
                max_nodes = max_nodes.map(|max| max.min(tasks));
                if tasks < min_nodes {
                    // With a warning.
                    (min_nodes, max_nodes) = (tasks, Some(tasks));
                }
            }
            _ => {}
        }
        let cpus_of_tasks = options
            .cpus_per_task
            .map_or(taken, |cpus| taken.saturating_mul(cpus));
        Ok(Self {
            min_nodes,
            max_nodes,
            nodes_said,
            tasks,
            tasks_per_node: options.ntasks_per_node,
            cpus_per_task: options.cpus_per_task,
            min_cpus: if options.overcommit {
                min_nodes
            } else {
                cpus_of_tasks
            },
            cpus_per_node: options
                .mincpus
                .unwrap_or(0)
                .max(options.cpus_per_task.unwrap_or(0)),
        })
    }

    /// What slurmctld adds.
    pub fn finish(&mut self, options: &Options, required: usize) {
        let required = u32::try_from(required).unwrap_or(u32::MAX);
        self.min_nodes = self.min_nodes.max(required);
        if let (Some(per_node), None, true) = (self.tasks_per_node, self.tasks, self.nodes_said) {
            self.tasks = Some(self.min_nodes.saturating_mul(per_node));
        }
        if let Some(tasks) = self
            .tasks
            .filter(|tasks| !options.overcommit && *tasks > self.min_cpus)
        {
            self.min_cpus = tasks.saturating_mul(self.cpus_per_task.unwrap_or(1));
        }
        self.min_cpus = self.min_cpus.max(required);
        let cpus_per_task = self.cpus_per_task.unwrap_or(1);
        let for_tasks = match (self.tasks_per_node, self.tasks) {
            (Some(per_node), Some(2..)) if !options.overcommit => cpus_per_task.saturating_mul(per_node),
            _ => 1,
        };
        self.cpus_per_node = self.cpus_per_node.max(cpus_per_task).max(for_tasks);
    }
}

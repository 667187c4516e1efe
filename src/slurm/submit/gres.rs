// SPDX-License-Identifier: GPL-2.0-or-later
//! Generic resources of a job, and the counts that follow from them, as slurmctld works them out.

use super::counts::Counts;
use super::forms::GresCount;
use super::{Defaults, Memory, Options};
use crate::policy::facts::GresRequest;
use crate::policy::resources::GresTable;

/// One kind of generic resource that the job asks for; 0 is not asked.
#[derive(Clone, Debug, Default)]
struct Entry {
    name: String,
    model: Option<String>,
    per_node: u64,
    per_job: u64,
    per_task: u64,
    per_socket: u64,
}

/// What the job asks for of each kind. `counts` gets what follows from it.
pub(super) fn requests(
    options: &Options,
    defaults: &Defaults,
    counts: &mut Counts,
    table: &mut GresTable,
) -> Result<Vec<GresRequest>, String> {
    // Of jobs that say of each task how many GPUs it gets, and on how many nodes they run, the number of tasks is known.
    let exact = counts.nodes_said && counts.max_nodes == Some(counts.min_nodes);
    if !options.gpus_per_task.is_empty() && counts.tasks.is_none() && exact {
        counts.tasks = match (counts.tasks_per_node, counts.cpus_per_task) {
            (Some(per_node), _) => Some(counts.min_nodes.saturating_mul(per_node)),
            (None, None) => Some(counts.min_nodes),
            (None, Some(_)) => None,
        };
    }
    let mut entries = entries(options)?;
    for entry in &mut entries {
        follow(entry, options, counts)?;
    }
    if entries.iter().all(|entry| entry.name != "gpu") && matches!(options.memory, Some(Memory::PerGpu(_))) {
        return Err("--mem-per-gpu is for jobs that ask for GPUs".to_owned());
    }
    let sockets = u64::from(options.sockets_per_node.unwrap_or(1));
    let mut requests = Vec::new();
    for entry in &entries {
        let is_gpu = entry.name == "gpu";
        let by_job = options.cpus_per_gpu.filter(|_| is_gpu);
        let memory_each_mib = match options.memory {
            Some(Memory::PerGpu(mib)) => Some(mib),
            Some(_) => None,
            None => defaults.mem_per_gpu_mib,
        };
        let exact = GresRequest {
            id: table.id(&entry.name, entry.model.as_deref()),
            per_node: entry.per_node.max(entry.per_socket.saturating_mul(sockets)),
            per_job: entry.per_job,
            per_task: entry.per_task,
            cpus_each: by_job.or(defaults.cpus_per_gpu.filter(|_| is_gpu)).unwrap_or(0),
            cpus_by_job: by_job.is_some(),
            memory_each_mib: memory_each_mib.filter(|_| is_gpu).unwrap_or(0),
        };
        requests.push(exact);
        if entry.model.is_some() {
            // What one model takes is gone for those who want any.
            requests.push(GresRequest {
                id: table.id(&entry.name, None),
                cpus_each: 0,
                memory_each_mib: 0,
                ..exact
            });
        }
    }
    Ok(requests)
}

fn entries(options: &Options) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut put = |asked: &[GresCount], field: fn(&mut Entry) -> &mut u64| {
        for one in asked {
            let same = |entry: &&mut Entry| entry.name == one.name && entry.model == one.model;
            match entries.iter_mut().find(same) {
                Some(entry) => *field(entry) = one.count,
                None => {
                    let mut entry = Entry {
                        name: one.name.clone(),
                        model: one.model.clone(),
                        ..Entry::default()
                    };
                    *field(&mut entry) = one.count;
                    entries.push(entry);
                }
            }
        }
    };
    put(&options.gpus, |entry| &mut entry.per_job);
    put(&options.gpus_per_node, |entry| &mut entry.per_node);
    put(&options.gres, |entry| &mut entry.per_node);
    put(&options.gpus_per_socket, |entry| &mut entry.per_socket);
    put(&options.gpus_per_task, |entry| &mut entry.per_task);
    for entry in &entries {
        let of_any = |other: &&Entry| other.name == entry.name && other.model.is_none();
        if let (Some(model), true) = (&entry.model, entries.iter().any(|other| of_any(&other))) {
            let name = &entry.name;
            return Err(format!(
                "Slurm does not take {name} of any type together with {name} of type {model} in one job"
            ));
        }
    }
    Ok(entries)
}

/// What follows from one kind for the job as a whole, and what would contradict it.
fn follow(entry: &mut Entry, options: &Options, counts: &mut Counts) -> Result<(), String> {
    let name = &entry.name;
    let divides = |part: u64, whole: u64| part == 0 || whole.is_multiple_of(part);
    if !divides(entry.per_node, entry.per_job)
        || !divides(entry.per_task, entry.per_job)
        || !divides(entry.per_task, entry.per_node)
        || !divides(entry.per_socket, entry.per_node)
    {
        return Err(format!(
            "the numbers of {name} for the job, a node, a socket and a task do not go into each other: Slurm does not take that"
        ));
    }
    if entry.per_socket > 0 && options.sockets_per_node.is_none() {
        return Err(format!("--{name}s-per-socket needs --sockets-per-node"));
    }
    if name == "gpu" && options.cpus_per_gpu.is_some() && options.cpus_per_task.is_some() {
        return Err("--cpus-per-gpu and --cpus-per-task exclude each other".to_owned());
    }
    if entry.per_job > 0 && entry.per_node > 0 {
        let nodes = narrow(entry.per_job / entry.per_node);
        let most = counts.max_nodes.is_some_and(|max| nodes > max);
        if most || (counts.nodes_said && nodes < counts.min_nodes) {
            return Err(format!(
                "by its {name} for the job and for a node it would have {nodes} nodes, and --nodes says otherwise"
            ));
        }
        (counts.min_nodes, counts.max_nodes, counts.nodes_said) = (nodes, Some(nodes), true);
    }
    if entry.per_task > 0 {
        match (entry.per_job, counts.tasks) {
            (0, None) => {
                return Err(format!("--{name}s-per-task needs --ntasks or --{name}s"));
            }
            (0, Some(tasks)) => entry.per_job = entry.per_task.saturating_mul(u64::from(tasks)),
            (per_job, tasks) => {
                let needed = narrow(per_job / entry.per_task);
                if tasks.is_some_and(|tasks| tasks != needed) {
                    return Err(format!(
                        "by its {name} for the job and for a task it would have {needed} tasks, and --ntasks says otherwise"
                    ));
                }
                counts.tasks = Some(needed);
            }
        }
    }
    if entry.per_task > 0 && entry.per_node > 0 {
        let needed = narrow(entry.per_node / entry.per_task);
        if counts.tasks_per_node.is_some_and(|tasks| tasks != needed) {
            return Err(format!(
                "by its {name} for a node and for a task it would have {needed} tasks on a node, and --ntasks-per-node says otherwise"
            ));
        }
        counts.tasks_per_node = Some(needed);
    }
    if let (Some(cpus), true) = (options.cpus_per_gpu, name == "gpu" && entry.per_task > 0) {
        counts.cpus_per_task = Some(cpus.saturating_mul(narrow(entry.per_task)));
    }
    if entry.per_job > 0 {
        if counts.nodes_said && entry.per_job < u64::from(counts.min_nodes) {
            return Err(format!(
                "it asks for fewer {name} than nodes: Slurm does not take that"
            ));
        }
        counts.max_nodes = counts.max_nodes.map(|max| max.min(narrow(entry.per_job)));
    }
    Ok(())
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

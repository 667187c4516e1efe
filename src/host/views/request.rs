// SPDX-License-Identifier: GPL-2.0-or-later
//! What a waiting job asks for, from its view.

use super::known_sets::KnownSets;
use super::raw::{array, bytes, number, text};
use crate::host::abi;
use crate::policy::admission::applicant::need_of;
use crate::policy::facts::{Application, Choice, GresRequest, MemoryRequest, Request};
use crate::policy::ids::{GroupId, JobId, NodeIndex, UserId};
use crate::policy::labels::{Labels, Name};
use crate::policy::node_set::NodeSet;
use crate::policy::resources::GresTable;
use crate::policy::units::Seconds;

/// The request of a pending job, before its features are looked at. Nodes that `known` has are shared.
pub fn read(view: &abi::surgent_job_view_t, table: &mut GresTable, known: &mut KnownSets) -> Request {
    let has = |flag: u32| view.flags & flag != 0;
    // SAFETY: the shim lends `required_count` entries for this call.
    let required = unsafe { array(view.required, view.required_count) };
    Request {
        user: Some(UserId(view.user_id)),
        min_nodes: view.request_min_nodes,
        max_nodes: number(view.request_max_nodes),
        min_cpus: view.request_min_cpus,
        tasks: number(view.request_tasks).filter(|tasks| *tasks > 0),
        tasks_per_node: number(view.request_tasks_per_node).filter(|tasks| *tasks > 0),
        cpus_per_task: number(view.request_cpus_per_task).unwrap_or(1),
        overcommit: has(abi::SURGENT_JOB_OVERCOMMIT),
        cpus_per_node: number(view.request_cpus_per_node).unwrap_or(0),
        cpus_per_core: number(view.request_cpus_per_core).filter(|cpus| *cpus > 0),
        memory: memory(view),
        gres: gres(view, table),
        whole_node: has(abi::SURGENT_JOB_WHOLE_NODE),
        user_node: has(abi::SURGENT_JOB_USER_NODE),
        in_reservation: has(abi::SURGENT_JOB_RESERVATION),
        candidates: NodeSet::default(),
        choices: choices(view, known),
        required: required.iter().map(|index| NodeIndex(*index)).collect(),
        expands: (view.expands_job_id != 0).then_some(JobId(view.expands_job_id)),
    }
}

/// What decides whether a pending job with this request may be urgent.
pub fn application(view: &abi::surgent_job_view_t, request: &mut Request, table: &GresTable) -> Application {
    // Slurm's locks are held: the nodes, of which there may be thousands, are not copied again.
    let choices = std::mem::take(&mut request.choices);
    let numbers = choices.first().map(|choice| Choice {
        min_nodes: choice.min_nodes,
        max_nodes: choice.max_nodes,
        ..Choice::default()
    });
    request.choices.extend(numbers);
    let label = |name: &_| bytes(name).map(|name| Name::from(String::from_utf8_lossy(name).as_ref()));
    let limit_s = number(view.time_limit_min).map(|minutes| Seconds(f64::from(minutes) * 60.0));
    let tasks = (view.array_waiting.max(1), view.array_tasks);
    let need = need_of(request, table, tasks, limit_s);
    request.choices = choices;
    Application {
        user: UserId(view.user_id),
        group: Some(GroupId(view.group_id)),
        labels: Labels {
            user: label(&view.user_name),
            account: label(&view.account),
            qos: label(&view.qos),
            partition: label(&view.partition),
        },
        array: (view.array_job_id != 0).then_some(JobId(view.array_job_id)),
        need,
    }
}

fn memory(view: &abi::surgent_job_view_t) -> MemoryRequest {
    match view.request_memory_mib {
        _ if view.flags & abi::SURGENT_JOB_ALL_MEMORY != 0 => MemoryRequest::AllOfNode,
        0 => MemoryRequest::Unsaid,
        mib if view.flags & abi::SURGENT_JOB_MEM_PER_CPU != 0 => MemoryRequest::PerCpu(mib),
        mib => MemoryRequest::PerNode(mib),
    }
}

fn gres(view: &abi::surgent_job_view_t, table: &mut GresTable) -> Vec<GresRequest> {
    let sockets = u64::from(number(view.request_sockets).unwrap_or(1));
    // SAFETY: the shim lends `request_gres_count` entries for this call.
    let entries = unsafe { array(view.request_gres, view.request_gres_count) };
    let mut requests = Vec::new();
    for entry in entries {
        let name = text(&entry.name);
        let model = bytes(&entry.type_).map(|_| text(&entry.type_));
        let exact = GresRequest {
            id: table.id(&name, model.as_deref()),
            per_node: entry.per_node.max(entry.per_socket.saturating_mul(sockets)),
            per_job: entry.per_job,
            per_task: entry.per_task,
            cpus_each: entry.cpus_each,
            cpus_by_job: entry.cpus_by_job != 0,
            memory_each_mib: entry.memory_each_mib,
        };
        let any = model.map(|_| table.id(&name, None));
        exact.add_to(&mut requests, any);
    }
    requests
}

/// Each partition with all of its nodes that the job may use.
fn choices(view: &abi::surgent_job_view_t, known: &mut KnownSets) -> Vec<Choice> {
    // SAFETY: the shim lends `choice_count` entries for this call.
    let partitions = unsafe { array(view.choices, view.choice_count) };
    partitions
        .iter()
        .map(|partition| choice(partition, known))
        .collect()
}

fn choice(partition: &abi::surgent_choice_t, known: &mut KnownSets) -> Choice {
    let has = |flag: u32| partition.flags & flag != 0;
    // SAFETY: the shim lends `node_count` entries for this call.
    let nodes = unsafe { array(partition.nodes, partition.node_count) };
    Choice {
        partition: text(&partition.partition).into_owned(),
        nodes: known.share(nodes),
        min_nodes: partition.min_nodes,
        max_nodes: number(partition.max_nodes),
        whole_node: has(abi::SURGENT_CHOICE_WHOLE_NODE),
        user_node: has(abi::SURGENT_CHOICE_USER_NODE),
        jobs_per_cpu: has(abi::SURGENT_CHOICE_SHARED).then_some(partition.jobs_per_cpu),
        counted: Vec::new(),
    }
}

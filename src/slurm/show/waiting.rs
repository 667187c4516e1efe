// SPDX-License-Identifier: GPL-2.0-or-later
//! What a waiting urgent job asks for, and what keeps it from starting.

use super::details::sharing;
use super::fields::{Fields, given, mib, number, range};
use super::fixed::{Cell, Table};
use super::gres::{self, Gres};
use super::list::Listed;
use super::places::{Nodes, Partition, Reservation};
use crate::policy::facts::{Choice, GresRequest, Hindrance, MemoryRequest, Request};
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::resources::GresTable;
use crate::policy::units::{Seconds, UnixTime};
use bstr::ByteSlice;
use std::collections::{HashMap, HashSet};

/// What is asked about waiting urgent jobs alone: texts that a user chose, within what Slurm accepts.
pub const WISHES: Table<7> = Table([
    ("tres-per-node", 1024),
    ("tres-per-job", 1024),
    ("tres-per-socket", 1024),
    ("tres-per-task", 1024),
    ("cpus-per-tres", 1024),
    ("mem-per-tres", 1024),
    ("Feature", 4096),
]);

/// A row of [`WISHES`].
pub type Wishes<'a> = [Cell<'a>; 7];

/// Where there is no limit, Slurm looks a year ahead.
const YEAR_S: u64 = 365 * 24 * 60 * 60;

/// The cluster that a job is to find a place in.
pub struct Cluster<'a> {
    /// Its nodes.
    pub nodes: &'a Nodes,
    /// Its partitions by name.
    pub partitions: &'a HashMap<String, Partition>,
    /// Its reservations.
    pub reservations: &'a [Reservation],
    /// When it is looked at.
    pub now: UnixTime,
    /// Memory is shared out to jobs.
    pub consumes_memory: bool,
}

/// The request of a job with this record (behind its name), and these wishes.
pub fn request(
    job: &Listed,
    record: Option<Fields<'_>>,
    wishes: &Wishes<'_>,
    cluster: &Cluster<'_>,
    table: &mut GresTable,
) -> Request {
    let [
        per_node,
        per_job,
        per_socket,
        per_task,
        cpus_each,
        memory_each,
        features,
    ] = wishes.map(|cell| cell.text);
    // As much as the list alone tells, where there is no record.
    let mut request = Request {
        user: Some(job.job.user_id),
        min_nodes: job.job.node_count.max(1),
        min_cpus: gres::totals(&job.tres, table).cpus,
        cpus_per_task: 1,
        in_reservation: job.reservation.is_some(),
        ..Request::default()
    };
    let mut told = Told::default();
    // Behind these a user may have written anything.
    if let Some(mut fields) = record.map(|record| record.up_to("Contiguous")) {
        told = read_record(&mut request, &mut fields, cluster);
    }
    let asked = [(per_node, 0), (per_job, 1), (per_task, 2), (per_socket, 3)];
    request.gres = gres_requests(asked, cpus_each, memory_each, told.sockets.unwrap_or(1), table);
    if given(per_job).is_some() {
        forget_made_up_tasks(&mut request);
    }
    request.choices = Where {
        partitions: job.job.partition.as_deref().unwrap_or_default(),
        reservation: job.reservation.as_deref(),
        time_limit_s: job.job.time_limit_s,
        excluded: &told.excluded,
        shares: told.shares,
    }
    .choices(cluster);
    request.constrain(given(features).unwrap_or_default(), &cluster.nodes.features);
    request
}

/// What of a record goes into the choices and the generic resources.
#[derive(Default)]
struct Told {
    /// Nodes that it must not have.
    excluded: HashSet<NodeIndex>,
    /// It asks to share its CPUs.
    shares: bool,
    /// Sockets that it wants of each node.
    sockets: Option<u64>,
}

/// Fills in what the record says, in the order of its fields.
fn read_record(request: &mut Request, fields: &mut Fields<'_>, cluster: &Cluster<'_>) -> Told {
    let dependency = fields.next("Dependency").unwrap_or_default();
    request.expands = dependency
        .split_str(",")
        .find_map(|one| number(one.strip_prefix(b"expand:")?).map(JobId));
    request.required = fields
        .next("ReqNodeList")
        .map(|list| cluster.nodes.list(list))
        .unwrap_or_default();
    request.required.sort_unstable();
    let excluded = fields
        .next("ExcNodeList")
        .map(|list| cluster.nodes.list(list))
        .unwrap_or_default();
    if let Some((min, max)) = fields.next("NumNodes").and_then(range) {
        request.min_nodes = min;
        request.max_nodes = max;
    }
    if let Some((cpus, _)) = fields.next("NumCPUs").and_then(range) {
        request.min_cpus = cpus;
    }
    request.tasks = fields
        .next("NumTasks")
        .and_then(number)
        .filter(|tasks| *tasks > 0);
    request.cpus_per_task = fields.next("CPUs/Task").and_then(number).unwrap_or(1);
    let threads = fields.next("ReqB:S:C:T").and_then(last_part);
    let sockets = fields.next("Socks/Node").and_then(number);
    let per = fields.next("NtasksPerN:B:S:C").unwrap_or_default();
    request.tasks_per_node = per
        .split_str(":")
        .next()
        .and_then(number)
        .filter(|tasks| *tasks > 0);
    let by_tasks = last_part(per).map(|tasks| tasks.saturating_mul(request.cpus_per_task.max(1)));
    request.cpus_per_core = [threads, by_tasks]
        .into_iter()
        .flatten()
        .filter(|cpus| *cpus > 0)
        .min();
    request.cpus_per_node = fields.next("MinCPUsNode").and_then(number).unwrap_or(0);
    request.memory = memory(fields, cluster.consumes_memory);
    let sharing = sharing(fields);
    request.whole_node = sharing.whole_node;
    request.user_node = sharing.user_node;
    Told {
        excluded: excluded.into_iter().collect(),
        shares: sharing.cpus,
        sockets,
    }
}

/// A job that asks for GPUs in all may have no number of tasks, and Slurm then shows the fewest nodes that it asks for
/// instead. Those who ask for tasks on top mostly ask for more of them; from 26.05 on that shows in the most nodes.
fn forget_made_up_tasks(request: &mut Request) {
    if let Some(tasks) = request.tasks.filter(|tasks| *tasks <= request.min_nodes)
        && request.max_nodes.is_none()
    {
        request.min_nodes = tasks;
        request.tasks = None;
    }
}

/// The last number of `*:*:*:2`; `None` for a star.
fn last_part(parts: &[u8]) -> Option<u32> {
    parts.rsplit_str(":").next().and_then(number)
}

fn memory(fields: &mut Fields<'_>, consumed: bool) -> MemoryRequest {
    let per_cpu = fields.next("MinMemoryCPU").and_then(mib).filter(|mib| *mib > 0);
    let per_node = fields.next("MinMemoryNode").and_then(mib).filter(|mib| *mib > 0);
    match (per_cpu, per_node) {
        (Some(mib), _) => MemoryRequest::PerCpu(mib),
        (_, Some(mib)) => MemoryRequest::PerNode(mib),
        // --mem=0, or nothing said and no default, where memory is shared out at all.
        _ if consumed => MemoryRequest::AllOfNode,
        _ => MemoryRequest::Unsaid,
    }
}

/// One entry for each kind, and one for the kind whatever its model where a model is asked for: what one model takes is
/// gone for those who want any.
fn gres_requests(
    asked: [(&[u8], usize); 4],
    cpus_each: &[u8],
    memory_each: &[u8],
    sockets: u64,
    table: &mut GresTable,
) -> Vec<GresRequest> {
    let mut kinds: Vec<(Gres, [u64; 4])> = Vec::new();
    for (list, place) in asked {
        // From 25.05 on the CPUs of a task are said here as well.
        for one in gres::read(list).into_iter().filter(|one| one.name != "cpu") {
            let known = kinds
                .iter()
                .position(|(kind, _)| (&kind.name, &kind.model) == (&one.name, &one.model));
            let at = known.unwrap_or_else(|| {
                kinds.push((one.clone(), [0; 4]));
                kinds.len() - 1
            });
            kinds[at].1[place] = one.count;
        }
    }
    let each = |list: &[u8], name: &str| {
        let found = gres::read(list).into_iter().find(|one| one.name == name);
        found.map_or(0, |one| one.count)
    };
    let mut requests = Vec::new();
    for (kind, [per_node, per_job, per_task, per_socket]) in kinds {
        let cpus = u32::try_from(each(cpus_each, &kind.name)).unwrap_or(u32::MAX);
        let exact = GresRequest {
            id: table.id(&kind.name, kind.model.as_deref()),
            per_node: per_node.max(per_socket.saturating_mul(sockets)),
            per_job,
            per_task,
            cpus_each: cpus,
            cpus_by_job: cpus > 0,
            memory_each_mib: each(memory_each, &kind.name),
        };
        requests.push(exact);
        if kind.model.is_some() {
            requests.push(GresRequest {
                id: table.id(&kind.name, None),
                cpus_each: 0,
                memory_each_mib: 0,
                ..exact
            });
        }
    }
    requests
}

/// What a job says of where it may run.
#[derive(Clone, Copy, Debug)]
pub struct Where<'a> {
    /// Its partitions, with commas between them.
    pub partitions: &'a str,
    /// Its reservation.
    pub reservation: Option<&'a str>,
    /// `None` where its partition's holds.
    pub time_limit_s: Option<Seconds>,
    /// Nodes that it must not have.
    pub excluded: &'a HashSet<NodeIndex>,
    /// It would share CPUs where its partition lets it.
    pub shares: bool,
}

impl Where<'_> {
    /// Each of its partitions with the nodes that it may use.
    pub fn choices(&self, cluster: &Cluster<'_>) -> Vec<Choice> {
        let names = self.partitions.split(',');
        let known = names.filter_map(|name| cluster.partitions.get_key_value(name));
        let choice = |(name, partition): (&String, &Partition)| {
            let barred = self.barred(partition, cluster);
            let may = |node: &NodeIndex| !self.excluded.contains(node) && !barred.contains(node);
            Choice {
                partition: name.clone(),
                nodes: partition.nodes.iter().copied().filter(may).collect(),
                min_nodes: partition.min_nodes,
                max_nodes: partition.max_nodes,
                whole_node: partition.whole_node,
                user_node: partition.user_node,
                jobs_per_cpu: partition
                    .jobs_per_cpu
                    .filter(|jobs| partition.forced || (*jobs > 1 && self.shares)),
                counted: Vec::new(),
            }
        };
        known.map(choice).collect()
    }

    /// Nodes of the partition that reservations keep from the job.
    fn barred(&self, partition: &Partition, cluster: &Cluster<'_>) -> HashSet<NodeIndex> {
        let all = || partition.nodes.iter().copied();
        let limit_s = self.time_limit_s.map(|limit| limit.0 as u64);
        let limit_s = limit_s.or(partition.max_time_s).unwrap_or(YEAR_S);
        let job_end = cluster
            .now
            .0
            .saturating_add(i64::try_from(limit_s).unwrap_or(i64::MAX));
        let own = self.reservation.map(|name| {
            let found = cluster.reservations.iter().find(|one| one.name == name);
            found.ok_or(())
        });
        let mut barred = HashSet::new();
        match own {
            // Deleted, or one of several, among which Slurm chooses.
            Some(Err(())) => return all().collect(),
            Some(Ok(own)) if !own.has("FLEX") => {
                if cluster.now < own.start || cluster.now > own.end {
                    return all().collect();
                }
                barred.extend(all().filter(|node| own.nodes.binary_search(node).is_err()));
            }
            _ => {}
        }
        let own = own.and_then(Result::ok);
        for one in cluster.reservations {
            let is_now = one.start.0 < job_end && one.end > cluster.now;
            let applies = match own {
                None => true,
                Some(own) => {
                    own.name != one.name && !own.has("MAINT") && (!own.has("OVERLAP") || one.has("MAINT"))
                }
            };
            if is_now && applies {
                barred.extend(&one.nodes);
            }
        }
        barred
    }
}

/// Why the job would not start on free nodes either, by Slurm's word for it.
pub fn hindrance(job: &Listed, now: UnixTime) -> Option<Hindrance> {
    if job.job.priority == Some(0) {
        return Some(Hindrance::Held);
    }
    // The word may be followed by more: "ReqNodeNotAvail, UnavailableNodes:n3".
    let reason = job.job.reason.as_deref().unwrap_or_default();
    let known = match reason.split(',').next().unwrap_or_default() {
        "" | "Priority" | "Resources" | "SchedDefer" => None,
        "JobHeldAdmin" | "JobHeldUser" => Some(Hindrance::Held),
        "BeginTime" => Some(Hindrance::Date),
        "Dependency" | "DependencyNeverSatisfied" => Some(Hindrance::Dependency),
        "Licenses" => Some(Hindrance::Licenses),
        "JobArrayTaskLimit" => Some(Hindrance::Limit),
        "Reservation" | "ReservationDeleted" => Some(Hindrance::Reservation),
        "ReqNodeNotAvail" | "Nodes required for job are DOWN" => Some(Hindrance::Nodes),
        "PartitionNodeLimit" | "PartitionTimeLimit" | "PartitionDown" | "PartitionInactive"
        | "PartitionConfig" => Some(Hindrance::Partition),
        "BadConstraints" => Some(Hindrance::Constraints),
        _ => Some(Hindrance::Other),
    };
    let too_early = job.job.eligible.is_some_and(|eligible| eligible > now);
    known.or(too_early.then_some(Hindrance::Date))
}

/// Whether Slurm has tried to start it.
pub fn is_tested(job: &Listed) -> bool {
    let reason = job.job.reason.as_deref();
    match job.job.het {
        None => reason.is_some(),
        // Only the backfill scheduler looks at these: then they have another reason, or an expected start.
        Some(_) => !matches!(reason, None | Some("Priority")) || job.job.start.is_some(),
    }
}

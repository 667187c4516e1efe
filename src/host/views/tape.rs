// SPDX-License-Identifier: GPL-2.0-or-later
//! What a snapshot brings, copied as it comes.
//!
//! While a tape is filled Slurm does without its locks. So nothing is parsed here, and nothing is allocated for a single
//! job: entries stand one behind the other in a few vectors, whose memory is kept from one look to the next.

use super::raw::{array, bytes, text, time};
use crate::host::abi;
use crate::host::people::Users;
use crate::policy::directives;
use crate::policy::facts::{Availability, Holding, JobTraits, Node, RunningJob};
use crate::policy::ids::{ArrayTask, JobId, NodeIndex, UserId};
use crate::policy::labels::{Labels, Names};
use crate::policy::record::Record;
use crate::policy::resources::{Amounts, GresTable};
use crate::policy::units::UnixTime;
use std::collections::{HashMap, HashSet};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Memory is made ready for so many at most.
const NODES_MAX: usize = 20_000;
const JOBS_MAX: usize = 50_000;
/// Name and features of most nodes are not longer.
const NODE_TEXT_BYTES: usize = 64;
/// Nor the comments of most jobs.
const JOB_TEXT_BYTES: usize = 160;

/// Nodes and running jobs, not yet made sense of.
#[derive(Debug, Default)]
pub struct Tape {
    nodes: Vec<RawNode>,
    jobs: Vec<RawJob>,
    holdings: Vec<Holding>,
    text: Vec<u8>,
    /// Of each job that was forgotten the number of jobs that had been copied by then: what was copied later is so.
    taken_back: HashMap<JobId, usize>,
}

/// Where something stands in one of the tape's vectors.
type Place = Range<usize>;

#[derive(Debug)]
struct RawNode {
    index: NodeIndex,
    availability: Availability,
    idle: bool,
    total: Amounts,
    cpus_per_core: u32,
    name: Place,
    features: Place,
}

#[derive(Debug)]
struct RawJob {
    id: JobId,
    array: Option<ArrayTask>,
    user: UserId,
    submit: Option<UnixTime>,
    start: UnixTime,
    end: Option<UnixTime>,
    preempt_time: Option<UnixTime>,
    traits: JobTraits,
    holdings: Place,
    labels: RawLabels,
    comment: Place,
    admin_comment: Place,
}

/// See [`Labels`]; `None` where Slurm has no such name.
#[derive(Debug)]
struct RawLabels {
    user: Option<Place>,
    account: Option<Place>,
    qos: Option<Place>,
    partition: Option<Place>,
}

impl Tape {
    /// Forgets all that is on it and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.jobs.clear();
        self.holdings.clear();
        self.text.clear();
        self.taken_back.clear();
    }

    /// Has memory ready for about so many nodes and jobs: the kernel takes its time to give it, and Slurm is not to wait
    /// for that. Beyond a limit it is left to what comes.
    pub fn make_room(&mut self, nodes: usize, jobs: usize) {
        let (nodes, jobs) = (nodes.min(NODES_MAX), jobs.min(JOBS_MAX));
        touch(&mut self.nodes, nodes);
        touch(&mut self.jobs, jobs);
        touch(&mut self.holdings, jobs);
        touch(&mut self.text, nodes * NODE_TEXT_BYTES + jobs * JOB_TEXT_BYTES);
    }

    /// Copies a node.
    pub fn put_node(&mut self, view: &abi::surgent_node_view_t, table: &mut GresTable) {
        let mut total = Amounts::new(view.cpus, view.memory_mib);
        // SAFETY: the shim lends `gres_count` entries for this call.
        let gres = unsafe { array(view.gres, view.gres_count) };
        add_gres(table, &mut total, gres);
        let name = self.put_text(&view.name);
        let features = self.put_text(&view.features);
        self.nodes.push(RawNode {
            index: NodeIndex(view.index),
            availability: availability(view.flags),
            idle: view.flags & abi::SURGENT_NODE_IDLE != 0,
            total,
            cpus_per_core: view.cpus_per_core.max(1),
            name,
            features,
        });
    }

    /// Copies a running or suspended job.
    pub fn put_job(&mut self, view: &abi::surgent_job_view_t, table: &mut GresTable) {
        let first = self.holdings.len();
        // SAFETY: the shim lends `holding_count` entries for this call.
        for holding in unsafe { array(view.holdings, view.holding_count) } {
            let mut amounts = Amounts::new(holding.cpus, holding.memory_mib);
            // SAFETY: as above, `gres_count` entries.
            let gres = unsafe { array(holding.gres, holding.gres_count) };
            add_gres(table, &mut amounts, gres);
            self.holdings.push(Holding {
                node: NodeIndex(holding.node_index),
                amounts,
            });
        }
        let mut label = |text: &*const c_char| (!text.is_null()).then(|| self.put_text(text));
        let labels = RawLabels {
            user: label(&view.user_name),
            account: label(&view.account),
            qos: label(&view.qos),
            partition: label(&view.partition),
        };
        let comment = self.put_text(&view.comment);
        let admin_comment = self.put_text(&view.admin_comment);
        let unlimited = view.time_limit_min == abi::SURGENT_NONE32;
        self.jobs.push(RawJob {
            id: JobId(view.job_id),
            array: array_task(view),
            user: UserId(view.user_id),
            submit: time(view.submit_time),
            start: UnixTime(view.start_time),
            end: time(view.end_time).filter(|_| !unlimited),
            preempt_time: time(view.preempt_time),
            traits: traits(view),
            holdings: first..self.holdings.len(),
            labels,
            comment,
            admin_comment,
        });
    }

    /// What was copied of this job so far is no longer so.
    pub fn forget_job(&mut self, job: JobId) {
        self.taken_back.insert(job, self.jobs.len());
    }

    fn put_text(&mut self, text: &*const c_char) -> Place {
        let first = self.text.len();
        self.text.extend_from_slice(bytes(text).unwrap_or_default());
        first..self.text.len()
    }

    fn text(&self, place: &Place) -> &[u8] {
        &self.text[place.clone()]
    }

    /// The nodes, in the order in which they were put.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        self.nodes.iter().map(|raw| Node {
            index: raw.index,
            name: String::from_utf8_lossy(self.text(&raw.name)).into_owned(),
            availability: raw.availability,
            total: raw.total.clone(),
            cpus_per_core: raw.cpus_per_core,
        })
    }

    /// Each node with its features, separated by commas, sorted by index.
    pub fn features(&self) -> Vec<(NodeIndex, &[u8])> {
        let features = self.nodes.iter().map(|raw| (raw.index, self.text(&raw.features)));
        let mut features: Vec<_> = features.collect();
        features.sort_by_key(|(node, _)| *node);
        features
    }

    /// The running jobs, in the order in which they were put; those of `users` are labelled with their names.
    pub fn running(&self, users: &Users) -> impl Iterator<Item = RunningJob> {
        let mut names = Names::default();
        let idle = self.nodes.iter().filter(|node| node.idle).map(|node| node.index);
        let idle: HashSet<NodeIndex> = idle.collect();
        let jobs = self.jobs.iter().enumerate();
        let known = jobs.filter(|(at, raw)| self.taken_back.get(&raw.id).is_none_or(|until| at >= until));
        known.map(move |(_, raw)| {
            let holdings = &self.holdings[raw.holdings.clone()];
            let mut traits = raw.traits;
            let runs = !traits.completing && !traits.suspended && !traits.configuring;
            traits.forgotten = runs && holdings.iter().any(|holding| idle.contains(&holding.node));
            let admin_comment = self.text(&raw.admin_comment);
            RunningJob {
                id: raw.id,
                array: raw.array,
                user: raw.user,
                labels: self.labels(raw, users, &mut names),
                submit: raw.submit,
                start: raw.start,
                end: raw.end,
                preempt_time: raw.preempt_time,
                traits,
                holdings: holdings.to_vec(),
                directives: directives::parse(self.text(&raw.comment)).ok(),
                record: Record::read(admin_comment),
                admin_comment: admin_comment.to_vec(),
            }
        })
    }

    fn labels(&self, raw: &RawJob, users: &Users, names: &mut Names) -> Labels {
        let mut label = |place: &Option<Place>| {
            let text = self.text(place.as_ref()?);
            Some(names.name(&String::from_utf8_lossy(text)))
        };
        let user = label(&raw.labels.user);
        Labels {
            // Slurm itself has the name only where it was needed.
            user: users.get(&raw.user).cloned().or(user),
            account: label(&raw.labels.account),
            qos: label(&raw.labels.qos),
            partition: label(&raw.labels.partition),
        }
    }
}

/// Has the kernel give memory for `count` entries.
fn touch<T>(entries: &mut Vec<T>, count: usize) {
    if entries.capacity() < count {
        // An eighth more, so that a few more jobs the next time are not a reason to do this again.
        entries.reserve_exact(count + count / 8 - entries.len());
        // Written to, or it would be promised only.
        entries.spare_capacity_mut().fill_with(MaybeUninit::zeroed);
    }
}

fn add_gres(table: &mut GresTable, amounts: &mut Amounts, gres: &[abi::surgent_gres_t]) {
    for entry in gres {
        let model = bytes(&entry.type_).map(|_| text(&entry.type_));
        table.add(amounts, &text(&entry.name), model.as_deref(), entry.count);
    }
}

fn availability(flags: u32) -> Availability {
    let rules = [
        (abi::SURGENT_NODE_DOWN, Availability::Down),
        (abi::SURGENT_NODE_DRAIN, Availability::Drained),
        (abi::SURGENT_NODE_POWERING_DOWN, Availability::PoweringDown),
        (abi::SURGENT_NODE_RESERVED, Availability::Reserved),
    ];
    let found = rules.iter().find(|(flag, _)| flags & flag != 0);
    found.map_or(Availability::Up, |(_, availability)| *availability)
}

fn traits(view: &abi::surgent_job_view_t) -> JobTraits {
    let has = |flag: u32| view.flags & flag != 0;
    JobTraits {
        batch: has(abi::SURGENT_JOB_BATCH),
        requeue: has(abi::SURGENT_JOB_REQUEUE),
        whole_node: has(abi::SURGENT_JOB_WHOLE_NODE),
        completing: has(abi::SURGENT_JOB_COMPLETING),
        // Its nodes tell.
        forgotten: false,
        configuring: has(abi::SURGENT_JOB_CONFIGURING),
        suspended: view.state == abi::SURGENT_STATE_SUSPENDED,
        het: has(abi::SURGENT_JOB_HET),
        exempt: has(abi::SURGENT_JOB_EXEMPT),
        shared: has(abi::SURGENT_JOB_SHARED),
        user_node: has(abi::SURGENT_JOB_USER_NODE),
        place: has(abi::SURGENT_JOB_LOSES_PLACE).then_some(view.priority),
    }
}

/// Which task of which array a job is.
pub fn array_task(view: &abi::surgent_job_view_t) -> Option<ArrayTask> {
    let task = view.array_task_id;
    (view.array_job_id != 0 && task != abi::SURGENT_NONE32).then_some(ArrayTask {
        array: JobId(view.array_job_id),
        task,
    })
}

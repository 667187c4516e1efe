// SPDX-License-Identifier: GPL-2.0-or-later
//! From the views that a shim lends for the length of a call to facts of our own.

mod raw;
mod request;

use super::abi;
use super::guard::{Hook, hook};
use super::users::Users;
use crate::policy::directives::{self, Urgency};
use crate::policy::facts::{
    Availability, Component, Facts, Hindrance, Holding, JobTraits, Node, ParkedJob, RunningJob, WaitingJob,
};
use crate::policy::ids::{ArrayTask, JobId, NodeIndex, UserId};
use crate::policy::labels::{Labels, Names};
use crate::policy::record::Record;
use crate::policy::resources::{Amounts, GresTable};
use crate::policy::units::UnixTime;
use bstr::ByteSlice;
use raw::{array, lossy, time};
pub use raw::{bytes, view_ref};
use std::collections::BTreeSet;
use std::ffi::{c_char, c_void};

/// Collects a snapshot.
#[derive(Debug)]
pub struct Collector {
    users: Users,
    facts: Facts,
    /// The features of each node, separated by commas.
    features: Vec<(NodeIndex, Vec<u8>)>,
    names: Names,
    reclass: BTreeSet<JobId>,
    damaged: bool,
}

impl Collector {
    /// Begins a snapshot at `now`; waiting jobs in `reclass` are looked at for a change of class, and jobs of `users` are
    /// labelled with their names.
    pub fn new(now: UnixTime, reclass: BTreeSet<JobId>, users: Users) -> Self {
        Self {
            users,
            facts: Facts::at(now),
            features: Vec::new(),
            names: Names::default(),
            reclass,
            damaged: false,
        }
    }

    /// What a shim needs to put records into this collector. It borrows the collector for as long as it is used.
    pub fn sink(&mut self) -> abi::surgent_sink_t {
        abi::surgent_sink_t {
            size: u32::try_from(size_of::<abi::surgent_sink_t>()).unwrap_or(u32::MAX),
            reserved0: 0,
            context: std::ptr::from_mut(self).cast(),
            node: Some(take_node),
            wants_request: Some(wants_request),
            job: Some(take_job),
        }
    }

    /// The facts, in order; `None` where a record could not be read, so that they are not complete.
    pub fn finish(mut self) -> Option<Facts> {
        if self.damaged {
            return None;
        }
        self.facts.nodes.sort_by_key(|node| node.index);
        self.facts.running.sort_by_key(|job| job.id);
        Some(self.facts)
    }

    fn node(&mut self, view: &abi::surgent_node_view_t) {
        let mut total = Amounts::new(view.cpus, view.memory_mib);
        // SAFETY: the shim lends `gres_count` entries for this call.
        let gres = unsafe { array(view.gres, view.gres_count) };
        add_gres(&mut self.facts.gres, &mut total, gres);
        self.facts.nodes.push(Node {
            index: NodeIndex(view.index),
            name: lossy(view.name),
            availability: availability(view.flags),
            total,
            cpus_per_core: view.cpus_per_core.max(1),
        });
        let features = bytes(&view.features).unwrap_or_default();
        self.features.push((NodeIndex(view.index), features.to_vec()));
    }

    fn job(&mut self, view: &abi::surgent_job_view_t) {
        match view.state {
            abi::SURGENT_STATE_RUNNING | abi::SURGENT_STATE_SUSPENDED => self.running_job(view),
            abi::SURGENT_STATE_PENDING => self.pending_job(view),
            _ => {}
        }
    }

    fn running_job(&mut self, view: &abi::surgent_job_view_t) {
        // SAFETY: the shim lends `holding_count` entries for this call.
        let holdings = unsafe { array(view.holdings, view.holding_count) }
            .iter()
            .map(|holding| {
                let mut amounts = Amounts::new(holding.cpus, holding.memory_mib);
                // SAFETY: as above, `gres_count` entries.
                let gres = unsafe { array(holding.gres, holding.gres_count) };
                add_gres(&mut self.facts.gres, &mut amounts, gres);
                Holding {
                    node: NodeIndex(holding.node_index),
                    amounts,
                }
            })
            .collect();
        let comment = bytes(&view.comment).unwrap_or_default();
        let admin_comment = bytes(&view.admin_comment).unwrap_or_default();
        let unlimited = view.time_limit_min == abi::SURGENT_NONE32;
        let labels = self.labels(view);
        self.facts.running.push(RunningJob {
            id: JobId(view.job_id),
            array: array_task(view),
            user: UserId(view.user_id),
            labels,
            start: UnixTime(view.start_time),
            end: time(view.end_time).filter(|_| !unlimited),
            preempt_time: time(view.preempt_time),
            traits: traits(view),
            holdings,
            directives: directives::parse(comment).ok(),
            record: Record::read(admin_comment),
            admin_comment: admin_comment.to_vec(),
        });
    }

    fn labels(&mut self, view: &abi::surgent_job_view_t) -> Labels {
        let mut label = |text: *const c_char| bytes(&text).map(|text| self.names.name(&text.to_str_lossy()));
        let user = label(view.user_name);
        Labels {
            // Slurm itself has the name only where it was needed.
            user: self.users.name(UserId(view.user_id)).cloned().or(user),
            account: label(view.account),
            qos: label(view.qos),
            partition: label(view.partition),
        }
    }

    fn pending_job(&mut self, view: &abi::surgent_job_view_t) {
        let id = JobId(view.job_id);
        let admin_comment = bytes(&view.admin_comment).unwrap_or_default();
        let record = Record::read(admin_comment);
        if let Some(wanted) = self.parked(view, record.as_ref()) {
            self.facts.parked.push(ParkedJob {
                id,
                array: array_task(view),
                begin: UnixTime(view.begin_time),
                completing: view.flags & abi::SURGENT_JOB_COMPLETING != 0,
                held: view.priority == 0,
                het: view.flags & abi::SURGENT_JOB_HET != 0,
                wanted,
                record,
                admin_comment: admin_comment.to_vec(),
            });
        } else if record
            .as_ref()
            .is_some_and(|record| record.class == Urgency::Urgent)
        {
            let hindrance = hindrance(view, self.facts.now);
            let request = request::read(view, &self.features, &mut self.facts.gres);
            self.facts.waiting.push(WaitingJob {
                id,
                priority: view.priority,
                submit: UnixTime(view.submit_time),
                blocked: hindrance.is_some(),
                hindrance,
                tested: view.flags & abi::SURGENT_JOB_UNTESTED == 0,
                request,
                tasks: view.array_tasks,
                het: component(view),
                record,
                admin_comment: admin_comment.to_vec(),
            });
        }
    }

    /// Whether something else is to be done about a pending job than finding a place for it: `Some` then, with the class
    /// that its comment asks for, if that is to be looked at.
    fn parked(&self, view: &abi::surgent_job_view_t, record: Option<&Record>) -> Option<Option<Urgency>> {
        let wanted = self.reclass.contains(&JobId(view.job_id)).then(|| {
            let directives = directives::parse(bytes(&view.comment).unwrap_or_default()).ok()?;
            Some(directives.urgency.unwrap_or(Urgency::Normal))
        });
        let asked = record.is_some_and(|record| record.ask.is_some());
        let changes = wanted.is_some_and(|wanted| wanted != record.map(|record| record.class));
        (asked || changes).then_some(wanted.flatten())
    }

    fn wants_request(&self, view: &abi::surgent_job_view_t) -> bool {
        let record = Record::read(bytes(&view.admin_comment).unwrap_or_default());
        let urgent = record
            .as_ref()
            .is_some_and(|record| record.class == Urgency::Urgent);
        urgent && self.parked(view, record.as_ref()).is_none()
    }
}

unsafe extern "C" fn take_node(context: *mut c_void, view: *const abi::surgent_node_view_t) {
    // SAFETY: C hands back the context of `Collector::sink` and a view that is valid for this call.
    unsafe { take(context, view, Collector::node) };
}

unsafe extern "C" fn wants_request(context: *mut c_void, view: *const abi::surgent_job_view_t) -> bool {
    hook(Hook::Snapshot, true, || {
        // SAFETY: C hands back the context of `Collector::sink`, which nobody else uses now.
        let collector = unsafe { context.cast::<Collector>().as_ref() };
        // SAFETY: a view that is valid for this call.
        let view = unsafe { view_ref(view) };
        collector
            .zip(view)
            .is_none_or(|(collector, view)| collector.wants_request(view))
    })
}

unsafe extern "C" fn take_job(context: *mut c_void, view: *const abi::surgent_job_view_t) {
    // SAFETY: C hands back the context of `Collector::sink` and a view that is valid for this call.
    unsafe { take(context, view, Collector::job) };
}

/// # Safety
/// `context` comes from [`Collector::sink`] of a collector that nobody else uses now; `view` is NULL or points to a
/// view whose first field is its size and that is valid for this call.
unsafe fn take<View>(context: *mut c_void, view: *const View, put: impl FnOnce(&mut Collector, &View)) {
    // SAFETY: promised by the caller.
    let Some(collector) = (unsafe { context.cast::<Collector>().as_mut() }) else {
        return;
    };
    // A record that cannot be read makes the whole snapshot unusable: a plan must not miss a job.
    let taken = hook(Hook::Snapshot, false, || {
        // SAFETY: promised by the caller.
        match unsafe { view_ref(view) } {
            Some(view) => {
                put(collector, view);
                true
            }
            None => false,
        }
    });
    if !taken {
        collector.damaged = true;
    }
}

fn add_gres(table: &mut GresTable, amounts: &mut Amounts, gres: &[abi::surgent_gres_t]) {
    for entry in gres {
        let model = bytes(&entry.type_).map(|_| lossy(entry.type_));
        table.add(amounts, &lossy(entry.name), model.as_deref(), entry.count);
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
        configuring: has(abi::SURGENT_JOB_CONFIGURING),
        suspended: view.state == abi::SURGENT_STATE_SUSPENDED,
        het: has(abi::SURGENT_JOB_HET),
        exempt: has(abi::SURGENT_JOB_EXEMPT),
        shared: has(abi::SURGENT_JOB_SHARED),
        user_node: has(abi::SURGENT_JOB_USER_NODE),
    }
}

fn array_task(view: &abi::surgent_job_view_t) -> Option<ArrayTask> {
    let task = view.array_task_id;
    (view.array_job_id != 0 && task != abi::SURGENT_NONE32).then_some(ArrayTask {
        array: JobId(view.array_job_id),
        task,
    })
}

fn component(view: &abi::surgent_job_view_t) -> Option<Component> {
    (view.het_job_id != 0).then(|| Component {
        leader: JobId(view.het_job_id),
        offset: view.het_job_offset,
        of: (view.het_components != 0).then_some(view.het_components),
    })
}

fn hindrance(view: &abi::surgent_job_view_t, now: UnixTime) -> Option<Hindrance> {
    if view.flags & abi::SURGENT_JOB_COMPLETING != 0 {
        return Some(Hindrance::Completing);
    }
    let known = match view.hindrance {
        abi::SURGENT_HINDRANCE_NONE => None,
        abi::SURGENT_HINDRANCE_HELD => Some(Hindrance::Held),
        abi::SURGENT_HINDRANCE_DATE => Some(Hindrance::Date),
        abi::SURGENT_HINDRANCE_DEPENDENCY => Some(Hindrance::Dependency),
        abi::SURGENT_HINDRANCE_LICENSES => Some(Hindrance::Licenses),
        abi::SURGENT_HINDRANCE_LIMIT => Some(Hindrance::Limit),
        abi::SURGENT_HINDRANCE_RESERVATION => Some(Hindrance::Reservation),
        abi::SURGENT_HINDRANCE_NODES => Some(Hindrance::Nodes),
        abi::SURGENT_HINDRANCE_PARTITION => Some(Hindrance::Partition),
        abi::SURGENT_HINDRANCE_CONSTRAINTS => Some(Hindrance::Constraints),
        _ => Some(Hindrance::Other),
    };
    let too_early = (view.begin_time > now.0).then_some(Hindrance::Date);
    known.or(too_early)
}

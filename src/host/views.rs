// SPDX-License-Identifier: GPL-2.0-or-later
//! From the views that a shim lends for the length of a call to facts of our own.

use super::abi;
use super::guard::{Hook, hook};
use crate::policy::directives::{self, Urgency};
use crate::policy::facts::{
    Availability, Facts, GresRequest, Holding, JobTraits, MemoryRequest, Node, ParkedJob, Request,
    RunningJob, WaitingJob,
};
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::record::Record;
use crate::policy::resources::{Amounts, GresTable};
use crate::policy::units::UnixTime;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};

/// No array in a view is longer.
const ARRAY_MAX: usize = 1 << 20;

/// Collects a snapshot.
#[derive(Debug)]
pub struct Collector {
    facts: Facts,
    reclass: BTreeSet<JobId>,
    damaged: bool,
}

impl Collector {
    /// Begins a snapshot at `now`; waiting jobs in `reclass` are looked at for a change of class.
    pub fn new(now: UnixTime, reclass: BTreeSet<JobId>) -> Self {
        Self {
            facts: Facts::at(now),
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
        });
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
        self.facts.running.push(RunningJob {
            id: JobId(view.job_id),
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

    fn pending_job(&mut self, view: &abi::surgent_job_view_t) {
        let id = JobId(view.job_id);
        let admin_comment = bytes(&view.admin_comment).unwrap_or_default();
        let record = Record::read(admin_comment);
        let class = record.as_ref().map(|record| record.class);
        let asked = record.as_ref().is_some_and(|record| record.ask.is_some());
        let wanted = self.reclass.contains(&id).then(|| {
            let directives = directives::parse(bytes(&view.comment).unwrap_or_default()).ok()?;
            Some(directives.urgency.unwrap_or(Urgency::Normal))
        });
        let changes = wanted.is_some_and(|wanted| wanted != class);
        if asked || changes {
            self.facts.parked.push(ParkedJob {
                id,
                begin: UnixTime(view.begin_time),
                completing: view.flags & abi::SURGENT_JOB_COMPLETING != 0,
                wanted: wanted.flatten(),
                record,
                admin_comment: admin_comment.to_vec(),
            });
        } else if class == Some(Urgency::Urgent) {
            let blocking = abi::SURGENT_JOB_BLOCKED | abi::SURGENT_JOB_HELD | abi::SURGENT_JOB_COMPLETING;
            let too_early = view.begin_time > self.facts.now.0;
            let request = self.request(view);
            self.facts.waiting.push(WaitingJob {
                id,
                priority: view.priority,
                submit: UnixTime(view.submit_time),
                blocked: view.flags & blocking != 0 || too_early,
                tested: view.flags & abi::SURGENT_JOB_UNTESTED == 0,
                request,
                record,
                admin_comment: admin_comment.to_vec(),
            });
        }
    }

    fn request(&mut self, view: &abi::surgent_job_view_t) -> Request {
        let memory = match view.request_memory_mib {
            _ if view.flags & abi::SURGENT_JOB_ALL_MEMORY != 0 => MemoryRequest::AllOfNode,
            0 => MemoryRequest::Unsaid,
            mib if view.flags & abi::SURGENT_JOB_MEM_PER_CPU != 0 => MemoryRequest::PerCpu(mib),
            mib => MemoryRequest::PerNode(mib),
        };
        // SAFETY: the shim lends `request_gres_count` entries for this call.
        let gres = unsafe { array(view.request_gres, view.request_gres_count) }
            .iter()
            .flat_map(|gres| {
                let name = lossy(gres.name);
                let model = bytes(&gres.type_).map(|_| lossy(gres.type_));
                let any = self.facts.gres.id(&name, None);
                let exact = model.map(|model| self.facts.gres.id(&name, Some(&model)));
                [Some(any), exact].into_iter().flatten().map(|id| GresRequest {
                    id,
                    per_node: gres.per_node,
                    per_job: gres.per_job,
                    per_task: gres.per_task,
                })
            })
            .collect();
        // SAFETY: the shim lends `candidate_count` entries for this call.
        let candidates = unsafe { array(view.candidates, view.candidate_count) };
        // SAFETY: the shim lends `required_count` entries for this call.
        let required = unsafe { array(view.required, view.required_count) };
        Request {
            min_nodes: view.request_min_nodes,
            max_nodes: number(view.request_max_nodes),
            min_cpus: view.request_min_cpus,
            tasks: number(view.request_tasks).filter(|tasks| *tasks > 0),
            tasks_per_node: number(view.request_tasks_per_node).filter(|tasks| *tasks > 0),
            cpus_per_task: number(view.request_cpus_per_task).unwrap_or(1),
            cpus_per_node: number(view.request_cpus_per_node).unwrap_or(0),
            memory,
            gres,
            whole_node: view.flags & abi::SURGENT_JOB_WHOLE_NODE != 0,
            candidates: candidates.iter().map(|index| NodeIndex(*index)).collect(),
            required: required.iter().map(|index| NodeIndex(*index)).collect(),
        }
    }
}

unsafe extern "C" fn take_node(context: *mut c_void, view: *const abi::surgent_node_view_t) {
    // SAFETY: C hands back the context of `Collector::sink` and a view that is valid for this call.
    unsafe { take(context, view, Collector::node) };
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

/// The view behind a pointer, if it is as large as this core expects.
///
/// # Safety
/// `view` is NULL or points to a struct of the contract whose first field is its size, valid for `'a`.
pub unsafe fn view_ref<'a, View>(view: *const View) -> Option<&'a View> {
    if view.is_null() {
        return None;
    }
    // SAFETY: not NULL; every view begins with its size, so that much can be read of any of them.
    let size = unsafe { view.cast::<u32>().read() };
    if (size as usize) < size_of::<View>() {
        return None;
    }
    // SAFETY: the struct is at least as large as `View`.
    unsafe { view.as_ref() }
}

/// # Safety
/// `first` is NULL, or points to `count` entries that are valid for `'a`.
unsafe fn array<'a, T>(first: *const T, count: u32) -> &'a [T] {
    let count = (count as usize).min(ARRAY_MAX);
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// The bytes of a C string of a view, for as long as the view is borrowed; `None` for NULL.
pub fn bytes(text: &*const c_char) -> Option<&[u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: strings in views are NUL-terminated and live as long as the view that `text` is a field of.
    Some(unsafe { CStr::from_ptr(*text) }.to_bytes())
}

fn lossy(text: *const c_char) -> String {
    bytes(&text).map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn number(value: u32) -> Option<u32> {
    (value != abi::SURGENT_NONE32).then_some(value)
}

fn time(value: i64) -> Option<UnixTime> {
    (value != 0).then_some(UnixTime(value))
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
        (abi::SURGENT_NODE_POWERED_DOWN, Availability::PoweredDown),
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
    }
}

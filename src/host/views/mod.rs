// SPDX-License-Identifier: GPL-2.0-or-later
//! From the views that a shim lends for the length of a call to facts of our own.

pub mod ask;
mod division;
mod known_sets;
mod raw;
mod request;
mod tape;

use super::abi;
use super::guard::{Hook, hook};
use super::people::Users;
use crate::policy::directives::{self, Urgency};
use crate::policy::facts::{Application, Component, EndedJob, Facts, Hindrance, ParkedJob, WaitingJob};
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::record::Record;
use crate::policy::units::UnixTime;
use bstr::Finder;
use known_sets::KnownSets;
pub use raw::{bytes, number, view_ref};
use std::collections::BTreeSet;
use std::ffi::{c_char, c_void};
use std::sync::LazyLock;
use std::time::Duration;
pub use tape::Tape;
use tape::array_task;

/// What the record of a job that was asked to make way has in it. Made ready once, as it is looked for in each pending job.
static ASKED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(" ask="));

/// Collects a snapshot.
///
/// There may be tens of thousands of running jobs, and only a few that are waiting and urgent or parked: the former are
/// copied to a tape and read later, the latter are read at once.
#[derive(Debug)]
pub struct Collector {
    users: Users,
    facts: Facts,
    tape: Tape,
    /// The `--constraint` of each waiting job.
    constraints: Vec<Vec<u8>>,
    known_sets: KnownSets,
    reclass: BTreeSet<JobId>,
    completing: Vec<NodeIndex>,
    damaged: bool,
    holds: Vec<LockTimes>,
}

/// For how long a snapshot waited for Slurm's locks, and held them: once, or in one of several holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockTimes {
    /// Until it had them all.
    pub waited: Duration,
    /// Until it let them go.
    pub held: Duration,
}

impl Collector {
    /// Begins a snapshot at `now`; waiting jobs in `reclass` are looked at for a change of class, and jobs of `users` are
    /// labelled with their names. `tape` is what [`Collector::finish`] gave back the last time.
    pub fn new(now: UnixTime, reclass: BTreeSet<JobId>, users: Users, mut tape: Tape) -> Self {
        tape.clear();
        Self {
            users,
            facts: Facts::at(now),
            tape,
            constraints: Vec::new(),
            known_sets: KnownSets::default(),
            reclass,
            completing: Vec::new(),
            damaged: false,
            holds: Vec::new(),
        }
    }

    /// What a shim needs to put records into this collector. It borrows the collector for as long as it is used.
    pub fn sink(&mut self) -> abi::surgent_sink_t {
        let division = division::in_force();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        abi::surgent_sink_t {
            size: u32::try_from(size_of::<abi::surgent_sink_t>()).unwrap_or(u32::MAX),
            copies_min: division.copies_min,
            holds_max: division.holds_max,
            reserved0: 0,
            hold_ns: ns(division.hold),
            divide_for_ns: ns(division.divide_for),
            context: std::ptr::from_mut(self).cast(),
            node: Some(take_node),
            concerns: Some(concerns),
            wants_request: Some(wants_request),
            job: Some(take_job),
            forget_job: Some(forget_job),
            locked: Some(note_locks),
            expect: Some(make_room),
        }
    }

    /// How long Slurm had to do without its locks, each time.
    pub fn holds(&self) -> &[LockTimes] {
        &self.holds
    }

    /// The nodes on which an ended job is still being cleaned up.
    pub fn completing(&self) -> &[NodeIndex] {
        &self.completing
    }

    /// The facts, in order, and the tape for the next time. No facts where a record could not be read, so that they
    /// would not be complete.
    pub fn finish(self) -> (Option<Facts>, Tape) {
        let Self {
            users,
            mut facts,
            tape,
            constraints,
            damaged,
            ..
        } = self;
        if damaged {
            return (None, tape);
        }
        facts.nodes.extend(tape.nodes());
        // In place: there are many of both, and no two with the same number.
        facts.nodes.sort_unstable_by_key(|node| node.index);
        facts.running.extend(tape.running(&users));
        facts.running.sort_unstable_by_key(|job| job.id);
        let features = tape.features();
        for (job, constraint) in facts.waiting.iter_mut().zip(&constraints) {
            job.request.constrain(constraint, &features);
        }
        (Some(facts), tape)
    }

    fn node(&mut self, view: &abi::surgent_node_view_t) {
        if view.flags & abi::SURGENT_NODE_COMPLETING != 0 {
            self.completing.push(NodeIndex(view.index));
        }
        self.tape.put_node(view, &mut self.facts.gres);
    }

    fn job(&mut self, view: &abi::surgent_job_view_t) {
        match view.state {
            abi::SURGENT_STATE_RUNNING | abi::SURGENT_STATE_SUSPENDED => {
                self.tape.put_job(view, &mut self.facts.gres);
            }
            abi::SURGENT_STATE_PENDING => self.pending_job(view),
            abi::SURGENT_STATE_ENDED if is_urgent(view) => self.facts.ended.push(EndedJob {
                id: JobId(view.job_id),
                array: (view.array_job_id != 0).then_some(JobId(view.array_job_id)),
                start: UnixTime(view.start_time),
                end: UnixTime(view.end_time),
            }),
            _ => {}
        }
    }

    /// Whether anything may be to do about a pending job. Nearly all are normal and were never asked to make way, and
    /// there may be very many, so this looks at a few bytes only.
    fn concerns(&self, job: JobId, admin_comment: &[u8]) -> bool {
        Record::is_urgent_fast(admin_comment)
            || ASKED.find(admin_comment).is_some()
            || self.reclass.contains(&job)
    }

    fn pending_job(&mut self, view: &abi::surgent_job_view_t) {
        let id = JobId(view.job_id);
        let admin_comment = bytes(&view.admin_comment).unwrap_or_default();
        let record = Record::read(admin_comment);
        if let Some(wanted) = self.parked(view, record.as_ref()) {
            let asks = becomes_urgent(wanted, record.as_ref());
            let application = asks.then(|| self.application(view));
            self.facts.parked.push(ParkedJob {
                id,
                array: array_task(view),
                begin: UnixTime(view.begin_time),
                completing: view.flags & abi::SURGENT_JOB_COMPLETING != 0,
                held: view.priority == 0,
                het: view.flags & abi::SURGENT_JOB_HET != 0,
                wanted,
                application,
                record,
                admin_comment: admin_comment.to_vec(),
            });
        } else if record
            .as_ref()
            .is_some_and(|record| record.class == Urgency::Urgent)
        {
            let hindrance = hindrance(view, self.facts.now);
            let mut request = request::read(view, &mut self.facts.gres, &mut self.known_sets);
            let application = request::application(view, &mut request, &self.facts.gres);
            self.constraints
                .push(bytes(&view.request_features).unwrap_or_default().to_vec());
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
                worth: directives::parse(bytes(&view.comment).unwrap_or_default())
                    .ok()
                    .and_then(|told| told.priority),
                application: Some(application),
                record,
                admin_comment: admin_comment.to_vec(),
            });
        }
    }

    fn application(&mut self, view: &abi::surgent_job_view_t) -> Application {
        let mut request = request::read(view, &mut self.facts.gres, &mut self.known_sets);
        request::application(view, &mut request, &self.facts.gres)
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
        match self.parked(view, record.as_ref()) {
            Some(wanted) => becomes_urgent(wanted, record.as_ref()),
            None => urgent,
        }
    }
}

fn is_urgent(view: &abi::surgent_job_view_t) -> bool {
    Record::is_urgent_fast(bytes(&view.admin_comment).unwrap_or_default())
}

/// Whether a job that is not urgent is to become so.
fn becomes_urgent(wanted: Option<Urgency>, record: Option<&Record>) -> bool {
    wanted == Some(Urgency::Urgent) && record.is_none_or(|record| record.class != Urgency::Urgent)
}

unsafe extern "C" fn take_node(context: *mut c_void, view: *const abi::surgent_node_view_t) {
    // SAFETY: C hands back the context of `Collector::sink` and a view that is valid for this call.
    unsafe { take(context, view, Collector::node) };
}

unsafe extern "C" fn concerns(context: *mut c_void, job_id: u32, admin_comment: *const c_char) -> bool {
    hook(Hook::Snapshot, true, || {
        // SAFETY: C hands back the context of `Collector::sink`, which nobody else uses now.
        let collector = unsafe { context.cast::<Collector>().as_ref() };
        collector.is_some_and(|collector| {
            collector.concerns(JobId(job_id), bytes(&admin_comment).unwrap_or_default())
        })
    })
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

unsafe extern "C" fn forget_job(context: *mut c_void, job_id: u32) {
    // SAFETY: C hands back the context of `Collector::sink`, which nobody else uses now.
    let collector = unsafe { context.cast::<Collector>().as_mut() };
    if let Some(collector) = collector {
        // One that could not be forgotten would be there beside who took its place.
        let done = hook(Hook::Snapshot, false, || {
            collector.tape.forget_job(JobId(job_id));
            true
        });
        collector.damaged |= !done;
    }
}

unsafe extern "C" fn make_room(context: *mut c_void, nodes: u32, jobs: u32) {
    // SAFETY: C hands back the context of `Collector::sink`, which nobody else uses now.
    let collector = unsafe { context.cast::<Collector>().as_mut() };
    hook(Hook::Snapshot, (), || {
        if let Some(collector) = collector {
            collector.tape.make_room(nodes as usize, jobs as usize);
        }
    });
}

unsafe extern "C" fn note_locks(context: *mut c_void, waited_ns: u64, held_ns: u64) {
    // SAFETY: C hands back the context of `Collector::sink`, which nobody else uses now.
    let collector = unsafe { context.cast::<Collector>().as_mut() };
    hook(Hook::Snapshot, (), || {
        if let Some(collector) = collector {
            collector.holds.push(LockTimes {
                waited: Duration::from_nanos(waited_ns),
                held: Duration::from_nanos(held_ns),
            });
        }
    });
    division::pause();
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

#[cfg(test)]
mod tests;

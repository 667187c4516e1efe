// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions of `surgent.h`. Each is a thin shell: read the view, ask, answer.

use super::core::{Core, Host, unix_now};
use super::guard::{self, Hook, hook};
use super::views::ask::{Changed, is_oversize, submitted};
use super::views::{bytes, number, view_ref};
use super::{abi, logger, planner};
use crate::policy::admission::desk::Desk;
use crate::policy::admission::rules::{Kind, Refusal};
use crate::policy::admission::settings::AdmissionSettings;
use crate::policy::admission::{self, Change, Component, Door, Submission};
use crate::policy::audit::{Event, Ruling, Submitter, Text};
use crate::policy::directives::UrgencyOption;
use crate::policy::ids::{JobId, UserId};
use crate::policy::queue::{self, Applicant};
use crate::policy::record::Record;
use crate::policy::settings::{Mode, Settings};
use crate::policy::units::{Seconds, UnixTime};
use std::cell::{Cell, LazyCell};
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

// Both are 0 and 1; a shim returns them as they are.
const ACCEPT: c_int = abi::SURGENT_ACCEPT as c_int;
const REFUSE: c_int = abi::SURGENT_REFUSE as c_int;

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_core_abi() -> u32 {
    abi::SURGENT_ABI
}

/// See `surgent.h`.
///
/// # Safety
/// `host` is NULL or points to a `surgent_host_t` that is valid for this call and whose functions stay callable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surgent_attach(host: *const abi::surgent_host_t) -> c_int {
    guard::install_panic_hook();
    // A plugin that does not load ends slurmctld. So only what could never work is refused; after a fault of ours the
    // plugin loads, and does nothing.
    hook(Hook::Attach, ACCEPT, || {
        // SAFETY: promised by the caller.
        let Some((contract, log)) = (unsafe { introduction(host) }) else {
            return REFUSE;
        };
        logger::install(log);
        if contract != abi::SURGENT_ABI {
            log::error!(
                "a shim for contract {contract} cannot use this core, which is for contract {}; install shims and core of one version",
                abi::SURGENT_ABI
            );
            return REFUSE;
        }
        // SAFETY: promised by the caller.
        match unsafe { view_ref(host) } {
            Some(host) => attach(host),
            None => {
                log::error!(
                    "a shim was built with another surgent.h than this core; build and install both from one tree"
                );
                REFUSE
            }
        }
    })
}

/// What every shim says in the same way, whatever its contract: which that is, and how to write to Slurm's log.
///
/// # Safety
/// `host` is NULL or points to a `surgent_host_t` of any contract that is valid for this call.
unsafe fn introduction(host: *const abi::surgent_host_t) -> Option<(u32, logger::LogFn)> {
    const END: usize = offset_of!(abi::surgent_host_t, log) + size_of::<Option<logger::LogFn>>();
    if host.is_null() {
        return None;
    }
    // SAFETY: not NULL, and every contract's struct begins with its size.
    if (unsafe { (*host).size } as usize) < END {
        return None;
    }
    // SAFETY: it is there up to the end of `log`.
    unsafe { Some(((*host).abi, (*host).log?)) }
}

fn attach(host: &abi::surgent_host_t) -> c_int {
    let core = Core::get();
    let path = |text: &*const c_char| PathBuf::from(OsStr::from_bytes(bytes(text).unwrap_or_default()));
    core.attach(host.shim);
    if host.shim == abi::SURGENT_SHIM_SITE_FACTOR {
        core.queue.offer(host.reprioritize);
        core.wake.ring();
    }
    if let (Some(snapshot), Some(nudge), Some(use_base), Some(in_control_since)) =
        (host.snapshot, host.nudge, host.use_base, host.in_control_since)
    {
        core.host.store(Some(
            Host {
                snapshot,
                nudge,
                use_base,
                in_control_since,
                slurm_conf: path(&host.slurm_conf),
                state_dir: path(&host.state_dir),
            }
            .into(),
        ));
        planner::start();
    }
    ACCEPT
}

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_misfit() -> bool {
    hook(Hook::Misfit, false, guard::latch_silently)
}

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_detach(shim: u32) {
    hook(Hook::Detach, (), || {
        let core = Core::get();
        if shim == abi::SURGENT_SHIM_SITE_FACTOR {
            core.queue.offer(None);
        }
        core.detach(shim);
    });
}

/// See `surgent.h`.
///
/// # Safety
/// Both pointers are NULL or point to structs of the contract that are valid for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surgent_job_submit(
    request: *const abi::surgent_request_view_t,
    answer: *const abi::surgent_answer_t,
) -> c_int {
    hook(Hook::JobSubmit, ACCEPT, || {
        // SAFETY: promised by the caller.
        let (Some(request), Some(answer)) = (unsafe { (view_ref(request), view_ref(answer)) }) else {
            return ACCEPT;
        };
        // SAFETY: NULL, or a whole struct that is valid for this call.
        let ask = unsafe { view_ref(request.ask) };
        if is_oversize(bytes(&request.comment), ask) {
            return ACCEPT;
        }
        let core = Core::get();
        let has = |flag: u32| request.flags & flag != 0;
        let submission = Submission {
            comment: bytes(&request.comment),
            admin_comment: bytes(&request.admin_comment),
            requeue_unset: has(abi::SURGENT_REQUEST_REQUEUE_UNSET),
            held: has(abi::SURGENT_REQUEST_HELD),
            batch: has(abi::SURGENT_REQUEST_BATCH),
            component: has(abi::SURGENT_REQUEST_HET).then(|| match has(abi::SURGENT_REQUEST_HET_FIRST) {
                true => Component::First,
                false => Component::Later,
            }),
            option: UrgencyOption {
                value: bytes(&request.urgency_option),
                other: bytes(&request.urgency_option_other),
            },
        };
        let (now, settings) = (unix_now(), core.settings.load());
        let rules = &settings.admission;
        let broken = Cell::new(None);
        let mut judge = |_: bool| {
            judged(core, rules, now, &broken, |desk| {
                desk.admit(rules, &submitted(UserId(request.user_id), ask), now)
            })
        };
        let door = Door {
            refuse: rules.refuse,
            judge: &mut judge,
        };
        match admission::submit(&submission, now, settings.mode, door) {
            Ok(admission) => {
                if let Some(text) = &admission.comment {
                    set_text(answer, answer.set_comment, text);
                }
                if let Some(text) = &admission.admin_comment {
                    set_text(answer, answer.set_admin_comment, text);
                    if Record::is_urgent_fast(text) {
                        let submitter = submitter(request);
                        core.audit(Event::Admitted { submitter });
                        core.wake.ring_for_new_job();
                    }
                }
                if let (Some(priority), Some(set)) = (admission.priority, answer.set_priority) {
                    // SAFETY: the shim's own function with its own context, during its own call.
                    unsafe { set(answer.context, priority) };
                }
                if let (true, Some(set)) = (admission.requeue, answer.set_requeue) {
                    // SAFETY: as above.
                    unsafe { set(answer.context, true) };
                }
                if let Some(sentence) = &admission.note {
                    note(answer, request, None, broken.get(), sentence);
                }
                ACCEPT
            }
            Err(sentence) => refuse(answer, request, None, broken.get(), &sentence),
        }
    })
}

/// See `surgent.h`.
///
/// # Safety
/// All pointers are NULL or point to structs of the contract that are valid for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surgent_job_modify(
    change: *const abi::surgent_request_view_t,
    subject: *const abi::surgent_subject_view_t,
    answer: *const abi::surgent_answer_t,
) -> c_int {
    hook(Hook::JobModify, ACCEPT, || {
        // SAFETY: promised by the caller.
        let views = unsafe { (view_ref(change), view_ref(subject), view_ref(answer)) };
        let (Some(change), Some(subject), Some(answer)) = views else {
            return ACCEPT;
        };
        // SAFETY: each NULL, or a whole struct that is valid for this call.
        let (ask, is) = unsafe { (view_ref(change.ask), view_ref(subject.ask)) };
        if is_oversize(bytes(&change.comment), ask) {
            return ACCEPT;
        }
        let core = Core::get();
        let (now, settings) = (unix_now(), core.settings.load());
        let rules = &settings.admission;
        let pending = subject.state == abi::SURGENT_STATE_PENDING;
        // Most changes are the reports of running jobs, which no rule speaks of.
        let changed = LazyCell::new(|| Changed::new(UserId(subject.user_id), ask, is));
        let asked = Change {
            alters: pending && rules.is_any() && changed.alters(),
            comment: bytes(&change.comment),
            admin_comment: bytes(&change.admin_comment),
            current_admin_comment: bytes(&subject.admin_comment),
            pending,
        };
        let broken = Cell::new(None);
        let mut judge = |is_urgent: bool| {
            let before = is_urgent.then_some(&changed.before);
            judged(core, rules, now, &broken, |desk| {
                desk.check(rules, &changed.after, before)
            })
        };
        let door = Door {
            refuse: rules.refuse,
            judge: &mut judge,
        };
        match admission::modify(&asked, now, settings.mode, door) {
            Ok(amendment) => {
                if let Some(text) = &amendment.admin_comment {
                    set_text(answer, answer.set_admin_comment, text);
                }
                // Slurm has yet to check that this user may change this job at all. So nothing is believed here:
                // the planner is only woken, and reads what the job says afterwards.
                if amendment.reclass {
                    core.reclass.note(JobId(subject.job_id));
                    core.wake.ring_for_new_job();
                } else if amendment.wake {
                    core.wake.ring_if_awake();
                }
                if let Some(sentence) = &amendment.note {
                    note(
                        answer,
                        change,
                        Some(JobId(subject.job_id)),
                        broken.get(),
                        sentence,
                    );
                }
                ACCEPT
            }
            Err(sentence) => refuse(
                answer,
                change,
                Some(JobId(subject.job_id)),
                broken.get(),
                &sentence,
            ),
        }
    })
}

/// See `surgent.h`.
///
/// # Safety
/// `pair` is NULL or points to a struct of the contract that is valid for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surgent_preemptable(pair: *const abi::surgent_pair_view_t) -> bool {
    // SAFETY: promised by the caller.
    let Some(pair) = (unsafe { view_ref(pair) }) else {
        return false;
    };
    // A preemption that has begun cannot be taken back, and must not look as if it were.
    let begun = pair.preemptee_preempt_time != 0;
    hook(Hook::Preemptable, begun, || {
        let core = Core::get();
        if bytes(&pair.preemptor_admin_comment).is_some_and(Record::is_urgent_fast) {
            core.wake.ring_if_asleep();
        }
        let stoppable = abi::SURGENT_JOB_BATCH | abi::SURGENT_JOB_REQUEUE;
        begun
            || (pair.preemptee_state == abi::SURGENT_STATE_RUNNING
                && pair.preemptee_flags & stoppable == stoppable
                && core.gate.allows(
                    JobId(pair.preemptor_id),
                    JobId(pair.preemptee_id),
                    UnixTime(pair.preemptee_start_time),
                ))
    })
}

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_acts() -> bool {
    hook(Hook::Acts, false, || Core::get().settings.load().mode == Mode::On)
}

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_preempt_mode(job_id: u32, start_time: i64) -> u32 {
    hook(Hook::Mode, abi::SURGENT_MODE_BASE, || {
        match Core::get().gate.has_victim(JobId(job_id), UnixTime(start_time)) {
            true => abi::SURGENT_MODE_REQUEUE,
            false => abi::SURGENT_MODE_BASE,
        }
    })
}

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_preempt_priority(job_id: u32, preempt_time: i64) -> u32 {
    hook(Hook::Priority, u32::MAX, || {
        // Only victims of one gate are ever sorted, and all of them are needed; a fixed order keeps Slurm's choice
        // the same from one pass to the next. A preemption that has begun comes first.
        match preempt_time {
            0 => job_id.max(1),
            _ => 0,
        }
    })
}

/// See `surgent.h`.
///
/// # Safety
/// Both pointers are NULL, or point to a struct of the contract and to a number that are valid for this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn surgent_site_factor(
    job: *const abi::surgent_queue_view_t,
    factor: *mut i64,
) -> bool {
    // SAFETY: promised by the caller.
    let (Some(job), Some(answer)) = (unsafe { (view_ref(job), factor.as_mut()) }) else {
        return false;
    };
    hook(Hook::SiteFactor, false, || {
        let core = Core::get();
        let settings = core.settings.load();
        *answer = match settings.mode {
            Mode::On => queue::factor(
                &applicant(job, &settings),
                core.queue.until(unix_now()),
                &settings,
            ),
            // As without Surgent, also for those who got one before.
            Mode::Shadow | Mode::Off => 0,
        };
        true
    })
}

fn applicant(job: &abi::surgent_queue_view_t, settings: &Settings) -> Applicant {
    Applicant::read(
        bytes(&job.comment).unwrap_or_default(),
        bytes(&job.admin_comment).unwrap_or_default(),
        UnixTime(job.submit_time),
        (job.gpus, job.cpus),
        number(job.time_limit_min).map(|minutes| Seconds(f64::from(minutes) * 60.0)),
        settings,
    )
}

/// See `surgent.h`.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_queue_moment() {
    hook(Hook::SiteFactor, (), || Core::get().queue.move_on(unix_now()));
}

/// What the desk says where there are rules; of which kind the rule is that is broken goes to `broken`.
///
/// Has the planner look at the cluster where a job was refused by what was seen of it before: it may be different now,
/// and be so for whoever tries again.
fn judged(
    core: &Core,
    rules: &AdmissionSettings,
    now: UnixTime,
    broken: &Cell<Option<Kind>>,
    ask: impl FnOnce(&mut Desk) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if !rules.is_any() {
        return Ok(());
    }
    let mut desk = core.desk();
    let judged = ask(&mut desk);
    let kind = judged.as_ref().err().map(|refusal| refusal.kind);
    broken.set(kind);
    if kind.is_some_and(|kind| kind != Kind::Permission) && desk.is_stale(now) {
        core.wake.ring();
    }
    judged
}

fn submitter(request: &abi::surgent_request_view_t) -> Submitter {
    Submitter::new(UserId(request.user_id), UserId(request.by_user_id))
}

/// For the audit: what its user is told of a submission, or of a change of `job`, and by which rule.
fn ruling(
    request: &abi::surgent_request_view_t,
    job: Option<JobId>,
    rule: &'static str,
    sentence: &str,
) -> Ruling {
    Ruling {
        submitter: submitter(request),
        job,
        rule,
        sentence: Text::of(sentence),
    }
}

/// Tells a user of a submission, or a change of `job`, that is accepted, but as a normal one if a rule is `broken`.
fn note(
    answer: &abi::surgent_answer_t,
    request: &abi::surgent_request_view_t,
    job: Option<JobId>,
    broken: Option<Kind>,
    sentence: &str,
) {
    if let Some(kind) = broken {
        let ruling = ruling(request, job, kind.name(), sentence);
        Core::get().audit(Event::MadeNormal(ruling));
    }
    tell(answer, sentence);
}

/// Refuses a submission, or a change of `job`, for the rule that is `broken`, or for its comment.
fn refuse(
    answer: &abi::surgent_answer_t,
    request: &abi::surgent_request_view_t,
    job: Option<JobId>,
    broken: Option<Kind>,
    sentence: &str,
) -> c_int {
    let ruling = ruling(request, job, broken.map_or("comment", Kind::name), sentence);
    Core::get().audit(Event::Refused(ruling));
    tell(answer, sentence);
    REFUSE
}

fn tell(answer: &abi::surgent_answer_t, sentence: &str) {
    if let (Some(message), Ok(text)) = (answer.message, CString::new(format!("surgent: {sentence}"))) {
        // SAFETY: the shim's own function with its own context, during its own call; it copies the text.
        unsafe { message(answer.context, text.as_ptr()) };
    }
}

type SetText = Option<unsafe extern "C" fn(context: *mut c_void, text: *const c_char)>;

fn set_text(answer: &abi::surgent_answer_t, set: SetText, text: &[u8]) {
    // It came from C strings and our own record, so there is no NUL in it.
    if let (Some(set), Ok(text)) = (set, CString::new(text)) {
        // SAFETY: as in `tell`.
        unsafe { set(answer.context, text.as_ptr()) };
    }
}

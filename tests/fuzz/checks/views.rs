// SPDX-License-Identifier: GPL-2.0-or-later
//! The core's functions, called by a shim that has gone mad: texts of any bytes, pointers that are NULL, sizes of other
//! contracts, numbers without sense. (A pointer to nowhere cannot be told from a good one.)

#[path = "views/arena.rs"]
mod arena;
#[path = "views/look.rs"]
mod look;
#[path = "../../support/shim.rs"]
#[allow(dead_code, reason = "the fake host uses the rest")]
mod shim;

use arbitrary::{Result, Unstructured};
use arena::Arena;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex};
use surgent::host::abi::*;
use surgent::host::core::Core;
use surgent::host::exports::*;
use surgent::policy::admission::rules::{Circle, People};
use surgent::policy::admission::usage::Usage;
use surgent::policy::directives::COMMENT_MAX_BYTES;
use surgent::policy::ids::UserId;
use surgent::policy::record::Record;
use surgent::policy::settings::Settings;
use surgent::policy::units::UnixTime;

/// The one who may not be urgent.
const OUTCAST: u32 = 4243;

/// What the core wrote to Slurm's log.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn log(_level: u32, line: *const c_char) {
    // SAFETY: the core hands over a C string.
    let line = unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned();
    LOG.lock().expect("no thread died with it").push(line);
}

/// What the core gave for an answer.
#[derive(Default)]
struct Answer {
    message: Option<Vec<u8>>,
    comment: Option<Vec<u8>>,
    admin_comment: Option<Vec<u8>>,
    priority: Option<u32>,
    requeue: Option<bool>,
}

/// The slot of a text in the answer.
macro_rules! text_slot {
    ($name:ident, $field:ident) => {
        unsafe extern "C" fn $name(context: *mut c_void, text: *const c_char) {
            // SAFETY: the core hands back our context and a C string.
            let (answer, text) = unsafe { (&*context.cast::<RefCell<Answer>>(), CStr::from_ptr(text)) };
            answer.borrow_mut().$field = Some(text.to_bytes().to_vec());
        }
    };
}
text_slot!(message, message);
text_slot!(set_comment, comment);
text_slot!(set_admin_comment, admin_comment);

unsafe extern "C" fn set_priority(context: *mut c_void, priority: u32) {
    // SAFETY: as above.
    unsafe { &*context.cast::<RefCell<Answer>>() }
        .borrow_mut()
        .priority = Some(priority);
}

unsafe extern "C" fn set_requeue(context: *mut c_void, requeue: bool) {
    // SAFETY: as above.
    unsafe { &*context.cast::<RefCell<Answer>>() }
        .borrow_mut()
        .requeue = Some(requeue);
}

/// A core that lets everybody but the outcast be urgent.
static ATTACHED: LazyLock<()> = LazyLock::new(|| {
    let host = shim::host(SURGENT_SHIM_JOB_SUBMIT, log);
    // SAFETY: a whole struct whose functions stay.
    assert_eq!(unsafe { surgent_attach(&host) }, 0);
    let settings = "[admission]\ndeny_users = [\"4243\"]\n[admission.per_user]\ngpus = 16\n";
    let people = People {
        denied: Circle {
            users: [UserId(OUTCAST)].into(),
            ..Circle::default()
        },
        ..People::default()
    };
    let core = Core::get();
    let mut desk = core.desk();
    desk.set_people(Arc::new(people));
    desk.publish(Usage::default(), &[], UnixTime(1));
    core.settings
        .store(Arc::new(Settings::parse(settings).expect("good settings")));
});

/// The bytes decide what is called with what.
pub fn views(bytes: &[u8]) {
    LazyLock::force(&ATTACHED);
    // Bytes that are too few end a case early.
    let _ = calls(&mut Unstructured::new(bytes));
    Core::get().audit_queue.take();
    for line in LOG.lock().expect("no thread died with it").drain(..) {
        assert!(
            !line.contains(" in job_submit: ") && !line.contains("fault "),
            "{line}"
        );
        assert!(
            line.starts_with("surgent: ") && !line.chars().any(char::is_control),
            "{line:?}"
        );
    }
}

fn calls(from: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..4 {
        let mut arena = Arena::default();
        match from.int_in_range(0..=4)? {
            0 => submit(from, &mut arena)?,
            1 => modify(from, &mut arena)?,
            2 => preempt(from, &mut arena)?,
            3 => factor(from, &mut arena)?,
            _ => look::look(from, &mut arena)?,
        }
    }
    Ok(())
}

/// Whose job it is: half of the time the outcast's.
fn user(from: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if from.arbitrary()? {
        OUTCAST
    } else {
        from.arbitrary()?
    })
}

fn request(from: &mut Unstructured<'_>, arena: &mut Arena, user_id: u32) -> Result<surgent_request_view_t> {
    Ok(surgent_request_view_t {
        size: arena::size_of_view::<surgent_request_view_t>(from)?,
        flags: from.arbitrary()?,
        user_id,
        by_user_id: user(from)?,
        comment: arena.text(from)?,
        admin_comment: arena.text(from)?,
        urgency_option: arena.text(from)?,
        urgency_option_other: arena.text(from)?,
        ask: arena.ask(from)?,
    })
}

fn slots(from: &mut Unstructured<'_>, answer: &RefCell<Answer>) -> Result<surgent_answer_t> {
    Ok(surgent_answer_t {
        size: arena::size_of_view::<surgent_answer_t>(from)?,
        reserved0: from.arbitrary()?,
        context: ptr::from_ref(answer).cast_mut().cast(),
        message: from.ratio(7, 8)?.then_some(message),
        set_admin_comment: from.ratio(7, 8)?.then_some(set_admin_comment),
        set_priority: from.ratio(7, 8)?.then_some(set_priority),
        set_requeue: from.ratio(7, 8)?.then_some(set_requeue),
        set_comment: from.ratio(7, 8)?.then_some(set_comment),
    })
}

fn submit(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<()> {
    let user_id = user(from)?;
    let request = request(from, arena, user_id)?;
    let answer = RefCell::new(Answer::default());
    let slots = slots(from, &answer)?;
    // SAFETY: each NULL, or a struct that is as long as it says and lives through the call.
    let code = unsafe { surgent_job_submit(arena.or_null(from, request)?, arena.or_null(from, slots)?) };
    check(code, &answer.into_inner(), user_id);
    Ok(())
}

fn modify(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<()> {
    let user_id = user(from)?;
    let change = request(from, arena, user_id)?;
    let admin_comment = arena.text(from)?;
    let subject = surgent_subject_view_t {
        size: arena::size_of_view::<surgent_subject_view_t>(from)?,
        job_id: from.arbitrary()?,
        state: from.int_in_range(0..=5)?,
        user_id,
        comment: arena.text(from)?,
        admin_comment,
        ask: arena.ask(from)?,
    };
    let answer = RefCell::new(Answer::default());
    let slots = slots(from, &answer)?;
    // SAFETY: as above.
    let code = unsafe {
        surgent_job_modify(
            arena.or_null(from, change)?,
            arena.or_null(from, subject)?,
            arena.or_null(from, slots)?,
        )
    };
    let mut answer = answer.into_inner();
    // A job that was urgent before stays so, whoever writes what.
    if arena::starts_urgent(admin_comment) {
        answer.admin_comment = None;
    }
    check(code, &answer, user_id);
    Ok(())
}

fn check(code: i32, answer: &Answer, user_id: u32) {
    let Answer {
        message,
        comment,
        admin_comment,
        priority,
        requeue,
    } = answer;
    let changed = comment.is_some() || admin_comment.is_some() || priority.is_some() || requeue.is_some();
    assert!(
        code == 0 || (code == 1 && !changed),
        "who is refused is not changed"
    );
    if let Some(message) = message {
        let message = String::from_utf8_lossy(message);
        assert!(
            message.starts_with("surgent: ") && !message.chars().any(char::is_control),
            "{message:?}"
        );
        assert!(message.chars().count() < 1000, "{message}");
    }
    if let Some(comment) = comment {
        assert!(comment.len() <= COMMENT_MAX_BYTES);
    }
    let urgent = admin_comment.as_deref().is_some_and(Record::is_urgent_fast);
    assert!(
        !(user_id == OUTCAST && (urgent || priority.is_some())),
        "nobody gets what he may not have"
    );
}

fn preempt(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<()> {
    let pair = surgent_pair_view_t {
        size: arena::size_of_view::<surgent_pair_view_t>(from)?,
        preemptee_id: from.arbitrary()?,
        preemptor_id: from.arbitrary()?,
        preemptee_flags: from.arbitrary()?,
        preemptee_state: from.int_in_range(0..=5)?,
        reserved0: from.arbitrary()?,
        preemptee_start_time: from.arbitrary()?,
        preemptee_preempt_time: from.arbitrary()?,
        preemptor_admin_comment: arena.text(from)?,
    };
    let begun = pair.preemptee_preempt_time != 0;
    // SAFETY: as above.
    let answer = unsafe { surgent_preemptable(arena.or_null(from, pair)?) };
    assert!(!answer || begun, "no gate is open");
    assert_eq!(
        surgent_preempt_mode(pair.preemptee_id, pair.preemptee_start_time),
        SURGENT_MODE_BASE
    );
    surgent_preempt_priority(pair.preemptee_id, pair.preemptee_preempt_time);
    Ok(())
}

fn factor(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<()> {
    let job = surgent_queue_view_t {
        size: arena::size_of_view::<surgent_queue_view_t>(from)?,
        time_limit_min: from.arbitrary()?,
        gpus: from.arbitrary()?,
        cpus: from.arbitrary()?,
        reserved0: from.arbitrary()?,
        submit_time: from.arbitrary()?,
        comment: arena.text(from)?,
        admin_comment: arena.text(from)?,
    };
    let mut factor = 0;
    surgent_queue_moment();
    // SAFETY: as above.
    let answered = unsafe { surgent_site_factor(arena.or_null(from, job)?, &mut factor) };
    assert!(
        i32::try_from(factor).is_ok() && (answered || factor == 0),
        "{factor}"
    );
    // SAFETY: NULL, which is what is tried.
    assert!(!unsafe { surgent_site_factor(ptr::null(), ptr::null_mut()) });
    Ok(())
}

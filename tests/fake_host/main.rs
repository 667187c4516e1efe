// SPDX-License-Identifier: GPL-2.0-or-later
//! Plays slurmctld: calls the core's exported functions as a shim does, with good and with hostile views.

mod admission;
mod contract;
#[path = "../support/shim.rs"]
mod shim;

use shim::{Answer, size};
use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::Mutex;
use surgent::host::abi::*;
use surgent::host::core::Core;
use surgent::host::exports::*;
use surgent::policy::directives::Urgency;
use surgent::policy::ids::JobId;
use surgent::policy::record::Record;
use surgent::policy::units::UnixTime;

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn log(_level: u32, line: *const c_char) {
    // SAFETY: the core hands over a C string.
    let line = unsafe { CStr::from_ptr(line) }.to_string_lossy().into_owned();
    LOG.lock().unwrap().push(line);
}

/// Attaches as the job_submit shim: a core without a planner.
fn host() -> surgent_host_t {
    shim::host(SURGENT_SHIM_JOB_SUBMIT, log)
}

fn attach() {
    // SAFETY: a whole struct whose functions stay.
    assert_eq!(unsafe { surgent_attach(&host()) }, 0);
}

fn submit(comment: &[u8], flags: u32) -> Answer {
    submit_with_option(&CString::new(comment).unwrap(), flags, [None, None])
}

/// With the values of `--urgency` that came along.
fn submit_with_option(comment: &CStr, flags: u32, options: [Option<&CStr>; 2]) -> Answer {
    submit_with([1000, 1000], comment, flags, options, ptr::null())
}

/// By somebody, for user 1000.
fn submit_by(by_user: u32, comment: &[u8], flags: u32) -> Answer {
    let comment = CString::new(comment).unwrap();
    submit_with([1000, by_user], &comment, flags, [None, None], ptr::null())
}

/// As a user, with what the job asks for.
fn submit_as(user_id: u32, comment: &[u8], flags: u32, ask: *const surgent_ask_view_t) -> Answer {
    let comment = CString::new(comment).unwrap();
    submit_with([user_id, user_id], &comment, flags, [None, None], ask)
}

fn submit_with(
    [user_id, by_user_id]: [u32; 2],
    comment: &CStr,
    flags: u32,
    [option, other]: [Option<&CStr>; 2],
    ask: *const surgent_ask_view_t,
) -> Answer {
    attach();
    let request = surgent_request_view_t {
        size: size::<surgent_request_view_t>(),
        flags,
        user_id,
        by_user_id,
        comment: comment.as_ptr(),
        urgency_option: option.map_or(ptr::null(), CStr::as_ptr),
        urgency_option_other: other.map_or(ptr::null(), CStr::as_ptr),
        ask,
        ..surgent_request_view_t::default()
    };
    // SAFETY: whole structs that live through the call.
    shim::answer(|slots| unsafe { surgent_job_submit(&request, slots) })
}

fn modify(comment: Option<&str>, admin_comment: Option<&str>, now: &str, state: u32) -> Answer {
    modify_sized(comment, admin_comment, now, state, [ptr::null(); 2])
}

/// `sizes`: what the change asks for, and what the job asks for now.
fn modify_sized(
    comment: Option<&str>,
    admin_comment: Option<&str>,
    now: &str,
    state: u32,
    sizes: [*const surgent_ask_view_t; 2],
) -> Answer {
    attach();
    let text = |text: Option<&str>| text.map(|text| CString::new(text).unwrap());
    let pointer = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    let (comment, admin_comment, now) = (text(comment), text(admin_comment), CString::new(now).unwrap());
    let change = surgent_request_view_t {
        size: size::<surgent_request_view_t>(),
        flags: 0,
        user_id: 1000,
        by_user_id: 1000,
        comment: pointer(&comment),
        admin_comment: pointer(&admin_comment),
        ask: sizes[0],
        ..surgent_request_view_t::default()
    };
    let subject = surgent_subject_view_t {
        size: size::<surgent_subject_view_t>(),
        job_id: 7,
        state,
        user_id: 1000,
        comment: ptr::null(),
        admin_comment: now.as_ptr(),
        ask: sizes[1],
    };
    // SAFETY: whole structs that live through the call.
    shim::answer(|slots| unsafe { surgent_job_modify(&change, &subject, slots) })
}

const BATCH_UNSET: u32 = SURGENT_REQUEST_BATCH | SURGENT_REQUEST_REQUEUE_UNSET;

#[test]
fn a_job_without_directives_is_left_alone() {
    for comment in [
        &b""[..],
        b"hello",
        b"lr=0.1, batch=32",
        b"\xff\xfe\x01",
        &[b'x'; 1024],
    ] {
        assert_eq!(submit(comment, BATCH_UNSET), Answer::default(), "{comment:?}");
    }
}

/// Slurm looks at the length of a request's texts after it has asked, and then refuses it.
#[test]
fn texts_that_slurm_will_not_take_are_not_looked_at() {
    let long = "x".repeat(1 << 20);
    for comment in [
        format!("urgency=urgnt {long}"),
        format!("{{\"urgency\": \"urgent\", \"x\": \"{long}\"}}"),
    ] {
        assert_eq!(submit(comment.as_bytes(), BATCH_UNSET), Answer::default());
        let change = modify(
            Some(&comment),
            None,
            "surgent{class=normal}",
            SURGENT_STATE_RUNNING,
        );
        assert_eq!(change, Answer::default());
    }
    let account = CString::new(long).unwrap();
    let ask = surgent_ask_view_t {
        account: account.as_ptr(),
        ..admission::ask(1, c"gres:gpu:1")
    };
    assert_eq!(submit_as(1000, b"urgent", BATCH_UNSET, &ask), Answer::default());
    assert!(submit(b"urgent", BATCH_UNSET).priority.is_some());
}

#[test]
fn an_urgent_job_gets_its_class_and_its_place() {
    let answer = submit(b"urgency=urgent", BATCH_UNSET);
    assert_eq!(answer.code, 0);
    assert!(
        answer
            .admin_comment
            .unwrap()
            .starts_with(b"surgent{class=urgent first=")
    );
    assert!(answer.priority.is_some_and(|priority| priority > 0xffff_0000));
    assert_eq!(answer.requeue, None);
}

#[test]
fn an_urgent_heterogeneous_job_comes_right_behind_the_others_and_its_user_is_told_once() {
    let plain = submit(b"urgent", BATCH_UNSET).priority.unwrap();
    let first = submit(
        b"urgent",
        BATCH_UNSET | SURGENT_REQUEST_HET | SURGENT_REQUEST_HET_FIRST,
    );
    let second = submit(b"urgent", SURGENT_REQUEST_HET);
    assert_eq!([first.code, second.code], [0, 0]);
    assert_eq!([first.priority, second.priority], [Some(plain - 1); 2]);
    assert!(first.message.unwrap().contains("start together"));
    assert_eq!(second.message, None);
    let normal = submit(b"epochs=90", SURGENT_REQUEST_HET | SURGENT_REQUEST_HET_FIRST);
    assert_eq!((normal.priority, normal.message), (None, None));
}

#[test]
fn the_option_is_equal_to_the_directive_and_shows_in_the_comment() {
    let by_option = submit_with_option(c"epochs=90", BATCH_UNSET, [Some(c"urgent"), None]);
    let by_comment = submit(b"epochs=90 urgency=urgent", BATCH_UNSET);
    assert_eq!(
        by_option.comment.as_deref(),
        Some(&b"epochs=90 urgency=urgent"[..])
    );
    assert_eq!(
        (by_option.priority, by_option.requeue),
        (by_comment.priority, by_comment.requeue)
    );
    let record = by_option.admin_comment.unwrap();
    assert!(record.starts_with(b"surgent{class=urgent first="));

    let repeated = submit_with_option(c"urgent", BATCH_UNSET, [Some(c"urgent"), None]);
    assert_eq!(
        (repeated.code, repeated.comment),
        (0, None),
        "the comment said so already"
    );
    let normal = submit_with_option(c"", BATCH_UNSET, [Some(c"normal"), None]);
    assert_eq!(
        (normal.comment.as_deref(), normal.requeue),
        (Some(&b"urgency=normal"[..]), Some(true))
    );
}

#[test]
fn an_option_that_cannot_be_meant_is_refused_and_changes_nothing() {
    for (comment, option, named) in [
        (c"", [Some(c"rubbish"), None], "rubbish"),
        (c"urgent", [Some(c""), None], "is not known"),
        (
            c"urgent",
            [Some(c"normal"), None],
            "--urgency=normal and the comment",
        ),
        (c"", [Some(c"normal"), Some(c"urgent")], "give it once"),
    ] {
        let answer = submit_with_option(comment, BATCH_UNSET, option);
        let message = answer.message.clone().unwrap();
        assert!(
            message.starts_with("surgent: ") && message.contains(named),
            "{message}"
        );
        assert_eq!(
            answer,
            Answer {
                code: 1,
                message: Some(message),
                ..Answer::default()
            }
        );
    }
}

#[test]
fn a_held_urgent_job_stays_held() {
    assert_eq!(
        submit(b"urgent", BATCH_UNSET | SURGENT_REQUEST_HELD).priority,
        None
    );
}

#[test]
fn a_normal_job_with_directives_becomes_requeueable_unless_its_user_has_spoken() {
    assert_eq!(submit(b"epochs=90", BATCH_UNSET).requeue, Some(true));
    assert_eq!(submit(b"epochs=90", SURGENT_REQUEST_BATCH).requeue, None);
    assert_eq!(
        submit(b"epochs=90", SURGENT_REQUEST_REQUEUE_UNSET).requeue,
        None,
        "interactive"
    );
}

#[test]
fn malformed_directives_are_refused_with_a_sentence() {
    for comment in [
        "urgency=urgnt",
        "epochs=-3",
        "epoch=nan",
        "signal=FOO",
        "{\"urgency\":\"urgent\"",
    ] {
        let answer = submit(comment.as_bytes(), BATCH_UNSET);
        assert_eq!(answer.code, 1, "{comment}");
        let message = answer.message.unwrap();
        assert!(
            message.starts_with("surgent: ") && !message.contains('\n'),
            "{message}"
        );
    }
}

/// No planner runs here, so what hooks say to the audit stays where they put it. Other tests add to it.
#[test]
fn who_may_be_urgent_and_who_is_refused_is_told_to_the_audit() {
    const BY: u32 = 5151;
    assert_eq!(submit_by(BY, b"urgency=urgent", BATCH_UNSET).code, 0);
    assert_eq!(submit_by(BY, b"epochs=90", BATCH_UNSET).code, 0);
    let long = format!("urgency={}\u{1}\"\\", "x".repeat(900));
    let refused = submit_by(BY, long.as_bytes(), BATCH_UNSET);
    let not_text = submit_by(BY, b"epochs=\xff\xfe", BATCH_UNSET);
    let change = modify(Some("epochs=none-at-all"), None, "", SURGENT_STATE_PENDING);
    assert_eq!([refused.code, not_text.code, change.code], [1; 3]);
    let (entries, _) = Core::get().audit_queue.take();
    let lines: Vec<String> = entries.iter().map(|entry| entry.line().unwrap()).collect();
    let ours = |wanted: &str| {
        let mut found = lines.iter().filter(|line| line.contains(wanted));
        let line = found.next().unwrap_or_else(|| panic!("no {wanted} in {lines:?}"));
        assert!(line.len() < 900 && line.lines().count() == 1, "{line}");
        serde_json::from_str::<serde_json::Value>(line).unwrap()
    };
    let by: Vec<_> = lines.iter().filter(|line| line.contains("5151")).collect();
    assert_eq!(by.len(), 3, "one that is not urgent is no news: {by:?}");
    let admitted = ours("\"kind\":\"admitted\",\"user\":1000,\"by_user\":5151");
    assert_eq!((&admitted["v"], admitted["at"].is_number()), (&1.into(), true));
    let told = ours("xxxx");
    let sentence = told["sentence"].as_str().unwrap();
    assert_eq!(
        (&told["kind"], &told["rule"]),
        (&"refused".into(), &"comment".into())
    );
    let message = refused.message.unwrap();
    assert!(
        message.contains(sentence.trim_end_matches("...")),
        "{sentence} of {message}"
    );
    assert_eq!(ours("none-at-all")["job"], 7);
    assert!(ours("none-at-all")["by_user"].is_null());
}

#[test]
fn a_running_job_cannot_make_itself_urgent() {
    let normal = "surgent{class=normal}";
    let answer = modify(Some("urgency=urgent"), None, normal, SURGENT_STATE_RUNNING);
    assert_eq!(answer.code, 1);
    assert_eq!(
        modify(Some("urgency=urgent"), None, normal, SURGENT_STATE_PENDING).code,
        0
    );
}

#[test]
fn a_save_in_the_future_is_refused() {
    let answer = modify(
        Some("saved=4000000000"),
        None,
        "surgent{class=normal}",
        SURGENT_STATE_RUNNING,
    );
    assert_eq!(answer.code, 1);
    assert!(answer.message.unwrap().contains("future"));
}

#[test]
fn another_tool_cannot_wipe_the_record() {
    let answer = modify(
        None,
        Some("checked by ops"),
        "surgent{class=urgent first=5}",
        SURGENT_STATE_PENDING,
    );
    assert_eq!(
        answer.admin_comment.as_deref(),
        Some(&b"surgent{class=urgent first=5} checked by ops"[..])
    );
}

fn pair(preemptor: u32, preemptee: u32) -> surgent_pair_view_t {
    surgent_pair_view_t {
        size: size::<surgent_pair_view_t>(),
        preemptee_id: preemptee,
        preemptor_id: preemptor,
        preemptee_flags: SURGENT_JOB_BATCH | SURGENT_JOB_REQUEUE,
        preemptee_state: SURGENT_STATE_RUNNING,
        reserved0: 0,
        preemptee_start_time: 100,
        preemptee_preempt_time: 0,
        preemptor_admin_comment: ptr::null(),
    }
}

fn preemptable(pair: &surgent_pair_view_t) -> bool {
    // SAFETY: a whole struct that lives through the call.
    unsafe { surgent_preemptable(pair) }
}

#[test]
fn slurm_may_take_exactly_whom_the_gate_lets_through() {
    attach();
    let start = UnixTime(100);
    Core::get()
        .gate
        .open(JobId(900), vec![(JobId(901), start), (JobId(902), start)]);
    assert!(preemptable(&pair(900, 901)));
    assert!(!preemptable(&pair(900, 903)));
    assert!(!preemptable(&pair(899, 901)));
    let forbidden = surgent_pair_view_t {
        preemptee_flags: SURGENT_JOB_BATCH,
        ..pair(900, 901)
    };
    assert!(!preemptable(&forbidden), "its user has forbidden it meanwhile");
    let next_run = surgent_pair_view_t {
        preemptee_start_time: 101,
        ..pair(900, 901)
    };
    assert!(!preemptable(&next_run));
    assert_eq!(surgent_preempt_mode(901, 100), SURGENT_MODE_REQUEUE);
    assert_eq!(surgent_preempt_mode(903, 100), SURGENT_MODE_BASE);
    Core::get().gate.shut(JobId(900));
    assert!(!preemptable(&pair(900, 901)));
}

/// By this the preempt shim knows whom it need not ask about.
#[test]
fn every_urgent_record_begins_as_the_contract_says_and_no_other() {
    let mark = SURGENT_URGENT_MARK.strip_suffix(b"\0").unwrap();
    let begins = |class| Record::new(class).write_into(b"").starts_with(mark);
    assert!(begins(Urgency::Urgent) && !begins(Urgency::Normal));
    for end in [&b"}"[..], b" first=1}"] {
        assert!(Record::is_urgent_fast(&[mark, end].concat()));
    }
}

#[test]
fn a_preemption_that_has_begun_keeps_its_answer() {
    let begun = surgent_pair_view_t {
        preemptee_preempt_time: 5,
        ..pair(1, 2)
    };
    assert!(preemptable(&begun));
    assert_eq!(surgent_preempt_priority(2, 5), 0);
}

#[test]
fn null_and_short_views_are_harmless() {
    // SAFETY: NULL and structs with a size that is too small are what is tested; no more of them is read.
    unsafe {
        assert_eq!(surgent_attach(ptr::null()), 1);
        assert_eq!(surgent_attach(&surgent_host_t { size: 8, ..host() }), 1);
        assert_eq!(surgent_job_submit(ptr::null(), ptr::null()), 0);
        assert_eq!(surgent_job_modify(ptr::null(), ptr::null(), ptr::null()), 0);
        assert!(!surgent_preemptable(ptr::null()));
        assert!(!surgent_site_factor(ptr::null(), &mut 0));
        let view = surgent_queue_view_t::default();
        assert!(!surgent_site_factor(&view, &mut 0), "too small");
        assert!(!surgent_preemptable(&surgent_pair_view_t {
            size: 4,
            ..pair(1, 2)
        }));
    }
}

/// The site factor of a job with these comments that was submitted at `submit_time`.
fn site_factor(comment: &str, admin_comment: &str, submit_time: i64) -> i64 {
    attach();
    let [comment, admin_comment] = [comment, admin_comment].map(|text| CString::new(text).unwrap());
    let view = surgent_queue_view_t {
        size: size::<surgent_queue_view_t>(),
        time_limit_min: SURGENT_NONE32,
        gpus: 8,
        submit_time,
        comment: comment.as_ptr(),
        admin_comment: admin_comment.as_ptr(),
        ..Default::default()
    };
    let mut factor = 7;
    // SAFETY: a whole struct and a number that live through the call.
    assert!(unsafe { surgent_site_factor(&view, &mut factor) });
    factor
}

#[test]
fn a_waiting_job_gets_its_place() {
    const HOUR_S: i64 = 3600;
    let plain = site_factor("", "", 0);
    assert_eq!(
        site_factor("", "surgent{class=normal first=0}", HOUR_S),
        plain,
        "first submission counts"
    );
    assert_eq!(
        site_factor("", "", HOUR_S),
        plain - 1000,
        "and each hour since then"
    );
    assert_eq!(site_factor("epochs=9 epoch=9 epoch_s=60", "", 0), plain + 6000);
    assert!(site_factor("", "surgent{class=normal first=0 preempted=1}", HOUR_S) > plain + 6000);
    assert_eq!(
        site_factor("", "surgent{class=urgent first=0}", HOUR_S),
        0x7fff_0000
    );
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What the core takes to look at a submission, asked as the shim asks it.

use crate::{median, ratio};
use std::ffi::{CStr, c_char, c_void};
use std::hint::black_box;
use std::ptr;
use surgent::host::abi::*;
use surgent::host::exports::surgent_job_submit;

/// Each is asked about so often at a stretch.
const TIMES: u32 = 1000;

unsafe extern "C" fn take_text(_context: *mut c_void, text: *const c_char) {
    black_box(text);
}

unsafe extern "C" fn take_number(_context: *mut c_void, number: u32) {
    black_box(number);
}

unsafe extern "C" fn take_flag(_context: *mut c_void, flag: bool) {
    black_box(flag);
}

fn size_of_view<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}

fn submit(comment: &CStr, option: Option<&CStr>) -> bool {
    let answer = surgent_answer_t {
        size: size_of_view::<surgent_answer_t>(),
        message: Some(take_text),
        set_admin_comment: Some(take_text),
        set_priority: Some(take_number),
        set_requeue: Some(take_flag),
        set_comment: Some(take_text),
        ..surgent_answer_t::default()
    };
    let request = surgent_request_view_t {
        size: size_of_view::<surgent_request_view_t>(),
        flags: SURGENT_REQUEST_BATCH | SURGENT_REQUEST_REQUEUE_UNSET,
        user_id: 1000,
        by_user_id: 1000,
        comment: black_box(comment).as_ptr(),
        urgency_option: option.map_or(ptr::null(), CStr::as_ptr),
        ..surgent_request_view_t::default()
    };
    // SAFETY: whole structs that live through the call.
    unsafe { surgent_job_submit(&request, &answer) == 0 }
}

pub fn submissions() {
    println!("submissions, asked as the shim asks; x: as many times as a comment without directives");
    let time_of = |comment, option| median(41, || (0..TIMES).filter(|_| submit(comment, option)).count());
    let plain = time_of(c"my third attempt with the larger batch", None);
    let show = |name: &str, comment, option| {
        let time = time_of(comment, option);
        println!(
            "  {name:34} {:6.0} ns ({:5.1} x)",
            time.as_secs_f64() * 1e9 / f64::from(TIMES),
            ratio(time, plain)
        );
    };
    let training = c"resnet epochs=90 save=step save_s=12 signal=USR1@batch";
    let urgent = Some(c"urgent");
    show("no comment", c"", None);
    show(
        "a comment without directives",
        c"my third attempt with the larger batch",
        None,
    );
    show("a training", training, None);
    show("urgent by its comment", c"urgency=urgent", None);
    show("urgent by --urgency", c"", urgent);
    show("a training, urgent by --urgency", training, urgent);
    show("refused: a contradiction", c"urgency=normal", urgent);
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A shim's side of the contract, for tests that play slurmctld themselves.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use surgent::host::abi::*;

/// The `size` of a struct of the contract.
pub fn size<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap()
}

/// Of a shim that offers nothing but a log.
pub fn host(shim: u32, log: unsafe extern "C" fn(u32, *const c_char)) -> surgent_host_t {
    surgent_host_t {
        size: size::<surgent_host_t>(),
        abi: SURGENT_ABI,
        shim,
        slurm_version: 0x16_05_08,
        slurm_conf: ptr::null(),
        state_dir: ptr::null(),
        log: Some(log),
        snapshot: None,
        nudge: None,
        reprioritize: None,
        use_base: None,
        in_control_since: None,
    }
}

/// What the core answered to one submission or change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub code: c_int,
    pub message: Option<String>,
    pub comment: Option<Vec<u8>>,
    pub admin_comment: Option<Vec<u8>>,
    pub priority: Option<u32>,
    pub requeue: Option<bool>,
}

/// Asks a hook that answers by slots.
pub fn answer(hook: impl FnOnce(*const surgent_answer_t) -> c_int) -> Answer {
    let answer = RefCell::new(Answer::default());
    let slots = surgent_answer_t {
        size: size::<surgent_answer_t>(),
        reserved0: 0,
        context: ptr::from_ref(&answer).cast_mut().cast(),
        message: Some(message),
        set_admin_comment: Some(set_admin_comment),
        set_priority: Some(set_priority),
        set_requeue: Some(set_requeue),
        set_comment: Some(set_comment),
    };
    let code = hook(&slots);
    Answer {
        code,
        ..answer.into_inner()
    }
}

/// # Safety
/// `context` is that of [`answer`], whose hook is still running.
unsafe fn put(context: *mut c_void, put: impl FnOnce(&mut Answer)) {
    // SAFETY: promised by the caller.
    put(&mut unsafe { &*context.cast::<RefCell<Answer>>() }.borrow_mut());
}

unsafe extern "C" fn message(context: *mut c_void, text: *const c_char) {
    // SAFETY: the core hands back our context and a C string.
    unsafe {
        let text = CStr::from_ptr(text).to_string_lossy().into_owned();
        put(context, |answer| answer.message = Some(text));
    }
}

unsafe extern "C" fn set_comment(context: *mut c_void, text: *const c_char) {
    // SAFETY: as above.
    unsafe {
        let text = CStr::from_ptr(text).to_bytes().to_vec();
        put(context, |answer| answer.comment = Some(text));
    }
}

unsafe extern "C" fn set_admin_comment(context: *mut c_void, text: *const c_char) {
    // SAFETY: as above.
    unsafe {
        let text = CStr::from_ptr(text).to_bytes().to_vec();
        put(context, |answer| answer.admin_comment = Some(text));
    }
}

unsafe extern "C" fn set_priority(context: *mut c_void, priority: u32) {
    // SAFETY: as above.
    unsafe { put(context, |answer| answer.priority = Some(priority)) };
}

unsafe extern "C" fn set_requeue(context: *mut c_void, requeue: bool) {
    // SAFETY: as above.
    unsafe { put(context, |answer| answer.requeue = Some(requeue)) };
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading what C lends: pointers, strings, and numbers that may be absent.

use crate::host::abi;
use crate::policy::units::UnixTime;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// No array in a view is longer.
const ARRAY_MAX: usize = 1 << 20;

/// The view behind a pointer. A shorter one than this core knows is none: shims that make such are refused when they attach.
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
pub(super) unsafe fn array<'a, T>(first: *const T, count: u32) -> &'a [T] {
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

/// A C string of a view; allocates only where it is not UTF-8.
pub(super) fn text(text: &*const c_char) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes(text).unwrap_or_default())
}

/// A number of a view; `None` where it is unknown or absent.
pub fn number(value: u32) -> Option<u32> {
    (value != abi::SURGENT_NONE32).then_some(value)
}

pub(super) fn time(value: i64) -> Option<UnixTime> {
    (value != 0).then_some(UnixTime(value))
}

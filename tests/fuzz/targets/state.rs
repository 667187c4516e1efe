// SPDX-License-Identifier: GPL-2.0-or-later
#![no_main]
#[path = "../checks/state.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::state(bytes));

// SPDX-License-Identifier: GPL-2.0-or-later
//! The core for the measurements of `host.c`: the same code as `libsurgent.so`, and a way to open gates.

// Its exported functions are this library's too.
extern crate surgent;

use surgent::host::core::Core;
use surgent::policy::ids::JobId;
use surgent::policy::units::UnixTime;

/// Shuts every gate, and opens that of `urgent_id` to `count` jobs with rising ids, unless that is none.
#[unsafe(no_mangle)]
pub extern "C" fn surgent_bench_open_gate(urgent_id: u32, first_victim_id: u32, count: u32, start_time: i64) {
    let gate = &Core::get().gate;
    gate.shut_all();
    if count > 0 {
        let victims = (first_victim_id..).take(count as usize);
        gate.open(
            JobId(urgent_id),
            victims.map(|id| (JobId(id), UnixTime(start_time))).collect(),
        );
    }
}

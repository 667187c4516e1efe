// SPDX-License-Identifier: GPL-2.0-or-later
//! Who may be urgent, by the hooks. The core is one for all tests here, so these rules leave jobs without GPUs alone.

use super::*;
use std::sync::Arc;
use std::thread;
use surgent::policy::admission::rules::{Circle, People};
use surgent::policy::admission::usage::Usage;
use surgent::policy::ids::UserId;
use surgent::policy::settings::Settings;

const OUTCAST: u32 = 4243;

/// Two jobs of eight GPUs for each user, and nothing for the outcast.
fn rules() {
    let settings = Settings::parse("[admission]\ndeny_users = [\"4243\"]\n[admission.per_user]\ngpus = 16\n");
    let people = People {
        denied: Circle {
            users: [UserId(OUTCAST)].into(),
            ..Circle::default()
        },
        ..People::default()
    };
    let mut desk = Core::get().desk();
    desk.set_people(Arc::new(people));
    desk.publish(Usage::default(), &[], UnixTime(1));
    Core::get().settings.store(Arc::new(settings.unwrap()));
}

pub fn ask(min_nodes: u32, tres_per_node: &CStr) -> surgent_ask_view_t {
    surgent_ask_view_t {
        size: size::<surgent_ask_view_t>(),
        group_id: 100,
        min_nodes,
        tasks: SURGENT_NONE32,
        tasks_per_node: SURGENT_NONE32,
        cpus_per_task: SURGENT_NONE32,
        min_cpus: SURGENT_NONE32,
        time_limit_min: 60,
        array_waiting: SURGENT_NONE32,
        array_at_once: SURGENT_NONE32,
        array: ptr::null(),
        account: ptr::null(),
        qos: ptr::null(),
        partition: ptr::null(),
        default_partition: ptr::null(),
        tres_per_node: tres_per_node.as_ptr(),
        tres_per_job: ptr::null(),
        tres_per_socket: ptr::null(),
        tres_per_task: ptr::null(),
    }
}

#[test]
fn the_hooks_keep_to_the_rules() {
    rules();
    let four = c"gres:gpu:4";
    let eight_gpus = ask(2, four);

    let answer = submit_as(OUTCAST, b"urgent", BATCH_UNSET, &eight_gpus);
    assert_eq!((answer.code, answer.priority), (1, None));
    assert!(answer.message.unwrap().contains("user 4243 may not"), "by number");
    assert_eq!(submit_as(OUTCAST, b"epochs=3", BATCH_UNSET, &eight_gpus).code, 0);

    // A hundred at once: no more than two of them.
    let admitted: usize = thread::scope(|scope| {
        let submit = || {
            let asks = || {
                let eight_gpus = ask(2, c"gres:gpu:4");
                submit_as(2000, b"urgent", BATCH_UNSET, &eight_gpus).code == 0
            };
            (0..25).filter(|_| asks()).count()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(submit)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 2);

    // A change is judged by what the job is to become, and is not remembered.
    let (same, larger) = (ask(SURGENT_NONE32, four), ask(8, four));
    let unchanged = surgent_ask_view_t {
        tres_per_node: ptr::null(),
        ..same
    };
    let pending = SURGENT_STATE_PENDING;
    let becomes_urgent = |is: &surgent_ask_view_t| {
        let comment = Some("urgency=urgent");
        modify_sized(comment, None, "surgent{class=normal}", pending, [&unchanged, is])
    };
    for _ in 0..5 {
        assert_eq!(becomes_urgent(&eight_gpus).code, 0);
    }
    assert_eq!(becomes_urgent(&larger).code, 1);
    let urgent = "surgent{class=urgent first=5}";
    let grown = modify_sized(None, None, urgent, pending, [&ask(8, four), &eight_gpus]);
    assert!(grown.message.unwrap().contains("the job stays as it is"));
    let smaller = modify_sized(None, None, urgent, pending, [&ask(1, four), &eight_gpus]);
    assert_eq!(smaller.code, 0);
}

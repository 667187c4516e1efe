// SPDX-License-Identifier: GPL-2.0-or-later
//! What a submission takes with every rule of `[admission]` on, as job_submit asks it.

use crate::median;
use std::hint::black_box;
use std::sync::Arc;
use surgent::policy::admission::applicant::{Applicant, Label};
use surgent::policy::admission::ask::Ask;
use surgent::policy::admission::desk::Desk;
use surgent::policy::admission::rules::{Circle, People};
use surgent::policy::admission::usage::Usage;
use surgent::policy::admission::{Door, Submission, submit};
use surgent::policy::directives::UrgencyOption;
use surgent::policy::ids::{GroupId, UserId};
use surgent::policy::settings::Settings;
use surgent::policy::units::UnixTime;

/// Submissions at a stretch, fewer than the desk remembers.
const TIMES: u32 = 1000;
/// Users who are named or in groups that are, and have urgent jobs.
const USERS: u32 = 5000;
const NOW: UnixTime = UnixTime(1_764_410_000);

const RULES: &str = r#"
[admission]
allow_groups = ["ml", "imaging"]
deny_users = ["eve"]
allow_accounts = ["vision", "nlp", "speech"]
deny_accounts = ["teaching"]
allow_qos = ["normal", "high"]
deny_qos = ["low"]
allow_partitions = ["gpu", "gpu-long"]
deny_partitions = ["cpu"]
[admission.per_user]
running = 100000
waiting = 100000
gpus = 1000000
nodes = 1000000
[admission.per_account]
running = 100000
waiting = 100000
gpus = 1000000
nodes = 1000000
[admission.in_all]
running = 100000
waiting = 100000
gpus = 1000000
nodes = 1000000
[admission.budget]
gpu_hours_per_user = 1000000
gpu_hours_per_account = 1000000
gpu_hours_in_all = 1000000
"#;

pub fn admissions() {
    println!("admissions; every rule on, {USERS} users with urgent jobs");
    let settings = Settings::parse(RULES).expect("the rules");
    let mut refusing = settings.clone();
    refusing.admission.per_user.gpus = Some(1);
    for (name, settings) in [
        ("an urgent job that is admitted", &settings),
        ("an urgent job that is refused", &refusing),
    ] {
        let mut desk = desk();
        let run = || {
            let done = (0..TIMES).filter(|at| one(&mut desk, settings, *at)).count();
            // Forgets those that were admitted.
            desk.publish(usage(0), &[], UnixTime(NOW.0 + 60));
            done
        };
        let time = median(41, run);
        let each_us = time.as_secs_f64() * 1e6 / f64::from(TIMES);
        println!("  {name:34} {each_us:6.2} µs");
    }
}

fn one(desk: &mut Desk, settings: &Settings, user: u32) -> bool {
    let ask = Ask {
        min_nodes: Some(2),
        time_limit_min: Some(180),
        array_text: Some(b"0-99%4"),
        tres_per_node: Some(b"gres:gpu:a100:4"),
        ..Ask::default()
    };
    let applicant = Applicant {
        user: UserId(user),
        group: Some(GroupId(100)),
        account: Label::Is("speech"),
        qos: Label::Is("high"),
        partition: Label::Is("gpu,gpu-long"),
        need: ask.need(),
    };
    let submission = Submission {
        comment: Some(b"urgency=urgent"),
        admin_comment: None,
        requeue_unset: true,
        held: false,
        batch: true,
        component: None,
        option: UrgencyOption::default(),
    };
    let door = Door {
        refuse: settings.admission.refuse,
        judge: &mut |_| desk.admit(&settings.admission, &applicant, NOW),
    };
    submit(black_box(&submission), NOW, settings.mode, door).is_ok()
}

fn desk() -> Desk {
    let mut desk = Desk::default();
    desk.set_people(Arc::new(People {
        allowed: Circle {
            users: (0..USERS).map(UserId).collect(),
            groups: [GroupId(7), GroupId(8)].into(),
        },
        denied: Circle::default(),
    }));
    desk.publish(usage(USERS), &[], NOW);
    desk
}

fn usage(users: u32) -> Usage {
    let mut usage = Usage::default();
    for user in 0..users {
        usage.add_running(UserId(user), Some("speech"), 8, 2);
    }
    usage
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables: each term by itself, what is read of a job, and the order among urgent jobs.

use crate::{HOUR_S, NOW, hours, settings, waits_for};
use surgent::policy::admission::urgent_priority;
use surgent::policy::directives::Urgency;
use surgent::policy::facts::{Component, Request, WaitingJob};
use surgent::policy::ids::JobId;
use surgent::policy::queue::{Applicant, NORMAL_MAX, URGENT_FACTOR, factor, place};
use surgent::policy::record::Record;
use surgent::policy::settings::Settings;
use surgent::policy::units::{Seconds, UnixTime};

fn points(job: &Applicant) -> i64 {
    factor(job, NOW, &Settings::default())
}

#[test]
fn each_term_is_what_the_manual_says() {
    let sized = |gpus| Applicant { gpus, ..waits_for(0) };
    let left = |h| Applicant {
        remaining_s: hours(h),
        ..sized(8.0)
    };
    for (job, expected, why) in [
        (sized(8.0), 3000, "half of size_weight at size_half_gpus"),
        (sized(0.0), 6000, "all of it without size"),
        (sized(24.0), 1500, "a quarter at three times that"),
        (
            left(8.0),
            3000 + 3000,
            "half of remaining_weight at remaining_half_s",
        ),
        (left(0.0), 3000 + 6000, "all of it with nothing left"),
        (left(56.0), 3000 + 750, "an eighth at seven times that"),
        (waits_for(10), 10_000 + 3000, "wait_weight for each hour"),
        (
            waits_for(-1),
            -1000 + 3000,
            "and less than nothing for those after the moment",
        ),
        (
            Applicant {
                preempted: true,
                ..waits_for(10)
            },
            10_000 + 12_001,
            "preempted: as small and short as can be",
        ),
        (
            Applicant {
                class: Urgency::Urgent,
                ..waits_for(0)
            },
            URGENT_FACTOR,
            "urgent",
        ),
    ] {
        assert_eq!(points(&job), expected, "{why}");
    }
}

#[test]
fn what_is_read_of_a_job() {
    let settings = Settings::default();
    let submit = UnixTime(NOW.0 - 60);
    let read = |comment: &str, admin_comment: &str, limit_s| {
        Applicant::read(
            comment.as_bytes(),
            admin_comment.as_bytes(),
            submit,
            (4, 32),
            limit_s,
            &settings,
        )
    };
    let plain = read("lr=0.1", "", None);
    assert_eq!(
        (plain.class, plain.first, plain.preempted),
        (Urgency::Normal, submit, false)
    );
    assert_eq!((plain.gpus, plain.remaining_s), (4.0, None));

    let requeued = read(
        "",
        "surgent{class=normal first=1764000000 preempted=1 by=7}",
        None,
    );
    assert_eq!(
        (requeued.first, requeued.preempted),
        (UnixTime(1_764_000_000), true)
    );
    assert_eq!(read("", "surgent{class=urgent}", None).class, Urgency::Urgent);

    for (comment, limit_h, left_h) in [
        ("epochs=90 epoch=80 epoch_s=360", None, Some(1.0)),
        ("epochs=10 epoch_s=360", None, Some(1.0)),
        ("epochs=90 epoch=80 epoch_s=360", Some(0.5), Some(0.5)),
        ("epochs=90 epoch=80", Some(24.0), Some(24.0)),
        ("epoch=80 epoch_s=360", None, None),
        ("epochs=-1", Some(24.0), Some(24.0)),
    ] {
        let read = read(comment, "", limit_h.and_then(hours));
        assert_eq!(read.remaining_s, left_h.and_then(hours), "{comment}");
    }
    let cpus = Applicant::read(b"", b"", submit, (0, 40), None, &settings);
    assert_eq!(cpus.gpus, 2.0, "40 CPUs at cpu_weight 0.05");
}

#[test]
fn the_longest_wait_is_below_any_urgent_job_and_above_any_newcomer() {
    for weights in [
        "",
        "wait_weight = 10_000\nsize_weight = 7_194_000",
        "wait_weight = 1\nsize_weight = 0\nremaining_weight = 0",
    ] {
        let settings = settings(weights);
        let ancient = Applicant {
            first: UnixTime(i64::MIN),
            preempted: true,
            ..waits_for(0)
        };
        let from_the_future = Applicant {
            first: UnixTime(i64::MAX),
            ..waits_for(0)
        };
        let [high, low] = [ancient, from_the_future].map(|job| factor(&job, NOW, &settings));
        assert!(high <= NORMAL_MAX && NORMAL_MAX < URGENT_FACTOR);
        assert!((-NORMAL_MAX..0).contains(&low) && high > 0);
        assert!(URGENT_FACTOR <= i64::from(i32::MAX));
    }
}

fn urgent(priority: u32, min_nodes: u32) -> WaitingJob {
    WaitingJob {
        id: JobId(1),
        priority,
        submit: NOW,
        blocked: false,
        hindrance: None,
        tested: true,
        request: Request {
            min_nodes,
            ..Request::default()
        },
        tasks: 1,
        het: None,
        worth: None,
        application: None,
        record: Some(Record {
            first: Some(NOW),
            ..Record::new(Urgency::Urgent)
        }),
        admin_comment: Vec::new(),
    }
}

#[test]
fn urgent_jobs_stand_in_the_order_that_the_site_wants() {
    let soon = UnixTime(NOW.0 + HOUR_S - 1);
    let rank = |order: &str, job: &WaitingJob, gate_open, now| {
        let settings = settings(&format!("urgent_order = \"{order}\""));
        i64::from(place(job, gate_open, now, &settings)) - i64::from(urgent_priority(false))
    };
    let (small, large) = (urgent(0, 1), urgent(0, 64));
    let worth = |worth| WaitingJob {
        worth: Some(worth),
        ..urgent(0, 1)
    };
    for (job, submitted, priority, by_size) in [
        (&small, 0, 50, 999),
        (&large, 0, 50, 936),
        (&worth(0), 0, 0, 999),
        (&worth(100), 0, 100, 999),
        (&urgent(0, 5000), 0, 50, 0),
    ] {
        assert_eq!(rank("submitted", job, false, soon), submitted);
        assert_eq!(rank("priority", job, false, soon), priority);
        assert_eq!(rank("small", job, false, soon), by_size);
    }
    // Whoever has waited for an hour goes first, and before all whoever is being served.
    let late = UnixTime(NOW.0 + HOUR_S);
    assert!(rank("small", &large, false, late) > rank("small", &small, false, soon));
    assert!(rank("small", &large, true, soon) > rank("small", &small, false, late));
    // Heterogeneous jobs stay behind all others; nothing is above Slurm's own special values.
    let leader = JobId(1);
    let het = WaitingJob {
        het: Some(Component {
            leader,
            offset: 0,
            of: Some(2),
        }),
        ..urgent(0, 1)
    };
    assert_eq!(rank("small", &het, true, late), -1);
    assert!(u32::MAX - 1 > place(&small, true, late, &settings("urgent_order = \"small\"")));
}

#[test]
fn the_priority_that_the_site_does_not_let_count_does_not() {
    let job = WaitingJob {
        worth: Some(100),
        ..urgent(0, 1)
    };
    let text = "[queue]\nurgent_order = \"priority\"\n[victims]\npriority_max = 60";
    let settings = Settings::parse(text).unwrap();
    assert_eq!(place(&job, false, NOW, &settings), urgent_priority(false) + 60);
}

#[test]
fn an_absurd_report_is_worth_no_more_than_the_weight() {
    let endless = Applicant {
        remaining_s: Some(Seconds(f64::MAX)),
        ..waits_for(0)
    };
    let overdue = Applicant {
        remaining_s: Some(Seconds(-1.0)),
        ..waits_for(0)
    };
    assert_eq!((points(&endless), points(&overdue)), (3000, 9000));
}

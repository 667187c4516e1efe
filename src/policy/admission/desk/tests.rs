// SPDX-License-Identifier: GPL-2.0-or-later
//! Many submissions between two looks.

use super::*;
use crate::policy::settings::Settings;

const EVE: UserId = UserId(1000);

fn two_per_user() -> AdmissionSettings {
    let text = "[admission.per_user]\nrunning = 2\n";
    Settings::parse(text).unwrap().admission
}

fn job(user: UserId) -> Applicant<'static> {
    Applicant {
        user,
        group: None,
        account: Label::Unsaid,
        qos: Label::Unsaid,
        partition: Label::Unsaid,
        need: Need {
            waiting: 1,
            at_once: 1,
            ..Need::default()
        },
    }
}

/// A desk after a look at an empty cluster.
fn desk() -> Desk {
    let mut desk = Desk::default();
    desk.publish(Usage::default(), &[], UnixTime(100));
    desk
}

fn admitted(desk: &mut Desk, count: usize, now: UnixTime) -> usize {
    let settings = two_per_user();
    let judged = (0..count).map(|_| desk.admit(&settings, &job(EVE), now));
    judged.filter(Result::is_ok).count()
}

#[test]
fn a_burst_does_not_pass_a_limit() {
    let mut desk = desk();
    assert_eq!(admitted(&mut desk, 100, UnixTime(101)), 2);
    assert!(
        desk.admit(&two_per_user(), &job(UserId(7)), UnixTime(101))
            .is_ok(),
        "another user's"
    );
}

#[test]
fn a_look_that_came_too_early_lets_nobody_slip_through() {
    let mut desk = desk();
    assert_eq!(admitted(&mut desk, 9, UnixTime(101)), 2);
    // One of both is a job by now; the look after that sees the same one again.
    for now in [101, 102, 103] {
        let mut usage = Usage::default();
        usage.add(&job(EVE));
        desk.publish(usage, &[(EVE, UnixTime(101))], UnixTime(now));
        assert_eq!(admitted(&mut desk, 9, UnixTime(now)), 0, "at {now}");
    }
}

#[test]
fn what_slurm_refused_is_forgotten() {
    let mut desk = desk();
    assert_eq!(admitted(&mut desk, 2, UnixTime(101)), 2);
    desk.publish(Usage::default(), &[], UnixTime(106));
    assert_eq!(admitted(&mut desk, 1, UnixTime(106)), 0);
    assert!(desk.awaits_jobs());
    desk.publish(Usage::default(), &[], UnixTime(107));
    assert!(!desk.awaits_jobs());
    assert_eq!(admitted(&mut desk, 3, UnixTime(107)), 2);
}

#[test]
fn a_clock_that_is_stepped_has_no_submission_counted_for_longer_or_shorter() {
    for by_s in [86_400, -86_400] {
        let mut desk = desk();
        let now = 1_000_000;
        assert_eq!(admitted(&mut desk, 2, UnixTime(now)), 2);
        desk.publish(Usage::default(), &[], UnixTime(now + 1));
        let now = now + 2 + by_s;
        assert!(desk.is_stale(UnixTime(now)), "{by_s}");
        desk.clock_stepped(UnixTime(now));
        desk.publish(Usage::default(), &[], UnixTime(now));
        assert_eq!(
            admitted(&mut desk, 1, UnixTime(now)),
            0,
            "{by_s}: both may still become jobs"
        );
        // And one that is a job by now does not count twice: its record has the time that the clock showed then.
        let mut usage = Usage::default();
        usage.add(&job(EVE));
        let mut seen = desk.clone();
        seen.publish(usage, &[(EVE, UnixTime(1_000_000))], UnixTime(now));
        assert_eq!(seen.usage.unwrap().of_user(EVE).running, 2, "{by_s}");
        desk.publish(Usage::default(), &[], UnixTime(now + 6));
        assert!(!desk.awaits_jobs(), "{by_s}");
        assert_eq!(admitted(&mut desk, 3, UnixTime(now + 6)), 2, "{by_s}");
    }
}

#[test]
fn before_the_first_look_nobody_is_refused_and_all_are_counted_afterwards() {
    let mut desk = Desk::default();
    assert_eq!(admitted(&mut desk, 5, UnixTime(101)), 5);
    desk.publish(Usage::default(), &[], UnixTime(102));
    assert_eq!(admitted(&mut desk, 1, UnixTime(102)), 0);
}

#[test]
fn a_change_of_an_urgent_job_does_not_count_it_twice() {
    let mut desk = desk();
    let mut usage = Usage::default();
    let mut array = job(EVE);
    array.need.at_once = 2;
    usage.add(&array);
    desk.publish(usage, &[], UnixTime(101));
    let settings = two_per_user();
    assert!(desk.check(&settings, &array, Some(&array)).is_ok());
    assert!(desk.check(&settings, &array, None).is_err());
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut desk = Desk::default();
    let settings = two_per_user();
    for _ in 0..ADMITTED_MAX {
        assert!(desk.admit(&settings, &job(EVE), UnixTime(101)).is_ok());
    }
    let refusal = desk.admit(&settings, &job(EVE), UnixTime(101)).unwrap_err();
    assert!(refusal.sentence.contains("try again"), "{}", refusal.sentence);
}

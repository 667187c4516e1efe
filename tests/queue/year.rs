// SPDX-License-Identifier: GPL-2.0-or-later
//! Under any weights that `surgent.toml` may have, no job starves.

use crate::{HOUR_S, NOW, waits_for};
use proptest::prelude::*;
use surgent::policy::queue::{Applicant, OVERTAKE_MAX_H, factor};
use surgent::policy::settings::Settings;
use surgent::policy::units::{Seconds, UnixTime};

const YEAR_S: i64 = 365 * 24 * HOUR_S;

/// Weights as sites may write them, the impossible ones too; `None` for those that are refused.
fn accepted() -> impl Strategy<Value = Settings> {
    let weight = prop_oneof![0..20_000u32, 0..8_000_000u32, any::<u32>()];
    let half = prop_oneof![Just(0.001), 0.1..1e3f64, Just(1e6)];
    let half_s = prop_oneof![Just(1.0), 1.0..1e6f64, Just(31_536_000.0)];
    let wait = prop_oneof![0..20u32, 0..12_000u32];
    (wait, weight.clone(), weight, half, half_s).prop_filter_map("refused", |(wait, size, left, half, half_s)| {
        let text = format!(
            "[queue]\nwait_weight = {wait}\nsize_weight = {size}\nremaining_weight = {left}\nsize_half_gpus = {half:?}\n\
             remaining_half_s = {half_s:?}"
        );
        Settings::parse(&text).ok()
    })
}

/// A job that comes within a year.
fn job() -> impl Strategy<Value = Applicant> {
    let size = prop_oneof![Just(0.0), Just(1.0), 0.0..1e5f64];
    let left = prop_oneof![Just(None), (0.0..1e8f64).prop_map(Some)];
    (0..YEAR_S, size, left, any::<bool>()).prop_map(|(at, gpus, left_s, preempted)| Applicant {
        first: UnixTime(NOW.0 + at),
        gpus,
        remaining_s: left_s.map(Seconds),
        preempted,
        ..waits_for(0)
    })
}

proptest! {
    /// However small and short a newcomer is, after a time that the weights limit it does not overtake.
    #[test]
    fn nobody_is_overtaken_by_those_who_come_much_later(
        settings in accepted(), early in job(), mut late in job(), until in 0..5 * YEAR_S,
    ) {
        let queue = &settings.queue;
        let longest_s = i64::from(OVERTAKE_MAX_H) * HOUR_S;
        let bound_s = (queue.advantage_max() as i64 + 2) * HOUR_S / i64::from(queue.wait_weight) + 1;
        prop_assert!(bound_s <= longest_s + 2 * HOUR_S + 1);
        late.first = late.first.max(UnixTime(early.first.0 + bound_s));
        let until = UnixTime(NOW.0 + until);
        prop_assert!(factor(&early, until, &settings) > factor(&late, until, &settings));
    }

    /// Who was preempted is not overtaken at all by those who came after it.
    #[test]
    fn nobody_goes_before_a_preempted_job_that_came_earlier(
        settings in accepted(), mut early in job(), mut late in job(), until in 0..5 * YEAR_S,
    ) {
        (early.preempted, late.preempted) = (true, false);
        late.first = late.first.max(early.first);
        let until = UnixTime(NOW.0 + until);
        prop_assert!(factor(&early, until, &settings) > factor(&late, until, &settings));
    }

    /// So a job does not gain by being looked at, and it does not matter how often that happens.
    #[test]
    fn the_order_does_not_change_as_time_goes_by(
        settings in accepted(), one in job(), other in job(), (then, later) in (0..YEAR_S, 0..YEAR_S),
    ) {
        let gap = |until: i64| {
            let until = UnixTime(NOW.0 + until);
            factor(&one, until, &settings) - factor(&other, until, &settings)
        };
        // Each is rounded to a point.
        prop_assert!((gap(then) - gap(then + later)).abs() <= 1);
    }
}

proptest! {
    // Each is a whole year.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A cluster that is too small by a half: the queue grows all year long, the smallest and shortest jobs come again
    /// and again, and the large and long one among them starts all the same.
    #[test]
    fn a_year_of_submissions_leaves_nobody_behind(settings in accepted(), giant_at in 0..200i64) {
        let every_s = YEAR_S / 365;
        let giant = Applicant { first: UnixTime(NOW.0 + giant_at * every_s), gpus: 1e5, ..waits_for(0) };
        let mut queue: Vec<Applicant> = vec![giant];
        let mut started = None;
        for turn in giant_at..365 {
            let now = UnixTime(NOW.0 + turn * every_s);
            let small = Applicant { first: now, gpus: 0.0, remaining_s: Some(Seconds(0.0)), ..waits_for(0) };
            queue.extend([small; 3]);
            for _ in 0..2 {
                let best = (0..queue.len()).max_by_key(|at| {
                    (factor(&queue[*at], now, &settings), std::cmp::Reverse(queue[*at].first.0))
                });
                if queue.swap_remove(best.unwrap()).gpus == giant.gpus {
                    started.get_or_insert(now);
                }
            }
        }
        let waited_h = (started.expect("the giant starts").0 - giant.first.0) / HOUR_S;
        // Those who may go before it came within this, and two of three of them start as they come.
        prop_assert!(waited_h <= 2 * i64::from(OVERTAKE_MAX_H), "{waited_h} hours");
    }
}

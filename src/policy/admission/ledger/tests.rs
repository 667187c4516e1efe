// SPDX-License-Identifier: GPL-2.0-or-later
//! What is charged, for how long it counts, and that it stays within bounds.

use super::*;
use crate::policy::admission::applicant::{Application, Need};
use crate::policy::directives::Urgency;
use crate::policy::facts::{Holding, JobTraits, RunningJob, WaitingJob};
use crate::policy::ids::{NodeIndex, UserId};
use crate::policy::labels::{Labels, Name};
use crate::policy::record::Record;
use crate::policy::request::Request;
use crate::policy::resources::Amounts;
use proptest::prelude::*;

const T0: i64 = 1_764_410_000;
const WINDOW_H: u32 = 168;
const CPU_WEIGHT: f64 = 0.05;

fn labels() -> Labels {
    Labels {
        account: Some(Name::from("vision")),
        ..Labels::default()
    }
}

/// A cluster at `T0 + now_s` with these urgent jobs: id, start, GPUs.
fn facts(now_s: i64, running: &[(u32, i64, u64)]) -> Facts {
    let mut facts = Facts::at(UnixTime(T0 + now_s));
    for &(id, start_s, gpus) in running {
        let mut amounts = Amounts::new(8, 1000);
        facts.gres.add(&mut amounts, "gpu", Some("a100"), gpus);
        facts.running.push(RunningJob {
            id: JobId(id),
            array: None,
            user: UserId(1000),
            labels: labels(),
            submit: None,
            start: UnixTime(T0 + start_s),
            end: None,
            preempt_time: None,
            traits: JobTraits::default(),
            holdings: vec![Holding {
                node: NodeIndex(0),
                amounts,
            }],
            directives: None,
            record: Some(Record::new(Urgency::Urgent)),
            admin_comment: Vec::new(),
        });
    }
    facts
}

fn ended(mut facts: Facts, id: u32, array: Option<u32>, start_s: i64, end_s: i64) -> Facts {
    facts.ended.push(EndedJob {
        id: JobId(id),
        array: array.map(JobId),
        start: UnixTime(T0 + start_s),
        end: UnixTime(T0 + end_s),
    });
    facts
}

fn look(accountant: &mut Accountant, facts: &Facts) -> f64 {
    accountant.look(facts, CPU_WEIGHT, WINDOW_H);
    gpu_s(accountant.ledger(), facts.now)
}

fn gpu_s(ledger: &Ledger, now: UnixTime) -> f64 {
    ledger.spent(now, WINDOW_H).all * 3600.0
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn a_running_job_is_charged_at_every_moment_and_to_its_end() {
    let mut accountant = Accountant::default();
    assert!(near(look(&mut accountant, &facts(10, &[(1, 0, 4)])), 40.0));
    assert!(near(look(&mut accountant, &facts(100, &[(1, 0, 4)])), 400.0));
    // It ended between two looks, as its record tells; later Slurm has forgotten it.
    let gone = ended(facts(140, &[]), 1, None, 0, 120);
    assert!(near(look(&mut accountant, &gone), 480.0));
    assert!(near(look(&mut accountant, &gone), 480.0), "once");
    assert!(near(look(&mut accountant, &facts(500, &[])), 480.0));
    let spent = accountant.ledger().spent(UnixTime(T0 + 500), WINDOW_H);
    assert!(near(spent.users[&UserId(1000)], 480.0 / 3600.0));
    assert!(near(spent.accounts["vision"], 480.0 / 3600.0));
}

/// What is told of a job's runs: start, until, whether it is over, GPU-seconds.
fn told(accountant: &mut Accountant, facts: &Facts) -> Vec<(i64, i64, bool, f64)> {
    let charged = accountant.look(facts, CPU_WEIGHT, WINDOW_H);
    let of = |run: Charged| {
        assert_eq!((run.job, run.payer.user), (JobId(1), UserId(1000)));
        assert_eq!(run.payer.account, Some(Name::from("vision")));
        (
            run.start.0 - T0,
            run.until.0 - T0,
            run.over,
            (run.gpu_h * 3600.0).round(),
        )
    };
    charged.into_iter().map(of).collect()
}

#[test]
fn what_a_run_was_charged_is_told_at_its_end_and_once_an_hour_before() {
    let mut accountant = Accountant::default();
    // When, what runs since when, what has ended when; what is told.
    for (now_s, runs_since, ended_at, all) in [
        (10, Some(0), None, vec![]),
        (3599, Some(0), None, vec![]),
        // No later than it is charged: a minute after the last time.
        (3605, Some(0), None, vec![]),
        (3660, Some(0), None, vec![(0, 3660, false, 7320.0)]),
        (3720, Some(0), None, vec![]),
        // One for three hours in which nobody looked.
        (14_500, Some(0), None, vec![(0, 14_500, false, 29_000.0)]),
        // It was requeued; the next run is told of by itself.
        (14_600, Some(14_590), None, vec![(0, 14_500, true, 29_000.0)]),
        (
            14_660,
            None,
            Some((14_590, 14_640)),
            vec![(14_590, 14_640, true, 100.0)],
        ),
        (14_670, None, Some((14_590, 14_640)), vec![]),
    ] {
        let running: Vec<_> = runs_since.map(|start_s| (1, start_s, 2)).into_iter().collect();
        let mut facts = facts(now_s, &running);
        if let Some((start_s, end_s)) = ended_at {
            facts = ended(facts, 1, None, start_s, end_s);
        }
        assert_eq!(told(&mut accountant, &facts), all, "at {now_s}");
        // slurmctld is restarted: nothing is told again, and none of it is lost.
        let text = serde_json::to_string(accountant.ledger()).unwrap();
        let mut again = Accountant::with(serde_json::from_str(&text).unwrap());
        assert_eq!(told(&mut again, &facts), vec![], "at {now_s}, again");
        assert_eq!(again.ledger(), accountant.ledger());
    }
}

#[test]
fn a_job_whose_end_nobody_knows_is_charged_until_it_was_last_seen() {
    let mut accountant = Accountant::default();
    look(&mut accountant, &facts(50, &[(1, 0, 2)]));
    assert!(near(look(&mut accountant, &facts(90, &[])), 100.0));
}

#[test]
fn the_next_run_of_a_job_is_charged_by_itself() {
    let mut accountant = Accountant::default();
    look(&mut accountant, &facts(100, &[(1, 0, 1)]));
    assert!(near(look(&mut accountant, &facts(300, &[(1, 200, 1)])), 200.0));
}

#[test]
fn a_job_that_ran_between_two_looks_is_charged() {
    let waiting = |id: u32, array: Option<u32>| {
        let mut facts = facts(0, &[]);
        facts.waiting.push(WaitingJob {
            id: JobId(id),
            priority: 1,
            submit: facts.now,
            blocked: true,
            hindrance: None,
            tested: true,
            request: Request::default(),
            tasks: 1,
            het: None,
            worth: None,
            application: Some(Application {
                user: UserId(1000),
                labels: labels(),
                array: array.map(JobId),
                need: Need {
                    gpus: 4,
                    ..Need::default()
                },
                ..Application::default()
            }),
            record: None,
            admin_comment: Vec::new(),
        });
        facts
    };
    for (id, ended_id, array) in [(1, 1, None), (1, 2, Some(1))] {
        let mut accountant = Accountant::default();
        look(&mut accountant, &waiting(id, array));
        let gone = ended(facts(60, &[]), ended_id, array, 10, 40);
        let charged = accountant.clone().look(&gone, CPU_WEIGHT, WINDOW_H);
        let all: Vec<_> = charged
            .iter()
            .map(|run| (run.job, run.start.0 - T0, run.until.0 - T0, run.over))
            .collect();
        assert_eq!(all, [(JobId(ended_id), 10, 40, true)]);
        assert!(near(charged[0].gpu_h * 3600.0, 120.0));
        assert!(near(look(&mut accountant, &gone), 120.0));
        assert!(near(look(&mut accountant, &gone), 120.0), "once");
    }
}

#[test]
fn a_job_without_gpus_is_charged_by_its_cpus() {
    let mut accountant = Accountant::default();
    assert!(near(
        look(&mut accountant, &facts(100, &[(1, 0, 0)])),
        100.0 * 8.0 * 0.05
    ));
}

#[test]
fn a_restart_of_slurmctld_loses_nothing() {
    let mut accountant = Accountant::default();
    look(&mut accountant, &facts(100, &[(1, 0, 4)]));
    let text = serde_json::to_string(accountant.ledger()).unwrap();
    let mut again = Accountant::with(serde_json::from_str(&text).unwrap());
    assert!(near(look(&mut again, &facts(200, &[(1, 0, 4)])), 800.0));
    // Or it ended meanwhile.
    let mut again = Accountant::with(serde_json::from_str(&text).unwrap());
    assert!(near(
        look(&mut again, &ended(facts(200, &[]), 1, None, 0, 150)),
        600.0
    ));
}

#[test]
fn a_clock_that_is_stepped_charges_nobody_for_time_that_has_not_passed_and_forgets_nothing() {
    let window_s = i64::from(WINDOW_H) * HOUR_S;
    for by_s in [40, -40, 5000, -5000, 86_400, -86_400, 3 * window_s, -3 * window_s] {
        let mut accountant = Accountant::default();
        // The job's start is what Slurm's record says, whatever the clock does.
        let running = [(1, 0, 8)];
        look(&mut accountant, &facts(100, &running));
        let mut stepped = |by_s: i64, now_s: i64| {
            accountant.clock_stepped(by_s, UnixTime(T0 + now_s));
            look(&mut accountant, &facts(now_s, &running))
        };
        assert!(near(stepped(by_s, 110 + by_s), 880.0), "{by_s}");
        assert!(near(stepped(0, 170 + by_s), 1360.0), "{by_s}");
        assert!(near(stepped(-by_s, 180), 1440.0), "{by_s}");
        assert!(near(stepped(0, 300), 2400.0), "{by_s}");
        look(&mut accountant, &facts(310, &[]));
        look(&mut accountant, &facts(310 + window_s + HOUR_S, &[]));
        assert_eq!(accountant.ledger().entries(), 0, "{by_s}");
    }
}

#[test]
fn a_state_file_of_a_clock_that_was_ahead_counts_for_one_window_and_charges_go_on() {
    let ahead_s = 400 * 86_400;
    let mut accountant = Accountant::default();
    look(&mut accountant, &facts(ahead_s, &[(1, ahead_s - 100, 8)]));
    let text = serde_json::to_string(accountant.ledger()).unwrap();
    let mut again = Accountant::with(serde_json::from_str(&text).unwrap());
    // The same run, whose start in Slurm's record is as it was.
    let running = [(1, ahead_s - 100, 8)];
    assert!(near(look(&mut again, &facts(0, &running)), 800.0));
    assert!(near(look(&mut again, &facts(60, &running)), 1280.0));
    look(&mut again, &facts(61, &[]));
    let window_s = i64::from(WINDOW_H) * HOUR_S;
    assert!(near(look(&mut again, &facts(61 + window_s + HOUR_S, &[])), 0.0));
}

#[test]
fn a_run_that_began_by_a_clock_that_was_ahead_is_charged_from_when_it_is_seen() {
    let mut accountant = Accountant::default();
    look(&mut accountant, &facts(0, &[]));
    look(&mut accountant, &facts(10, &[(1, 86_400, 8)]));
    assert!(near(look(&mut accountant, &facts(110, &[(1, 86_400, 8)])), 800.0));
}

#[test]
fn what_is_older_than_the_window_counts_no_more() {
    let mut accountant = Accountant::default();
    look(&mut accountant, &ended(facts(3600, &[(1, 0, 4)]), 9, None, 0, 0));
    look(&mut accountant, &facts(3601, &[]));
    let window_s = i64::from(WINDOW_H) * 3600;
    let at = |s: i64| gpu_s(accountant.ledger(), UnixTime(T0 + s));
    assert!(near(at(window_s - 3600), 4.0 * 3600.0));
    assert!(at(window_s + 1800) < 4.0 * 3600.0 && at(window_s + 1800) > 0.0);
    assert!(near(at(window_s + 2 * 3600), 0.0));
}

#[test]
fn the_ledger_is_bounded_and_loses_no_charge_by_that() {
    let mut ledger = Ledger::default();
    let hour = T0 / HOUR_S;
    let payers = 1000;
    for at in 0..80 {
        for user in 0..payers {
            let payer = Payer {
                user: UserId(user),
                account: None,
            };
            ledger.add(hour + at, &payer, 1.0);
        }
    }
    let now = UnixTime((hour + 80) * HOUR_S);
    ledger.prune(now, WINDOW_H);
    assert!(ledger.entries() <= ENTRIES_MAX);
    assert!(near(gpu_s(&ledger, now), 80.0 * f64::from(payers)));
    // More who pay than there is room for, in a single hour.
    for user in 0..80_000 {
        let payer = Payer {
            user: UserId(user),
            account: None,
        };
        ledger.add(hour + 79, &payer, 1.0);
    }
    ledger.prune(now, 1);
    assert!(ledger.entries() <= ENTRIES_MAX);
}

proptest! {
    /// Whatever the clock does and whoever runs: no usage is negative, no more is charged than all jobs hold in all
    /// the time, and after the window all is forgotten.
    #[test]
    fn usage_is_never_negative_and_never_more_than_was_held(
        looks in proptest::collection::vec((-50i64..4000, proptest::collection::vec((1u32..5, 0i64..100, 0u64..9), 0..4)), 1..40)
    ) {
        let mut accountant = Accountant::default();
        let (mut now_s, mut latest_s) = (0i64, 0i64);
        for (step_s, jobs) in looks {
            now_s = (now_s + step_s).max(0);
            latest_s = latest_s.max(now_s);
            let mut seen = BTreeSet::new();
            let jobs: Vec<_> = jobs
                .into_iter()
                .filter(|job| seen.insert(job.0))
                .map(|(id, ago_s, gpus)| (id, (now_s - ago_s).max(0), gpus))
                .collect();
            let mut facts = facts(now_s, &jobs);
            facts.running.sort_by_key(|job| job.id);
            let used = look(&mut accountant, &facts);
            prop_assert!(used >= 0.0);
            // A run may be seen to begin up to 100 s before the look that finds it.
            let most = 4.0 * 8.0 * (latest_s as f64 + 100.0 * 40.0 * 4.0);
            prop_assert!(used <= most, "{used} of {most}");
            prop_assert!(accountant.ledger().spent(facts.now, WINDOW_H).users.values().all(|hours| *hours >= 0.0));
        }
        let later = UnixTime(T0 + latest_s + (i64::from(WINDOW_H) + 2) * 3600);
        accountant.look(&Facts::at(later), CPU_WEIGHT, WINDOW_H);
        prop_assert_eq!(gpu_s(accountant.ledger(), later), 0.0);
        prop_assert_eq!(accountant.ledger().entries(), 0);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Many threads ask who may be preempted while gates open, change and shut, as slurmctld's threads do beside the planner.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use surgent::host::abi::*;
use surgent::host::core::Core;
use surgent::host::exports::*;
use surgent::policy::ids::JobId;
use surgent::policy::units::UnixTime;

const URGENT: u32 = 900;
const OTHER_URGENT: u32 = 901;
const OTHER_VICTIM: u32 = 1;
const ASKING: usize = 6;
/// How often the gate of `URGENT` is opened to another plan.
const PLANS: u64 = 1500;
/// Victims of each plan.
const VICTIMS: u32 = 40;

/// The victims of a plan: the same jobs each time, in a run that is the plan's own. So a table in which two of them are
/// of different runs was never published.
fn victims(of_plan: u64) -> Vec<(JobId, UnixTime)> {
    let start = UnixTime(of_plan as i64);
    (10..10 + VICTIMS).map(|job| (JobId(job), start)).collect()
}

fn may_take(preemptor: u32, preemptee: u32, start: u64) -> bool {
    let pair = surgent_pair_view_t {
        size: u32::try_from(size_of::<surgent_pair_view_t>()).unwrap(),
        preemptee_id: preemptee,
        preemptor_id: preemptor,
        preemptee_flags: SURGENT_JOB_BATCH | SURGENT_JOB_REQUEUE,
        preemptee_state: SURGENT_STATE_RUNNING,
        reserved0: 0,
        preemptee_start_time: start as i64,
        preemptee_preempt_time: 0,
        preemptor_admin_comment: ptr::null(),
    };
    // SAFETY: a whole struct that lives through the call.
    unsafe { surgent_preemptable(&pair) }
}

/// The planner has begun to open, and has finished opening, this plan.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);
static OVER: AtomicBool = AtomicBool::new(false);

/// Asks until the planner is done; how many answers were yes.
fn ask(thread: usize) -> u64 {
    let mut yes = 0;
    let mut turn = thread as u32;
    let mut newest = 0;
    while !OVER.load(Ordering::Acquire) {
        turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (one, other) = (10 + turn % VICTIMS, 10 + (turn >> 8) % VICTIMS);
        let before = DONE.load(Ordering::SeqCst);
        let plan = before + u64::from(turn >> 16 & 1);
        if may_take(URGENT, one, plan) {
            let after = BEGUN.load(Ordering::SeqCst);
            assert!(
                before <= plan && plan <= after,
                "plan {plan} was in force, but {before} to {after} were published"
            );
            assert!(plan >= newest, "plan {plan} came back after {newest}");
            newest = plan;
            yes += 1;
            // The whole plan was there: its other victims are missing only if it is over by now.
            let there = may_take(URGENT, other, plan);
            assert!(
                there || BEGUN.load(Ordering::SeqCst) > plan,
                "half of plan {plan} is there: job {one}, not job {other}"
            );
        }
        assert!(!may_take(URGENT, 10 + VICTIMS, plan), "nobody else is a victim");
        assert!(!may_take(OTHER_URGENT, one, plan), "nor for anybody else");
        assert!(
            may_take(OTHER_URGENT, OTHER_VICTIM, 7),
            "the other gate stays open throughout"
        );
        assert_eq!(surgent_preempt_mode(OTHER_VICTIM, 7), SURGENT_MODE_REQUEUE);
    }
    yes
}

#[test]
fn nobody_ever_sees_half_a_plan() {
    let gate = &Core::get().gate;
    gate.open(JobId(OTHER_URGENT), vec![(JobId(OTHER_VICTIM), UnixTime(7))]);
    let yes: Vec<u64> = thread::scope(|scope| {
        let asking: Vec<_> = (0..ASKING).map(|at| scope.spawn(move || ask(at))).collect();
        for plan in 1..=PLANS {
            BEGUN.store(plan, Ordering::SeqCst);
            // Now and then the gate is shut in between; most plans follow upon each other without that.
            if plan % 5 == 0 {
                gate.shut(JobId(URGENT));
            }
            gate.open(JobId(URGENT), victims(plan));
            DONE.store(plan, Ordering::SeqCst);
            thread::yield_now();
        }
        OVER.store(true, Ordering::Release);
        asking.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(yes.iter().sum::<u64>() > 0, "nothing was seen: {yes:?}");
    assert!(may_take(URGENT, 10, PLANS));
    gate.shut_all();
    assert!(!may_take(URGENT, 10, PLANS) && !may_take(OTHER_URGENT, OTHER_VICTIM, 7));
}

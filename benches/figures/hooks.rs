// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld calls often.

use crate::{allocations, median, ratio};
use std::ffi::CStr;
use std::hint::black_box;
use surgent::host::abi::{
    SURGENT_JOB_BATCH, SURGENT_JOB_REQUEUE, SURGENT_STATE_RUNNING, surgent_pair_view_t,
};
use surgent::host::core::Core;
use surgent::host::exports::surgent_preemptable;
use surgent::policy::directives;
use surgent::policy::ids::JobId;
use surgent::policy::record::Record;
use surgent::policy::units::UnixTime;

/// Running jobs that are asked about in turn.
const JOBS: u32 = 40_000;

/// A job as slurmctld keeps it, but for what nobody asks for here: a large record, found by pointer.
struct Job {
    id: u32,
    start: i64,
    qos: Box<Qos>,
    /// The rest of a record of this size lies between those that are read.
    _rest: [u64; 100],
}

struct Qos {
    preempts: u64,
    id: u32,
}

/// What a stock plugin does: whether the one's QOS may preempt the other's.
#[inline(never)]
fn stock(preemptee: &Job, preemptor: &Job) -> bool {
    preemptor.qos.preempts & (1 << (preemptee.qos.id % 64)) != 0
}

/// What our shim does: fills in a view and asks.
#[inline(never)]
fn ours(preemptee: &Job, preemptor: &Job, admin_comment: &CStr) -> bool {
    let pair = surgent_pair_view_t {
        size: size_of::<surgent_pair_view_t>() as u32,
        preemptee_id: preemptee.id,
        preemptor_id: preemptor.id,
        preemptee_flags: SURGENT_JOB_BATCH | SURGENT_JOB_REQUEUE,
        preemptee_state: SURGENT_STATE_RUNNING,
        reserved0: 0,
        preemptee_start_time: preemptee.start,
        preemptee_preempt_time: 0,
        preemptor_admin_comment: admin_comment.as_ptr(),
    };
    // SAFETY: a whole view that outlives the call.
    unsafe { surgent_preemptable(&pair) }
}

/// One call for each running job, as Slurm does for one waiting job.
pub fn preemptable() {
    let jobs: Vec<Box<Job>> = (0..JOBS)
        .map(|id| {
            Box::new(Job {
                id,
                start: 1_764_410_000,
                qos: Box::new(Qos { preempts: 2, id: 3 }),
                _rest: [0; 100],
            })
        })
        .collect();
    let each = |ask: &dyn Fn(&Job) -> bool| jobs.iter().filter(|job| ask(black_box(job))).count();
    let preemptor = &jobs[7];
    let (normal, urgent) = (c"surgent{class=normal first=1}", c"surgent{class=urgent first=1}");
    let victims = |from: u32| {
        (from..from + 50)
            .map(|id| (JobId(id), UnixTime(1_764_410_000)))
            .collect()
    };

    println!("preemptable: {JOBS} calls; x: as many times as the stock plugin's comparison of two QOS");
    let baseline = median(41, || each(&|job| stock(job, preemptor)));
    let show = |name: &str, admin_comment: &CStr| {
        let time = median(41, || each(&|job| ours(job, preemptor, admin_comment)));
        let calls = allocations::calls_of(|| {
            black_box(each(&|job| ours(job, preemptor, admin_comment)));
        });
        println!(
            "  {name:34} {:6.1} ns a call ({:4.2} x), {calls} allocations",
            time.as_secs_f64() * 1e9 / f64::from(JOBS),
            ratio(time, baseline)
        );
    };
    let stock_ns = baseline.as_secs_f64() * 1e9 / f64::from(JOBS);
    println!("  {:34} {stock_ns:6.1} ns a call", "stock");
    show("normal job, no gate open", normal);
    show("urgent job, no gate open", urgent);
    Core::get().gate.open(JobId(1_000_000), victims(100));
    show("normal job, another's gate open", normal);
    Core::get().gate.open(JobId(preemptor.id), victims(200));
    show("urgent job, its own gate open", urgent);
    Core::get().gate.shut_all();
}

/// Reading what a comment and an AdminComment say.
pub fn comments() {
    const TIMES: u32 = 1000;
    let comment = black_box(
        &b"resnet sweep 7 epochs=90 epoch=12.25 epoch_s=318 at=1764410000 save=step save_s=12 saved=1764409000 signal=USR1@batch"[..],
    );
    let record =
        black_box(&b"surgent{class=normal first=1764410000 preempted=1 by=17} note of an administrator"[..]);
    println!("\ncomments; x: as many times as looking at each byte once");
    let reading = median(41, || {
        (0..TIMES)
            .map(|_| black_box(comment).iter().filter(|byte| **byte == b'=').count())
            .sum::<usize>()
    });
    let show = |name: &str, run: &dyn Fn() -> bool| {
        let time = median(41, || (0..TIMES).filter(|_| run()).count());
        println!(
            "  {name:34} {:6.1} ns ({:5.1} x)",
            time.as_secs_f64() * 1e9 / f64::from(TIMES),
            ratio(time, reading)
        );
    };
    show("urgent or not, by the record", &|| {
        Record::is_urgent_fast(black_box(record))
    });
    show("the whole record", &|| Record::read(black_box(record)).is_some());
    show("a comment without directives", &|| {
        directives::parse(black_box(b"my third attempt with the larger batch")).is_ok()
    });
    show("urgent or not, by a comment", &|| {
        directives::parse(black_box(b"urgency=urgent")).is_ok()
    });
    show("a comment with nine directives", &|| {
        directives::parse(black_box(comment)).is_ok()
    });
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Plays the shim.

use super::*;
use crate::policy::facts::Node;
use crate::policy::ids::UserId;
use crate::policy::labels::Name;
use std::ffi::CString;

fn size<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap()
}

/// As many nodes or jobs as any Slurm could announce. Miri would take an hour to make room for them.
const ANNOUNCED: u32 = if cfg!(miri) { 10 } else { u32::MAX };

/// Puts nodes and running jobs with these numbers and comments into a collector, as a shim does.
fn facts_of(nodes: &[u32], jobs: &[(u32, &str)], tape: Tape) -> (Facts, Tape) {
    let mut collector = Collector::new(UnixTime(1000), BTreeSet::new(), Users::default(), tape);
    let sink = collector.sink();
    let gpu = CString::new("gpu").unwrap();
    let model = CString::new("a100").unwrap();
    let gres = abi::surgent_gres_t {
        name: gpu.as_ptr(),
        type_: model.as_ptr(),
        count: 2,
    };
    // SAFETY: the sink's own context, and whole views that live through each call.
    unsafe {
        sink.expect.unwrap()(sink.context, ANNOUNCED, ANNOUNCED);
        for &index in nodes {
            let name = CString::new(format!("n{index}")).unwrap();
            let view = abi::surgent_node_view_t {
                size: size::<abi::surgent_node_view_t>(),
                index,
                name: name.as_ptr(),
                gres: &gres,
                gres_count: 1,
                ..Default::default()
            };
            sink.node.unwrap()(sink.context, &view);
        }
        for &(job_id, comment) in jobs {
            let comment = CString::new(comment).unwrap();
            let holding = abi::surgent_holding_t {
                node_index: job_id,
                cpus: 3,
                gres: &gres,
                gres_count: 1,
                ..Default::default()
            };
            let view = abi::surgent_job_view_t {
                size: size::<abi::surgent_job_view_t>(),
                job_id,
                state: abi::SURGENT_STATE_RUNNING,
                comment: comment.as_ptr(),
                holdings: &holding,
                holding_count: 1,
                ..Default::default()
            };
            sink.job.unwrap()(sink.context, &view);
        }
        sink.locked.unwrap()(sink.context, 5, 7);
    }
    let times = LockTimes {
        waited: Duration::from_nanos(5),
        held: Duration::from_nanos(7),
    };
    assert_eq!(collector.holds(), [times]);
    let (facts, tape) = collector.finish();
    (facts.unwrap(), tape)
}

#[test]
fn what_is_borrowed_for_a_call_is_in_the_facts_after_it_and_in_order() {
    let (facts, _) = facts_of(&[1, 0], &[(8, "epochs=20"), (7, "epochs=oops")], Tape::default());
    let names: Vec<_> = facts.nodes.iter().map(|node: &Node| node.name.as_str()).collect();
    assert_eq!(names, ["n0", "n1"]);
    assert_eq!(facts.gres.total_of(&facts.nodes[0].total, "gpu"), 2);
    let ids: Vec<_> = facts.running.iter().map(|job| job.id).collect();
    assert_eq!(ids, [JobId(7), JobId(8)]);
    assert_eq!(facts.running[0].directives, None, "malformed");
    assert_eq!(facts.running[1].directives.as_ref().unwrap().epochs, Some(20));
    assert_eq!(facts.running[1].holdings[0].node.0, 8);
    assert_eq!(facts.running[1].held().cpus, 3);
}

#[test]
fn a_tape_keeps_nothing_of_the_last_look() {
    let jobs = [(7, "epochs=20"), (8, "epochs=30")];
    let (_, tape) = facts_of(&[0, 1], &jobs, Tape::default());
    let (again, tape) = facts_of(&[1], &jobs[1..], tape);
    let (fresh, _) = facts_of(&[1], &jobs[1..], Tape::default());
    assert_eq!(again, fresh);
    drop(tape);
}

/// In a look of several holds: what was forgotten is not in the facts, unless it was given again.
#[test]
fn only_what_was_given_after_the_last_forgetting_is_so() {
    let mut collector = Collector::new(UnixTime(1000), BTreeSet::new(), Users::default(), Tape::default());
    let sink = collector.sink();
    let run = |job_id: u32, start_time: i64| {
        let view = abi::surgent_job_view_t {
            size: size::<abi::surgent_job_view_t>(),
            job_id,
            start_time,
            state: abi::SURGENT_STATE_RUNNING,
            ..Default::default()
        };
        // SAFETY: the sink's own context, and a whole view that lives through the call.
        unsafe { sink.job.unwrap()(sink.context, &view) };
    };
    // SAFETY: the sink's own context.
    let forget = |job_id: u32| unsafe { sink.forget_job.unwrap()(sink.context, job_id) };
    // SAFETY: as above.
    let let_go = || unsafe { sink.locked.unwrap()(sink.context, 1, 2) };
    run(1, 100);
    run(2, 100);
    run(3, 100);
    let_go();
    forget(1);
    forget(2);
    run(2, 200);
    run(4, 200);
    let_go();
    forget(2);
    run(2, 300);
    forget(4);
    forget(9);
    let_go();
    assert_eq!(collector.holds().len(), 3);
    let (facts, tape) = collector.finish();
    let seen =
        |facts: &Facts| -> Vec<_> { facts.running.iter().map(|job| (job.id.0, job.start.0)).collect() };
    assert_eq!(seen(&facts.unwrap()), [(2, 300), (3, 100)]);
    let (facts, _) = facts_of(&[], &[(1, ""), (4, "")], tape);
    assert_eq!(seen(&facts), [(1, 0), (4, 0)], "forgotten in another look");
}

#[test]
fn a_record_that_is_cut_short_spoils_the_whole_look() {
    let mut collector = Collector::new(UnixTime(1000), BTreeSet::new(), Users::default(), Tape::default());
    let sink = collector.sink();
    let view = abi::surgent_job_view_t {
        size: 8,
        ..Default::default()
    };
    // SAFETY: the sink's own context; no more of the view is read than its size.
    unsafe { sink.job.unwrap()(sink.context, &view) };
    assert_eq!(collector.finish().0, None);
}

#[test]
fn jobs_have_the_names_that_a_site_knows_them_by() {
    let users = Users::from([(UserId(0), Name::from("root"))]);
    let mut collector = Collector::new(UnixTime(1000), BTreeSet::new(), users, Tape::default());
    let sink = collector.sink();
    let account = CString::new("vision").unwrap();
    let partition = CString::new("gpu").unwrap();
    let eve = CString::new("eve").unwrap();
    for (job_id, user_id, user_name) in [
        (1, 0, std::ptr::null()),
        (2, 1234, eve.as_ptr()),
        (3, 1234, std::ptr::null()),
    ] {
        let view = abi::surgent_job_view_t {
            size: size::<abi::surgent_job_view_t>(),
            job_id,
            user_id,
            user_name,
            state: abi::SURGENT_STATE_RUNNING,
            account: account.as_ptr(),
            partition: partition.as_ptr(),
            ..Default::default()
        };
        // SAFETY: the sink's own context, and a whole view that lives through the call.
        unsafe { sink.job.unwrap()(sink.context, &view) };
    }
    let facts = collector.finish().0.unwrap();
    let users: Vec<_> = facts
        .running
        .iter()
        .map(|job| job.labels.user.as_ref().map(Name::as_str))
        .collect();
    assert_eq!(users, [Some("root"), Some("eve"), None]);
    for job in &facts.running {
        assert_eq!(job.labels.account, Some(Name::from("vision")));
        assert_eq!(job.labels.partition, Some(Name::from("gpu")));
        assert_eq!(job.labels.qos, None);
    }
}

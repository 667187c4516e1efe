// SPDX-License-Identifier: GPL-2.0-or-later
//! One look at a cluster that cannot be, and what the policy makes of it.

use super::arena::{Arena, size_of_view};
use arbitrary::{Result, Unstructured};
use std::collections::BTreeSet;
use surgent::host::abi::*;
use surgent::host::people::Users;
use surgent::host::views::{Collector, Tape};
use surgent::policy::book::Book;
use surgent::policy::ids::JobId;
use surgent::policy::settings::Settings;
use surgent::policy::step::step;
use surgent::policy::units::UnixTime;

/// A few nodes and jobs, and three steps with them.
pub fn look(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<()> {
    let now = UnixTime(1_764_410_000);
    let reclass = BTreeSet::from([JobId(1), JobId(2)]);
    let mut collector = Collector::new(now, reclass, Users::default(), Tape::default());
    let sink = collector.sink();
    let put = (sink.expect, sink.node, sink.job);
    let asked = (sink.concerns, sink.wants_request);
    let later = (sink.forget_job, sink.locked);
    let (
        (Some(expect), Some(take_node), Some(take_job)),
        (Some(concerns), Some(wants)),
        (Some(forget), Some(locked)),
    ) = (put, asked, later)
    else {
        unreachable!("a sink is whole");
    };
    // SAFETY: the sink's own context; views are NULL, or as long as they say, and live through the call.
    unsafe {
        expect(sink.context, 16, 16);
        for _ in 0..from.int_in_range(0..=4)? {
            let node = node(from, arena)?;
            take_node(sink.context, arena.or_null(from, node)?);
        }
        for _ in 0..from.int_in_range(0..=6)? {
            let job = job(from, arena)?;
            let job = arena.or_null(from, job)?;
            if let Some(job) = job.as_ref() {
                concerns(sink.context, job.job_id, job.admin_comment);
            }
            wants(sink.context, job);
            take_job(sink.context, job);
            // No input is read for this, so that those that were kept stay what they are.
            if job.as_ref().is_some_and(|job| job.restart_count == 3) {
                forget(sink.context, (*job).job_id);
            }
        }
        locked(sink.context, from.arbitrary()?, from.arbitrary()?);
    }
    let (facts, _) = collector.finish();
    if let Some(facts) = facts {
        let mut book = Book::default();
        for _ in 0..3 {
            step(&mut book, &facts, &Settings::default());
        }
    }
    Ok(())
}

/// A small number mostly, so that views refer to one another.
fn small(from: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if from.ratio(1, 8)? {
        from.arbitrary()?
    } else {
        from.int_in_range(0..=4)?
    })
}

fn moment(from: &mut Unstructured<'_>) -> Result<i64> {
    Ok(match from.int_in_range(0..=3)? {
        0 => 0,
        1 => from.arbitrary()?,
        _ => 1_764_410_000 + from.int_in_range(-100_000..=100_000)?,
    })
}

fn node(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<surgent_node_view_t> {
    let (gres, gres_count) = arena.gres(from)?;
    Ok(surgent_node_view_t {
        size: size_of_view::<surgent_node_view_t>(from)?,
        index: small(from)?,
        flags: small(from)?,
        cpus: from.arbitrary()?,
        memory_mib: from.arbitrary()?,
        name: arena.text(from)?,
        features: arena.text(from)?,
        gres,
        gres_count,
        cpus_per_core: small(from)?,
    })
}

fn job(from: &mut Unstructured<'_>, arena: &mut Arena) -> Result<surgent_job_view_t> {
    let (holdings, holding_count) = arena.entries(from, |from, arena| {
        let (gres, gres_count) = arena.gres(from)?;
        Ok(surgent_holding_t {
            node_index: small(from)?,
            cpus: from.arbitrary()?,
            memory_mib: from.arbitrary()?,
            gres,
            gres_count,
            reserved0: 0,
        })
    })?;
    let (request_gres, request_gres_count) = arena.entries(from, |from, arena| {
        Ok(surgent_gres_request_t {
            name: arena.text(from)?,
            type_: arena.text(from)?,
            per_node: from.arbitrary()?,
            per_job: from.arbitrary()?,
            per_task: from.arbitrary()?,
            per_socket: from.arbitrary()?,
            memory_each_mib: from.arbitrary()?,
            cpus_each: from.arbitrary()?,
            cpus_by_job: small(from)?,
        })
    })?;
    let (choices, choice_count) = arena.entries(from, |from, arena| {
        let (nodes, node_count) = arena.entries(from, |from, _| small(from))?;
        Ok(surgent_choice_t {
            partition: arena.text(from)?,
            nodes,
            node_count,
            min_nodes: small(from)?,
            max_nodes: small(from)?,
            flags: small(from)?,
            jobs_per_cpu: small(from)?,
            reserved0: 0,
        })
    })?;
    let (required, required_count) = arena.entries(from, |from, _| small(from))?;
    Ok(surgent_job_view_t {
        size: size_of_view::<surgent_job_view_t>(from)?,
        job_id: small(from)?,
        array_job_id: small(from)?,
        array_task_id: small(from)?,
        het_job_id: small(from)?,
        user_id: small(from)?,
        state: from.int_in_range(0..=5)?,
        flags: if from.arbitrary()? {
            SURGENT_JOB_BATCH | SURGENT_JOB_REQUEUE
        } else {
            from.arbitrary()?
        },
        priority: from.arbitrary()?,
        restart_count: small(from)?,
        time_limit_min: from.arbitrary()?,
        hindrance: from.int_in_range(0..=11)?,
        submit_time: moment(from)?,
        begin_time: moment(from)?,
        start_time: moment(from)?,
        end_time: moment(from)?,
        preempt_time: moment(from)?,
        name: arena.text(from)?,
        user_name: arena.text(from)?,
        account: arena.text(from)?,
        qos: arena.text(from)?,
        partition: arena.text(from)?,
        comment: arena.text(from)?,
        admin_comment: arena.text(from)?,
        holdings,
        holding_count,
        request_min_nodes: small(from)?,
        request_max_nodes: small(from)?,
        request_min_cpus: from.arbitrary()?,
        request_tasks: small(from)?,
        request_tasks_per_node: small(from)?,
        request_cpus_per_task: small(from)?,
        request_cpus_per_node: small(from)?,
        request_memory_mib: from.arbitrary()?,
        request_gres,
        request_gres_count,
        choice_count,
        choices,
        required,
        required_count,
        request_cpus_per_core: small(from)?,
        request_sockets: small(from)?,
        array_tasks: small(from)?,
        expands_job_id: small(from)?,
        reserved1: 0,
        request_features: arena.text(from)?,
        request_licenses: arena.text(from)?,
        reservation: arena.text(from)?,
        het_job_offset: small(from)?,
        het_components: small(from)?,
        group_id: small(from)?,
        array_waiting: small(from)?,
    })
}

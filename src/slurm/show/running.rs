// SPDX-License-Identifier: GPL-2.0-or-later
//! What a running job holds, and how it can be stopped.

use super::assemble::{Parts, labels};
use super::details::{Share, shares, sharing};
use super::fields::{Fields, count_of, number, time};
use super::gres;
use super::list::{Listed, Phase};
use crate::policy::directives;
use crate::policy::facts::{Holding, JobTraits, RunningJob};
use crate::policy::labels::Names;
use crate::policy::record::Record;
use crate::policy::resources::{Amounts, GresTable};

/// A job that holds resources; `record` is what stands behind its name in `scontrol show job`.
pub(super) fn running(
    listed: &Listed,
    record: Option<Fields<'_>>,
    parts: &Parts<'_>,
    table: &mut GresTable,
    names: &mut Names,
) -> RunningJob {
    let job = &listed.job;
    let partition = job
        .partition
        .as_deref()
        .and_then(|name| parts.partitions.get(name));
    let suspended = listed.phase() == Phase::Suspended;
    // Gang scheduling suspends jobs as well, with their priority untouched, and lets them keep all that they hold.
    let stopped = suspended && job.priority == Some(0);
    let mut holdings = match &record {
        Some(record) => holdings(&shares(record), parts, table),
        None => Vec::new(),
    };
    let expected = parts.nodes.sorted(job.nodes.as_bytes());
    if !holdings.iter().map(|holding| holding.node).eq(expected) {
        holdings = evenly(listed, parts, table);
    }
    if stopped || !parts.site.consumes_cpus {
        for holding in &mut holdings {
            holding.amounts.cpus = 0;
        }
    }
    // Behind these a user may have written anything.
    let mut fields = record.map_or(Fields::of(b""), |record| record.up_to("Contiguous"));
    let exempt_until = fields.next("PreemptEligibleTime").and_then(time);
    let sharing = sharing(&mut fields);
    let above = |limit: u32| job.priority.is_some_and(|priority| priority > limit);
    RunningJob {
        id: job.id,
        array: job.array,
        user: job.user_id,
        labels: labels(listed, names),
        submit: job.submit,
        start: job.start.or(job.submit).unwrap_or(parts.now),
        end: job.end.filter(|_| job.time_limit_s.is_some()),
        preempt_time: job.preempt_time,
        traits: JobTraits {
            batch: listed.batch,
            requeue: listed.requeue,
            whole_node: !stopped && (sharing.whole_node || partition.is_some_and(|one| one.whole_node)),
            completing: false,
            // Only whoever stopped it needs to know.
            forgotten: false,
            configuring: job.state == "CONFIGURING",
            suspended,
            het: job.het.is_some(),
            exempt: exempt_until.is_some_and(|until| parts.now < until)
                || parts.site.exempt_above.is_some_and(above),
            shared: partition.is_some_and(|one| {
                one.forced || (sharing.cpus && one.jobs_per_cpu.is_some_and(|jobs| jobs > 1))
            }),
            user_node: sharing.user_node || partition.is_some_and(|one| one.user_node),
            place: job.priority.filter(|_| parts.site.loses_place),
        },
        holdings,
        directives: directives::parse(&job.comment).ok(),
        record: Record::read(&job.admin_comment),
        admin_comment: job.admin_comment.clone(),
    }
}

/// What the record says, one entry a node.
fn holdings(shares: &[Share<'_>], parts: &Parts<'_>, table: &mut GresTable) -> Vec<Holding> {
    let mut holdings = Vec::new();
    for share in shares {
        let cpus = u32::try_from(count_of(share.cpus)).unwrap_or(u32::MAX);
        let mut amounts = Amounts::new(cpus, number(share.memory).unwrap_or(0));
        gres::add(share.gres, table, &mut amounts);
        let nodes = parts.nodes.list(share.nodes).into_iter();
        holdings.extend(nodes.map(|node| Holding {
            node,
            amounts: amounts.clone(),
        }));
    }
    holdings.sort_by_key(|holding| holding.node);
    holdings
}

/// All that the job holds, spread evenly: the larger parts on the first nodes.
fn evenly(listed: &Listed, parts: &Parts<'_>, table: &mut GresTable) -> Vec<Holding> {
    let nodes = parts.nodes.list(listed.job.nodes.as_bytes());
    let totals = gres::totals(&listed.tres, table);
    let count = (nodes.len() as u64).max(1);
    let part = |total: u64, at: u64| total / count + u64::from(at < total % count);
    let holding = |(at, node)| {
        let cpus = u32::try_from(part(totals.cpus.into(), at)).unwrap_or(u32::MAX);
        let mut amounts = Amounts::new(cpus, part(totals.memory_mib, at));
        for &(id, total) in totals.gres_counts() {
            amounts.add_gres(id, part(total, at));
        }
        Holding { node, amounts }
    };
    (0..).zip(nodes).map(holding).collect()
}

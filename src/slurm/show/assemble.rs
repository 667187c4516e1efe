// SPDX-License-Identifier: GPL-2.0-or-later
//! From what the commands printed to facts.

use super::details::{Details, Share, alone, shares};
use super::fields::{Fields, count_of, number, time};
use super::list::{Listed, Phase};
use super::places::{Nodes, Partition, Reservation};
use super::waiting::{self, Cluster, WISHES, Wishes};
use super::{fixed::Cell, gres};
use crate::policy::admission::applicant::need_of;
use crate::policy::directives::{self, Urgency};
use crate::policy::facts::{
    Application, Component, EndedJob, Facts, Holding, JobTraits, ParkedJob, Request, RunningJob, WaitingJob,
};
use crate::policy::ids::JobId;
use crate::policy::labels::{Labels, Names};
use crate::policy::record::Record;
use crate::policy::resources::{Amounts, GresTable};
use crate::policy::units::UnixTime;
use std::collections::HashMap;

/// What the site's slurm.conf says that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// CPUs are shared out to jobs.
    pub consumes_cpus: bool,
    /// So is memory.
    pub consumes_memory: bool,
    /// A job that is requeued gets the last place.
    pub loses_place: bool,
    /// Jobs with a higher priority than this are never preempted.
    pub exempt_above: Option<u32>,
}

/// All that was printed, as far as it is made sense of.
pub struct Parts<'a> {
    /// When it was.
    pub now: UnixTime,
    /// See [`Site`].
    pub site: Site,
    /// The nodes.
    pub nodes: Nodes,
    /// The partitions by name.
    pub partitions: HashMap<String, Partition>,
    /// The reservations.
    pub reservations: Vec<Reservation>,
    /// The jobs, with their texts, sorted by number.
    pub jobs: &'a [Listed],
    /// Their names, byte for byte, in the same order.
    pub names: &'a [Vec<u8>],
    /// The records of `scontrol show job`.
    pub details: Details<'a>,
    /// What was printed for those jobs that were asked for alone, because others claimed their numbers.
    pub alone: &'a HashMap<JobId, Vec<u8>>,
    /// What the waiting urgent jobs wish for, as [`WISHES`].
    pub wishes: &'a [u8],
}

/// Whether a job waits and is urgent.
pub fn is_waiting_urgent(job: &Listed) -> bool {
    job.phase() == Phase::Waiting && Record::is_urgent_fast(&job.job.admin_comment)
}

/// The facts; `table` is that of the generic resources of `parts.nodes`.
pub fn facts(parts: Parts<'_>, table: GresTable) -> Facts {
    let wishes: HashMap<JobId, Wishes<'_>> = WISHES.rows(parts.wishes).into_iter().flatten().collect();
    let crowd = Crowd::of(parts.jobs);
    let mut names = Names::default();
    let mut facts = Facts::at(parts.now);
    facts.gres = table;
    for (listed, name) in parts.jobs.iter().zip(parts.names) {
        let record = || match parts.alone.get(&listed.job.id) {
            Some(printed) => alone(printed, listed.job.id, name),
            None => parts.details.record(listed.job.id, name),
        };
        match listed.phase() {
            Phase::Running | Phase::Suspended => {
                let job = running(listed, record(), &parts, &mut facts.gres, &mut names);
                facts.running.push(job);
            }
            Phase::Waiting => {
                let surgents = Record::read(&listed.job.admin_comment);
                let Some(surgents) = surgents else { continue };
                if surgents.ask.is_some() {
                    facts.parked.push(parked(listed, surgents));
                } else if surgents.class == Urgency::Urgent {
                    let wishes = wishes.get(&listed.job.id).copied();
                    let wishes = wishes.unwrap_or([Cell::default(); 7]);
                    let request = request(listed, record(), &wishes, &parts, &mut facts.gres);
                    let labels = labels(listed, &mut names);
                    let job = waiting(listed, request, surgents, &crowd, labels, &facts);
                    facts.waiting.push(job);
                }
            }
            Phase::Ended => facts.ended.extend(ended(listed)),
        }
    }
    facts.nodes = parts.nodes.nodes;
    facts
}

fn running(
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
    let share = fields.next("OverSubscribe").unwrap_or_default();
    let exclusive = fields.next("Exclusive");
    let whole = exclusive.map_or(share == b"NO", |word| matches!(word, b"NODE" | b"TOPO"));
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
            whole_node: !stopped && (whole || partition.is_some_and(|one| one.whole_node)),
            completing: false,
            configuring: job.state == "CONFIGURING",
            suspended,
            het: job.het.is_some(),
            exempt: exempt_until.is_some_and(|until| parts.now < until)
                || parts.site.exempt_above.is_some_and(above),
            shared: partition.is_some_and(|one| {
                one.forced || (share == b"YES" && one.jobs_per_cpu.is_some_and(|jobs| jobs > 1))
            }),
            user_node: share == b"USER"
                || exclusive == Some(b"USER")
                || partition.is_some_and(|one| one.user_node),
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

fn request(
    listed: &Listed,
    record: Option<Fields<'_>>,
    wishes: &Wishes<'_>,
    parts: &Parts<'_>,
    table: &mut GresTable,
) -> Request {
    let cluster = Cluster {
        nodes: &parts.nodes,
        partitions: &parts.partitions,
        reservations: &parts.reservations,
        now: parts.now,
        consumes_memory: parts.site.consumes_memory,
    };
    waiting::request(listed, record, wishes, &cluster, table)
}

fn waiting(
    listed: &Listed,
    request: Request,
    surgents: Record,
    crowd: &Crowd,
    labels: Labels,
    facts: &Facts,
) -> WaitingJob {
    let job = &listed.job;
    let hindrance = waiting::hindrance(listed, facts.now);
    let (waiting, at_once) = crowd.tasks(listed);
    WaitingJob {
        id: job.id,
        priority: job.priority.unwrap_or(0),
        submit: job.submit.unwrap_or(facts.now),
        blocked: hindrance.is_some(),
        hindrance,
        tested: waiting::is_tested(listed),
        tasks: at_once,
        het: job.het.map(|het| crowd.component(het)),
        worth: directives::parse(&job.comment)
            .ok()
            .and_then(|told| told.priority),
        application: Some(Application {
            user: job.user_id,
            group: listed.group,
            labels,
            array: listed.array_job,
            need: need_of(&request, &facts.gres, (waiting, at_once), job.time_limit_s),
        }),
        request,
        record: Some(surgents),
        admin_comment: job.admin_comment.clone(),
    }
}

/// How many jobs belong together.
struct Crowd {
    /// Running tasks of each array.
    running: HashMap<JobId, u32>,
    /// Components of each heterogeneous job.
    components: HashMap<JobId, u32>,
}

impl Crowd {
    fn of(jobs: &[Listed]) -> Self {
        let mut crowd = Self {
            running: HashMap::new(),
            components: HashMap::new(),
        };
        for listed in jobs {
            let runs = matches!(listed.phase(), Phase::Running | Phase::Suspended);
            if let Some(array) = listed.array_job.filter(|_| runs) {
                *crowd.running.entry(array).or_default() += 1;
            }
            if let Some(het) = listed.job.het {
                *crowd.components.entry(het.leader).or_default() += 1;
            }
        }
        crowd
    }

    /// How many tasks of an array wait under this number, and how many of them may start now.
    fn tasks(&self, listed: &Listed) -> (u32, u32) {
        let mut parts = listed.array_tasks.splitn(2, |byte| *byte == b'%');
        let waiting = parts.next().map_or(0, count_of).max(1);
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        let Some(most) = parts.next().and_then(number::<u32>) else {
            return (waiting, waiting);
        };
        let running = listed.array_job.and_then(|array| self.running.get(&array));
        let free = most.saturating_sub(running.copied().unwrap_or(0));
        (waiting, waiting.min(free))
    }

    /// As the planner has it: only of the first component it is known how many there are.
    fn component(&self, het: Component) -> Component {
        let of = self.components.get(&het.leader).copied();
        Component {
            of: of.filter(|_| het.offset == 0),
            ..het
        }
    }
}

fn parked(listed: &Listed, surgents: Record) -> ParkedJob {
    let job = &listed.job;
    ParkedJob {
        id: job.id,
        array: job.array,
        begin: job.eligible.unwrap_or(UnixTime(0)),
        completing: false,
        held: job.priority == Some(0),
        het: job.het.is_some(),
        wanted: None,
        application: None,
        record: Some(surgents),
        admin_comment: job.admin_comment.clone(),
    }
}

fn ended(listed: &Listed) -> Option<EndedJob> {
    let job = &listed.job;
    Record::is_urgent_fast(&job.admin_comment).then_some(EndedJob {
        id: job.id,
        array: listed.array_job,
        start: job.start?,
        end: job.end?,
    })
}

fn labels(listed: &Listed, names: &mut Names) -> Labels {
    let job = &listed.job;
    let mut label = |name: &Option<String>| name.as_deref().map(|name| names.name(name));
    Labels {
        account: label(&job.account),
        qos: label(&job.qos),
        partition: label(&job.partition),
        user: Some(names.name(&job.user)),
    }
}

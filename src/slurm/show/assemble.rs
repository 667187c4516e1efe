// SPDX-License-Identifier: GPL-2.0-or-later
//! From what the commands printed to facts.

use super::SeenJob;
use super::details::{Details, alone};
use super::fields::{Fields, count_of, number};
use super::fixed::Cell;
use super::list::{Listed, Phase};
use super::places::{Nodes, Partition, Reservation};
use super::running::running;
use super::waiting::{self, Cluster, WISHES, Wishes};
use crate::policy::admission::applicant::need_of;
use crate::policy::directives::{self, Urgency};
use crate::policy::facts::{Application, Component, EndedJob, Facts, ParkedJob, Request, WaitingJob};
use crate::policy::ids::JobId;
use crate::policy::labels::{Labels, Names};
use crate::policy::record::Record;
use crate::policy::resources::GresTable;
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
    /// Waiting jobs that are taken for urgent, whatever they are.
    pub as_urgent: &'a AsUrgent<'a>,
    /// What the waiting urgent jobs wish for, as [`WISHES`].
    pub wishes: &'a [u8],
}

/// Whether a waiting job is to be taken for an urgent one although it is none.
pub type AsUrgent<'a> = dyn Fn(&SeenJob) -> bool + 'a;

/// Whether a job waits and is urgent, or to be taken for urgent.
pub fn is_waiting_urgent(job: &Listed, as_urgent: &AsUrgent<'_>) -> bool {
    job.phase() == Phase::Waiting && (Record::is_urgent_fast(&job.job.admin_comment) || as_urgent(&job.job))
}

/// The facts; `table` is that of the generic resources of `parts.nodes`.
pub fn facts(parts: &Parts<'_>, table: GresTable) -> Facts {
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
                let job = running(listed, record(), parts, &mut facts.gres, &mut names);
                facts.running.push(job);
            }
            Phase::Waiting => {
                let surgents = Record::read(&listed.job.admin_comment);
                let surgents = match (parts.as_urgent)(&listed.job) {
                    true => Some(Record {
                        class: Urgency::Urgent,
                        ask: None,
                        ..surgents.unwrap_or(Record::new(Urgency::Urgent))
                    }),
                    false => surgents,
                };
                let Some(surgents) = surgents else { continue };
                if surgents.ask.is_some() {
                    facts.parked.push(parked(listed, surgents));
                } else if surgents.class == Urgency::Urgent {
                    let wishes = wishes.get(&listed.job.id).copied();
                    let wishes = wishes.unwrap_or([Cell::default(); 7]);
                    let request = request(listed, record(), &wishes, parts, &mut facts.gres);
                    let labels = labels(listed, &mut names);
                    let job = waiting(listed, request, surgents, &crowd, labels, &facts);
                    facts.waiting.push(job);
                }
            }
            Phase::Ended => facts.ended.extend(ended(listed)),
        }
    }
    facts.nodes.clone_from(&parts.nodes.nodes);
    facts
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

/// The names that settings may speak of.
pub(super) fn labels(listed: &Listed, names: &mut Names) -> Labels {
    let job = &listed.job;
    let mut label = |name: &Option<String>| name.as_deref().map(|name| names.name(name));
    Labels {
        account: label(&job.account),
        qos: label(&job.qos),
        partition: label(&job.partition),
        user: Some(names.name(&job.user)),
    }
}

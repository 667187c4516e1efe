// SPDX-License-Identifier: GPL-2.0-or-later
//! What the nodes did around one urgent start: who trained, saved, made way and started again.

use super::sim::{Replayed, Service, Span, What};
use super::workload::{Job, Machine};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// So many nodes are shown at most.
const NODES_MAX: usize = 8;

/// Of these at most so many where the urgent job does not run, and its victims start again.
const RESTARTS_MAX: usize = 2;

/// So much of the time before the first request is shown, and after the start, in seconds at least.
const MARGIN_S: i64 = 120;

/// What a stretch of a GPU's time was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// A job that was not asked trains.
    Other,
    /// A victim trains.
    Victim,
    /// A victim saves, or has saved and waits for the others.
    Saves,
    /// A job that was stopped starts again.
    Restarts,
    /// The urgent job.
    Urgent,
}

/// One job on neighbouring GPUs of one node for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The first of its rows, counted over all nodes that are shown, from 0 on.
    pub row: usize,
    /// Rows, one for each GPU.
    pub rows: usize,
    /// From when, in seconds from the urgent job's start.
    pub from_s: i64,
    /// Until when.
    pub to_s: i64,
    /// For what.
    pub used: Use,
}

/// The nodes around one urgent start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// How long the urgent job waited, in seconds.
    pub waited_s: i64,
    /// Who was stopped for it.
    pub victims: usize,
    /// From when on, in seconds from its start.
    pub from_s: i64,
    /// Until when.
    pub to_s: i64,
    /// The nodes that are shown, each with as many rows as it has GPUs.
    pub nodes: Vec<u32>,
    /// What they did.
    pub bars: Vec<Bar>,
}

impl Timeline {
    /// Around the start for which most jobs had to save, the first of these; one after which a victim soon starts again,
    /// if there is any. `None` where nobody was stopped.
    pub fn of(jobs: &[Job], machine: Machine, replayed: &Replayed) -> Option<Self> {
        let restarts = |service: &Service| {
            let (_, to_s) = window(jobs, service);
            let mut spans = replayed.spans.iter();
            spans.any(|span| {
                let is_soon = span.from_s >= service.start_s && span.from_s < to_s;
                is_soon && span.what == What::Restarts && is_stopped(service, span.job)
            })
        };
        let saved = |service: &&Service| {
            service
                .stopped
                .iter()
                .filter(|stopped| stopped.loss.saving_s > 0)
                .count()
        };
        let service = replayed
            .services
            .iter()
            .filter(|service| !service.stopped.is_empty())
            .min_by_key(|service| (!restarts(service), Reverse(saved(service)), service.start_s))?;
        let stopped: BTreeSet<usize> = service.stopped.iter().map(|stopped| stopped.at).collect();
        let waited_s = service.start_s - jobs[service.urgent].submit_s;
        let (from_s, to_s) = window(jobs, service);
        let in_window = |span: &&Span| span.from_s < to_s && span.to_s > from_s;
        let spans: Vec<&Span> = replayed.spans.iter().filter(in_window).collect();
        let nodes = nodes(&spans, service, &stopped);
        let mut timeline = Self {
            waited_s,
            victims: stopped.len(),
            from_s: from_s - service.start_s,
            to_s: to_s - service.start_s,
            bars: Vec::new(),
            nodes,
        };
        for (place, node) in timeline.nodes.clone().into_iter().enumerate() {
            let mut lanes = Lanes::new(machine.gpus_per_node);
            let on_node = spans.iter().copied().filter(|span| span.nodes.contains(&node));
            let mut on_node: Vec<&Span> = on_node.collect();
            on_node.sort_by_key(|span| (span.from_s, span.job));
            for span in on_node {
                let before = |at_s: i64| at_s - service.start_s;
                let used = match span.what {
                    _ if span.job == service.urgent => Use::Urgent,
                    What::Restarts => Use::Restarts,
                    What::Saves => Use::Saves,
                    What::Trains if stopped.contains(&span.job) && span.to_s <= service.start_s => {
                        Use::Victim
                    }
                    What::Trains => Use::Other,
                };
                for (lane, count) in lanes.take(span, jobs[span.job].gpus_per_node) {
                    timeline.bars.push(Bar {
                        row: place * machine.gpus_per_node as usize + lane,
                        rows: count,
                        from_s: before(span.from_s.max(from_s)),
                        to_s: before(span.to_s.min(to_s)),
                        used,
                    });
                }
            }
        }
        Some(timeline)
    }
}

/// From when until when the nodes are shown.
fn window(jobs: &[Job], service: &Service) -> (i64, i64) {
    let submit_s = jobs[service.urgent].submit_s;
    let margin_s = MARGIN_S.max(service.start_s - submit_s);
    (submit_s - margin_s, service.start_s + 2 * margin_s)
}

fn is_stopped(service: &Service, job: usize) -> bool {
    service.stopped.iter().any(|stopped| stopped.at == job)
}

/// Nodes on which the urgent job started, on which victims start again, then others of its victims.
fn nodes(spans: &[&Span], service: &Service, stopped: &BTreeSet<usize>) -> Vec<u32> {
    let of = |wanted: &dyn Fn(&Span) -> bool| {
        let spans = spans.iter().filter(|span| wanted(span));
        spans
            .flat_map(|span| span.nodes.iter().copied())
            .collect::<BTreeSet<u32>>()
    };
    let urgent = of(&|span| span.job == service.urgent);
    let victims = of(&|span| stopped.contains(&span.job) && span.to_s <= service.start_s);
    let restarts = of(&|span| {
        span.what == What::Restarts && stopped.contains(&span.job) && span.from_s >= service.start_s
    });
    let first = urgent.iter().take(NODES_MAX - restarts.len().min(RESTARTS_MAX));
    let mut nodes = BTreeSet::new();
    for node in first.chain(&restarts).chain(&victims).chain(&urgent) {
        if nodes.len() < NODES_MAX {
            nodes.insert(*node);
        }
    }
    nodes.into_iter().collect()
}

/// Which GPUs of a node are whose: a replay only counts them.
struct Lanes {
    /// By lane: until when it is taken, and by which job.
    taken: Vec<(i64, usize)>,
}

impl Lanes {
    fn new(gpus: u32) -> Self {
        Self {
            taken: vec![(i64::MIN, usize::MAX); gpus as usize],
        }
    }

    /// Lanes for `span`, as first lane and count of each stretch: those that its job had until then, else free ones.
    fn take(&mut self, span: &Span, gpus: u32) -> Vec<(usize, usize)> {
        let mut free: Vec<usize> = (0..self.taken.len())
            .filter(|lane| self.taken[*lane].0 <= span.from_s)
            .collect();
        free.sort_by_key(|lane| (self.taken[*lane] != (span.from_s, span.job), *lane));
        free.truncate(gpus as usize);
        free.sort_unstable();
        let mut stretches: BTreeMap<usize, usize> = BTreeMap::new();
        for lane in free {
            self.taken[lane] = (span.to_s, span.job);
            match stretches
                .last_entry()
                .filter(|last| last.key() + last.get() == lane)
            {
                Some(mut last) => *last.get_mut() += 1,
                None => {
                    stretches.insert(lane, 1);
                }
            }
        }
        stretches.into_iter().collect()
    }
}

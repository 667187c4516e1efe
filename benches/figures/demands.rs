// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans for demands that are hard to satisfy on alike nodes: totals that a few nodes more than needed give together, several
//! components, and many urgent jobs that nothing helps.

use crate::cluster::NOW;
use crate::median;
use std::hint::black_box;
use surgent::policy::book::Book;
use surgent::policy::directives;
use surgent::policy::facts::{Component, Facts, GresRequest, Holding, Node, Request, RunningJob, WaitingJob};
use surgent::policy::fit::Ledger;
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::outlook::Outlook;
use surgent::policy::party::Party;
use surgent::policy::plan::{Constraints, Outcome};
use surgent::policy::resources::Amounts;
use surgent::policy::round::Round;
use surgent::policy::settings::Settings;
use surgent::policy::step::step;
use surgent::policy::units::UnixTime;

const CPUS: u32 = 64;
const GPUS: u64 = 8;

/// One line of the table.
struct Case {
    /// As sbatch would be told.
    asked: &'static str,
    nodes: u32,
    jobs_per_node: u32,
    /// The fewest and the most nodes that it may have.
    between: (u32, u32),
    gpus: u64,
    tasks: Option<u32>,
    /// Of a heterogeneous job, each of which asks for the same.
    components: u32,
}

const PLAIN: Case = Case {
    asked: "",
    nodes: 1000,
    jobs_per_node: 2,
    between: (200, 200),
    gpus: 0,
    tasks: None,
    components: 1,
};

const CASES: [Case; 8] = [
    Case {
        asked: "-N 200 --gpus=1600",
        gpus: 1600,
        ..PLAIN
    },
    Case {
        asked: "-N 200 --gpus=1500",
        gpus: 1500,
        ..PLAIN
    },
    Case {
        asked: "-N 150-200 --gpus=1500",
        between: (150, 200),
        gpus: 1500,
        ..PLAIN
    },
    Case {
        asked: "-N 200 -n 10000",
        tasks: Some(10_000),
        ..PLAIN
    },
    Case {
        asked: "-N 400 --gpus=3100",
        between: (400, 400),
        gpus: 3100,
        ..PLAIN
    },
    Case {
        asked: "-N 1000 --gpus=7900",
        nodes: 2000,
        between: (1000, 1000),
        gpus: 7900,
        ..PLAIN
    },
    Case {
        asked: "-N 500 --gpus=3900",
        nodes: 2000,
        jobs_per_node: 8,
        between: (500, 500),
        gpus: 3900,
        ..PLAIN
    },
    Case {
        asked: "3 components of -N 200 --gpus=1600",
        nodes: 4000,
        gpus: 1600,
        components: 3,
        ..PLAIN
    },
];

/// So many urgent jobs wait for something that nothing helps against.
const HOPELESS: u32 = 300;

pub fn demands() {
    let settings = Settings::default();
    println!("\nplans for one urgent job on a full cluster of alike nodes");
    println!("  nodes    jobs  asked                                     time      looks  victims");
    for case in CASES {
        let mut facts = full(case.nodes, case.jobs_per_node, "signal=USR1@batch");
        for offset in 0..case.components {
            let mut job = waiting(&mut facts, offset, &case);
            job.het = (case.components > 1).then(|| Component {
                leader: JobId(10_000_000),
                offset,
                of: (offset == 0).then_some(case.components),
            });
            facts.waiting.push(job);
        }
        let ledger = Ledger::of(&facts);
        let parties = Party::all(&facts);
        let decide = || {
            let outlook = Outlook::new(&facts, &settings);
            let outcome = parties[0].plan(&outlook, &ledger, &Constraints::default());
            (outcome, outlook.looks.taken())
        };
        let time = median(3, decide);
        let (Outcome::Stop(plan), looks) = decide() else {
            panic!("no plan to measure");
        };
        println!(
            "{:7} {:7}  {:36} {:6.0} ms {looks:10} {:8}",
            case.nodes,
            facts.running.len(),
            case.asked,
            time.as_secs_f64() * 1e3,
            plan.victims.len(),
        );
    }
    turns(&settings);
}

/// What the turns of the planner take where many urgent jobs wait in vain.
fn turns(settings: &Settings) {
    let mut facts = full(2000, 2, "");
    let case = Case {
        between: (2, 2),
        gpus: 16,
        ..PLAIN
    };
    for at in 0..HOPELESS {
        let job = waiting(&mut facts, at, &case);
        facts.waiting.push(job);
    }
    let mut book = Book::default();
    let one = median(9, || black_box(step(&mut book, &facts, settings)));
    let mut book = Book::default();
    step(&mut book, &facts, settings);
    let mut turns = 1;
    while book.round != Round::default() {
        step(&mut book, &facts, settings);
        turns += 1;
    }
    println!(
        "one turn with {HOPELESS} urgent jobs that nothing helps, on 2,000 nodes: {:.0} ms; all have been tried after {turns}",
        one.as_secs_f64() * 1e3
    );
}

/// A full cluster, shared evenly; each job with this comment, and another time to save and priority.
fn full(nodes: u32, jobs_per_node: u32, comment: &str) -> Facts {
    let mut facts = Facts::at(UnixTime(NOW));
    let gpu = facts.gres.id("gpu", None);
    let part = |of: u32| {
        let mut amounts = Amounts::new(CPUS / of, 512_000 / u64::from(of));
        amounts.add_gres(gpu, GPUS / u64::from(of));
        amounts
    };
    for index in 0..nodes {
        facts
            .nodes
            .push(Node::new(NodeIndex(index), format!("node{index}"), part(1)));
        for seat in 0..jobs_per_node {
            let id = index * jobs_per_node + seat + 1;
            let vary =
                |salt: u32, below: u32| (id.wrapping_mul(2_654_435_761).rotate_left(salt) >> 7) % below;
            let comment = match comment {
                "" => String::new(),
                _ => format!("{comment} save_s={} priority={}", 1 + vary(1, 200), vary(2, 101)),
            };
            facts.running.push(RunningJob {
                holdings: vec![Holding {
                    node: NodeIndex(index),
                    amounts: part(jobs_per_node),
                }],
                directives: directives::parse(comment.as_bytes()).ok(),
                ..RunningJob::new(JobId(id), UnixTime(NOW - 20_000))
            });
        }
    }
    facts
}

fn waiting(facts: &mut Facts, at: u32, case: &Case) -> WaitingJob {
    let gres = GresRequest {
        per_job: case.gpus,
        ..GresRequest::none(facts.gres.id("gpu", None))
    };
    let request = Request {
        min_nodes: case.between.0,
        max_nodes: Some(case.between.1),
        min_cpus: case.tasks.unwrap_or(case.between.0),
        tasks: case.tasks,
        cpus_per_task: 1,
        gres: Vec::from_iter((case.gpus > 0).then_some(gres)),
        candidates: facts.nodes.iter().map(|node| node.index).collect(),
        ..Request::default()
    };
    WaitingJob::new(JobId(10_000_000 + at), 1000, UnixTime(NOW - 60), request)
}

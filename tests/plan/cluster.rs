// SPDX-License-Identifier: GPL-2.0-or-later
//! Random clusters, the same for the same seed.

use crate::parts;
use surgent::policy::directives::{Directives, SaveKind};
use surgent::policy::facts::{
    Availability, Facts, GresRequest, Holding, JobTraits, MemoryRequest, Node, Request, RunningJob,
};
use surgent::policy::ids::{JobId, NodeIndex};
use surgent::policy::resources::Amounts;
use surgent::policy::settings::Settings;
use surgent::policy::units::{Seconds, UnixTime};

pub const NOW: i64 = 1_764_410_000;

/// SplitMix64.
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `from` to `to`, both included.
    pub fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.roll() % (to - from + 1)
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.roll().is_multiple_of(times)
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.roll() % of.len() as u64) as usize]
    }
}

/// How large a random cluster is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub nodes: u64,
    pub jobs: u64,
    /// Jobs span up to so many nodes.
    pub span: u64,
    /// The urgent job asks for up to so many nodes.
    pub wanted: u64,
    /// Nodes are so many times as large as the smallest.
    pub room: u64,
}

/// A random cluster that is rather full, and one urgent job.
pub fn random(dice: &mut Dice, size: Size) -> (Facts, Settings) {
    let mut facts = Facts::at(UnixTime(NOW));
    let gpu = facts.gres.id("gpu", None);
    let models = ["a100", "h100"];
    let typed = dice.one_in(2);
    for index in 0..size.nodes {
        let cpus = dice.pick(&[8, 16]) * size.room as u32;
        let mut total = Amounts::new(cpus, u64::from(cpus) * 4000);
        let gpus = dice.pick(&[4, 4, 8]) * size.room;
        let model = typed.then(|| dice.pick(&models));
        facts.gres.add(&mut total, "gpu", model, gpus);
        facts.nodes.push(Node {
            index: NodeIndex(index as u32),
            name: format!("n{index}"),
            availability: if dice.one_in(15) {
                Availability::Drained
            } else {
                Availability::Up
            },
            total,
            cpus_per_core: 1,
        });
    }
    let mut free: Vec<Amounts> = facts.nodes.iter().map(|node| node.total.clone()).collect();
    let mut taken = vec![false; free.len()];
    for id in 1..=size.jobs {
        job(dice, size, id as u32, &mut facts, &mut free, &mut taken);
    }
    let request = request(dice, size, &mut facts, gpu, typed.then_some(models));
    facts.waiting.push(parts::waiting(1_000_000, request));
    let mut text = format!(
        "[urgent]\nwait_weight = {}\npatience_s = 50\n",
        dice.pick(&[0.0, 0.5, 1.0, 10.0])
    );
    if dice.one_in(2) {
        text.push_str("[victims]\nunsavable = \"stop\"\n");
    }
    (facts, Settings::parse(&text).unwrap())
}

fn job(dice: &mut Dice, size: Size, id: u32, facts: &mut Facts, free: &mut [Amounts], taken: &mut [bool]) {
    let span = if dice.one_in(4) {
        dice.within(1, size.span)
    } else {
        1
    };
    let whole_node = dice.one_in(10);
    let (cpus, gpus) = (dice.within(1, 8) as u32, dice.pick(&[0, 1, 1, 2, 2, 4, 4]));
    let first = dice.within(0, size.nodes - 1);
    let mut holdings = Vec::new();
    for step in 0..size.nodes {
        let at = ((first + step) % size.nodes) as usize;
        if holdings.len() as u64 == span {
            break;
        }
        let total = &facts.nodes[at].total;
        if taken[at] || (whole_node && free[at] != *total) {
            continue;
        }
        let mut amounts = Amounts::new(cpus, u64::from(cpus) * dice.pick(&[1000, 2000, 4000]));
        // All GPUs of a node are of its one model.
        for &(id, count) in total.gres_counts() {
            if count > 0 {
                amounts.add_gres(id, gpus);
            }
        }
        if free[at].covers(&amounts) {
            free[at].take(&amounts);
            taken[at] |= whole_node;
            holdings.push(Holding {
                node: NodeIndex(at as u32),
                amounts,
            });
        }
    }
    if holdings.is_empty() {
        return;
    }
    let protected = dice.one_in(12);
    let start = UnixTime(NOW - dice.within(100, 40_000) as i64);
    facts.running.push(RunningJob {
        traits: JobTraits {
            batch: true,
            requeue: !protected,
            whole_node,
            ..JobTraits::default()
        },
        holdings,
        directives: Some(directives(dice)),
        ..RunningJob::new(JobId(id), start)
    });
}

fn directives(dice: &mut Dice) -> Directives {
    let save = dice.pick(&[SaveKind::Step, SaveKind::Step, SaveKind::Epoch, SaveKind::None]);
    let epoch_s = dice.within(20, 400) as f64;
    Directives {
        epoch: Some(dice.within(0, 100) as f64 / 1000.0),
        epoch_s: Some(Seconds(epoch_s)),
        at: Some(UnixTime(NOW - dice.within(0, 50) as i64)),
        save: Some(save),
        save_s: Some(Seconds(dice.pick(&[5.0, 10.0, 30.0, 60.0, 120.0]))),
        saved: dice
            .one_in(2)
            .then(|| UnixTime(NOW - dice.within(0, 5000) as i64)),
        signal: (!dice.one_in(8)).then(|| "USR1@batch".parse().unwrap()),
        priority: dice.one_in(3).then(|| dice.within(0, 100) as u8),
        ..Directives::default()
    }
}

fn request(
    dice: &mut Dice,
    size: Size,
    facts: &mut Facts,
    gpu: surgent::policy::resources::GresId,
    models: Option<[&str; 2]>,
) -> Request {
    let min_nodes = dice.within(1, size.wanted) as u32;
    let mut request = Request {
        min_nodes,
        max_nodes: match dice.within(0, 2) {
            0 => None,
            1 => Some(min_nodes),
            _ => Some(min_nodes + dice.within(0, size.wanted) as u32),
        },
        cpus_per_task: 1,
        cpus_per_node: dice.within(1, 4 + 4 * size.room) as u32,
        whole_node: dice.one_in(8),
        candidates: (0..size.nodes as u32).map(NodeIndex).collect(),
        ..Request::default()
    };
    let id = match models {
        Some(models) if dice.one_in(2) => facts.gres.id("gpu", Some(dice.pick(&models))),
        _ => gpu,
    };
    let none = GresRequest::none(id);
    match dice.within(0, 4) {
        0 => {}
        1 | 2 => request.gres.push(GresRequest {
            per_node: dice.within(1, 2 + 2 * size.room),
            ..none
        }),
        3 => request.gres.push(GresRequest {
            per_job: dice.within(1, 6 * size.wanted),
            ..none
        }),
        _ => {
            request.tasks = Some(dice.within(1, 8 * size.wanted) as u32);
            request.cpus_per_node = 0;
        }
    }
    request.memory = match dice.within(0, 5) {
        0 => MemoryRequest::PerNode(dice.within(1, 60) * 1000),
        1 => MemoryRequest::PerCpu(dice.pick(&[1000, 3000, 5000])),
        2 if dice.one_in(3) => MemoryRequest::AllOfNode,
        _ => MemoryRequest::Unsaid,
    };
    if dice.one_in(6) {
        request
            .required
            .push(NodeIndex(dice.within(0, size.nodes - 1) as u32));
    }
    if dice.one_in(6) {
        let without = NodeIndex(dice.within(0, size.nodes - 1) as u32);
        request.candidates = request
            .candidates
            .only(|node| node != without || request.required.contains(&node));
    }
    request
}

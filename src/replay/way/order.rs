// SPDX-License-Identifier: GPL-2.0-or-later
//! Victims one after the other until the job fits, as Slurm's select/cons_tres takes them (`_will_run_test` and `_run_now`
//! in its job_test.c, 22.05 to 26.05): candidates in an order are taken away in the mind until the job fits; then they are
//! sorted once more, the last one first and the others by how many of the nodes found they are on, and tried again
//! (`preempt_reorder_count`, 1 unless it is set). Everybody up to the last one needed who is on one of the nodes is stopped.

use super::{Order, Saves, Scene, Verdict};
use crate::replay::sim::{How, Shape, Stop};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;

/// How often the candidates are sorted anew.
const REORDER_COUNT: usize = 1;

pub fn choose(
    scene: &Scene<'_>,
    urgent: usize,
    order: Order,
    saves: Saves,
    random: &mut ChaCha8Rng,
) -> Verdict {
    let mut candidates: Vec<usize> = scene.candidates().collect();
    let run = |at: usize| scene.lives[at].run();
    match order {
        Order::Youngest => {
            candidates.sort_by_key(|at| (Reverse(run(*at).map(|run| run.start_s)), *at));
        }
        Order::FewestNodes => candidates.sort_by_key(|at| (scene.jobs[*at].nodes, *at)),
        Order::LeastService => candidates.sort_by_key(|at| {
            let (job, life) = (&scene.jobs[*at], &scene.lives[*at]);
            let trained_s = life.run().map_or(0, |run| life.trained_s(job, run, scene.now_s));
            (trained_s * job.gpus(), *at)
        }),
        Order::Random => candidates.sort_by_cached_key(|_| random.random::<u64>()),
    }
    let Some((victims, nodes)) = take_away(scene, &mut candidates, scene.shape(urgent)) else {
        return Verdict::Wait { until_s: None };
    };
    let victims = victims.into_iter().map(|at| (at, stop(scene, at, saves)));
    Verdict::Stop {
        victims: victims.collect(),
        nodes,
    }
}

/// Whom to stop, and where the job then fits.
fn take_away(scene: &Scene<'_>, candidates: &mut [usize], shape: Shape) -> Option<(Vec<usize>, Vec<u32>)> {
    let mut reordered = 0;
    loop {
        let (last, nodes) = first_fit(scene, candidates, shape)?;
        let overlap = |at: usize| {
            let run = scene.lives[at].run();
            run.map_or(0, |run| {
                run.nodes
                    .iter()
                    .filter(|node| nodes.binary_search(node).is_ok())
                    .count()
            })
        };
        if reordered == REORDER_COUNT || candidates.len() <= reordered + 1 {
            let victims = candidates[..=last].iter().copied().filter(|at| overlap(*at) > 0);
            return Some((victims.collect(), nodes));
        }
        reordered += 1;
        let needed = candidates[last];
        candidates.sort_by_key(|at| (*at != needed, Reverse(overlap(*at))));
    }
}

/// The place in `candidates` of the one whose going makes the job fit, and where it does.
fn first_fit(scene: &Scene<'_>, candidates: &[usize], shape: Shape) -> Option<(usize, Vec<u32>)> {
    let mut room = scene.room.clone();
    for (place, at) in candidates.iter().enumerate() {
        let Some(run) = scene.lives[*at].run() else {
            continue;
        };
        for node in &run.nodes {
            room.give(*node, scene.jobs[*at].gpus_per_node);
        }
        if let Some(nodes) = room.place(shape) {
            return Some((place, nodes));
        }
    }
    None
}

fn stop(scene: &Scene<'_>, at: usize, saves: Saves) -> Stop {
    let (job, life) = (&scene.jobs[at], &scene.lives[at]);
    let grace_s = match saves {
        Saves::Never => 0,
        Saves::GraceOnly | Saves::InGrace => scene.grace_s(),
    };
    match life.run() {
        Some(run) => life.stop(job, run, scene.now_s, grace_s, saves == Saves::InGrace),
        None => Stop {
            asked_s: scene.now_s,
            how: How::Unsaved,
            trains_until_s: scene.now_s,
            ready_s: scene.now_s,
            foreseen: None,
        },
    }
}

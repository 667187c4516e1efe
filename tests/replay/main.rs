// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays of small random traces: what is true of every replay, under every way of serving urgent jobs.

mod cli;
mod losses;
mod page;

use proptest::prelude::*;
use std::collections::BTreeMap;
use surgent::policy::directives::SaveKind;
use surgent::policy::ids::{JobId, UserId};
use surgent::policy::settings::Settings;
use surgent::replay::figures::Figures;
use surgent::replay::sim::{Case, Phase, Replayed, Span, Stopped, What, replay};
use surgent::replay::timeline::{Timeline, Use};
use surgent::replay::way::{WAYS, Way};
use surgent::replay::workload::{Job, Machine};

const MACHINE: Machine = Machine {
    nodes: 4,
    gpus_per_node: 4,
};

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let job = (
        0i64..600,
        1i64..2000,
        1u32..=4,
        1u32..=4,
        1i64..300,
        prop_oneof![Just(SaveKind::Step), Just(SaveKind::Epoch), Just(SaveKind::None)],
        0i64..60,
        0u32..5,
    );
    prop::collection::vec(job, 1..40).prop_map(|drawn| {
        let mut drawn = drawn;
        drawn.sort_by_key(|job| job.0);
        let numbered = drawn.into_iter().zip(1..);
        let job =
            |((submit_s, work_s, nodes, gpus_per_node, epoch_s, save, save_s, class), id): (_, u32)| Job {
                id: JobId(id),
                user: UserId(0),
                submit_s,
                work_s,
                limit_s: work_s * 2,
                nodes,
                gpus_per_node,
                epoch_s,
                save,
                save_s,
                is_urgent: class == 0,
            };
        numbered.map(job).collect()
    })
}

fn replayed(jobs: &[Job], way: Way, keeps_epochs: bool) -> Replayed {
    replayed_with(&Settings::default(), jobs, way, keeps_epochs)
}

fn replayed_with(settings: &Settings, jobs: &[Job], way: Way, keeps_epochs: bool) -> Replayed {
    let case = Case {
        machine: MACHINE,
        jobs,
        way,
        settings,
        keeps_epochs,
        seed: 7,
    };
    replay(case, |_| true)
}

/// At every moment no more of a node is used than there is.
fn no_node_is_used_twice(jobs: &[Job], spans: &[Span]) -> Result<(), TestCaseError> {
    let mut changes: BTreeMap<(u32, i64), i64> = BTreeMap::new();
    for span in spans {
        let gpus = i64::from(jobs[span.job].gpus_per_node);
        for node in &span.nodes {
            *changes.entry((*node, span.from_s)).or_default() += gpus;
            *changes.entry((*node, span.to_s)).or_default() -= gpus;
        }
    }
    let mut used = (0, 0);
    for ((node, time_s), change) in changes {
        used = match used {
            (last, gpus) if last == node => (node, gpus + change),
            _ => (node, change),
        };
        prop_assert!(
            (0..=4).contains(&used.1),
            "{} GPUs of node {node} are used at {time_s}",
            used.1
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn work_is_done_once_and_what_was_lost_again(jobs in jobs(), keeps_epochs: bool) {
        for way in WAYS {
            let replayed = replayed(&jobs, way, keeps_epochs);
            no_node_is_used_twice(&jobs, &replayed.spans)?;
            for (at, (job, life)) in jobs.iter().zip(&replayed.lives).enumerate() {
                prop_assert!(matches!(life.phase, Phase::Done(_)), "{way}: job {at} is {:?}", life.phase);
                let lasted = |what| {
                    let spans = replayed.spans.iter().filter(|span| span.job == at && span.what == what);
                    spans.map(|span| span.to_s - span.from_s).sum::<i64>()
                };
                prop_assert_eq!(lasted(What::Trains) , job.work_s + life.loss.redone_s, "{}: job {}", way, at);
                // A job that is stopped while it starts again has not lost all of that time.
                prop_assert!(lasted(What::Restarts) + lasted(What::Saves) <= life.loss.restart_s + life.loss.saving_s);
                prop_assert!(!job.is_urgent || life.stops == 0, "{way}: the urgent job {at} was stopped");
            }
            let lost: i64 = replayed.lives.iter().map(|life| life.loss.total_s()).sum();
            let of_services = replayed.services.iter().flat_map(|service| &service.stopped);
            let attributed: i64 = of_services.map(|stopped| stopped.loss.total_s()).sum();
            prop_assert!(attributed <= lost);
        }
    }

    #[test]
    fn the_same_gives_the_same(jobs in jobs()) {
        for way in WAYS {
            prop_assert_eq!(replayed(&jobs, way, true), replayed(&jobs, way, true));
        }
    }
}

fn job(id: u32, submit_s: i64, work_s: i64, nodes: u32, gpus_per_node: u32) -> Job {
    Job {
        id: JobId(id),
        user: UserId(0),
        submit_s,
        work_s,
        limit_s: work_s,
        nodes,
        gpus_per_node,
        epoch_s: 100,
        save: SaveKind::Step,
        save_s: 10,
        is_urgent: false,
    }
}

fn restart_is_shown(jobs: &[Job], replayed: &Replayed) -> bool {
    let timeline = Timeline::of(jobs, MACHINE, replayed).expect("somebody was stopped");
    timeline.bars.iter().any(|bar| bar.used == Use::Restarts)
}

/// Two trainings fill the machine; the one that only saves in 60 s, at its epoch's end, is left alone.
#[test]
fn a_replay_by_hand() {
    let jobs = [
        Job {
            save: SaveKind::Epoch,
            ..job(1, 0, 10_000, 2, 4)
        },
        job(2, 0, 10_000, 2, 4),
        Job {
            is_urgent: true,
            ..job(3, 1_040, 500, 1, 4)
        },
    ];
    let replayed = replayed(&jobs, Way::Surgent { saves: true }, true);
    let service = &replayed.services[0];
    assert_eq!((service.urgent, service.start_s), (2, 1_050));
    let Stopped { at: victim, loss, .. } = service.stopped[0];
    assert_eq!(
        (victim, loss.redone_s, loss.saving_s, loss.restart_s),
        (1, 1, 10, 60)
    );
    assert_eq!(replayed.lives[0].phase, Phase::Done(10_000));
    assert_eq!(replayed.lives[2].phase, Phase::Done(1_550));
    // Stopped at 1,050 with 1,039 s done; its nodes are free again when the urgent job ends.
    assert_eq!(replayed.lives[1].phase, Phase::Done(1_550 + 60 + 10_000 - 1_039));

    // Too late to be seen around the start.
    assert!(!restart_is_shown(&jobs, &replayed));
    let short = [
        jobs[0].clone(),
        jobs[1].clone(),
        Job {
            work_s: 50,
            ..jobs[2].clone()
        },
    ];
    assert!(restart_is_shown(
        &short,
        &self::replayed(&short, Way::Surgent { saves: true }, true)
    ));

    let figures = Figures::of(&jobs, MACHINE, &replayed);
    assert_eq!(figures.urgent_wait_s.p50, 10.0);
    assert_eq!(figures.victims, 1);
    assert_eq!(figures.lost.total_gpu_h(), 71.0 * 8.0 / 3600.0);
}

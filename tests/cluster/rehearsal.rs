// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent replay` beside the real thing: thirty short jobs run on a cluster, and the same ones in the simulator.
//!
//! A second of the cluster is a minute of the replay. The replay is told what the machine did: when each job was
//! submitted, how long it was on its nodes without having to wait or to restart, how long saves and restarts took. Not
//! told, and to be found by it, is when and in what order jobs start, and who makes way for the urgent ones.
//!
//! Slurm is set to what the replay assumes: first in, first out, and backfill that plans a start for the first waiting
//! job only (by default for each).

use crate::support::{Cluster, JobId, LIMIT, LogLine, Outcome};
use crate::{on_cluster, scene, tell};
use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};
use surgent::policy::directives::SaveKind;
use surgent::policy::settings::Settings;
use surgent::policy::units::Seconds;
use surgent::replay::sim::{Case, Phase, Replayed, replay};
use surgent::replay::trace;
use surgent::replay::way::Way;
use surgent::replay::workload::{Assumptions, Machine, Workload};

/// Seconds of the replay for each of the cluster. With this the replay looks after an urgent job that it could not help
/// as often as slurmctld does: every second of the cluster.
const SCALE: f64 = 60.0;

const SETTINGS: &str = "[victims]\nmin_runtime_s = 2\nnearly_done_s = 2\nsave_deadline_s = 15\nrestart_s = 1\nstep_s = 0\n\
                        [queue]\nwait_weight = 10_000\nsize_weight = 0\nremaining_weight = 0\n[urgent]\nwait_max_s = 3\n";

/// A job's time limit in minutes, the shortest that Slurm has.
const LIMIT_MIN: u32 = 1;

/// An urgent job starts within so many seconds of when the replay says, and three times the delay of Slurm's own starts.
const URGENT_MOST_S: f64 = 4.0;

/// A normal job starts within this share of the whole run, and the same; but for a third. Where two jobs end at nearly the
/// same time it is chance who takes their place, here and there, and what follows differs.
const NORMAL_MOST_SHARE: f64 = 0.1;
const NORMAL_AGREE_SHARE: f64 = 2.0 / 3.0;

struct Planned {
    submit_s: f64,
    nodes: u32,
    gpus: u32,
    work_s: u32,
    save_s: u32,
    is_urgent: bool,
}

/// Thirty jobs for four nodes with four GPUs each, which they fill for most of a minute.
#[rustfmt::skip]
const JOBS: [(f64, u32, u32, u32, u32, bool); 30] = [
    // submit_s, nodes, gpus, work_s, save_s, urgent
    ( 0.0, 1, 4, 28, 1, false), ( 0.3, 1, 4, 26, 2, false), ( 0.6, 2, 4, 24, 3, false),
    ( 1.0, 1, 2,  8, 1, false), ( 1.5, 1, 2, 11, 2, false), ( 2.0, 1, 4,  4, 1, false),
    ( 6.0, 1, 4,  5, 0, true),  ( 7.0, 1, 4,  7, 2, false), ( 8.0, 2, 4,  5, 1, false),
    ( 9.0, 1, 1,  5, 1, false), (10.0, 1, 2,  4, 1, false), (11.0, 1, 4,  6, 1, false),
    (13.0, 2, 4,  6, 0, true),  (14.0, 1, 4,  4, 2, false), (15.0, 1, 2,  9, 1, false),
    (16.0, 1, 2,  4, 1, false), (17.0, 1, 4,  5, 3, false), (18.0, 1, 4,  4, 1, false),
    (18.5, 1, 4,  4, 0, true),  (21.0, 1, 2,  6, 2, false), (22.0, 1, 2,  5, 1, false),
    (23.0, 1, 4,  6, 1, false), (24.0, 2, 4,  5, 2, false), (25.0, 1, 4,  5, 1, false),
    (27.0, 1, 2,  4, 0, true),  (28.0, 1, 4,  6, 1, false), (29.0, 1, 2,  7, 1, false),
    (30.0, 1, 4,  5, 1, false), (31.0, 1, 2,  6, 2, false), (32.0, 1, 4,  4, 1, false),
];

fn jobs() -> impl Iterator<Item = Planned> {
    JOBS.iter()
        .map(|&(submit_s, nodes, gpus, work_s, save_s, is_urgent)| Planned {
            submit_s,
            nodes,
            gpus,
            work_s,
            save_s,
            is_urgent,
        })
}

fn name(at: usize) -> String {
    format!("job{at}")
}

/// What became of one job on the cluster, in seconds from the first submission.
struct Done {
    submit_s: f64,
    start_s: f64,
    end_s: f64,
    /// On its nodes, but for saves, for waiting to be stopped and for restarts.
    work_s: f64,
    saves_s: Vec<f64>,
    restarts_s: Vec<f64>,
}

#[test]
fn jobs_start_when_the_replay_says() -> Outcome {
    let setup = scene::by_factors(Cluster::builder()).toml(SETTINGS).conf(
        "SchedulerParameters=batch_sched_delay=0,bf_interval=1,bf_job_part_count_reserve=1,sched_interval=1,sched_min_interval=100000",
    );
    on_cluster(setup, |cluster| {
        let ids = submit(cluster)?;
        for id in &ids {
            cluster.wait_for_state(*id, "COMPLETED", 2 * LIMIT)?;
        }
        let done = observe(cluster, &ids)?;
        let replayed = simulate(&done, Way::Surgent { saves: true })?;
        let surgent = Comparison::new(&done, &replayed);
        let never = Comparison::new(&done, &simulate(&done, Way::Never)?);

        // What Slurm itself takes here to start a job on free nodes. The replay knows no such delays, and on the way of a
        // job through the queue they add up.
        let delays_s = done.iter().take(3).map(|done| done.start_s - done.submit_s);
        let delay_s = delays_s.fold(0.0, f64::max);
        let end_s = done.iter().map(|done| done.end_s).fold(0.0, f64::max);
        let urgent_most_s = URGENT_MOST_S + 3.0 * delay_s;
        let normal_most_s = NORMAL_MOST_SHARE * end_s + 3.0 * delay_s;
        let (urgent, urgent_agree) = surgent.agree(true, urgent_most_s);
        let (normal, normal_agree) = surgent.agree(false, normal_most_s);
        let (_, never_agree) = never.agree(true, urgent_most_s);
        tell(&format!(
            "thirty jobs on a cluster and in a replay, in seconds:\n{}\
             urgent jobs within {urgent_most_s:.1} s: {urgent_agree} of {urgent} (in a replay that stops nobody: {never_agree})\n\
             normal jobs within {normal_most_s:.1} s: {normal_agree} of {normal}",
            table(&done, &replayed)
        ));
        assert_eq!(urgent_agree, urgent, "urgent jobs within {urgent_most_s:.1} s");
        assert!(
            normal_agree as f64 >= NORMAL_AGREE_SHARE * normal as f64,
            "{normal_agree} of {normal} normal jobs within {normal_most_s:.1} s"
        );
        // Else these bounds would say nothing.
        assert!(never_agree < urgent, "a replay that stops nobody agrees as well");
        Ok(())
    })
}

fn submit(cluster: &Cluster) -> Outcome<Vec<JobId>> {
    let program = cluster.work().join("rehearsal.py");
    fs::write(&program, include_str!("rehearsal.py")).map_err(|error| error.to_string())?;
    let restart_s = Settings::parse(SETTINGS)?.victims.restart_s;
    let begin = Instant::now();
    let mut ids = Vec::new();
    for (at, job) in jobs().enumerate() {
        let due = Duration::from_secs_f64(job.submit_s);
        thread::sleep(due.saturating_sub(begin.elapsed()));
        let class = if job.is_urgent { "urgent" } else { "normal" };
        let comment = format!(
            "--comment=urgency={class} epochs={} save=step save_s={} signal=USR1@batch",
            job.work_s, job.save_s
        );
        let (name, work_s, save_s) = (name(at), job.work_s, job.save_s);
        ids.push(cluster.sbatch(
            &[
                &comment,
                &format!("--job-name={name}"),
                &format!("--nodes={}", job.nodes),
                "--ntasks-per-node=1",
                &format!("--gres=gpu:{}", job.gpus),
                &format!("--time={LIMIT_MIN}"),
            ],
            &format!(
                "exec /usr/bin/python3 rehearsal.py {name} {work_s} {save_s} {restart_s} {class}",
                restart_s = restart_s.0
            ),
        )?);
    }
    Ok(ids)
}

/// By slurmctld's log, which has milliseconds, and by what the jobs have noted.
fn observe(cluster: &Cluster, ids: &[JobId]) -> Outcome<Vec<Done>> {
    let log = cluster.log();
    let at_s = |line: &LogLine| line.at.as_millisecond() as f64 / 1e3;
    // Each a line's beginning and what follows the job's number.
    let all = |id: JobId, kinds: &[(&str, &str)]| -> Vec<f64> {
        let of = |text: &str| {
            kinds
                .iter()
                .any(|(before, after)| text.contains(&format!("{before}JobId={id}{after}")))
        };
        log.iter().filter(|line| of(&line.text)).map(at_s).collect()
    };
    let one = |id: JobId, kinds: &[(&str, &str)]| {
        let times = all(id, kinds);
        times
            .last()
            .copied()
            .ok_or_else(|| format!("no line with {kinds:?} of job {id} in the log"))
    };
    const SUBMITTED: [(&str, &str); 1] = [("_slurm_rpc_submit_batch_job: ", " ")];
    const STARTED: [(&str, &str); 2] = [("sched: Allocate ", " "), ("_start_job: Started ", " ")];
    const ENDED: [(&str, &str); 1] = [("_job_complete: ", " done")];
    let first_s = one(ids[0], &SUBMITTED)?;
    let mut done = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let starts = all(*id, &STARTED);
        let events = events(cluster, at);
        let of = |run: usize, kind: &str| {
            let mut events = events.iter();
            events.find(|event| event.run == run && event.kind == kind)
        };
        let last = starts.len() - 1;
        let start_s = *starts
            .first()
            .ok_or_else(|| format!("job {id} has no start in the log"))?;
        let end_s = one(*id, &ENDED)?;
        let mut saves_s = Vec::new();
        let mut restarts_s = Vec::new();
        for (run, start_s) in starts.iter().enumerate() {
            if let (Some(asked), Some(saved)) = (of(run, "asked"), of(run, "saved")) {
                saves_s.push(saved.at_s - asked.at_s);
            }
            if let (1.., Some(trains)) = (run, of(run, "trains")) {
                restarts_s.push(trains.at_s - start_s);
            }
        }
        let trains = of(last, "trains").ok_or_else(|| format!("job {id} did not note that it trains"))?;
        // What it had done before its last run, and that run but for a save that led to nothing.
        let last_s = match last {
            0 => end_s - starts[last],
            _ => end_s - trains.at_s,
        };
        let in_vain_s = match (of(last, "asked"), of(last, "saved")) {
            (Some(asked), Some(saved)) => saved.at_s - asked.at_s,
            _ => 0.0,
        };
        done.push(Done {
            submit_s: one(*id, &SUBMITTED)? - first_s,
            start_s: start_s - first_s,
            end_s: end_s - first_s,
            work_s: trains.done_s + last_s - in_vain_s,
            saves_s,
            restarts_s,
        });
    }
    Ok(done)
}

struct Event {
    at_s: f64,
    run: usize,
    kind: String,
    done_s: f64,
}

fn events(cluster: &Cluster, at: usize) -> Vec<Event> {
    let text = fs::read_to_string(cluster.work().join(format!("{}.log", name(at)))).unwrap_or_default();
    let event = |line: &str| {
        let mut words = line.split(' ');
        Some(Event {
            at_s: words.next()?.parse().ok()?,
            run: words.next()?.parse().ok()?,
            kind: words.next()?.to_owned(),
            done_s: words.next()?.parse().ok()?,
        })
    };
    text.lines().filter_map(event).collect()
}

/// What was done as `sacct -P` would tell it, in the replay's seconds.
fn trace(done: &[Done]) -> String {
    let mut text = "JobID|User|Submit|ElapsedRaw|NNodes|AllocTRES|TimelimitRaw|Comment\n".to_owned();
    for ((at, done), job) in done.iter().enumerate().zip(jobs()) {
        let class = if job.is_urgent { "urgent" } else { "normal" };
        let _ = writeln!(
            text,
            "{}|root|{:.0}|{:.0}|{}|gres/gpu={}|{}|urgency={class} epochs={}",
            at + 1,
            1e9 + done.submit_s * SCALE,
            done.work_s * SCALE,
            job.nodes,
            job.nodes * job.gpus,
            f64::from(LIMIT_MIN) * SCALE,
            job.work_s,
        );
    }
    text
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

fn simulate(done: &[Done], way: Way) -> Outcome<Replayed> {
    let machine = Machine {
        nodes: 4,
        gpus_per_node: 4,
    };
    let trace = trace::read(trace(done).as_bytes()).map_err(|error| error.to_string())?;
    let mut workload = Workload::new(&trace, machine, &Assumptions::default());
    // Saves that were not asked for take what was planned, and as much longer as the others took.
    let longer = done.iter().zip(jobs()).flat_map(|(done, job)| {
        let planned_s = f64::from(job.save_s);
        done.saves_s.iter().map(move |took_s| took_s - planned_s)
    });
    let longer_s = mean(longer).unwrap_or_default();
    for ((job, done), planned) in workload.jobs.iter_mut().zip(done).zip(jobs()) {
        let save_s = mean(done.saves_s.iter().copied()).unwrap_or(f64::from(planned.save_s) + longer_s);
        job.save = SaveKind::Step;
        job.save_s = (save_s * SCALE).round() as i64;
    }
    let mut settings = Settings::parse(SETTINGS)?;
    let (victims, urgent) = (&mut settings.victims, &mut settings.urgent);
    let restarts = done.iter().flat_map(|done| done.restarts_s.iter().copied());
    victims.restart_s = Seconds(mean(restarts).unwrap_or(victims.restart_s.0));
    for seconds in [
        &mut victims.min_runtime_s,
        &mut victims.nearly_done_s,
        &mut victims.save_deadline_s,
        &mut victims.restart_s,
        &mut victims.report_half_life_s,
        &mut urgent.patience_s,
        &mut urgent.wait_max_s,
    ] {
        *seconds = Seconds((seconds.0 * SCALE).round());
    }
    let case = Case {
        machine,
        jobs: &workload.jobs,
        way,
        settings: &settings,
        keeps_epochs: false,
        seed: 1,
    };
    Ok(replay(case, |_| true))
}

/// When jobs really started and when by a replay, in seconds from the first submission.
struct Comparison {
    /// By job: real and replayed.
    starts_s: Vec<(f64, f64)>,
}

impl Comparison {
    fn new(done: &[Done], replayed: &Replayed) -> Self {
        let starts = done.iter().zip(&replayed.lives).map(|(done, life)| {
            let replayed_s = life
                .first_start_s
                .map_or(f64::NAN, |start_s| start_s as f64 / SCALE);
            (done.start_s, replayed_s)
        });
        Self {
            starts_s: starts.collect(),
        }
    }

    /// How many urgent (or normal) jobs there are, and how many of them started within `most_s` of when they really did.
    fn agree(&self, is_urgent: bool, most_s: f64) -> (usize, usize) {
        let of_class = self
            .starts_s
            .iter()
            .zip(jobs())
            .filter(|(_, job)| job.is_urgent == is_urgent);
        let differences_s = of_class.map(|((real_s, replayed_s), _)| (replayed_s - real_s).abs());
        let differences_s: Vec<f64> = differences_s.collect();
        let agree = differences_s
            .iter()
            .filter(|difference_s| **difference_s <= most_s);
        (differences_s.len(), agree.count())
    }
}

fn table(done: &[Done], replayed: &Replayed) -> String {
    let mut table = "              nodes             |      first start       |    stops    |      end\n  \
                     job  class   xGPUs  work | submit |   real replay  differ | real replay |   real replay\n"
        .to_owned();
    let rows = done.iter().zip(&replayed.lives).zip(jobs()).enumerate();
    for (at, ((done, life), job)) in rows {
        let replayed_s = life.first_start_s.unwrap_or_default() as f64 / SCALE;
        let replayed_end_s = match life.phase {
            Phase::Done(end_s) => end_s as f64 / SCALE,
            _ => f64::NAN,
        };
        let _ = writeln!(
            table,
            "{at:5}  {:6}  {}x{} {:7.1} | {:6.1} | {:6.1} {:6.1} {:7.1} | {:4} {:6} | {:6.1} {:6.1}",
            if job.is_urgent { "urgent" } else { "normal" },
            job.nodes,
            job.gpus,
            done.work_s,
            done.submit_s,
            done.start_s,
            replayed_s,
            replayed_s - done.start_s,
            done.restarts_s.len(),
            life.stops,
            done.end_s,
            replayed_end_s,
        );
    }
    table
}

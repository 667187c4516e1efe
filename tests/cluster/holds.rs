// SPDX-License-Identifier: GPL-2.0-or-later
//! Looks in several holds of Slurm's locks, between which jobs start, end, shrink, are suspended and requeued.
//!
//! Clusters of a few nodes are looked at in one hold. So a core built for tests has each hold copy a single job, with a pause
//! after it: a look takes a second, and most of what happens, happens within one.

use crate::on_cluster;
use crate::scene::{assert_all_finish_whole, four, quick, urgent, wait_for_log};
use crate::skips;
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, places};
use std::time::Duration;

/// After each hold.
const PAUSE_MS: &str = "50";

const ROUNDS: usize = 60;

fn divided() -> Outcome<Builder> {
    Ok(quick()
        .plugins(places::plugins_with_faults()?)
        .controller_env("SURGENT_HOLD_PAUSE_MS", PAUSE_MS))
}

/// How often the locks were had in the looks so far, of those that slurmctld has logged.
fn holds(cluster: &Cluster) -> Vec<u32> {
    let log = cluster.log();
    let looks = log
        .iter()
        .filter_map(|line| line.text.split_once("the locks were had "));
    looks
        .filter_map(|(_, times)| times.split_once(" times")?.0.parse().ok())
        .collect()
}

/// An urgent job that comes and goes. While such jobs wait, and for five seconds after each submission, Surgent looks.
fn submit_short(cluster: &Cluster, round: usize) -> Outcome<JobId> {
    let size: &[&str] = match round % 3 {
        0 => &["--nodes=1", "--ntasks=3"],
        1 => &["--nodes=2", "--ntasks-per-node=3"],
        _ => &["--array=0-5", "--ntasks=1"],
    };
    let common = ["--comment=urgency=urgent", "--job-name=short", "--requeue"];
    let script = format!("sleep 0.{}", 4 + round % 5);
    cluster.sbatch(&[&common, size].concat(), &script)
}

/// What may fail because the job has just ended.
fn try_scontrol(cluster: &Cluster, arguments: &[&str]) {
    let _ = cluster.ask("scontrol", arguments);
}

#[test]
fn no_look_shows_a_job_beside_one_whose_place_it_took() -> Outcome {
    if skips() {
        return Ok(());
    }
    on_cluster(divided()?, |cluster| {
        cluster.ask("scontrol", &["setdebug", "debug"])?;
        // More than there is room for, so that each that ends is followed by another at once.
        for round in 0..ROUNDS {
            let id = submit_short(cluster, round)?.to_string();
            match round % 5 {
                1 => try_scontrol(cluster, &["update", &format!("JobId={id}"), "NumNodes=1"]),
                2 => {
                    try_scontrol(cluster, &["suspend", &id]);
                    try_scontrol(cluster, &["resume", &id]);
                }
                3 => try_scontrol(cluster, &["requeue", &id]),
                _ => {}
            }
        }
        // Those that were requeued would start in two minutes.
        cluster.wait_for("the jobs to run", 2 * LIMIT, |cluster| {
            let reasons = cluster.ask("squeue", &["-h", "-o", "%r"])?;
            Ok(reasons.lines().all(|reason| reason == "BeginTime"))
        })?;
        cluster.ask("scancel", &["--user=root"])?;
        let holds = holds(cluster);
        let divided = holds.iter().filter(|holds| **holds > 2).count();
        assert!(divided > 5, "looks were divided: {holds:?}");
        let overfull = cluster.logged(&["surgent: jobs hold more CPUs of "]);
        assert!(overfull.is_none(), "{overfull:?}");
        cluster.controller_is_well()
    })
}

/// What a job that has been copied gives up before the look ends, and who takes it.
struct Change {
    /// The job that is first in slurmctld's list, which is copied first.
    first: &'static [&'static str],
    /// Each takes a node that nobody is to have.
    others: usize,
    /// It can only have what `first` gives up.
    taker: &'static [&'static str],
    make: fn(&mut Cluster, JobId, &[JobId]) -> Outcome,
}

const CHANGES: [Change; 3] = [
    // It gives a node back.
    Change {
        first: &["--nodes=2", "--exclusive"],
        others: 2,
        taker: &["--nodes=1", "--exclusive"],
        make: |cluster, first, _| {
            let update = ["update", &format!("JobId={first}"), "NumNodes=1"];
            cluster.ask("scontrol", &update).map(drop)
        },
    },
    // It is suspended.
    Change {
        first: &["--nodes=1", "--ntasks=8", "--mem=100"],
        others: 3,
        taker: &["--nodes=1", "--ntasks=1", "--mem=100"],
        make: |cluster, first, _| {
            cluster
                .ask("scontrol", &["suspend", &first.to_string()])
                .map(drop)
        },
    },
    // It is requeued, and runs again elsewhere.
    Change {
        first: &["--nodes=1", "--exclusive"],
        others: 3,
        taker: &["--nodes=1", "--exclusive"],
        make: |cluster, first, others| {
            cluster.ask("scontrol", &["requeue", &first.to_string()])?;
            cluster.wait_for("the other to take its place", LIMIT, |cluster| {
                Ok(cluster.ask("squeue", &["-h", "-n", "taker", "-o", "%T"])?.trim() == "RUNNING")
            })?;
            // slurmd would end a job that starts again in the second in which it was ended.
            std::thread::sleep(Duration::from_secs(2));
            cluster.ask("scancel", &[&others[0].to_string()])?;
            let update = ["update", &format!("JobId={first}"), "StartTime=now"];
            cluster.ask("scontrol", &update)?;
            cluster.wait_for_state(first, "RUNNING", LIMIT)
        },
    },
];

#[test]
fn what_a_job_gives_up_between_two_holds_is_not_shown_beside_who_took_it() -> Outcome {
    if skips() {
        return Ok(());
    }
    // Each on a cluster of its own: Slurm takes a node that was given back for used later.
    CHANGES.iter().try_for_each(|change| {
        look_while(change).map_err(|error| format!("{:?}: {error}", change.first).into())
    })
}

fn look_while(change: &Change) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("wait");
    let on_file = |done: std::io::Result<()>| done.map_err(|error| format!("{}: {error}", file.display()));
    let builder = quick()
        .plugins(places::plugins_with_faults()?)
        .controller_env("SURGENT_HOLD_WHILE", &file.display().to_string());
    on_cluster(builder, |cluster| {
        let submit = |cluster: &Cluster, arguments: &[&str], name: &str| {
            let name = format!("--job-name={name}");
            cluster.sbatch(&[arguments, &[&name]].concat(), "sleep 1000")
        };
        let first = submit(cluster, change.first, "first")?;
        cluster.wait_for_state(first, "RUNNING", LIMIT)?;
        let others = (0..change.others).map(|_| submit(cluster, &["--nodes=1", "--exclusive"], "other"));
        let others = others.collect::<Outcome<Vec<_>>>()?;
        for other in &others {
            cluster.wait_for_state(*other, "RUNNING", LIMIT)?;
        }
        on_file(std::fs::write(&file, ""))?;
        let urgent = ["--comment=urgency=urgent"];
        let taker = submit(cluster, &[change.taker, &urgent].concat(), "taker")?;
        wait_for_log(cluster, "surgent: a look waits between two holds")?;
        (change.make)(cluster, first, &others)?;
        cluster.wait_for_state(taker, "RUNNING", LIMIT)?;
        cluster.ask("scontrol", &["setdebug", "debug"])?;
        on_file(std::fs::remove_file(&file))?;
        wait_for_log(cluster, "surgent: looked at ")?;
        let overfull = cluster.logged(&["surgent: jobs hold more CPUs of "]);
        assert!(overfull.is_none(), "{overfull:?}");
        cluster.controller_is_well()
    })
}

#[test]
fn victims_make_way_as_ever() -> Outcome {
    if skips() {
        return Ok(());
    }
    on_cluster(divided()?, |cluster| {
        cluster.ask("scontrol", &["setdebug", "debug"])?;
        let trainees = four(cluster, |training| training.lasting(3, 0.2))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
        wait_for_log(cluster, "the locks were had 4 times")?;
        let mut stopped = Vec::new();
        for (position, trainee) in trainees.iter().enumerate() {
            if cluster.job(trainee.id)?.restarts() > 0 {
                stopped.push(position);
            }
        }
        assert_eq!(stopped.len(), 2, "as many as the urgent job needs");
        assert_all_finish_whole(cluster, &trainees, &stopped)?;
        assert!(cluster.logged(&["surgent: jobs hold more CPUs of "]).is_none());
        cluster.controller_is_well()
    })
}

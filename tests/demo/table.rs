// SPDX-License-Identifier: GPL-2.0-or-later
//! The last lines of the demo: what the urgent job cost, and what it would have cost with Slurm alone.

use crate::story::Trainee;
use crate::support::{Cluster, JobId, Outcome};

/// Steps that one job loses.
pub struct Loss {
    name: String,
    /// Steps done when it was stopped.
    done: u32,
    /// Of these, the steps that have to be done again.
    lost: usize,
}

impl Loss {
    /// What the job named `name` has lost, counted in its log of steps after its restart.
    pub fn of(cluster: &Cluster, name: &str) -> Self {
        let steps = cluster.steps(name);
        let done = steps
            .of("step")
            .filter(|event| event.run == 0)
            .map(|event| event.step)
            .max()
            .unwrap_or(0);
        Self {
            name: name.to_owned(),
            done,
            lost: steps.lost(),
        }
    }
}

/// What would be lost now if Slurm stopped `count` of the jobs by its own rule: those started last, without a save.
/// Computed from the steps that each has done since its last save.
pub fn youngest_first(cluster: &Cluster, trainees: &[Trainee], count: usize) -> Outcome<Vec<Loss>> {
    let mut by_start = Vec::new();
    for trainee in trainees {
        by_start.push((
            cluster.job(trainee.id)?.get("StartTime").to_owned(),
            trainee.id,
            trainee.name,
        ));
    }
    by_start.sort();
    let loss = |name: &str| {
        let steps = cluster.steps(name);
        let saved = steps.of("saved").last().map_or(0, |event| event.step);
        Loss {
            name: name.to_owned(),
            done: steps.last(),
            lost: (steps.last() - saved) as usize,
        }
    };
    Ok(by_start
        .iter()
        .rev()
        .take(count)
        .map(|(_, _, name)| loss(name))
        .collect())
}

/// Prints both, with the urgent job's wait from sbatch to its start as slurmctld logged them.
pub fn print(cluster: &Cluster, urgent: JobId, losses: &[Loss], youngest: &[Loss]) -> Outcome {
    let line = |parts: &[&str]| {
        cluster
            .logged(parts)
            .ok_or_else(|| cluster.with_logs(format!("slurmctld.log has no line with {parts:?}")))
    };
    let job = format!("JobId={urgent} ");
    let submitted = line(&["_slurm_rpc_submit_batch_job: ", &job])?.at;
    let started = line(&["Allocate ", &job])?.at;
    let wait_s = (started - submitted)
        .total(jiff::Unit::Second)
        .unwrap_or_default();

    println!("\n== What it cost");
    println!("  The urgent job {urgent} waited {wait_s:.1} s from sbatch to its start.\n");
    println!(
        "  {:<34} {:<10} {:>10} {:>11}",
        "", "stopped", "steps done", "steps lost"
    );
    rows("Surgent (seen)", losses);
    rows("Slurm, youngest first (computed)", youngest);
    println!(
        "\n  Computed: the jobs started last are stopped without a save, at the moment of Surgent's requests."
    );
    Ok(())
}

fn rows(title: &str, losses: &[Loss]) {
    for (row, loss) in losses.iter().enumerate() {
        let title = if row == 0 { title } else { "" };
        println!(
            "  {title:<34} {:<10} {:>10} {:>11}",
            loss.name, loss.done, loss.lost
        );
    }
}

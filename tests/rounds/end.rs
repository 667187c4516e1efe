// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of a round.

use crate::field::Field;
use crate::rounds::leftovers;
use crate::rounds::sight::{QUIET_IN, is_over};
use crate::support::{Cluster, Job, LIMIT, Outcome};

/// Waits until the urgent job has had its due, every victim trains again or has ended as it may, and nothing is under way.
pub fn wait_until_quiet(field: &Field<'_>) -> Outcome {
    field
        .cluster
        .wait_until("the round to become quiet", QUIET_IN, |_| {
            field.sight()?.is_quiet().map(Some)
        })
}

/// Checks all that is to hold once it is quiet.
pub fn check(field: &mut Field<'_>) -> Outcome {
    field.cluster.controller_is_well()?;
    let remarks = field.sight()?.check()?;
    field.remarks.extend(remarks);
    Ok(())
}

/// Ends all jobs of the round, and waits until nothing of it is left.
pub fn clear(field: &mut Field<'_>) -> Outcome {
    for victim in &field.victims {
        victim.end(field.cluster, "end")?;
    }
    let unfinished = |field: &Field<'_>| -> Outcome<Vec<Job>> {
        let mut jobs = field.jobs()?;
        jobs.retain(|job| !is_over(job));
        Ok(jobs)
    };
    for job in unfinished(field)? {
        // Of an excused one there may be nobody left to see the sign to end.
        let is_excused = job.id().is_some_and(|id| field.excused.contains(&id));
        if job.state() == "PENDING" || is_excused {
            field.cluster.ask("scancel", &[job.get("JobId")])?;
        }
    }
    if field.log().contains("Duplicate jobid on nodes") {
        field
            .cluster
            .ask("scontrol", &["update", "NodeName=ALL", "State=RESUME"])?;
    }
    field
        .cluster
        .wait_for("all jobs to end", LIMIT, |_| Ok(unfinished(field)?.is_empty()))?;
    field.cluster.wait_for("all nodes to be idle", LIMIT, |cluster| {
        let states = cluster.ask("sinfo", &["-h", "-N", "-p", "all", "-o", "%T"])?;
        Ok(states.lines().all(|state| state == "idle"))
    })?;
    let leaked = leaked_gpus(field.cluster)?;
    field.remarks.extend(leaked);
    field
        .cluster
        .wait_until("nothing to be left of the round", LIMIT, |cluster| {
            let pid = cluster.controller_pid().map(|pid| pid.as_raw_nonzero().get());
            let left = leftovers::left(cluster.folder(), pid);
            match left.is_empty() {
                true => Ok(Some(())),
                false => Err(format!("left of the round: {}", left.join("; ")).into()),
            }
        })
}

/// GPUs that Slurm counts as used although no job is there any more. Surgent does not touch that count.
fn leaked_gpus(cluster: &Cluster) -> Outcome<Vec<String>> {
    let nodes = cluster.ask("scontrol", &["show", "node", "-d", "-o"])?;
    let leaked = nodes.lines().filter(|node| !node.contains("GresUsed=gpu:0"));
    let name = |node: &str| node.split(' ').next().unwrap_or_default().to_owned();
    Ok(leaked
        .map(|node| format!("Slurm counts GPUs of {} as used", name(node)))
        .collect())
}

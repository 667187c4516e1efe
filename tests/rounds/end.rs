// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of a round.

use crate::field::Field;
use crate::rounds::sight::{QUIET_IN, is_over, is_urgent, was_preempted};
use crate::support::{Job, LIMIT, Outcome, leftovers};

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
    let lost = field
        .victims
        .iter()
        .filter_map(|victim| victim.lost_script(field.cluster));
    field.remarks.extend(lost);
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
        // Of an excused one there may be nobody left to see the sign to end, and of an urgent one that Slurm takes for running.
        let is_excused = job.id().is_some_and(|id| field.excused.contains(&id));
        let is_ghost = is_stopped_in_vain(field, &job);
        if is_ghost {
            let remark = format!(
                "Slurm has forgotten that it was stopping job {}",
                job.get("JobId")
            );
            field.remarks.push(remark);
        }
        if job.state() == "PENDING" || is_excused || is_ghost || is_urgent(&job) {
            field.cluster.ask("scancel", &[&address(&job)])?;
        }
    }
    if field.log().contains("Duplicate jobid on nodes") {
        let drained = field.cluster.ask("sinfo", &["-h", "-t", "drain", "-o", "%N"])?;
        for nodes in drained.lines() {
            let nodes = format!("NodeName={nodes}");
            field
                .cluster
                .ask("scontrol", &["update", &nodes, "State=RESUME"])?;
        }
    }
    field
        .cluster
        .wait_for("all jobs to end", LIMIT, |_| Ok(unfinished(field)?.is_empty()))?;
    field.cluster.wait_for("all nodes to be idle", LIMIT, |cluster| {
        let states = cluster.ask("sinfo", &["-h", "-N", "-p", "all", "-o", "%T"])?;
        // Planned: the backfill scheduler meant them for a job that has run meanwhile. Where the clock was put back it does not look
        // again for so long.
        Ok(states.lines().all(|state| ["idle", "planned"].contains(&state)))
    })?;
    let leaked = leftovers::leaked_gpus(field.cluster)?;
    field.remarks.extend(leaked);
    leftovers::wait_until_gone(field.cluster)
}

/// How scancel is told of a job. The number of a task that was launched twice Slurm may not know (round 72215).
fn address(job: &Job) -> String {
    match job.get("ArrayTaskId").parse::<u32>() {
        Ok(task) => format!("{}_{task}", job.get("ArrayJobId")),
        Err(_) => job.get("JobId").to_owned(),
    }
}

/// Slurm's own: it had just stopped this job when slurmctld was killed, and Surgent had not seen so. That it is missing on its node
/// the next slurmctld believes only when the node registers anew, 20 s after its own start or later (`_purge_missing_jobs`).
fn is_stopped_in_vain(field: &Field<'_>, job: &Job) -> bool {
    let Some(id) = job.id().filter(|id| field.interrupted.contains(id)) else {
        return false;
    };
    let log = field.log();
    let by_command = log.contains(&format!("Requeuing JobId={id}\n"));
    job.restarts() == 0 && (by_command || was_preempted(&log, id))
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What must be true after each round, as seen from outside.

use crate::field::Field;
use crate::support::{Job, LIMIT, Outcome, leftovers};
use crate::victims::Victim;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Commands that hang are given up after seconds, sets that do not do after twenty, and clocks come back by forty.
const QUIET_IN: Duration = Duration::from_secs(150);

/// Waits until the urgent job has had its due, every victim trains again or has ended as it may, and nothing is under way.
pub fn wait_until_quiet(field: &Field<'_>) -> Outcome {
    field
        .cluster
        .wait_until("the round to become quiet", QUIET_IN, |_| {
            let jobs = field.jobs()?;
            let mut busy = Vec::new();
            for job in &jobs {
                busy.extend(unsettled(field, job));
            }
            busy.extend(unserved(field, &jobs));
            busy.extend(leftovers::plans(field.cluster));
            match busy.is_empty() {
                true => Ok(Some(())),
                false => Err(format!("not quiet: {}", busy.join("; ")).into()),
            }
        })
}

fn is_over(job: &Job) -> bool {
    ["COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"].contains(&job.state())
}

/// Why this job of the round cannot be left as it is.
fn unsettled(field: &Field<'_>, job: &Job) -> Option<String> {
    let (name, state) = (job.get("JobName"), job.state());
    // What stands in the record of a job that is over moves nobody any more.
    if !is_over(job) && job.get("AdminComment").contains(" ask=") {
        return Some(format!("{name} is still asked: {}", job.get("AdminComment")));
    }
    let victim = field.victims.iter().find(|victim| Some(victim.id) == job.id());
    let Some(victim) = victim else {
        return (!is_over(job)).then(|| format!("{name} is {state} ({})", job.get("Reason")));
    };
    if field.excused.contains(&victim.id) || is_launched_twice(field, job) {
        let stays = is_over(job) || ["RUNNING", "PENDING"].contains(&state);
        return (!stays).then(|| format!("{name} is {state}"));
    }
    let trains = state == "RUNNING" && victim.is_up(field.cluster, job.restarts());
    (!trains).then(|| {
        format!(
            "{name} is {state} ({}) since run {}, to start at {}",
            job.get("Reason"),
            job.restarts(),
            job.get("StartTime")
        )
    })
}

/// Slurm's own: a slurmd that was killed and started again takes a job that it was to end for gone, and is given it anew
/// beside its first run.
fn is_launched_twice(field: &Field<'_>, job: &Job) -> bool {
    job.get("Reason") == "launch_failed_requeued_held" && field.log().contains("Duplicate jobid on nodes")
}

fn unserved(field: &Field<'_>, jobs: &[Job]) -> Option<String> {
    let parts = jobs.iter().filter(|job| job.get("JobName").ends_with("-urgent"));
    let states: Vec<&str> = parts.map(Job::state).collect();
    let forgotten = states.is_empty() && field.round.fault.makes_slurm_forget();
    let ended = field.round.fault.may_end_urgent();
    let excused = field.urgent.iter().any(|id| field.excused.contains(id));
    let is_served = !states.is_empty() && states.iter().all(|state| *state == "COMPLETED");
    (!is_served && !forgotten && !ended && !excused).then(|| format!("the urgent job is {states:?}"))
}

/// Checks all that is to hold once it is quiet.
pub fn check(field: &mut Field<'_>) -> Outcome {
    field.cluster.controller_is_well()?;
    let log = field.log();
    for sign in ["surgent: fault ", "steps aside", "surgent: panic"] {
        if let Some(line) = log.lines().find(|line| line.contains(sign)) {
            return Err(format!("the log has {line:?}").into());
        }
    }
    let jobs = field.jobs()?;
    let audit = Audit::read(&field.audit())?;
    let mut remarks = Vec::new();
    for victim in &field.victims {
        let job = jobs.iter().find(|job| job.id() == Some(victim.id));
        let job = job.ok_or_else(|| format!("Slurm does not know job {} any more", victim.id))?;
        let is_preempted = log.contains(&format!("preempted JobId={} has been requeued", victim.id));
        if is_preempted && !(0..=job.restarts()).any(|run| victim.had_saved(field.cluster, run)) {
            return Err(format!("job {} was preempted without a save", victim.id).into());
        }
        if is_launched_twice(field, job) {
            remarks.push(format!("Slurm has launched job {} twice", victim.id));
        } else if !field.excused.contains(&victim.id) {
            check_victim(field, victim, job, &audit)?;
        } else if field.round.fault.makes_slurm_forget() && is_over(job) {
            remarks.push(format!(
                "Slurm has forgotten that it requeued job {}: it is {}",
                victim.id,
                job.state()
            ));
        }
    }
    if jobs.iter().all(|job| !job.get("JobName").ends_with("-urgent")) {
        remarks.push("Slurm has forgotten the urgent job".to_owned());
    }
    field.remarks.extend(remarks);
    Ok(())
}

fn check_victim(field: &Field<'_>, victim: &Victim, job: &Job, audit: &Audit) -> Outcome {
    let (id, restarts) = (victim.id, job.restarts());
    if restarts > 1 {
        return Err(format!("job {id} was stopped {restarts} times").into());
    }
    for run in 0..restarts {
        if !victim.had_saved(field.cluster, run) {
            return Err(format!("run {run} of job {id} was stopped without a save").into());
        }
    }
    let stops = audit.stops.get(&u64::from(id.0)).cloned().unwrap_or_default();
    let torn = field.round.fault.tears_audit();
    let agrees = match torn {
        true => stops.len() <= restarts as usize,
        false => stops.len() == restarts as usize,
    };
    if !agrees {
        return Err(format!("job {id} was stopped {restarts} times, but by the audit file {stops:?}").into());
    }
    if stops.iter().any(|stop| stop["saved"].is_null()) {
        return Err(format!("by the audit file job {id} was stopped unsaved: {stops:?}").into());
    }
    Ok(())
}

/// What the audit file tells of the round.
struct Audit {
    /// Lines of kind `stopped` by job, one for each run.
    stops: BTreeMap<u64, Vec<Value>>,
}

impl Audit {
    fn read(text: &str) -> Outcome<Self> {
        let mut stops: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)
                .map_err(|error| format!("the audit file has a line that is no JSON ({error}): {line:?}"))?;
            if line["kind"] != "stopped" {
                continue;
            }
            let of_job = stops.entry(line["job"].as_u64().unwrap_or_default()).or_default();
            // Told again after a restart it is the same run.
            if !of_job.iter().any(|stop| stop["start"] == line["start"]) {
                of_job.push(line);
            }
        }
        Ok(Self { stops })
    }
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
    let leaked = leftovers::leaked_gpus(field.cluster)?;
    field.remarks.extend(leaked);
    leftovers::wait_until_gone(field.cluster)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A round as it is seen from outside, and what must be true of it when all is over.

use super::fault::Fault;
use crate::support::{Job, JobId, Outcome, leftovers};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// Commands that hang are given up after seconds, sets that do not do after twenty, and clocks come back by forty. Of a slurmd
/// that was killed while it ended a job, Slurm asks again only after `KillWait` and twice `MessageTimeout` and up to a minute
/// more (`_list_find_job_old`), 185 s here.
pub const QUIET_IN: Duration = Duration::from_secs(240);

/// One line in a victim's own account.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Which run of the job, from 0 on.
    pub run: u32,
    /// `up`, `asked` or `saved`.
    pub kind: String,
}

/// What a victim has written down itself.
pub struct Account {
    pub id: JobId,
    pub events: Vec<Event>,
}

impl Account {
    /// Whether this run had saved after it was asked.
    pub fn had_saved(&self, run: u32) -> bool {
        let mut of_run = self.events.iter().filter(|event| event.run == run);
        of_run.any(|event| event.kind == "asked") && of_run.any(|event| event.kind == "saved")
    }

    pub fn is_up(&self, run: u32) -> bool {
        self.events
            .iter()
            .any(|event| event.run == run && event.kind == "up")
    }
}

/// See above.
pub struct Sight {
    pub fault: Fault,
    /// All jobs of the round.
    pub jobs: Vec<Job>,
    pub victims: Vec<Account>,
    pub urgent: Vec<JobId>,
    /// Jobs whose run ends by the fault itself, or by their users.
    pub excused: BTreeSet<JobId>,
    /// Jobs that Slurm may have been stopping when slurmctld was killed.
    pub interrupted: BTreeSet<JobId>,
    /// slurmctld's log since the round began.
    pub log: String,
    /// The audit file since then.
    pub audit: String,
    /// StateSaveLocation.
    pub state: PathBuf,
}

pub fn is_over(job: &Job) -> bool {
    ["COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"].contains(&job.state())
}

impl Sight {
    /// Why it is not over: the urgent job has not had its due, a victim neither trains again nor has ended as it may, or
    /// something is under way.
    ///
    /// # Errors
    /// All of these.
    pub fn is_quiet(&self) -> Outcome {
        let unsettled = self.jobs.iter().filter_map(|job| self.unsettled(job));
        let busy: Vec<String> = unsettled
            .chain(self.unserved())
            .chain(leftovers::plans(&self.state).filter(|plans| !self.are_given_up_for_good(plans)))
            .collect();
        match busy.is_empty() {
            true => Ok(()),
            false => Err(format!("not quiet: {}", busy.join("; ")).into()),
        }
    }

    /// Why this job of the round cannot be left as it is.
    fn unsettled(&self, job: &Job) -> Option<String> {
        let (name, state) = (job.get("JobName"), job.state());
        // What stands in the record of a job that is over moves nobody any more.
        if !is_over(job) && job.get("AdminComment").contains(" ask=") {
            return Some(format!("{name} is still asked: {}", job.get("AdminComment")));
        }
        let victim = self.victims.iter().find(|victim| Some(victim.id) == job.id());
        let Some(victim) = victim else {
            return (!is_over(job) && !self.is_lost(job))
                .then(|| format!("{name} is {state} ({})", job.get("Reason")));
        };
        if self.excused.contains(&victim.id) || self.is_launched_twice(job) {
            let stays = is_over(job) || ["RUNNING", "PENDING"].contains(&state);
            return (!stays).then(|| format!("{name} is {state}"));
        }
        let trains = state == "RUNNING" && victim.is_up(job.restarts());
        let lacks_nodes = ["Resources", "Priority"].contains(&job.get("Reason"));
        let kept_off = lacks_nodes && self.jobs.iter().any(|other| self.is_lost(other));
        (!trains && !kept_off).then(|| {
            format!(
                "{name} is {state} ({}) since run {}, to start at {}",
                job.get("Reason"),
                job.restarts(),
                job.get("StartTime")
            )
        })
    }

    /// Slurm's own: a slurmd that was killed and started again takes a job that it was to end for gone, and is given it anew
    /// beside its first run; so is one by a slurmctld that was killed before it had written that the job runs. Its node is
    /// drained.
    fn is_launched_twice(&self, job: &Job) -> bool {
        job.get("Reason") == "launch_failed_requeued_held" && self.log.contains("Duplicate jobid on nodes")
    }

    /// An urgent job was launched twice, and is held: that there was a plan for it is remembered for ten minutes, once it is given
    /// up.
    fn are_given_up_for_good(&self, plans: &str) -> bool {
        let mut urgent = self.jobs.iter().filter(|job| is_urgent(job));
        let given_up = plans.matches(r#""name":"given_up""#).count();
        urgent.any(|job| self.is_launched_twice(job)) && plans.matches(r#""phase":"#).count() == given_up
    }

    /// Slurm's own: with the slurmctld that was killed it has forgotten that this urgent job had ended, and keeps its nodes from
    /// all others.
    fn is_ghost(&self, job: &Job) -> bool {
        let name = name_in_log(job);
        let last = |words: &str| self.log.rfind(&format!("{words} JobId={name} "));
        let started = last("Allocate").max(last("_start_job: Started"));
        is_urgent(job)
            && job.state() == "RUNNING"
            && self.fault.makes_slurm_forget()
            && last("_job_complete:") > started
    }

    /// Slurm holds it, and its nodes, whatever Surgent does.
    fn is_lost(&self, job: &Job) -> bool {
        self.is_ghost(job) || self.is_launched_twice(job)
    }

    fn unserved(&self) -> Option<String> {
        let parts = self.jobs.iter().filter(|job| is_urgent(job));
        let states: Vec<&str> = parts.filter(|job| !self.is_lost(job)).map(Job::state).collect();
        let forgotten = states.is_empty()
            && (self.fault.makes_slurm_forget() || self.jobs.iter().any(|job| self.is_launched_twice(job)));
        let excused = self.urgent.iter().any(|id| self.excused.contains(id));
        let is_served = !states.is_empty() && states.iter().all(|state| *state == "COMPLETED");
        (!is_served && !forgotten && !self.fault.may_end_urgent() && !excused)
            .then(|| format!("the urgent job is {states:?}"))
    }

    /// Checks all that is to hold once it is quiet; what is remarkable about Slurm itself.
    pub fn check(&self) -> Outcome<Vec<String>> {
        for sign in ["surgent: fault ", "steps aside", "surgent: panic"] {
            if let Some(line) = self.log.lines().find(|line| line.contains(sign)) {
                return Err(format!("the log has {line:?}").into());
            }
        }
        let stops = stops(&self.audit)?;
        let mut remarks = Vec::new();
        for victim in &self.victims {
            let id = victim.id;
            let job = self.jobs.iter().find(|job| job.id() == Some(id));
            let job = job.ok_or_else(|| format!("Slurm does not know job {id} any more"))?;
            if was_preempted(&self.log, id) && !(0..=job.restarts()).any(|run| victim.had_saved(run)) {
                return Err(format!("job {id} was preempted without a save").into());
            }
            if self.is_launched_twice(job) {
                remarks.push(format!("Slurm has launched job {id} twice"));
            } else if !self.excused.contains(&id) {
                let of_job = stops.get(&u64::from(id.0)).map_or(&[][..], Vec::as_slice);
                self.check_victim(victim, job, of_job)?;
            }
        }
        let urgent = self.jobs.iter().filter(|job| is_urgent(job));
        for job in urgent.filter(|job| self.is_launched_twice(job)) {
            remarks.push(format!("Slurm has launched job {} twice", job.get("JobId")));
        }
        if !self.jobs.iter().any(is_urgent) {
            remarks.push("Slurm has forgotten the urgent job".to_owned());
        }
        Ok(remarks)
    }

    fn check_victim(&self, victim: &Account, job: &Job, stops: &[Value]) -> Outcome {
        let (id, restarts) = (victim.id, job.restarts());
        if restarts > 1 {
            return Err(format!("job {id} was stopped {restarts} times").into());
        }
        for run in 0..restarts {
            if !victim.had_saved(run) {
                return Err(format!("run {run} of job {id} was stopped without a save").into());
            }
        }
        // How often Slurm itself has stopped it, it does not know any more.
        let interrupted = self.interrupted.contains(&id);
        let agrees = match (interrupted, self.fault.tears_audit()) {
            (true, _) => true,
            (false, true) => stops.len() <= restarts as usize,
            (false, false) => stops.len() == restarts as usize,
        };
        if !agrees {
            return Err(
                format!("job {id} was stopped {restarts} times, but by the audit file {stops:?}").into(),
            );
        }
        if stops.iter().any(|stop| stop["saved"].is_null()) {
            return Err(format!("by the audit file job {id} was stopped unsaved: {stops:?}").into());
        }
        Ok(())
    }
}

/// Whether Slurm has begun to requeue the job for another one, by slurmctld's `log`.
pub fn was_preempted(log: &str, job: JobId) -> bool {
    log.contains(&format!("preempted JobId={job} has been requeued"))
}

/// As slurmctld's log has it: a task of an array as `204_1(205)`, a component of a heterogeneous job as `62+1(63)`.
fn name_in_log(job: &Job) -> String {
    let (id, of) = (job.get("JobId"), |key: &str| job.get(key));
    match (of("ArrayTaskId"), of("HetJobOffset")) {
        ("", "") => id.to_owned(),
        (task, "") => format!("{}_{task}({id})", of("ArrayJobId")),
        (_, offset) => format!("{}+{offset}({id})", of("HetJobId")),
    }
}

pub fn is_urgent(job: &Job) -> bool {
    job.get("JobName").ends_with("-urgent")
}

/// Lines of kind `stopped` in the audit file by job, one for each run.
fn stops(audit: &str) -> Outcome<BTreeMap<u64, Vec<Value>>> {
    let mut stops: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for line in audit.lines() {
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
    Ok(stops)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The sentences in which Surgent tells the log what it does.

use super::book::Asked;
use super::eligibility::Refusal;
use super::facts::{Facts, Hindrance};
use super::ids::JobId;
use super::plan::{Plan, Victim, Wait};
use super::record::Stop;
use super::units::UnixTime;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// At most so many jobs or nodes are named in a sentence.
const NAMED_MAX: usize = 20;

fn list<T: std::fmt::Display>(items: impl ExactSizeIterator<Item = T>) -> String {
    let count = items.len();
    let mut text = String::new();
    for (at, item) in items.take(NAMED_MAX).enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{item}");
    }
    if count > NAMED_MAX {
        let _ = write!(text, " and {} more", count - NAMED_MAX);
    }
    text
}

/// The plan as a whole.
pub fn plan(plan: &Plan, facts: &Facts) -> String {
    let victims = list(plan.victims.iter().map(|victim| victim.job));
    let nodes = list(plan.nodes.iter().map(|index| {
        facts
            .node(*index)
            .map_or_else(|| format!("node {}", index.0), |node| node.name.clone())
    }));
    format!(
        "plan for job {}: stop jobs {victims} to free nodes {nodes}; cost {:.0} GPU-s; ready in {:.0} s",
        plan.urgent, plan.cost_gpu_s, plan.ready_s.0
    )
}

/// What plans were made from is in a file.
pub fn kept(urgent: &[JobId], file: &str) -> String {
    format!(
        "the facts behind the plan for job {} are in {file}",
        list(urgent.iter())
    )
}

/// One victim and what it costs.
pub fn victim(urgent: JobId, victim: &Victim) -> String {
    let cost = &victim.cost;
    format!(
        "plan for job {urgent}: victim {} ({:.1} GPUs): lost {:.1} s + save {:.1} s + restart {:.1} s, \
         priority weight {:.2}, repeat factor {:.0} -> {:.0} GPU-s",
        victim.job,
        cost.resources,
        cost.lost_s.0,
        cost.save_s.0,
        cost.restart_s.0,
        cost.priority_weight,
        cost.repeat_factor,
        cost.total_gpu_s()
    )
}

/// Nobody is stopped, as jobs end by themselves.
pub fn wait(wait: &Wait) -> String {
    let jobs = list(wait.for_jobs.iter());
    let instead = match wait.instead_of_gpu_s {
        Some(cost) => format!("stopping jobs would cost {cost:.0} GPU-s"),
        None => "no set of jobs that may be stopped makes it fit".to_owned(),
    };
    format!(
        "job {} waits until jobs {jobs} have ended by themselves; until {}, which weighs {:.0} GPU-s; {instead}",
        wait.urgent, wait.until, wait.total_gpu_s
    )
}

/// No victims help.
pub fn no_set(urgent: JobId, refused: &BTreeMap<JobId, Refusal>) -> String {
    let mut by_rule: BTreeMap<Refusal, usize> = BTreeMap::new();
    for refusal in refused.values() {
        *by_rule.entry(*refusal).or_default() += 1;
    }
    let rules = list(
        by_rule
            .iter()
            .map(|(refusal, count)| format!("{count} {refusal}")),
    );
    let protected = match by_rule.is_empty() {
        true => "no job there is protected".to_owned(),
        false => format!("protected there: {rules}"),
    };
    format!("job {urgent} waits: no set of jobs that may be stopped makes it fit ({protected})")
}

/// Free nodes would not start the urgent job either.
pub fn blocked(urgent: JobId, hindrance: Hindrance) -> String {
    let why = match hindrance {
        Hindrance::Held => "it is held",
        Hindrance::Date => "it is not to start yet",
        Hindrance::Dependency => "it waits for another job",
        Hindrance::Licenses => "it lacks licenses",
        Hindrance::Limit => "as many tasks of its array run as may run at once",
        Hindrance::Reservation => "its reservation has not begun or is over",
        Hindrance::Nodes => "nodes that it must have are down, drained or reserved",
        Hindrance::Partition => "its partition is down, or smaller than the job",
        Hindrance::Constraints => "no node is as it asks for",
        Hindrance::HetJob => "not all components of this heterogeneous job are urgent and wait",
        Hindrance::Completing => "its last run is still being cleaned up",
        Hindrance::AdmissionPermission => "it may not be urgent by [admission] in surgent.toml",
        Hindrance::AdmissionLimit => {
            "there are as many urgent jobs before it as [admission] in surgent.toml allows"
        }
        Hindrance::AdmissionBudget => "the budget of urgent GPU-hours is used up",
        Hindrance::Other => "Slurm names a reason that free nodes do not mend (see its Reason in squeue)",
    };
    format!("job {urgent} waits: {why}; nobody is stopped for that")
}

/// The rule by which an urgent job may not be planned for, or a job may not become urgent.
pub fn not_admitted(job: JobId, rule: &str) -> String {
    format!("job {job} may not be urgent now: {rule}")
}

/// Slurm had put a component off.
pub fn hastened(component: &str) -> String {
    format!("job {component} may start at once: Slurm had put it off, as another component could not start")
}

/// A victim has saved.
pub fn saved(asked: &Asked, urgent: JobId) -> String {
    let after_s = asked.saved.map_or(0, |saved| saved.0 - asked.asked.0);
    format!(
        "job {} has saved for job {urgent}, {after_s} s after the request",
        asked.job
    )
}

/// All have saved, and others go first.
pub fn waits_for_turn(urgent: JobId, other: JobId) -> String {
    format!("job {urgent} waits for job {other} to start: either could take the nodes of the other's victims")
}

/// A victim was passed over.
pub fn passed_over(job: JobId, urgent: JobId, late: bool) -> String {
    let why = match late {
        true => "did not save before its deadline",
        false => "can no longer be requeued",
    };
    format!("job {job} {why}; it is passed over for job {urgent}")
}

/// The urgent job needs nobody any more.
pub fn fits_meanwhile(urgent: JobId) -> String {
    format!("job {urgent} fits by itself now; nobody is stopped for it")
}

/// Slurm may act.
pub fn gate_open(urgent: JobId, victims: &[(JobId, UnixTime)]) -> String {
    let jobs = list(victims.iter().map(|(job, _)| *job));
    format!("gate open for job {urgent}: jobs {jobs}")
}

/// All have saved for a heterogeneous job.
pub fn requeued(urgent: JobId, jobs: &[JobId]) -> String {
    let jobs = list(jobs.iter());
    format!("requeueing jobs {jobs} at once for the heterogeneous job {urgent}")
}

/// Slurm did not start it all the same.
pub fn in_vain(urgent: JobId, fitted: bool) -> String {
    match fitted {
        true => format!(
            "Slurm does not start the heterogeneous job {urgent} although jobs made way for it; given up until its \
             request changes or it is held and released: it needs something that Surgent does not know of (see its \
             Reason in squeue)"
        ),
        false => format!(
            "the heterogeneous job {urgent} did not start: its nodes went to others or are not ready; given up for now"
        ),
    }
}

/// The urgent job runs; with all its components if it is a heterogeneous one.
pub fn started(urgent: JobId, het: bool) -> String {
    match het {
        true => format!("job {urgent} has started with all its components"),
        false => format!("job {urgent} has started; gate shut"),
    }
}

/// A task of an urgent array runs, and others wait.
pub fn task_started(urgent: JobId) -> String {
    format!("a task of job {urgent} has started; the gate to its victims is shut")
}

/// The urgent job is gone, held or blocked.
pub fn no_longer_waits(urgent: JobId) -> String {
    format!("job {urgent} no longer waits for nodes; nobody is stopped for it")
}

/// Slurm leaves an urgent job waiting although it fits.
pub fn fits_but_waits(urgent: JobId) -> String {
    format!(
        "job {urgent} should fit on what is free, but Slurm does not start it: it needs something that Surgent does \
         not know of (see its Reason in squeue)"
    )
}

/// The gate was open long enough.
pub fn widening(urgent: JobId) -> String {
    format!("Slurm does not start job {urgent} although its victims have saved; looking for further victims")
}

/// And that did not help.
pub fn given_up(urgent: JobId) -> String {
    format!(
        "Slurm does not start job {urgent} whoever makes way; given up for now: it needs something that Surgent does \
         not know of (see its Reason in squeue)"
    )
}

/// A request has gone out.
pub fn asked(job: JobId, urgent: JobId, how: &str, deadline: &str) -> String {
    format!("asked job {job} to save for job {urgent} ({how}), until {deadline}")
}

/// A victim was stopped and has been given its place back.
pub fn restored(job: JobId, stop: Stop, delayed: bool) -> String {
    let urgent = stop.urgent;
    match delayed {
        true => format!("job {job} was requeued for job {urgent}; job {job} may start again at once"),
        false => format!("job {job} was requeued for job {urgent}"),
    }
}

/// Slurm ended a victim, and a crash made it forget that.
pub fn revived(job: JobId) -> String {
    format!("job {job} was stopped when slurmctld ended, and taken for one that had failed; it is requeued")
}

/// Slurm stopped a victim, and a crash made it forget that.
pub fn forgotten(job: JobId) -> String {
    format!("job {job} was stopped when slurmctld ended, and taken for running still; it is requeued")
}

/// A request was taken back.
pub fn called_off(job: JobId) -> String {
    format!("job {job} need not make way any more")
}

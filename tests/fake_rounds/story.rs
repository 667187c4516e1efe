// SPDX-License-Identifier: GPL-2.0-or-later
//! One round from its first job to its last.

use crate::field::{Field, LIMIT};
use crate::job::{Job, State};
use crate::rounds::damage::{clock_environment, set_clock};
use crate::rounds::round::{Round, Shape, Step, VictimPlan};
use crate::rounds::sight::{QUIET_IN, is_over};
use crate::rounds::tally::Verdict;
use crate::strike::{heal, strike};
use crate::support::Outcome;
use std::thread;
use std::time::Duration;
use surgent::host::abi::*;

const BATCH: u32 = SURGENT_REQUEST_BATCH | SURGENT_REQUEST_REQUEUE_UNSET;

pub fn play(round: &Round) -> Verdict {
    if round.fault.wants_root() && !rustix::process::geteuid().is_root() {
        return Verdict::Skipped("not root: StateSaveLocation cannot be a file system of its own");
    }
    let mut field = match Field::new(round) {
        Ok(field) => field,
        Err(failure) => return Verdict::Violated(failure.to_string()),
    };
    if round.fault.steps_clock() {
        match clock_environment(field.path()) {
            Some(environment) => field.environment = environment,
            None => return Verdict::Skipped("libfaketime is not installed"),
        }
    }
    match play_on(&mut field) {
        Ok((Ok(()), remarks)) => Verdict::Well(remarks),
        Ok((Err(why), _)) => Verdict::Missed(why),
        Err(failure) => Verdict::Violated(format!("{failure}{}", field.tale())),
    }
}

fn play_on(field: &mut Field<'_>) -> Outcome<(Result<(), String>, Vec<String>)> {
    set_up(field)?;
    submit_urgent(field)?;
    field.tell(&format!("urgent job {:?} submitted", field.urgent));
    reach(field, field.round.step)?;
    field.tell(&format!("'{}' is reached", field.round.step.name()));
    let struck = strike(field)?;
    if let Err(why) = &struck {
        field.tell(&format!("it does not strike: {why}"));
    }
    field.tell("struck");
    // A slurmctld that was ended is started again also where there was nothing else to strike.
    thread::sleep(field.round.lasts);
    heal(field)?;
    field.tell("healed");
    field.wait(QUIET_IN, |field| field.sight().is_quiet())?;
    field.tell("quiet");
    let remarks = field.sight().check()?;
    let left = field.slurm().left_missing.clone();
    if !left.is_empty() {
        return Err(format!("Surgent had seen jobs {left:?} end, and left them standing as running").into());
    }
    let open = field.slurm().behind_gates();
    if !open.is_empty() {
        return Err(format!("a gate is still open, to these jobs and starts: {open:?}").into());
    }
    clear(field)?;
    Ok((struck, remarks))
}

fn set_up(field: &mut Field<'_>) -> Outcome {
    set_clock(field.path(), 0)?;
    field.slurm().start(&field.environment);
    for (plan, letter) in field.round.victims.iter().zip(["a", "b", "c", "d"]) {
        let victim = victim(&format!("r{}-{letter}", field.round.seed), plan);
        let id = field.slurm().submit(victim, BATCH)?;
        field.victims.push(id);
    }
    field.wait(LIMIT, |field| {
        let slurm = field.slurm();
        match slurm.jobs.values().all(Job::is_running) {
            true => Ok(()),
            false => Err("not all victims train".into()),
        }
    })?;
    // min_runtime_s
    thread::sleep(Duration::from_millis(1100));
    field.slurm().write();
    Ok(())
}

fn victim(name: &str, plan: &VictimPlan) -> Job {
    let signal = if plan.monitored { "URG@full" } else { "USR1@batch" };
    Job {
        comment: format!("signal={signal} save=step"),
        user: 1000,
        save: Some(Duration::from_secs_f64(plan.save_s)),
        signal,
        ..job(name, plan.nodes)
    }
}

fn job(name: &str, nodes: u32) -> Job {
    Job {
        name: name.to_owned(),
        user: 1001,
        want: nodes as usize,
        partition: "all".to_owned(),
        comment: "urgency=urgent".to_owned(),
        admin_comment: String::new(),
        state: State::Pending,
        nodes: Vec::new(),
        completing_until: None,
        submit: 0,
        begin: 0,
        start: 0,
        end: 0,
        restarts: 0,
        priority: 0,
        tested: false,
        array: None,
        het: None,
        save: None,
        signal: "",
    }
}

/// An array is one whose tasks Slurm has already set apart.
fn submit_urgent(field: &mut Field<'_>) -> Outcome {
    let name = format!("r{}-urgent", field.round.seed);
    let leader = field.victims.len() as u32 + 1;
    let parts = match field.round.shape {
        Shape::Plain(nodes) => vec![(job(&name, nodes), BATCH)],
        Shape::Array => [1, 2]
            .map(|task| {
                let array = Some((leader, task));
                (
                    Job {
                        array,
                        ..job(&name, 1)
                    },
                    BATCH,
                )
            })
            .into(),
        Shape::Het => [0, 1]
            .map(|offset| {
                let het = Some((leader, offset, 2));
                let first = if offset == 0 { SURGENT_REQUEST_HET_FIRST } else { 0 };
                let flags = BATCH | SURGENT_REQUEST_HET | first;
                (Job { het, ..job(&name, 1) }, flags)
            })
            .into(),
    };
    let mut slurm = field.slurm();
    let mut ids = Vec::new();
    for (job, flags) in parts {
        ids.push(slurm.submit(job, flags)?);
    }
    drop(slurm);
    field.urgent = ids;
    Ok(())
}

fn reach(field: &Field<'_>, step: Step) -> Outcome {
    field.wait(LIMIT, |field| {
        let is_reached = match step {
            Step::Submitted => true,
            Step::Running => {
                let slurm = field.slurm();
                let mut urgent = field.urgent.iter();
                urgent.any(|id| !slurm.programs.events(*id).is_empty())
            }
            _ => {
                let log = field.log();
                step.signs().iter().any(|sign| log.contains(sign))
            }
        };
        match is_reached {
            true => Ok(()),
            false => Err(format!("'{}' is not reached", step.name()).into()),
        }
    })
}

/// Ends all jobs, waits until nothing of the round is left, and ends slurmctld.
fn clear(field: &mut Field<'_>) -> Outcome {
    let over = |field: &Field<'_>| field.sight().jobs.iter().all(is_over);
    for id in field.victims.clone() {
        field.slurm().finish(id, "COMPLETED");
    }
    field.wait(LIMIT, |field| match over(field) {
        true => Ok(()),
        false => Err("not all jobs are over".into()),
    })?;
    field.wait(LIMIT, |field| match field.left() {
        left if left.is_empty() => Ok(()),
        left => Err(format!("left of the round: {}", left.join("; ")).into()),
    })?;
    let daemon = field.slurm().daemon.take().ok_or("slurmctld does not run")?;
    match daemon.end() {
        true => Ok(()),
        false => Err("slurmctld has not ended well".into()),
    }
}

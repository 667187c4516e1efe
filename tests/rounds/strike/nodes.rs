// SPDX-License-Identifier: GPL-2.0-or-later
//! Nodes and what runs on them.

use super::Struck;
use crate::field::Field;
use crate::support::leftovers::processes;
use crate::support::{JobId, LIMIT, Outcome};
use crate::victims::Victim;
use rustix::process::{Pid, Signal, kill_process};

const RESERVATION: &str = "maintenance";

pub fn kill_slurmd(field: &mut Field<'_>) -> Outcome<Struck> {
    let node = target_node(field)?.1;
    field.tell(format!("slurmd of {node} is killed"));
    field
        .cluster
        .signal_daemon(&format!("slurmd-{node}.pid"), Signal::KILL)?;
    field.lost_node = Some(node);
    Ok(Ok(()))
}

/// The slurmstepd, and what it had started: without it, nobody would end that.
pub fn kill_stepd(field: &mut Field<'_>) -> Outcome<Struck> {
    let (victim, node) = target_node(field)?;
    field.excused.insert(victim.id);
    let killed = kill_of_job(field, &victim, |_| true);
    field.tell(format!(
        "slurmstepd of job {} is killed, with {killed} processes",
        victim.id
    ));
    if killed == 0 {
        return Ok(Err("no process of the job runs".to_owned()));
    }
    // slurmctld hears of it when slurmd registers anew.
    field
        .cluster
        .signal_daemon(&format!("slurmd-{node}.pid"), Signal::KILL)?;
    field.lost_node = Some(node);
    Ok(Ok(()))
}

/// Slurm takes a job that is as young as these for running although its node says that it is not there. Its user ends it.
pub fn give_up_excused(field: &mut Field<'_>) -> Outcome {
    for job in &field.excused {
        field.cluster.ask("scancel", &[&job.to_string()])?;
    }
    Ok(())
}

/// The node is gone with all that runs there, and an administrator says so.
pub fn lose(field: &mut Field<'_>) -> Outcome<Struck> {
    let (victim, node) = target_node(field)?;
    field
        .cluster
        .signal_daemon(&format!("slurmd-{node}.pid"), Signal::KILL)?;
    let killed = kill_of_job(field, &victim, |_| true);
    field.tell(format!(
        "{node} is gone with {killed} processes of job {}",
        victim.id
    ));
    field.excused.insert(victim.id);
    excuse_all_on(field, &node)?;
    let name = format!("NodeName={node}");
    field
        .cluster
        .ask("scontrol", &["update", &name, "State=DOWN", "Reason=burnt"])?;
    field.lost_node = Some(node);
    Ok(Ok(()))
}

/// Whoever holds the node at this moment; that may be the urgent job.
fn excuse_all_on(field: &mut Field<'_>, node: &str) -> Outcome {
    let on_it = field.cluster.ask("squeue", &["-h", "-w", node, "-o", "%A"])?;
    let ids: Vec<JobId> = on_it
        .split_whitespace()
        .filter_map(|id| id.parse().ok().map(JobId))
        .collect();
    field.excused.extend(ids);
    Ok(())
}

pub fn bring_back(field: &mut Field<'_>) -> Outcome {
    let Some(node) = field.lost_node.clone() else {
        return Ok(());
    };
    field.cluster.start_slurmd(&node)?;
    field
        .cluster
        .wait_for(&format!("{node} to be back"), LIMIT, |cluster| {
            let name = format!("NodeName={node}");
            let state = cluster.ask("sinfo", &["-h", "-n", &node, "-p", "all", "-o", "%T"])?;
            if state.contains("down") {
                cluster.ask("scontrol", &["update", &name, "State=RESUME"])?;
            }
            Ok(!state.contains("down") && !state.contains('*'))
        })
}

pub fn drain(field: &mut Field<'_>) -> Outcome<Struck> {
    let node = target_node(field)?.1;
    let name = format!("NodeName={node}");
    field.tell(format!("{node} is drained"));
    field
        .cluster
        .ask("scontrol", &["update", &name, "State=DRAIN", "Reason=fan"])?;
    field.lost_node = Some(node);
    Ok(Ok(()))
}

pub fn resume(field: &mut Field<'_>) -> Outcome {
    let Some(node) = field.lost_node.clone() else {
        return Ok(());
    };
    let name = format!("NodeName={node}");
    field
        .cluster
        .ask("scontrol", &["update", &name, "State=RESUME"])
        .map(drop)
}

pub fn reserve(field: &mut Field<'_>) -> Outcome<Struck> {
    let node = target_node(field)?.1;
    field.tell(format!("a reservation of {node} begins"));
    let name = format!("ReservationName={RESERVATION}");
    let nodes = format!("Nodes={node}");
    let words = [
        "StartTime=now",
        "Duration=10",
        "Users=nobody",
        "Flags=IGNORE_JOBS",
    ];
    field
        .cluster
        .ask("scontrol", &[&["create", &name, &nodes][..], &words].concat())?;
    Ok(Ok(()))
}

pub fn end_reservation(field: &mut Field<'_>) -> Outcome {
    let name = format!("ReservationName={RESERVATION}");
    // In use by a job that runs there already it stays for a moment.
    field
        .cluster
        .wait_for("the reservation to end", LIMIT, |cluster| {
            cluster.ask("scontrol", &["delete", &name]).map(|_| true)
        })
}

/// `surgent run` alone; the program that it had started is left.
pub fn kill_monitor(field: &mut Field<'_>) -> Outcome<Struck> {
    let victim = field.target()?;
    let killed = kill_of_job(field, &victim, |command| command.contains("run\0--save-signal"));
    field.tell(format!("the monitor of job {} is killed", victim.id));
    field.excused.insert(victim.id);
    Ok(if killed == 0 {
        Err("no monitor runs".to_owned())
    } else {
        Ok(())
    })
}

fn target_node(field: &Field<'_>) -> Outcome<(Victim, String)> {
    let victim = field.target()?;
    let node = field.node_of(&victim)?;
    Ok((victim, node))
}

/// Kills the job's processes whose command line is `wanted`; how many.
fn kill_of_job(field: &Field<'_>, victim: &Victim, wanted: impl Fn(&str) -> bool) -> usize {
    let stepd = format!("slurmstepd: [{}.", victim.id);
    let of_job = processes(field.cluster.folder()).into_iter().filter(|process| {
        (process.job == Some(victim.id) || process.command.starts_with(&stepd)) && wanted(&process.command)
    });
    let killed = of_job.filter(|process| {
        let pid = Pid::from_raw(process.pid);
        pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    });
    killed.count()
}

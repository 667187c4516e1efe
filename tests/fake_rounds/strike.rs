// SPDX-License-Identifier: GPL-2.0-or-later
//! How each fault strikes, and how it is healed.

use crate::ends::Ends;
use crate::field::{Field, LIMIT};
use crate::rounds::damage;
use crate::rounds::fault::Fault;
use crate::rounds::round::Shape;
use crate::rounds::sight::was_preempted;
use crate::slurm::{NODES, Slurm};
use crate::support::{JobId, Outcome};
use crate::wire::Ask;
use surgent::host::abi::*;

/// Whether it could strike, or why it could not.
pub type Struck = Result<(), String>;

pub fn strike(field: &mut Field<'_>) -> Outcome<Struck> {
    let (fault, folder) = (field.round.fault, field.path().to_owned());
    if let Some(way) = fault.of_command() {
        return damage::spoil_command(&folder.join("bin"), way).map(Ok);
    }
    match fault {
        Fault::ControllerKilled => kill(field),
        Fault::ControllerKilledWhole => field.slurm().kill(),
        Fault::ControllerTerminated => terminate(field)?,
        Fault::StateTruncated | Fault::StateNewer | Fault::StateOfAnother => {
            terminate(field)?;
            return damage::damage_state(&folder, fault);
        }
        Fault::PluginsReloaded => {
            let answer = field.slurm().ask(&Ask::Reload);
            answer.ok_or("slurmctld has ended")?;
        }
        Fault::StateFull => damage::fill_state(&folder)?,
        Fault::StateReadOnly => remount(field, "ro")?,
        Fault::SettingsRubbish => damage::replace_settings(&folder)?,
        Fault::ClockForward => step_clock(field, 40)?,
        Fault::ClockBack => step_clock(field, -40)?,
        Fault::SnapshotNotReady => field.slurm().outcome = SURGENT_SNAPSHOT_NOT_READY,
        Fault::SnapshotNoMemory => field.slurm().outcome = SURGENT_SNAPSHOT_NO_MEMORY,
        Fault::SnapshotUnreadable => field.slurm().unreadable = true,
        Fault::NodeGone => lose_node(field),
        Fault::NodeDrained => take_node(field, SURGENT_NODE_DRAIN),
        Fault::ReservationBegins => take_node(field, SURGENT_NODE_RESERVED),
        Fault::CommentRewritten => {
            let victim = field.target();
            return Ok(update(field, victim, "Comment=third try, please let it run"));
        }
        Fault::RecordOverwritten => {
            let victim = field.target();
            return Ok(update(field, victim, "AdminComment=billed to project 17"));
        }
        Fault::UrgentCancelled => {
            for id in field.urgent.clone() {
                // What has ended meanwhile stays as it is.
                if !matches!(field.slurm().jobs[&id].shown().0, "COMPLETED") {
                    field.slurm().finish(id, "CANCELLED");
                }
            }
        }
        Fault::UrgentHeld => return Ok(update(field, field.urgent[0], "Priority=0")),
        Fault::UrgentMoved => return Ok(update(field, field.urgent[0], "Partition=other")),
        Fault::UrgentResized => return Ok(resize_urgent(field)),
        Fault::VictimFinishes => end_victim(field, |slurm, id| slurm.finish(id, "COMPLETED")),
        Fault::VictimFails => end_victim(field, |slurm, id| slurm.finish(id, "FAILED")),
        Fault::VictimCancelled => end_victim(field, |slurm, id| slurm.finish(id, "CANCELLED")),
        Fault::VictimRequeued => end_victim(field, Slurm::requeue),
        fault => return Err(format!("the fake host has no {:?}", fault.name()).into()),
    }
    Ok(Ok(()))
}

pub fn heal(field: &mut Field<'_>) -> Outcome {
    let (fault, folder) = (field.round.fault, field.path().to_owned());
    if let Some(way) = fault.of_command() {
        return damage::mend_command(&folder.join("bin"), way);
    }
    match fault {
        Fault::ControllerKilled
        | Fault::ControllerKilledWhole
        | Fault::ControllerTerminated
        | Fault::StateTruncated
        | Fault::StateNewer
        | Fault::StateOfAnother => field.slurm().start(&field.environment),
        Fault::StateFull => damage::empty_state(&folder)?,
        Fault::StateReadOnly => remount(field, "rw")?,
        Fault::SettingsRubbish => damage::restore_settings(&folder)?,
        Fault::ClockForward | Fault::ClockBack => step_clock(field, 0)?,
        Fault::SnapshotNotReady | Fault::SnapshotNoMemory | Fault::SnapshotUnreadable => {
            let mut slurm = field.slurm();
            (slurm.outcome, slurm.unreadable) = (SURGENT_SNAPSHOT_OK, false);
        }
        Fault::NodeGone | Fault::NodeDrained | Fault::ReservationBegins => {
            field.slurm().nodes = [0; NODES];
        }
        Fault::UrgentHeld => {
            // As Slurm's "release": what the plugin had said of it.
            let priority = surgent::policy::admission::urgent_priority(false);
            return update(field, field.urgent[0], &format!("Priority={priority}")).or(Ok(()));
        }
        _ => {}
    }
    Ok(())
}

fn terminate(field: &Field<'_>) -> Outcome {
    let daemon = field.slurm().daemon.take().ok_or("slurmctld does not run")?;
    match daemon.end() {
        true => Ok(()),
        false => Err("slurmctld has not ended well".into()),
    }
}

/// What Slurm had not written yet it forgets: of those whom it may have begun to requeue, that, and then takes for running, or
/// for failed, what it has stopped itself. They have to come back all the same.
fn kill(field: &mut Field<'_>) {
    let ends = match field.round.die % 3 {
        0 => Ends::Heard,
        1 => Ends::ShownByNodes,
        _ => Ends::Missed,
    };
    field.tell(&format!("what slurmctld has not written of ends is {ends:?}"));
    field.slurm().kill_and_forget(ends);
    let log = field.log();
    let by_command = log.contains("surgent: requeueing jobs");
    let is_requeued = |id: &&u32| {
        let asked = log.contains(&format!("asked job {id} to save"));
        asked && (by_command || was_preempted(&log, JobId(**id)))
    };
    let requeued: Vec<u32> = field.victims.iter().filter(is_requeued).copied().collect();
    field.interrupted.extend(requeued);
}

/// Not while anybody writes there.
fn remount(field: &Field<'_>, how: &str) -> Outcome {
    field.wait(LIMIT, |field| damage::remount_state(field.path(), how))
}

fn step_clock(field: &Field<'_>, by_s: i64) -> Outcome {
    let mut slurm = field.slurm();
    slurm.clock_by_s = by_s;
    damage::set_clock(field.path(), by_s)
}

fn take_node(field: &mut Field<'_>, flag: u32) {
    let node = field.node_of(field.target());
    field.tell(&format!("node n{node} gets the flag {flag}"));
    field.slurm().nodes[node] |= flag;
}

/// The node is gone with all that runs there, which Slurm requeues.
fn lose_node(field: &mut Field<'_>) {
    let node = field.node_of(field.target());
    field.tell(&format!("node n{node} is gone"));
    let lost: Vec<u32> = {
        let mut slurm = field.slurm();
        slurm.nodes[node] |= SURGENT_NODE_DOWN;
        let on_it = slurm.jobs.iter().filter(|(_, job)| job.nodes.contains(&node));
        let lost: Vec<u32> = on_it.map(|(id, _)| *id).collect();
        for id in &lost {
            if slurm.jobs[id].is_running() {
                slurm.requeue(*id);
            }
        }
        lost
    };
    field.excused.extend(lost);
}

fn update(field: &mut Field<'_>, job: u32, change: &str) -> Struck {
    field.tell(&format!("scontrol update JobId={job} {change}"));
    let words = ["scontrol", "update", &format!("JobId={job}"), change].map(str::to_owned);
    field.slurm().answer(&words).map(drop)
}

/// Another number of nodes than it had, more or fewer.
fn resize_urgent(field: &mut Field<'_>) -> Struck {
    let Shape::Plain(now) = field.round.shape else {
        return Err("it is not a plain job".to_owned());
    };
    let others: Vec<u32> = (1..=3).filter(|nodes| *nodes != now).collect();
    let nodes = others[field.round.die as usize % others.len()];
    update(field, field.urgent[0], &format!("NumNodes={nodes}"))
}

/// One that waits just now is let be.
fn end_victim(field: &mut Field<'_>, end: impl FnOnce(&mut Slurm, u32)) {
    let victim = field.target();
    field.tell(&format!("{} for job {victim}", field.round.fault.name()));
    field.excused.insert(victim);
    let mut slurm = field.slurm();
    if slurm.jobs[&victim].is_running() {
        end(&mut slurm, victim);
    }
}

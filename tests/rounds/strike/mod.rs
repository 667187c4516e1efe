// SPDX-License-Identifier: GPL-2.0-or-later
//! How each fault strikes, and how it is healed.

mod commands;
mod controller;
mod files;
mod jobs;
mod nodes;

use crate::field::Field;
use crate::rounds::damage;
use crate::rounds::fault::Fault;
use crate::support::Outcome;
use rustix::process::Signal;

/// Whether it could strike, or why it could not.
pub type Struck = Result<(), String>;

pub fn strike(field: &mut Field<'_>) -> Outcome<Struck> {
    let folder = field.cluster.folder().to_owned();
    if let Some(way) = field.round.fault.of_command() {
        return damage::spoil_command(field.commands, way).map(Ok);
    }
    match field.round.fault {
        Fault::ControllerKilled => controller::kill(field)?,
        Fault::ControllerTerminated => field.cluster.terminate_controller()?,
        Fault::StateTruncated | Fault::StateNewer | Fault::StateOfAnother => {
            field.cluster.terminate_controller()?;
            let struck = damage::damage_state(&folder, field.round.fault)?;
            if struck.is_err() {
                field.cluster.start_controller()?;
            }
            return Ok(struck);
        }
        Fault::Reconfigured => field.cluster.reconfigure()?,
        Fault::StateFull => damage::fill_state(&folder)?,
        Fault::StateReadOnly => files::remount_state(field, "ro")?,
        Fault::SettingsRubbish => files::replace_settings(field)?,
        Fault::ClockForward => damage::set_clock(&folder, 40)?,
        Fault::ClockBack => damage::set_clock(&folder, -40)?,
        Fault::MungeStopped => field.cluster.signal_daemon("munge.pid", Signal::STOP)?,
        Fault::MungeKilled => field.cluster.signal_daemon("munge.pid", Signal::KILL)?,
        Fault::SlurmdKilled => return nodes::kill_slurmd(field),
        Fault::StepdKilled => return nodes::kill_stepd(field),
        Fault::NodeGone => return nodes::lose(field),
        Fault::NodeDrained => return nodes::drain(field),
        Fault::ReservationBegins => return nodes::reserve(field),
        Fault::MonitorKilled => return nodes::kill_monitor(field),
        Fault::CommentRewritten => return jobs::rewrite_comment(field),
        Fault::RecordOverwritten => return jobs::overwrite_record(field),
        Fault::UrgentCancelled => jobs::cancel_urgent(field)?,
        Fault::UrgentHeld => return jobs::change_urgent(field, &["hold"]),
        Fault::UrgentResized => return jobs::resize_urgent(field),
        Fault::UrgentMoved => return jobs::update_urgent(field, "Partition=other"),
        Fault::VictimFinishes => jobs::end_victim(field, "end")?,
        Fault::VictimFails => jobs::end_victim(field, "fail")?,
        Fault::VictimCancelled => jobs::command_on_victim(field, "scancel", &[])?,
        Fault::VictimRequeued => jobs::command_on_victim(field, "scontrol", &["requeue"])?,
        // Not of a real Slurm's.
        _ => {}
    }
    Ok(Ok(()))
}

pub fn heal(field: &mut Field<'_>) -> Outcome {
    let folder = field.cluster.folder().to_owned();
    if let Some(way) = field.round.fault.of_command() {
        return damage::mend_command(field.commands, way);
    }
    match field.round.fault {
        Fault::ControllerKilled
        | Fault::ControllerTerminated
        | Fault::StateTruncated
        | Fault::StateNewer
        | Fault::StateOfAnother => field.cluster.start_controller(),
        Fault::StateFull => damage::empty_state(&folder),
        Fault::StateReadOnly => files::remount_state(field, "rw"),
        Fault::SettingsRubbish => damage::restore_settings(&folder),
        Fault::ClockForward | Fault::ClockBack => damage::set_clock(&folder, 0),
        Fault::MungeStopped => field.cluster.signal_daemon("munge.pid", Signal::CONT),
        Fault::MungeKilled => field.cluster.run_munge(),
        Fault::SlurmdKilled | Fault::NodeGone => nodes::bring_back(field),
        Fault::StepdKilled => {
            nodes::bring_back(field)?;
            nodes::give_up_excused(field)
        }
        Fault::NodeDrained => nodes::resume(field),
        Fault::ReservationBegins => nodes::end_reservation(field),
        Fault::UrgentHeld => jobs::change_urgent(field, &["release"]).map(drop),
        _ => Ok(()),
    }
}

pub use commands::write_wrappers;

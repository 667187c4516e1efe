// SPDX-License-Identifier: GPL-2.0-or-later
//! How each fault strikes, and how it is healed.

mod commands;
mod controller;
mod files;
mod jobs;
mod nodes;

use crate::fault::Fault;
use crate::field::Field;
use crate::support::Outcome;
use rustix::process::Signal;

/// Whether it could strike, or why it could not.
pub type Struck = Result<(), String>;

pub fn strike(field: &mut Field<'_>) -> Outcome<Struck> {
    match field.round.fault {
        Fault::ControllerKilled => controller::kill(field)?,
        Fault::ControllerTerminated => field.cluster.terminate_controller()?,
        Fault::StateTruncated | Fault::StateNewer | Fault::StateOfAnother => {
            field.cluster.terminate_controller()?;
            return files::damage_state(field);
        }
        Fault::Reconfigured => field.cluster.reconfigure()?,
        Fault::StateFull => files::fill_state(field)?,
        Fault::StateReadOnly => files::remount_state(field, "ro")?,
        Fault::SettingsRubbish => files::replace_settings(field)?,
        Fault::ClockForward => controller::set_clock(field.cluster, "+40")?,
        Fault::ClockBack => controller::set_clock(field.cluster, "-40")?,
        Fault::MungeStopped => field.cluster.signal_daemon("munge.pid", Signal::STOP)?,
        Fault::MungeKilled => field.cluster.signal_daemon("munge.pid", Signal::KILL)?,
        Fault::ScontrolMissing => commands::remove(field, "scontrol")?,
        Fault::ScontrolFails => commands::set(field, "scontrol", "fail")?,
        Fault::ScontrolHangs => commands::set(field, "scontrol", "hang")?,
        Fault::ScontrolSlow => commands::set(field, "scontrol", "slow")?,
        Fault::ScancelMissing => commands::remove(field, "scancel")?,
        Fault::ScancelFails => commands::set(field, "scancel", "fail")?,
        Fault::ScancelHangs => commands::set(field, "scancel", "hang")?,
        Fault::ScancelSlow => commands::set(field, "scancel", "slow")?,
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
    }
    Ok(Ok(()))
}

pub fn heal(field: &mut Field<'_>) -> Outcome {
    match field.round.fault {
        Fault::ControllerKilled
        | Fault::ControllerTerminated
        | Fault::StateTruncated
        | Fault::StateNewer
        | Fault::StateOfAnother => field.cluster.start_controller(),
        Fault::StateFull => files::empty_state(field),
        Fault::StateReadOnly => files::remount_state(field, "rw"),
        Fault::SettingsRubbish => files::restore_settings(field),
        Fault::ClockForward | Fault::ClockBack => controller::set_clock(field.cluster, "+0"),
        Fault::MungeStopped => field.cluster.signal_daemon("munge.pid", Signal::CONT),
        Fault::MungeKilled => field.cluster.run_munge(),
        Fault::ScontrolMissing | Fault::ScontrolFails | Fault::ScontrolHangs | Fault::ScontrolSlow => {
            commands::mend(field, "scontrol")
        }
        Fault::ScancelMissing | Fault::ScancelFails | Fault::ScancelHangs | Fault::ScancelSlow => {
            commands::mend(field, "scancel")
        }
        Fault::SlurmdKilled | Fault::StepdKilled | Fault::NodeGone => nodes::bring_back(field),
        Fault::NodeDrained => nodes::resume(field),
        Fault::ReservationBegins => nodes::end_reservation(field),
        Fault::UrgentHeld => jobs::change_urgent(field, &["release"]).map(drop),
        _ => Ok(()),
    }
}

pub use commands::write_wrappers;
pub use controller::{clock_environment, set_clock};

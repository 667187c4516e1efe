// SPDX-License-Identifier: GPL-2.0-or-later
//! slurmctld killed.

use crate::field::Field;
use crate::rounds::sight::was_preempted;
use crate::support::Outcome;

/// Slurm writes its jobs up to five seconds late. Of those whom it may have begun to requeue it can forget that, and then
/// takes for running, or for ended, what it has stopped itself. They have to come back all the same.
pub fn kill(field: &mut Field<'_>) -> Outcome {
    field.cluster.kill_controller()?;
    let log = field.log();
    let by_command = log.contains("surgent: requeueing jobs");
    let asked = field.asked().into_iter();
    let requeued = asked.filter(|victim| by_command || was_preempted(&log, victim.id));
    let requeued: Vec<_> = requeued.map(|victim| victim.id).collect();
    field.interrupted.extend(requeued);
    Ok(())
}

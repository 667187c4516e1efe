// SPDX-License-Identifier: GPL-2.0-or-later
//! One round from its first job to its last.

use crate::field::Field;
use crate::rounds::round::Step;
use crate::support::{LIMIT, Outcome};
use crate::victims::{Victim, submit_urgent, submit_victim, urgent_name};
use crate::{end, strike};
use std::thread;
use std::time::Duration;

/// Plays the round; whether the fault could strike, or why it could not.
pub fn play(field: &mut Field<'_>) -> Outcome<Result<(), String>> {
    set_up(field)?;
    field.urgent = submit_urgent(field.cluster, field.round)?;
    field.tell(format!("urgent job {:?} submitted", field.urgent));
    reach(field, field.round.step)?;
    field.tell(format!("'{}' is reached", field.round.step.name()));
    let struck = strike::strike(field)?;
    if struck.is_ok() {
        thread::sleep(field.round.lasts);
        strike::heal(field)?;
        field.tell("healed");
    }
    end::wait_until_quiet(field)?;
    field.tell("quiet");
    end::check(field)?;
    end::clear(field)?;
    Ok(struck)
}

fn set_up(field: &mut Field<'_>) -> Outcome {
    for (plan, letter) in field.round.victims.iter().zip(["a", "b", "c", "d"]) {
        let name = format!("r{}-{letter}", field.round.seed);
        let victim = submit_victim(field.cluster, &name, plan)?;
        field.victims.push(victim);
    }
    let ids: Vec<_> = field.victims.iter().map(|victim| victim.id.0).collect();
    field.tell(format!("victims {ids:?} submitted"));
    for at in 0..field.victims.len() {
        while let Some(lost) = lost_or_trains(field, &field.victims[at])? {
            let name = format!("{}-again", field.victims[at].name);
            field.remarks.push(lost);
            field.victims[at] = submit_victim(field.cluster, &name, &field.round.victims[at])?;
        }
    }
    // Slurm writes its jobs up to five seconds late: what it has not written, it forgets when it is killed.
    let known_ms = if field.round.fault.makes_slurm_forget() {
        6000
    } else {
        0
    };
    // min_runtime_s
    thread::sleep(Duration::from_millis(known_ms.max(1100)));
    Ok(())
}

/// Waits until it trains, or until it is known why it never will.
fn lost_or_trains(field: &Field<'_>, victim: &Victim) -> Outcome<Option<String>> {
    field
        .cluster
        .wait_until(&format!("{} to train", victim.name), LIMIT, |cluster| {
            if let Some(lost) = victim.lost_script(cluster) {
                return Ok(Some(Some(lost)));
            }
            let trains = victim.is_up(cluster, 0) && cluster.comment(victim.id)?.contains("signal=");
            Ok(trains.then_some(None))
        })
}

fn reach(field: &Field<'_>, step: Step) -> Outcome {
    match step {
        Step::Submitted => Ok(()),
        Step::Running => field.wait_quickly("the urgent job to run", |field| {
            field
                .cluster
                .output(&urgent_name(field.round))
                .contains("urgent runs")
        }),
        _ => field.wait_for_line(step.signs()),
    }
}

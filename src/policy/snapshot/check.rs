// SPDX-License-Identifier: GPL-2.0-or-later
//! Facts from a file may say what Slurm never would; a plan made from those would mean nothing.

use crate::policy::directives::{Directives, EPOCHS_MAX, SECONDS_MAX, TIME_MAX};
use crate::policy::facts::{Facts, RunningJob};
use crate::policy::resources::Amounts;
use crate::policy::units::UnixTime;
use std::collections::BTreeSet;

/// No node has more of anything, in its own unit.
const AMOUNT_MAX: u64 = 1 << 48;

/// What cannot be in `facts`, whose nodes and jobs are in order.
///
/// # Errors
/// A part of a sentence that says where and what.
pub fn check(facts: &Facts) -> Result<(), String> {
    if !is_time(facts.now) {
        return Err(format!("now: {} is no time in Unix seconds", facts.now));
    }
    if let Some(pair) = facts.nodes.windows(2).find(|pair| pair[0].index == pair[1].index) {
        return Err(format!("two nodes have the index {}", pair[0].index.0));
    }
    if let Some(pair) = facts.running.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(format!("two running jobs have the id {}", pair[0].id));
    }
    for node in &facts.nodes {
        amounts(&node.total, facts).map_err(|wrong| format!("node {}: {wrong}", node.name))?;
    }
    for job in &facts.running {
        running(job, facts).map_err(|wrong| format!("job {}: {wrong}", job.id))?;
    }
    Ok(())
}

fn running(job: &RunningJob, facts: &Facts) -> Result<(), String> {
    let mut nodes = BTreeSet::new();
    for holding in &job.holdings {
        if facts.node(holding.node).is_none() {
            return Err(format!("it holds node {}, which is not there", holding.node.0));
        }
        if !nodes.insert(holding.node) {
            return Err(format!("it holds node {} twice", holding.node.0));
        }
        amounts(&holding.amounts, facts)?;
    }
    let times = [Some(job.start), job.end, job.preempt_time];
    if let Some(time) = times.into_iter().flatten().find(|time| !is_time(*time)) {
        return Err(format!("{time} is no time in Unix seconds"));
    }
    job.directives.as_ref().map_or(Ok(()), directives)
}

/// The same limits as in a comment.
fn directives(directives: &Directives) -> Result<(), String> {
    let seconds = 0.0..=SECONDS_MAX;
    let numbers = [
        ("epoch", directives.epoch, 0.0..=f64::from(EPOCHS_MAX)),
        (
            "epoch_s",
            directives.epoch_s.map(|time| time.0),
            f64::MIN_POSITIVE..=SECONDS_MAX,
        ),
        ("save_s", directives.save_s.map(|time| time.0), seconds),
    ];
    for (name, value, may_be) in numbers {
        if let Some(value) = value.filter(|value| !may_be.contains(value)) {
            return Err(format!("{name} = {value:e} cannot be"));
        }
    }
    if let Some(epochs) = directives
        .epochs
        .filter(|epochs| !(1..=EPOCHS_MAX).contains(epochs))
    {
        return Err(format!("epochs = {epochs} cannot be"));
    }
    if let Some(priority) = directives.priority.filter(|priority| *priority > 100) {
        return Err(format!("priority = {priority} is not from 0 to 100"));
    }
    let times = [directives.at, directives.saved].into_iter().flatten();
    match times.into_iter().find(|time| !is_time(*time)) {
        Some(time) => Err(format!("{time} is no time in Unix seconds")),
        None => Ok(()),
    }
}

fn amounts(amounts: &Amounts, facts: &Facts) -> Result<(), String> {
    let gres = amounts.gres_counts();
    if gres.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        return Err("generic resources are not in the order of their kinds".to_owned());
    }
    if let Some((kind, _)) = gres.iter().find(|(kind, _)| !facts.gres.has(*kind)) {
        return Err(format!("there is no generic resource number {}", kind.0));
    }
    let counts = gres.iter().map(|(_, count)| *count);
    match counts
        .chain([amounts.memory_mib])
        .find(|count| *count > AMOUNT_MAX)
    {
        Some(count) => Err(format!("{count} of a resource cannot be")),
        None => Ok(()),
    }
}

fn is_time(time: UnixTime) -> bool {
    (UnixTime(0)..=TIME_MAX).contains(&time)
}

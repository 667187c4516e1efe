// SPDX-License-Identifier: GPL-2.0-or-later
//! What users, and other tools, do to jobs in the middle of it all.

use super::Struck;
use crate::field::Field;
use crate::rounds::round::Shape;
use crate::support::Outcome;

/// The user of a victim writes something else over its comment, by which it had told how it is asked, and that it has saved.
pub fn rewrite_comment(field: &mut Field<'_>) -> Outcome<Struck> {
    update_victim(field, "Comment=third try, please let it run")
}

/// Another tool writes its own text over Surgent's record.
pub fn overwrite_record(field: &mut Field<'_>) -> Outcome<Struck> {
    update_victim(field, "AdminComment=billed to project 17")
}

fn update_victim(field: &mut Field<'_>, change: &str) -> Outcome<Struck> {
    let victim = field.target()?;
    field.tell(format!("scontrol update JobId={} {change}", victim.id));
    let id = format!("JobId={}", victim.id);
    Ok(refused(field.cluster.ask("scontrol", &["update", &id, change])))
}

fn refused(answer: Outcome<String>) -> Struck {
    answer.map(drop).map_err(|failure| failure.to_string())
}

pub fn end_victim(field: &mut Field<'_>, how: &str) -> Outcome {
    let victim = field.target()?;
    field.tell(format!("job {} ends by itself ({how})", victim.id));
    field.excused.insert(victim.id);
    victim.end(field.cluster, how)
}

pub fn command_on_victim(field: &mut Field<'_>, command: &str, words: &[&str]) -> Outcome {
    let victim = field.target()?;
    field.tell(format!("{command} {} {}", words.join(" "), victim.id));
    field.excused.insert(victim.id);
    let id = victim.id.to_string();
    // Refused where Slurm is just requeueing it.
    let answer = field.cluster.ask(command, &[words, &[&id]].concat());
    if let Err(failure) = answer {
        field.tell(failure.to_string());
    }
    Ok(())
}

pub fn cancel_urgent(field: &mut Field<'_>) -> Outcome {
    let ids: Vec<String> = field.urgent.iter().map(ToString::to_string).collect();
    field.cluster.ask("scancel", &[&ids[0]]).map(drop)
}

pub fn change_urgent(field: &mut Field<'_>, words: &[&str]) -> Outcome<Struck> {
    let id = field.urgent[0].to_string();
    field.tell(format!("scontrol {} {id}", words.join(" ")));
    Ok(refused(field.cluster.ask("scontrol", &[words, &[&id]].concat())))
}

pub fn update_urgent(field: &mut Field<'_>, change: &str) -> Outcome<Struck> {
    let id = format!("JobId={}", field.urgent[0]);
    change_urgent_by(field, &id, change)
}

fn change_urgent_by(field: &mut Field<'_>, id: &str, change: &str) -> Outcome<Struck> {
    field.tell(format!("scontrol update {id} {change}"));
    Ok(refused(field.cluster.ask("scontrol", &["update", id, change])))
}

/// Another number of nodes than it had, more or fewer.
pub fn resize_urgent(field: &mut Field<'_>) -> Outcome<Struck> {
    let Shape::Plain(now) = field.round.shape else {
        return Ok(Err("it is not a plain job".to_owned()));
    };
    let others: Vec<u32> = (1..=3).filter(|nodes| *nodes != now).collect();
    let nodes = others[field.round.die as usize % others.len()];
    update_urgent(field, &format!("NumNodes={nodes}"))
}

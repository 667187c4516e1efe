// SPDX-License-Identifier: GPL-2.0-or-later
//! An outcome for people, in lines of at most 100 columns.

use super::verdict::{PhaseName, Prospect, Standing, Verdict};
use super::{lift, name};
use crate::policy::belief::SaveRule;
use crate::policy::eligibility::Refusal;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::notes;
use crate::policy::plan::{Outcome, Plan, Victim};
use std::collections::BTreeMap;

const COLUMNS: usize = 100;

/// What is to be said of `urgent`.
pub(in crate::cli) fn describe(urgent: JobId, prospect: &Prospect, facts: &Facts) -> String {
    let verdict = &prospect.verdict;
    let mut text = match verdict {
        Verdict::Decided(Outcome::NoSet { .. }) if prospect.never_fits => fill(&format!(
            "Job {urgent} waits: it would not fit if no job ran either. No nodes that are up and that it may use have what it \
             asks for."
        )),
        Verdict::Decided(outcome) => describe_outcome(urgent, outcome),
        Verdict::Standing(Standing::Hindered { hindrance, .. }) => fill(&notes::blocked(urgent, *hindrance)),
        Verdict::Standing(Standing::InProgress { phase, victims, .. }) => {
            fill(&describe_progress(urgent, *phase, victims))
        }
    };
    for help in &prospect.would_help {
        text += &fill(&lift::sentence(help));
    }
    let names: Vec<String> = verdict.nodes().iter().map(|node| name(facts, *node)).collect();
    if !names.is_empty() {
        text += &fill(&format!("Nodes: {}", names.join(", ")));
    }
    text
}

fn describe_progress(urgent: JobId, phase: PhaseName, victims: &[JobId]) -> String {
    let how_far = match phase {
        PhaseName::Saving => "its victims are asked to save",
        PhaseName::Open => "its victims have saved, and Slurm may stop them",
        PhaseName::Releasing => "it is being wound up",
        PhaseName::Requeued => "all have saved and are put back into the queue at once",
        PhaseName::GivenUp => "Slurm did not start the job, and it is given up for now",
    };
    let jobs: Vec<String> = victims.iter().map(JobId::to_string).collect();
    let who = match jobs.is_empty() {
        true => "nobody".to_owned(),
        false => format!("jobs {}", jobs.join(", ")),
    };
    format!("There is a plan for job {urgent} already: {how_far}. To make way: {who}.")
}

fn describe_outcome(urgent: JobId, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Fits { .. } => fill(&format!(
            "Job {urgent} fits on what is free; nobody has to make way for it."
        )),
        Outcome::Wait(wait) => fill(&notes::wait(wait)),
        Outcome::NoSet { refused } => fill(&notes::no_set(urgent, refused)) + &protected(refused),
        Outcome::Stop(plan) => describe_plan(plan),
    }
}

fn describe_plan(plan: &Plan) -> String {
    let jobs = match plan.victims.len() {
        1 => "1 job makes way".to_owned(),
        many => format!("{many} jobs make way"),
    };
    let mut text = fill(&format!(
        "For job {}: {jobs}, ready in {:.0} s. Cost {:.1} GPU-s, with the weighted waiting {:.1} GPU-s; no set has less than {:.1} GPU-s.",
        plan.urgent, plan.ready_s.0, plan.cost_gpu_s, plan.total_gpu_s, plan.at_least_gpu_s
    ));
    text += "\n       job    GPUs   lost s  save s restart s  weight repeat    = GPU-s ready s  how\n";
    for victim in &plan.victims {
        text += &row(victim);
    }
    text += "\n";
    text += &not_told(plan);
    text += &protected(&plan.refused);
    for (job, why) in &plan.disbelieved {
        let why: Vec<String> = why.iter().map(ToString::to_string).collect();
        text += &fill(&format!("Not believed of job {job}: {}", why.join(", ")));
    }
    text
}

fn row(victim: &Victim) -> String {
    let cost = &victim.cost;
    let how = match &victim.signal {
        Some(signal) => signal.to_string(),
        None => "unsaved".to_owned(),
    };
    format!(
        "{:>10} {:7.2} {:8.1} {:7.1} {:9.1} {:7.2} {:6.0} {:10.1} {:7.1}  {how}\n",
        victim.job.0,
        cost.resources,
        cost.lost_s.0,
        cost.save_s.0,
        cost.restart_s.0,
        cost.priority_weight,
        cost.repeat_factor,
        cost.total_gpu_s(),
        cost.ready_s.0,
    )
}

/// Victims that do not say how long their save takes, by how that was found.
fn not_told(plan: &Plan) -> String {
    let mut by_rule: BTreeMap<SaveRule, Vec<String>> = BTreeMap::new();
    for victim in &plan.victims {
        if let Some(rule) = victim.cost.save_by.filter(|rule| *rule != SaveRule::Told) {
            by_rule.entry(rule).or_default().push(victim.job.to_string());
        }
    }
    by_rule
        .iter()
        .map(|(rule, jobs)| fill(&format!("Save time ({rule}): {}", jobs.join(", "))))
        .collect()
}

/// Who does not come into question, by rule.
fn protected(refused: &BTreeMap<JobId, Refusal>) -> String {
    let mut by_rule: BTreeMap<Refusal, Vec<String>> = BTreeMap::new();
    for (job, rule) in refused {
        by_rule.entry(*rule).or_default().push(job.to_string());
    }
    by_rule
        .iter()
        .map(|(rule, jobs)| fill(&format!("Protected ({rule}): {}", jobs.join(", "))))
        .collect()
}

/// The text in lines; those after the first are indented.
pub(in crate::cli) fn fill(text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > COLUMNS {
            lines += "\n  ";
            column = 2;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += width;
    }
    lines.push('\n');
    lines
}

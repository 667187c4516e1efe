// SPDX-License-Identifier: GPL-2.0-or-later
//! The screen of `--shadow`.

use super::Report;
use super::story::{End, Outcome, Story};
use crate::cli::status::screen::{Screen, local};
use crate::cli::status::table::{Kind, Table};
use crate::cli::status::words::{gpu_time, names, span};
use crate::policy::units::Seconds;
use console::Style;

/// All of it.
pub(super) fn describe(report: &Report, screen: &Screen) -> String {
    let (from, until) = (local(report.from), local(report.until));
    let file = report.file.display();
    let mut text = screen.fill(&format!("Shadow mode, {from} to {until}, from {file}"), "");
    for note in &report.notes {
        text += &screen.fill(&format!("Note: {note}"), "");
    }
    text += "\n";
    if report.urgent.is_empty() {
        return text + "Urgent jobs: none\n";
    }
    text += &screen.fill(&totals(report), "");
    text += "\n";
    text + &screen.table(&table(&report.urgent))
}

fn totals(report: &Report) -> String {
    let totals = &report.totals;
    let mut text = format!(
        "Urgent jobs: {}. Others would have made way for {} of them: {} jobs, at {}. No set of jobs would have helped {}.",
        totals.urgent,
        totals.with_plan,
        totals.victims,
        gpu_time(totals.cost_gpu_s),
        totals.without_set,
    );
    if let (Some(waited_s), Some(would_s)) = (totals.waited_s, totals.would_have_waited_s) {
        text += &format!(
            " Those with a plan that have started waited {} at the median, and would have waited {}.",
            span(waited_s),
            span(would_s)
        );
    }
    text
}

fn table(stories: &[Story]) -> Table {
    let mut table = Table::new(&[
        ("job", Kind::Number),
        ("user", Kind::Name),
        ("waited", Kind::Number),
        ("would have", Kind::Number),
        ("cost", Kind::Number),
        ("who would have made way", Kind::Name),
    ]);
    for story in stories {
        let plan = story.plan.as_ref();
        let dash = || "-".to_owned();
        table.push(
            &[
                &story.job.to_string(),
                &story.user.map_or_else(dash, |user| user_name(user.0)),
                &waited(story),
                &plan.and_then(|plan| plan.waited_s).map_or_else(dash, span),
                &plan.map_or_else(dash, |plan| gpu_time(plan.cost_gpu_s)),
                &outcome(story),
            ],
            Style::new(),
        );
    }
    table
}

fn waited(story: &Story) -> String {
    let time = story
        .waited_s
        .map_or_else(|| "?".to_owned(), |time_s: Seconds| span(time_s));
    match story.end {
        End::Started => time,
        End::Withdrawn => format!("{time}, gone"),
        End::Waits => format!("{time} so far"),
    }
}

fn outcome(story: &Story) -> String {
    match (&story.plan, story.outcome) {
        (Some(plan), _) => {
            let victims: Vec<String> = plan.victims.iter().map(|victim| victim.job.to_string()).collect();
            names(&victims)
        }
        (None, Outcome::NoSet) => {
            let rules = story
                .protected
                .iter()
                .map(|(rule, count)| format!("{count} {rule}"));
            let rules: Vec<String> = rules.collect();
            match rules.is_empty() {
                true => "no set helps".to_owned(),
                false => format!("no set helps ({})", rules.join(", ")),
            }
        }
        (None, Outcome::OthersEnd) => "nobody: others ended soon".to_owned(),
        (None, Outcome::Plan | Outcome::NotNeeded) => "nobody had to".to_owned(),
    }
}

/// Login name, where this machine knows one.
fn user_name(user: u32) -> String {
    let found = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(user));
    found
        .ok()
        .flatten()
        .map_or_else(|| user.to_string(), |found| found.name)
}

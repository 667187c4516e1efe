// SPDX-License-Identifier: GPL-2.0-or-later
//! An explanation for people, in lines of at most 100 columns.

use super::exposure::{BeliefRow, Exposure, MeasureRow, RuleRow};
use super::report::{Awaited, Displaced, Explanation, Preempted};
use crate::cli::cluster::{Cluster, SettingsFrom};
use crate::cli::plan::text as plan;
use crate::cli::screen::{Screen, local};
use crate::cli::table::{Kind, Table};
use crate::cli::words::{gpu_time, span, visible};
use crate::policy::cost::Cost;
use crate::policy::directives::Urgency;
use crate::policy::ids::JobId;
use crate::policy::party::Party;
use crate::policy::units::{Seconds, UnixTime};
use console::Style;

/// So many jobs are named one by one.
const NAMED_MAX: usize = 20;

/// All of it.
pub(super) fn describe(told: &Explanation, cluster: &Cluster, screen: &Screen) -> String {
    let mut text = screen.fill(&head(told), "");
    for note in &told.notes {
        text += &screen.fill(&format!("Note: {note}"), "");
    }
    if !told.outlook.is_empty() {
        text += "\n";
        text += &waiting(told, cluster, screen);
    }
    let runs_urgently = told.class == Urgency::Urgent && told.outlook.is_empty();
    if runs_urgently {
        text += "\n";
        text += &screen.fill(&displaced(&told.displaced, told.at), "");
    }
    if let Some(asked) = &told.asked {
        text += &screen.fill(&request(asked, told.at), "");
    }
    if let Some(preempted) = &told.preempted {
        text += "\n";
        text += &stop(preempted, told, screen);
    }
    if let Some(exposure) = &told.exposure {
        if cluster.settings_from == SettingsFrom::Defaults {
            text += &screen.fill("The default settings are assumed.", "");
        }
        text += &exposed(exposure, told.at, screen);
    }
    text
}

fn head(told: &Explanation) -> String {
    let mut words = vec![format!("Job {}", told.who.address())];
    if told.who.user.is_some() || told.who.user_id.is_some() {
        words.push(format!("of {}", told.who.user()));
    }
    if let Some(partition) = &told.who.partition {
        words.push(format!("in {partition}"));
    }
    let class = match told.class {
        Urgency::Urgent => "urgent",
        Urgency::Normal => "normal",
    };
    let nodes = told
        .nodes
        .as_ref()
        .map_or_else(String::new, |nodes| format!(" on {nodes}"));
    let what = match (told.state.as_str(), told.start) {
        ("FORGOTTEN", _) => "Slurm does not know it any more".to_owned(),
        (state, Some(start)) => {
            let ran = span(told.at - start);
            format!("{class}, {state}{nodes} for {ran}, since {}", local(start))
        }
        (state, None) => {
            let reason = told.reason.as_ref();
            let reason = reason.map_or_else(String::new, |reason| format!(" (Slurm's reason: {reason})"));
            format!("{class}, {state}{reason}")
        }
    };
    let quiet = told.outlook.is_empty()
        && told.preempted.is_none()
        && told.asked.is_none()
        && told.exposure.is_none()
        && told.class == Urgency::Normal;
    let more = if quiet {
        " Surgent has nothing to do with it: it was never asked to make way, and only jobs that run can be."
    } else {
        ""
    };
    format!("{}: {what}.{more}", words.join(" "))
}

fn waiting(told: &Explanation, cluster: &Cluster, screen: &Screen) -> String {
    let facts = &cluster.seen.facts;
    let id = Party::of(facts, told.who.job).map_or(told.who.job, |party| party.id());
    let texts: Vec<String> = told
        .outlook
        .iter()
        .map(|outcome| plan::describe(id, &outcome.prospect, facts))
        .collect();
    let mut text = texts.join("\n");
    for asked in &told.awaited {
        text += &screen.fill(&request(asked, told.at), "");
    }
    if let Some(said) = cluster.book.said.get(&id) {
        text += &screen.fill(&format!("The log says: {said}"), "");
    }
    text
}

/// How far a job is that is asked to make way.
fn request(asked: &Awaited, at: UnixTime) -> String {
    let since = span(at - asked.asked);
    let left_s = asked.deadline - at;
    let how_far = match (asked.saved, asked.saves) {
        (Some(saved), _) => format!(
            "saved {} after that, and may be stopped",
            span(saved - asked.asked)
        ),
        (None, false) => "is to be stopped without a save".to_owned(),
        (None, true) if left_s.0 < 0.0 => format!("has missed its deadline by {}", span(Seconds(-left_s.0))),
        (None, true) => format!(
            "has {} left to save, until {}",
            span(left_s),
            local(asked.deadline)
        ),
    };
    format!(
        "Job {} was asked to make way for job {} {since} ago; it {how_far}.",
        asked.job, asked.urgent
    )
}

fn displaced(displaced: &[Displaced], at: UnixTime) -> String {
    if displaced.is_empty() {
        return "As far as is known here, nobody was stopped for it.".to_owned();
    }
    let one = |one: &Displaced| {
        let saved = match one.had_saved {
            Some(true) => ", after it had saved",
            Some(false) => ", unsaved",
            None => "",
        };
        format!("job {} ({} ago{saved})", one.job, span(at - one.stopped))
    };
    let named: Vec<String> = displaced.iter().take(NAMED_MAX).map(one).collect();
    let more = match displaced.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("Stopped for it: {}{more}.", named.join(", "))
}

fn stop(preempted: &Preempted, told: &Explanation, screen: &Screen) -> String {
    let whose = preempted
        .by_user
        .map_or_else(String::new, |user| format!(" of user {}", user.0));
    let by = preempted.by.map_or_else(
        || "an urgent job".to_owned(),
        |by: JobId| format!("job {by}{whose}"),
    );
    let when = preempted.stopped.map_or_else(String::new, |stopped| {
        format!(" {} ago, at {}", span(told.at - stopped), local(stopped))
    });
    let saved = match preempted.had_saved {
        Some(true) => "It had saved.",
        Some(false) => "It had not saved.",
        None => "Whether it had saved is not known any more.",
    };
    let times = match preempted.times {
        1 => "and never before".to_owned(),
        times => format!("{times} times in all by now"),
    };
    let mut text = screen.fill(&format!("It was stopped for {by}{when}, {times}. {saved}"), "");
    text += &match (&preempted.cost, preempted.cost_gpu_s) {
        (Some(cost), Some(cost_gpu_s)) => screen.fill(
            &format!(
                "By the plan that chose it, that cost {}: {}.",
                gpu_time(cost_gpu_s),
                terms(cost)
            ),
            "",
        ),
        _ => screen.fill("What that cost stands in the audit file alone, if at all.", ""),
    };
    let alone = span(preempted.left_alone_s);
    text += &screen.fill(
        &match preempted.still_left_alone_s {
            None if told.state == "PENDING" || told.state.starts_with("REQUEUE") => {
                format!("Once it runs again it is left alone for {alone}.")
            }
            None => String::from("It does not run any more."),
            Some(left_s) if left_s.0 > 0.0 => {
                format!(
                    "It runs again, and is left alone for another {}, {alone} in all.",
                    span(left_s)
                )
            }
            Some(_) => format!("It runs again, and the {alone} for which it was left alone are over."),
        },
        "",
    );
    text
}

/// A cost as it is worked out.
fn terms(cost: &Cost) -> String {
    format!(
        "{:.2} GPUs × (lost {:.1} s + save {:.1} s + restart {:.1} s) × priority weight {:.2} × repeat factor {:.0}",
        cost.resources,
        cost.lost_s.0,
        cost.save_s.0,
        cost.restart_s.0,
        cost.priority_weight,
        cost.repeat_factor
    )
}

fn exposed(exposure: &Exposure, at: UnixTime, screen: &Screen) -> String {
    let names: Vec<String> = exposure.protected_by.iter().map(ToString::to_string).collect();
    let mut text = "\n".to_owned();
    text += &screen.fill(
        &match (names.is_empty(), exposure.rank) {
            (false, _) => format!(
                "No further urgent job can stop it now, by the rule {}.",
                names.join(", ")
            ),
            (true, Some(rank)) => format!(
                "It may be stopped: among {} such jobs it is number {rank}, the cheapest first.",
                exposure.of
            ),
            (true, None) => "It may be stopped.".to_owned(),
        },
        "",
    );
    text += &screen.fill(&belief(&exposure.belief, at), "");
    for way in &exposure.ways {
        let ready = span(way.cost.ready_s);
        text += &screen.fill(
            &format!(
                "To stop it now ({}, ready in {ready}) costs {}: {}.",
                way.way.words(),
                gpu_time(way.cost_gpu_s),
                terms(&way.cost)
            ),
            "",
        );
    }
    if exposure.ways.is_empty() {
        text += "There is no way of stopping it, so it has no cost.\n";
    }
    text += "\n";
    text += &screen.table(&table(&exposure.rules));
    text
}

fn belief(belief: &BeliefRow, at: UnixTime) -> String {
    let mut words = Vec::new();
    match (belief.epoch, belief.epoch_s, belief.confidence) {
        (Some(epoch), Some(epoch_s), Some(confidence)) => {
            let of = belief
                .epochs
                .map_or_else(String::new, |epochs| format!(" of {epochs}"));
            words.push(format!(
                "epoch {epoch:.2}{of}, {:.1} s per epoch, confidence {confidence:.2}",
                epoch_s.0
            ));
        }
        _ => words.push("nothing of its progress".to_owned()),
    }
    if let Some(age_s) = belief.report_age_s {
        words.push(format!("report {} old", span(age_s)));
    }
    words.push(match belief.saved {
        Some(saved) => format!("last saved {} ago", span(at - saved)),
        None => "no save known".to_owned(),
    });
    words.push(format!(
        "a save takes {:.1} s ({})",
        belief.save_s.0, belief.save_by
    ));
    if !belief.disbelieved.is_empty() {
        let why: Vec<String> = belief.disbelieved.iter().map(ToString::to_string).collect();
        words.push(format!("not believed: {}", why.join(", ")));
    }
    format!("Believed of it: {}.", words.join("; "))
}

fn table(rules: &[RuleRow]) -> Table {
    let mut table = Table::new(&[("rule", Kind::Word), ("value", Kind::Name), ("", Kind::Word)]);
    for row in rules {
        let value = match &row.measure {
            MeasureRow::Is => if row.protects { "yes" } else { "no" }.to_owned(),
            MeasureRow::Named { value } => value.as_deref().map_or_else(|| "-".to_owned(), visible),
            MeasureRow::AtLeast {
                value_s: Some(value_s),
                limit_s,
            } => format!("{} of at least {}", span(*value_s), span(*limit_s)),
            MeasureRow::AtLeast {
                value_s: None,
                limit_s,
            } => format!("no end, of at least {}", span(*limit_s)),
            MeasureRow::AtMost { value_s, limit_s } => {
                format!("{} of at most {}", span(*value_s), span(*limit_s))
            }
            MeasureRow::Below { value, limit } => format!("{value} of {limit}"),
            MeasureRow::For { urgent: Some(urgent) } => format!("by job {urgent}"),
            MeasureRow::For { urgent: None } => "no".to_owned(),
        };
        let (says, style) = match row.protects {
            true => ("protects", Style::new().bold()),
            false => ("does not protect", Style::new()),
        };
        table.push(&[&row.rule.to_string(), &value, says], style);
    }
    table
}

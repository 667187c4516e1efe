// SPDX-License-Identifier: GPL-2.0-or-later
//! The screen.

use super::report::{Plan, Report, Stage, State, Training, Urgent, Victim, VictimState};
use super::screen::{Screen, local};
use super::table::{Kind, Table};
use super::words::{gpu_time, names, span};
use crate::cli::cluster::{SettingsFrom, Source};
use crate::policy::notes;
use crate::policy::settings::Mode;
use crate::policy::units::{Seconds, UnixTime};
use console::Style;

/// Before what is said of one row.
const DETAIL: &str = "      ";

/// Which sections are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sections {
    pub urgent: bool,
    pub training: bool,
}

/// All of it.
pub(super) fn describe(report: &Report, sections: Sections, screen: &Screen) -> String {
    let mut text = head(report, screen);
    if sections.urgent {
        text += "\n";
        text += &urgent(report, screen);
        text += "\n";
        text += &plans(report, screen);
    }
    if sections.training {
        text += "\n";
        text += &trainings(report, screen);
    }
    text
}

fn head(report: &Report, screen: &Screen) -> String {
    let cluster = match &report.cluster {
        Some(name) => format!("Cluster {name}"),
        None => "A cluster".to_owned(),
    };
    let mode = match report.mode {
        Mode::On => "mode on",
        Mode::Shadow => "mode shadow: nobody is touched",
        Mode::Off => "mode off: Surgent does nothing",
    };
    let source = match report.source {
        Source::Planner => "from the planner's state and Slurm's commands",
        Source::Slurm => "from Slurm's commands",
        Source::Snapshot => "from a snapshot",
    };
    let settings = match report.settings {
        SettingsFrom::File | SettingsFrom::Snapshot => String::new(),
        SettingsFrom::Defaults => "; the default settings are assumed".to_owned(),
    };
    let at = local(report.at);
    let mut text = screen.fill(&format!("{cluster}, {mode}, {at}, {source}{settings}"), "");
    for note in &report.notes {
        text += &screen.fill(&format!("Note: {note}"), "");
    }
    text
}

fn urgent(report: &Report, screen: &Screen) -> String {
    if report.urgent.is_empty() {
        return "Urgent jobs: none\n".to_owned();
    }
    let waiting = report
        .urgent
        .iter()
        .filter(|row| row.state == State::Waiting)
        .count();
    let running = report.urgent.len() - waiting;
    let mut text = screen.title(&format!("Urgent jobs: {waiting} waiting, {running} running"));
    let mut table = Table::new(&[
        ("job", Kind::Number),
        ("user", Kind::Name),
        ("name", Kind::Name),
        ("state", Kind::Word),
        ("for", Kind::Number),
        ("nodes", Kind::Number),
        ("GPUs", Kind::Number),
        ("where, or why not", Kind::Name),
    ]);
    for row in &report.urgent {
        let since = row.start.unwrap_or(row.submitted);
        let job = match row.tasks {
            0 | 1 => row.who.address(),
            tasks => format!("{} ({tasks} tasks)", row.who.address()),
        };
        let style = match row.state {
            State::Waiting => Style::new().yellow(),
            _ => Style::new(),
        };
        table.push(
            &[
                &job,
                &row.who.user(),
                row.who.name(),
                row.state.name(),
                &span(report.at - since),
                &row.node_count.to_string(),
                &gpus(row.gpus),
                &place(row),
            ],
            style,
        );
    }
    text += &screen.table(&table);
    for row in &report.urgent {
        if let Some(why) = why(row) {
            text += &screen.fill(&why, DETAIL);
        }
    }
    text
}

/// Where an urgent job runs, or what it waits for in a word or two.
fn place(row: &Urgent) -> String {
    match (row.state, row.stage) {
        (State::Waiting, Some(stage)) => stage_name(stage).to_owned(),
        (State::Waiting, None) => row.reason.clone().unwrap_or_else(|| "-".to_owned()),
        _ => names(&row.nodes),
    }
}

/// A sentence on why it waits, where there is one.
fn why(row: &Urgent) -> Option<String> {
    if row.state != State::Waiting || row.stage.is_some() {
        return None;
    }
    let hindered = row
        .hindrance
        .map(|hindrance| notes::blocked(row.who.job, hindrance));
    row.said.clone().or(hindered)
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Saving => "others save first",
        Stage::Saved => "others have saved",
        Stage::Stopping => "others are being stopped",
        Stage::GivenUp => "given up",
        Stage::WindingUp => "being wound up",
    }
}

fn plans(report: &Report, screen: &Screen) -> String {
    if report.plans.is_empty() {
        return "Plans in progress: none\n".to_owned();
    }
    let mut text = screen.title(&format!("Plans in progress: {}", report.plans.len()));
    for plan in &report.plans {
        text += &screen.fill(&plan_head(plan), "  ");
        text += &screen.table(&victims(plan, report.at));
    }
    text
}

fn plan_head(plan: &Plan) -> String {
    let nodes = match plan.nodes.is_empty() {
        true => String::new(),
        false => format!(", on {}", names(&plan.nodes)),
    };
    let saved = plan
        .victims
        .iter()
        .filter(|victim| victim.saved.is_some())
        .count();
    let missed: Vec<String> = plan.missed.iter().map(ToString::to_string).collect();
    let missed = match missed.is_empty() {
        true => String::new(),
        false => format!("; passed over: {}", names(&missed)),
    };
    format!(
        "For job {}{nodes}: {}; saved: {saved} of {}{missed}",
        plan.urgent,
        stage_name(plan.stage),
        plan.victims.len()
    )
}

fn victims(plan: &Plan, now: UnixTime) -> Table {
    let mut table = Table::new(&[
        ("job", Kind::Number),
        ("user", Kind::Name),
        ("name", Kind::Name),
        ("state", Kind::Word),
        ("asked", Kind::Number),
        ("saved", Kind::Number),
        ("deadline", Kind::Number),
        ("how", Kind::Name),
    ]);
    for victim in &plan.victims {
        let (state, style) = victim_state(victim.state);
        table.push(
            &[
                &victim.who.address(),
                &victim.who.user(),
                victim.who.name(),
                state,
                &ago(now - victim.asked),
                &victim
                    .saved
                    .map_or_else(|| "-".to_owned(), |saved| ago(now - saved)),
                &deadline(victim, now),
                victim.signal.as_deref().unwrap_or("-"),
            ],
            style,
        );
    }
    table
}

fn victim_state(state: VictimState) -> (&'static str, Style) {
    match state {
        VictimState::Saving => ("saving", Style::new().yellow()),
        VictimState::Late => ("late", Style::new().red()),
        VictimState::Saved => ("saved", Style::new().green()),
        VictimState::Unasked => ("to be stopped", Style::new().red()),
        VictimState::LetOff => ("let off", Style::new()),
        VictimState::Requeued => ("requeued", Style::new()),
        VictimState::Ended => ("ended", Style::new()),
    }
}

fn deadline(victim: &Victim, now: UnixTime) -> String {
    let left_s = victim.deadline - now;
    match victim.state {
        VictimState::Saving | VictimState::Unasked => format!("in {}", span(left_s)),
        VictimState::Late => ago(Seconds(-left_s.0)),
        _ => "-".to_owned(),
    }
}

fn ago(time_s: Seconds) -> String {
    format!("{} ago", span(time_s))
}

fn trainings(report: &Report, screen: &Screen) -> String {
    let silent = match report.silent {
        0 => String::new(),
        many => format!("; running jobs that say nothing to Surgent: {many} (--all)"),
    };
    if report.training.is_empty() {
        return screen.fill(&format!("Training jobs: none{silent}"), "");
    }
    let mut text = screen.title(&format!("Training jobs: {}{silent}", report.training.len()));
    let mut table = Table::new(&[
        ("job", Kind::Number),
        ("user", Kind::Name),
        ("name", Kind::Name),
        ("nodes", Kind::Number),
        ("GPUs", Kind::Number),
        ("epoch", Kind::Number),
        ("s/epoch", Kind::Number),
        ("left", Kind::Number),
        ("told", Kind::Number),
        ("saved", Kind::Number),
        ("cost, or why not", Kind::Word),
    ]);
    for row in &report.training {
        push_training(&mut table, row, report.at);
    }
    text += &screen.table(&table);
    for row in report.training.iter().filter(|row| !row.disbelief.is_empty()) {
        let why: Vec<String> = row.disbelief.iter().map(ToString::to_string).collect();
        let sentence = format!("Not believed of job {}: {}", row.who.address(), why.join(", "));
        text += &screen.fill(&sentence, DETAIL);
    }
    text
}

fn push_training(table: &mut Table, row: &Training, now: UnixTime) {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let style = match row.state {
        State::Saving | State::Saved => Style::new().yellow(),
        State::Waiting => Style::new().dim(),
        _ => Style::new(),
    };
    table.push(
        &[
            &row.who.address(),
            &row.who.user(),
            row.who.name(),
            &row.node_count.to_string(),
            &gpus(row.gpus),
            &epochs(row),
            &or_dash(row.epoch_s.map(epoch_time)),
            &or_dash(row.left_s.map(span)),
            &or_dash(row.report_age_s.map(span)),
            &or_dash(row.saved.map(|saved| span(now - saved))),
            &cost(row),
        ],
        style,
    );
}

fn gpus(count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        count => count.to_string(),
    }
}

fn epochs(row: &Training) -> String {
    match (row.epoch, row.epochs) {
        (Some(epoch), Some(epochs)) => format!("{epoch:.1}/{epochs}"),
        (Some(epoch), None) => format!("{epoch:.1}"),
        (None, Some(epochs)) => format!("?/{epochs}"),
        (None, None) => "-".to_owned(),
    }
}

fn epoch_time(time_s: Seconds) -> String {
    match time_s.0 < 1000.0 {
        true => format!("{:.1}", time_s.0),
        false => format!("{:.0}", time_s.0),
    }
}

/// What stopping it costs, or what keeps it from being stopped.
fn cost(row: &Training) -> String {
    match (row.state, row.makes_way_for, row.cost_gpu_s, row.protected_by) {
        (State::Waiting, _, _, _) if row.preempted > 0 => "waits, preempted".to_owned(),
        (State::Waiting, ..) => "waits".to_owned(),
        (_, Some(urgent), ..) => format!("for job {urgent}"),
        (_, None, Some(cost_gpu_s), _) => gpu_time(cost_gpu_s),
        (_, None, None, Some(rule)) => rule.to_string(),
        (_, None, None, None) => "-".to_owned(),
    }
}

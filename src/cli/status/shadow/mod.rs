// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent status --shadow`: what Surgent would have done, and how long urgent jobs waited without it.

mod since;
mod story;
mod text;

pub(super) use since::Since;

use super::Args;
use crate::cli::audit_file;
use crate::cli::cluster::Known;
use crate::cli::files;
use crate::cli::output;
use crate::cli::screen::Screen;
use crate::policy::audit::summary::{self, Summary};
use crate::policy::units::{Seconds, UnixTime};
use crate::slurm::command::Environment;
use crate::slurm::config::Config;
use serde::Serialize;
use std::path::PathBuf;
use story::{End, Story};

/// The version of the JSON. It changes when a field changes its meaning, not when one is added.
const VERSION: u32 = 1;

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    version: u32,
    file: PathBuf,
    from: UnixTime,
    until: UnixTime,
    totals: Totals,
    /// What keeps this from being the whole picture.
    notes: Vec<String>,
    urgent: Vec<Story>,
}

/// All urgent jobs together.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Totals {
    urgent: u64,
    /// For whom somebody would have made way.
    with_plan: u64,
    /// For whom no set of jobs would have helped.
    without_set: u64,
    /// Runs of jobs that would have been stopped.
    victims: u64,
    cost_gpu_s: f64,
    /// Of those that started and for whom there was a plan, at the median: how long they waited, and would have.
    waited_s: Option<Seconds>,
    would_have_waited_s: Option<Seconds>,
}

/// What there is to tell.
pub(super) fn show(args: &Args, environment: &Environment, screen: &Screen) -> Result<String, String> {
    let file = match &args.audit {
        Some(file) => file.clone(),
        None => site_file(args, environment)?,
    };
    let now = jiff::Timestamp::now();
    let (from, until) = (args.since.before(now)?, UnixTime(now.as_second()));
    let mut unreadable = 0;
    // Of a file that a crash has cut, what can be read counts.
    let summary = audit_file::shadow(&file, from, &mut |_| {
        unreadable += 1;
        Ok(())
    })?;
    let notes = notes(&summary, unreadable);
    let totals = summary.totals();
    let jobs = summary.urgent.into_iter();
    let mut urgent: Vec<Story> = jobs.map(|job| Story::of(job, until)).collect();
    urgent.sort_by_key(|story| story.job);
    let report = Report {
        version: VERSION,
        file,
        from,
        until,
        totals: Totals::of(&totals, &urgent),
        notes,
        urgent,
    };
    if !args.json {
        return Ok(text::describe(&report, screen));
    }
    output::json("the status", &report)
}

/// The audit file of this cluster.
fn site_file(args: &Args, environment: &Environment) -> Result<PathBuf, String> {
    let hint = "where Slurm does not answer, name the file with --audit";
    let config = Config::ask(environment).map_err(|error| format!("{error}; {hint}"))?;
    let settings = match &args.settings {
        Some(file) => files::settings(file)?,
        None => Known::of_site(config.slurm_conf()).settings,
    };
    let folder = config.get("StateSaveLocation").unwrap_or_default();
    // An absolute path stays as it is.
    Ok(PathBuf::from(folder).join(settings.audit.file))
}

fn notes(summary: &Summary, unreadable: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    };
    note(
        summary.lines_on,
        "events are not counted, as Surgent was not in shadow mode",
    );
    note(
        summary.lines_lost,
        "events are missing, as slurmctld could not write them",
    );
    note(unreadable, "lines cannot be read");
    notes
}

impl Totals {
    fn of(totals: &summary::Totals, stories: &[Story]) -> Self {
        let compared = || {
            let started = stories.iter().filter(|story| story.end == End::Started);
            started.filter_map(|story| Some((story.waited_s?, story.plan.as_ref()?.waited_s?)))
        };
        Self {
            urgent: totals.urgent,
            with_plan: totals.planned,
            without_set: totals.no_set,
            victims: totals.runs_stopped,
            cost_gpu_s: totals.cost_gpu_s,
            waited_s: Seconds::median(compared().map(|(waited_s, _)| waited_s).collect()),
            would_have_waited_s: Seconds::median(compared().map(|(_, would_s)| would_s).collect()),
        }
    }
}

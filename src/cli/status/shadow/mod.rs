// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent status --shadow`: what Surgent would have done, and how long urgent jobs waited without it.

pub(in crate::cli) mod read;
mod since;
mod story;
mod text;

pub(super) use since::Since;

use super::Args;
use super::screen::Screen;
use crate::cli::cluster::Known;
use crate::cli::files;
use crate::policy::units::{Seconds, UnixTime};
use crate::slurm::command::Environment;
use crate::slurm::config::Config;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use story::{End, Outcome, Stories, Story};

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
    urgent: usize,
    /// For whom somebody would have made way.
    with_plan: usize,
    /// For whom no set of jobs would have helped.
    without_set: usize,
    /// Runs of jobs that would have been stopped.
    victims: usize,
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
    let stories = read::read(&file, from)?;
    let notes = notes(&stories);
    let urgent = stories.until(until);
    let report = Report {
        version: VERSION,
        file,
        from,
        until,
        totals: Totals::of(&urgent),
        notes,
        urgent,
    };
    if !args.json {
        return Ok(text::describe(&report, screen));
    }
    let json = serde_json::to_string_pretty(&report);
    json.map(|json| json + "\n")
        .map_err(|error| format!("the status cannot be written as JSON: {error}"))
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

fn notes(stories: &Stories) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    };
    note(
        stories.not_shadow,
        "events are not counted, as Surgent was not in shadow mode",
    );
    note(
        stories.lost,
        "events are missing, as slurmctld could not write them",
    );
    note(stories.unreadable, "lines cannot be read");
    notes
}

impl Totals {
    fn of(stories: &[Story]) -> Self {
        let plans = || stories.iter().filter_map(|story| story.plan.as_ref());
        let runs: BTreeSet<_> = plans()
            .flat_map(|plan| &plan.victims)
            .map(|victim| (victim.job, victim.start))
            .collect();
        let compared = || {
            let started = stories.iter().filter(|story| story.end == End::Started);
            started.filter_map(|story| Some((story.waited_s?, story.plan.as_ref()?.waited_s?)))
        };
        let count = |outcome| stories.iter().filter(|story| story.outcome == outcome).count();
        Self {
            urgent: stories.len(),
            with_plan: count(Outcome::Plan),
            without_set: count(Outcome::NoSet),
            victims: runs.len(),
            cost_gpu_s: plans().map(|plan| plan.cost_gpu_s).sum(),
            waited_s: Seconds::median(compared().map(|(waited_s, _)| waited_s).collect()),
            would_have_waited_s: Seconds::median(compared().map(|(_, would_s)| would_s).collect()),
        }
    }
}

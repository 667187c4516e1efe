// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent check`

mod files;
mod finding;
mod names;
mod plugins;
mod safety;
mod slurm_conf;

use super::output;
use crate::slurm::command::Environment;
use crate::slurm::config::Config;
use crate::slurm::show;
use finding::{Finding, Level};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use std::process::ExitCode;

/// The clocks may differ by so much; scontrol shows slurmctld's in whole seconds.
const CLOCK_SKEW_MAX_S: i64 = 5;

/// Lines of findings are broken at this width.
const WIDTH: usize = 100;

/// Of the column that says how much a finding matters.
const LEVEL_WIDTH: usize = 9;

/// Look whether Slurm and Surgent are set up for each other, and say what to change
///
/// Asks slurmctld for its settings, and looks at the plugins, surgent.toml and the state file where this machine has
/// them. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Also show what is as it should be
    #[arg(long)]
    all: bool,
}

const AFTER_HELP: &str = "\
Exit code:
  0 if nothing has to be changed;
  1 if something should be, and Surgent works without (warning);
  2 for a wrong command line;
  3 if something has to be changed (error), or slurmctld does not answer

On the controller, as root or SlurmUser, everything is looked at; elsewhere what can be.";

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    /// The worst of the findings.
    worst: Level,
    findings: &'a [Finding],
}

pub(super) fn main(args: &Args) -> ExitCode {
    let findings = findings(&Environment::of_user(std::env::vars_os()));
    let worst = findings
        .iter()
        .map(|finding| finding.level)
        .max()
        .unwrap_or(Level::Ok);
    let text = match args.json {
        true => {
            let printed = Printed {
                worst,
                findings: &findings,
            };
            output::json("the findings", &printed)
        }
        false => Ok(described(&findings, args.all)),
    };
    let code = output::end(text);
    match worst {
        Level::Ok | Level::Note => code,
        Level::Warning => ExitCode::from(1),
        Level::Error => ExitCode::from(3),
    }
}

fn findings(environment: &Environment) -> Vec<Finding> {
    let asked = Timestamp::now();
    let config = match Config::ask(environment) {
        Ok(config) => config,
        Err(error) => {
            let mut findings = vec![Finding::error(
                "slurmctld",
                format!("it does not tell its settings: {error}"),
                "start slurmctld, or run this where scontrol works; a plugin that does not load keeps slurmctld from \
                 starting, and its log says which",
            )];
            findings.extend(without_slurmctld(environment));
            return findings;
        }
    };
    let mut findings = vec![answers(&config)];
    findings.extend(clock(&config, asked));
    findings.extend(slurm_conf::findings(&config));
    if is_controller(&config) {
        findings.extend(plugins::findings(&config, config.slurm_conf()));
        if let Some(path) = config.slurm_conf() {
            let partitions = show::partition_names(environment).ok();
            findings.extend(files::settings(path, files::Slurmctld::Answers { partitions }));
        }
        if let Some(path) = config.get("StateSaveLocation") {
            findings.extend(files::state(path.as_ref()));
        }
    } else {
        let controllers: Vec<_> = config.controllers().collect();
        findings.push(Finding::note(
            "plugins",
            format!(
                "neither they nor surgent.toml were looked at: this machine is not where slurmctld runs ({})",
                controllers.join(", ")
            ),
        ));
    }
    findings
}

/// What may have kept slurmctld from starting, by its slurm.conf alone.
fn without_slurmctld(environment: &Environment) -> Vec<Finding> {
    let path = Config::usual_path();
    let config = match Config::of_file(&path, environment) {
        Ok(config) => config,
        Err(error) => {
            let found = format!("{}: {error}; so nothing else was looked at", path.display());
            return vec![Finding::note("slurm.conf", found)];
        }
    };
    let mut findings = Vec::new();
    match config.plugin_dirs().is_empty() {
        true => findings.push(Finding::note(
            "PluginDir",
            "slurm.conf does not set it, so the plugins were not looked at",
        )),
        false => findings.extend(plugins::findings(&config, Some(&path))),
    }
    findings.extend(slurm_conf::keeps_from_starting(&config));
    findings.extend(files::settings(&path, files::Slurmctld::IsSilent));
    if let Some(path) = config.get("StateSaveLocation") {
        findings.extend(files::state(path.as_ref()));
    }
    findings
}

fn answers(config: &Config) -> Finding {
    match config.version() {
        Some(version) => Finding::ok("slurmctld", format!("answers, Slurm {version}")),
        None => Finding::note("slurmctld", "answers, and does not say its version"),
    }
}

/// Reports and saves carry the times of the nodes that jobs run on; so each is worth a look.
fn clock(config: &Config, asked: Timestamp) -> Option<Finding> {
    let theirs = config.as_of()?.to_zoned(TimeZone::system()).ok()?.timestamp();
    let now = Timestamp::now();
    // It answered at some time between the two.
    let nearest = theirs.clamp(asked.min(now), now);
    let skew_s = nearest.duration_since(theirs).as_secs();
    Some(match skew_s.abs() <= CLOCK_SKEW_MAX_S {
        true => Finding::ok("clock", "as slurmctld's, to a few seconds"),
        false => Finding::warning(
            "clock",
            format!(
                "{} s from slurmctld's: reports and saves of jobs here may not be believed",
                skew_s.abs()
            ),
            "have chrony or the like keep the clocks of all nodes together",
        ),
    })
}

/// Whether slurmctld runs here, or may.
fn is_controller(config: &Config) -> bool {
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy();
    let short = own.split('.').next().unwrap_or_default();
    config.controllers().any(|host| host == own || host == short)
}

fn described(findings: &[Finding], all: bool) -> String {
    let shown: Vec<_> = findings
        .iter()
        .filter(|finding| all || finding.level > Level::Ok)
        .collect();
    let width = shown
        .iter()
        .map(|finding| finding.about.len())
        .max()
        .unwrap_or(0)
        .min(28);
    let mut text = String::new();
    for finding in &shown {
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "ERROR",
        };
        let about = &finding.about;
        let margin = " ".repeat(LEVEL_WIDTH + width + 2);
        let head = format!("{level:<LEVEL_WIDTH$}{about:<width$}  ");
        text += &folded(&finding.found, &head, &margin);
        if let Some(change) = &finding.change {
            text += &folded(change, &format!("{margin}-> "), &format!("{margin}   "));
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    text += &format!(
        "errors: {}, warnings: {}, notes: {}, as it should be: {}\n",
        count(Level::Error),
        count(Level::Warning),
        count(Level::Note),
        count(Level::Ok)
    );
    text
}

/// `text` behind `head`, broken into lines, the later ones behind `margin`.
fn folded(text: &str, head: &str, margin: &str) -> String {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(head)
        .subsequent_indent(margin)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent status`

mod choose;
mod gather;
mod report;
mod shadow;
#[cfg(test)]
mod tests;
mod text;
mod watch;

use super::cluster::Cluster;
use super::output;
use super::screen::Screen;
use crate::slurm::command::Environment;
use choose::{Filter, Order};
use report::State;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use text::Sections;

/// Show urgent jobs, plans in progress, and how far all trainings are
///
/// Urgent jobs that wait or run; the plans that are being carried out, with who has saved; and training jobs with their
/// progress and what it would cost to preempt them now. Needs no rights, and changes nothing.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// Only jobs of these users, by login name or number
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    user: Vec<String>,

    /// Only your own jobs
    #[arg(long, conflicts_with = "user")]
    me: bool,

    /// Only jobs in these partitions
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    partition: Vec<String>,

    /// Only jobs in these states
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<State>,

    /// Only urgent jobs, and plans in progress
    #[arg(long, conflicts_with = "training")]
    urgent: bool,

    /// Only training jobs
    #[arg(long)]
    training: bool,

    /// Also running jobs that say nothing to Surgent
    #[arg(long)]
    all: bool,

    /// Sort training jobs by id, user, name, nodes, gpus, epoch, epoch_s, left, age (of the report), saved (its age) or
    /// cost; with - before it the other way round
    #[arg(long, value_name = "KEY", default_value = "cost", allow_hyphen_values = true)]
    sort: Order,

    /// Print JSON (see docs/status.md)
    #[arg(long)]
    json: bool,

    /// Draw it anew every so many seconds, until q or Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5",
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    watch: Option<u32>,

    /// A saved snapshot instead of the cluster as it is (see docs/plan-json.md)
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// The site's settings; without this those in surgent.toml beside slurm.conf, else the defaults
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// What Surgent in shadow mode would have done, from the audit file
    #[arg(long, conflicts_with_all = ["me", "user", "partition", "state", "urgent", "training", "all", "sort", "watch", "snapshot"])]
    shadow: bool,

    /// With --shadow: the audit file, instead of the one that surgent.toml names
    #[arg(long, value_name = "FILE", requires = "shadow")]
    audit: Option<PathBuf>,

    /// With --shadow: from when on; 90m, 12h, 7d before now, or a time such as 2025-11-29T08:00
    #[arg(long, value_name = "TIME", default_value = "1d", requires = "shadow")]
    since: shadow::Since,
}

const AFTER_HELP: &str = "\
Exit code:
  0 if there was something to show, or --watch was ended;
  1 if Slurm does not answer, or a file cannot be used; 2 for a wrong command line

Examples:
  surgent status --me
  surgent status --training --sort -left
  surgent status --watch
  surgent status --shadow --since 7d";

pub(super) fn main(args: &Args) -> ExitCode {
    let shown = match (args.shadow, args.watch) {
        (true, _) => shadow::show(args, &environment(), &screen()),
        (false, Some(every_s)) => {
            let args = args.clone();
            let watched = watch::watch(every_s, Arc::new(move |screen: &Screen| show(&args, screen)));
            // It has been shown already.
            watched.map(|()| String::new())
        }
        (false, None) => show(args, &screen()),
    };
    output::end(shown)
}

fn environment() -> Environment {
    Environment::of_user(std::env::vars_os())
}

fn screen() -> Screen {
    let terminal = console::Term::stdout();
    let size = std::io::stdout()
        .is_terminal()
        .then(|| terminal.size_checked())
        .flatten();
    Screen::new(size.map(|(_, columns)| columns), console::colors_enabled())
}

/// What is to be seen now.
fn show(args: &Args, screen: &Screen) -> Result<String, String> {
    let settings = args.settings.as_deref();
    let cluster = match &args.snapshot {
        Some(path) => Cluster::of_snapshot(path, settings)?,
        None => Cluster::read(&environment(), settings)?,
    };
    let mut report = gather::gather(&cluster, args.all);
    let mut users = args.user.clone();
    if args.me {
        users.push(rustix::process::getuid().as_raw().to_string());
    }
    let filter = Filter {
        users,
        partitions: args.partition.clone(),
        states: args.state.clone(),
    };
    let unmet = filter.unmet(&report);
    report.notes.extend(unmet);
    filter.apply(&mut report);
    args.sort.sort(&mut report.training);
    if !args.json {
        let sections = Sections {
            urgent: !args.training,
            training: !args.urgent,
        };
        return Ok(text::describe(&report, sections, screen));
    }
    if args.training {
        report.urgent.clear();
        report.plans.clear();
    }
    if args.urgent {
        report.training.clear();
    }
    match args.watch {
        // One line each, so that a reader knows where one ends.
        Some(_) => serde_json::to_string(&report)
            .map(|json| json + "\n")
            .map_err(|error| format!("the status cannot be written as JSON: {error}")),
        None => output::json("the status", &report),
    }
}

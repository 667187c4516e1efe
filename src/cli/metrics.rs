// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent metrics`

mod exposition;
mod families;

use super::output;
use crate::host::metrics::{MetricsFile, replace};
use crate::slurm::command::Environment;
use crate::slurm::config::Config;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print what Surgent has counted, in the text format of Prometheus
///
/// Urgent starts and their waits, plans, saves, stops, GPU time lost and saved, and what the planner's work takes. slurmctld
/// keeps the counters in a file under StateSaveLocation, also over restarts; this reads that file, so it is to be run on the
/// machine where slurmctld runs. docs/metrics.md describes each metric.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// StateSaveLocation; without this as slurm.conf or slurmctld says
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Write into this file instead, in one go: for the textfile collector of node_exporter, which wants it to end in .prom;
    /// - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Exit code:
  0 if the metrics were printed or written;
  1 if there are none to be had here, or they cannot be written; the file of --output is as it was then;
  2 for a wrong command line

Example:
  surgent metrics --output /var/lib/prometheus/node-exporter/surgent.prom";

pub(super) fn main(args: &Args) -> ExitCode {
    output::end(answer(args))
}

/// What is to be printed: nothing where it was written into a file.
fn answer(args: &Args) -> Result<String, String> {
    let text = text(args.state_dir.as_deref())?;
    match &args.output {
        Some(file) if file != Path::new("-") => write(file, &text).map(|()| String::new()),
        _ => Ok(text),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let cannot = |why: String| format!("{} cannot be written: {why}", path.display());
    // What is renamed over a device is its end.
    if std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(cannot("it is no regular file".to_owned()));
    }
    replace(path, text.as_bytes()).map_err(|error| cannot(error.to_string()))
}

fn text(state_dir: Option<&Path>) -> Result<String, String> {
    let state_dir = match state_dir {
        Some(folder) => folder.to_owned(),
        None => state_save_location()?,
    };
    let file = MetricsFile::within(&state_dir);
    let metrics = file.read().map_err(|error| no_metrics(&file, &error))?;
    exposition::text(&families::of(&metrics)).map_err(|error| format!("the metrics cannot be shown: {error}"))
}

/// As slurm.conf says, so that it is known while slurmctld is down, too, and nobody asks it every minute.
fn state_save_location() -> Result<PathBuf, String> {
    const KEY: &str = "StateSaveLocation";
    let environment = Environment::of_user(std::env::vars_os());
    let of = |config: Config| config.get(KEY).map(PathBuf::from);
    let file = Config::of_file(&Config::usual_path(), &environment).ok();
    match file.and_then(of) {
        Some(folder) => Ok(folder),
        None => Config::ask(&environment)
            .map_err(|error| error.to_string())
            .and_then(|config| of(config).ok_or_else(|| format!("slurmctld does not tell {KEY}")))
            .map_err(|error| {
                format!(
                    "it is not known where slurmctld keeps its counters: {error}; name {KEY} with --state-dir"
                )
            }),
    }
}

fn no_metrics(file: &MetricsFile, error: &io::Error) -> String {
    let path = file.path().display();
    match error.kind() {
        ErrorKind::NotFound => format!(
            "{path} is not there: slurmctld keeps its counters there, on the machine where it runs, from the moment that \
             preempt/surgent is loaded; run this on that machine, or name StateSaveLocation with --state-dir"
        ),
        ErrorKind::PermissionDenied => format!(
            "{path} is not for this user: who may enter StateSaveLocation may read it; run this as SlurmUser or root"
        ),
        _ => format!("{path} cannot be used: {error}"),
    }
}

#[cfg(test)]
mod tests;

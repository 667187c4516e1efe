// SPDX-License-Identifier: GPL-2.0-or-later
//! What people type.
#![forbid(unsafe_code)]

mod audit_file;
mod check;
mod cluster;
mod drill;
mod explain;
mod files;
mod follow;
mod job_name;
mod metrics;
mod plan;
mod progress;
mod replay;
mod report;
mod run;
mod saving;
mod status;

use clap::{CommandFactory as _, Parser, Subcommand};
use std::process::ExitCode;

/// Urgent jobs for Slurm: training jobs give way only after they have saved
///
/// Surgent starts an urgent job at once by stopping running training jobs, chosen by the state of their training, and
/// only after each of them has saved its model. This command follows a training program in its job, and
/// shows what would be decided.
#[derive(Debug, Parser)]
#[command(name = "surgent", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Report(report::Args),
    Follow(follow::Args),
    Drill(drill::Args),
    Status(status::Args),
    // By far the largest of them.
    Plan(Box<plan::Args>),
    Explain(explain::Args),
    Progress(progress::Args),
    Check(check::Args),
    Replay(replay::Args),
    Metrics(metrics::Args),
    /// Stands between a program and its output; for `surgent run` alone
    #[command(hide = true)]
    Relay,
}

/// The table of all that can be typed, from which help, man pages and completions are made.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the `surgent` command and returns its exit code.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => run::main(args),
        Command::Report(args) => report::main(&args),
        Command::Follow(args) => follow::main(&args),
        Command::Drill(args) => drill::main(&args),
        Command::Status(args) => status::main(&args),
        Command::Plan(args) => plan::main(&args),
        Command::Explain(args) => explain::main(&args),
        Command::Progress(args) => progress::main(&args),
        Command::Check(args) => check::main(&args),
        Command::Replay(args) => replay::main(&args),
        Command::Metrics(args) => metrics::main(&args),
        Command::Relay => match crate::monitor::relay::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent report`

use crate::monitor::report::{Report, ReportError, Saved};
use crate::monitor::{self, JobEnvironment};
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how far the training is, or that its model is saved
///
/// For use within `surgent run`, and in a job with a hand-written trap. Reports that cannot be delivered never end a
/// script: the exit code is 0 then too, with a sentence on standard error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// Epochs completed so far, with or without the epochs in all: 12, 12.5 or 12/90
    #[arg(long, value_name = "DONE[/ALL]", value_parser = epoch)]
    epoch: Option<Epoch>,

    /// Epochs in all
    #[arg(long, value_name = "ALL")]
    epochs: Option<f64>,

    /// The model is saved, completely, in this file or folder
    #[arg(long, value_name = "PATH")]
    saved: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    done: f64,
    all: Option<f64>,
}

const AFTER_HELP: &str = "\
Exit code:
  2 for a wrong report (then nothing was reported), otherwise 0

Examples:
  surgent report --epoch 12/90
  surgent report --saved checkpoints/last.pt";

pub(super) fn main(args: &Args) -> ExitCode {
    match report(args) {
        Ok(report) => {
            monitor::send::send(report, &JobEnvironment::read());
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            monitor::say(&sentence);
            ExitCode::from(2)
        }
    }
}

fn report(args: &Args) -> Result<Report, String> {
    let all = args.epoch.and_then(|epoch| epoch.all);
    if let (Some(all), Some(epochs)) = (all, args.epochs)
        && all != epochs
    {
        return Err(format!(
            "--epoch says {all} epochs in all and --epochs says {epochs}; write only one of them"
        ));
    }
    let report = Report {
        epoch: args.epoch.map(|epoch| epoch.done),
        epochs: all.or(args.epochs),
        saved: args.saved.as_deref().map(absolute).map(Saved::Path),
        ..Report::default()
    };
    if report == Report::default() {
        return Err("nothing to report; give --epoch, --epochs or --saved".to_owned());
    }
    let sentence = |error: ReportError| error.to_string();
    report.check().map_err(sentence)?;
    report.has_saved().map_err(sentence)?;
    Ok(report)
}

/// The program may have changed its folder since the monitor was started.
fn absolute(path: &std::path::Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn epoch(text: &str) -> Result<Epoch, String> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let (done, all) = match text.split_once('/') {
        Some((done, all)) => (done, Some(all)),
        None => (text, None),
    };
    let wrong = || "write the epochs completed so far, such as 12, 12.5 or 12/90".to_owned();
    Ok(Epoch {
        done: number(done).ok_or_else(wrong)?,
        all: all.map(|all| number(all).ok_or_else(wrong)).transpose()?,
    })
}

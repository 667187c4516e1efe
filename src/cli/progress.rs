// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent progress`

use super::output;
use crate::monitor;
use crate::policy::directives::EPOCHS_MAX;
use crate::progress::pattern::Pattern;
use crate::progress::{Reader, Reading};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say how far a training is, by the output of its program
///
/// Shows what `surgent run` reads from a program's output by itself: give it the output file of a job to see whether
/// yours is understood. What the output does not say is unknown, and null in JSON.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub(super) struct Args {
    /// The output, or - for standard input
    file: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Regular expression for output that is not understood otherwise
    ///
    /// Its named groups are numbers: epoch (epochs completed), or running (the epoch under way, the first is 1) or
    /// running0 (the first is 0); epochs, step, steps, seconds_per_epoch, seconds_per_step. A group named finished
    /// that matches says that the training has ended.
    #[arg(long, value_name = "REGEX")]
    pattern: Option<Pattern>,

    /// Epochs in all, where the output does not say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(EPOCHS_MAX)))]
    epochs: Option<u32>,
}

const AFTER_HELP: &str = "\
Exit code:
  0 if progress was recognised, 1 if none was, or the file cannot be read; 2 for a wrong command line

Examples:
  surgent progress slurm-4711.out
  surgent progress --pattern 'lap (?P<epoch>\\d+) of (?P<epochs>\\d+)' slurm-4711.out";

pub(super) fn main(args: &Args) -> ExitCode {
    let reading = match read(args) {
        Ok(reading) => reading,
        Err(sentence) => {
            monitor::say(&sentence);
            return ExitCode::FAILURE;
        }
    };
    let text = match args.json {
        true => output::json("the reading", &reading),
        false => Ok(describe(&reading)),
    };
    match output::end(text) {
        ExitCode::SUCCESS if reading.format.is_none() => ExitCode::FAILURE,
        code => code,
    }
}

fn read(args: &Args) -> Result<Reading, String> {
    let cannot = |error: io::Error| format!("{}: {error}", args.file.display());
    let mut reader = Reader::new(args.pattern.clone());
    if args.file == Path::new("-") {
        feed(io::stdin().lock(), &mut reader).map_err(|error| format!("standard input: {error}"))?;
    } else {
        feed(File::open(&args.file).map_err(cannot)?, &mut reader).map_err(cannot)?;
    }
    let reading = reader.last_reading();
    Ok(args
        .epochs
        .map_or(reading, |epochs| reading.with_total(f64::from(epochs))))
}

fn feed(mut input: impl Read, reader: &mut Reader) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => reader.feed(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A few lines that fit a terminal.
fn describe(reading: &Reading) -> String {
    let Some(format) = reading.format else {
        return "No progress was recognised. With --pattern you can say what it looks like, and\n\
                with `surgent report` the program itself can say how far it is.\n"
            .to_owned();
    };
    let of = |done: Option<f64>, total: Option<f64>| match (done, total) {
        (Some(done), Some(total)) => format!("{} of {}", short(done), short(total)),
        (Some(done), None) => format!("{}, of an unknown number", short(done)),
        (None, Some(total)) => format!("unknown, of {}", short(total)),
        (None, None) => "unknown".to_owned(),
    };
    let percent = |fraction: Option<f64>| {
        fraction.map_or_else(
            || "unknown".to_owned(),
            |fraction| format!("{:.1} %", fraction * 100.0),
        )
    };
    let mut seconds = reading.seconds_per_epoch.map_or_else(
        || "unknown".to_owned(),
        |seconds| format!("{} s", significant(seconds)),
    );
    if let Some(spread) = reading.seconds_per_epoch_spread {
        seconds += &format!(" ± {}", significant(spread));
    }
    let finished = if reading.finished == Some(true) {
        "yes"
    } else {
        "not that the output says so"
    };
    let mut rows = vec![
        ("format", format.to_owned()),
        ("epochs done", of(reading.epochs_done, reading.epochs_total)),
        ("of the epoch", percent(reading.fraction_in_epoch)),
        ("steps done", of(reading.step, reading.steps_total)),
        ("overall", percent(reading.overall_fraction)),
        ("time per epoch", seconds),
        ("finished", finished.to_owned()),
    ];
    if reading.restarts > 0 {
        rows.push(("restarts", reading.restarts.to_string()));
    }
    rows.iter()
        .map(|(name, value)| format!("{name:<16}{value}\n"))
        .collect()
}

fn short(number: f64) -> String {
    format!("{}", (number * 100.0).round() / 100.0)
}

fn significant(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 100.0 => format!("{seconds:.0}"),
        seconds if seconds >= 1.0 => format!("{seconds:.1}"),
        seconds => format!("{seconds:.3}"),
    }
}

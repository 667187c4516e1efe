// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent run`

use super::saving;
use crate::monitor::JobEnvironment;
use crate::monitor::run::{Run, run};
use crate::policy::directives::{EPOCHS_MAX, SaveKind};
use crate::progress::pattern::Pattern;
use clap::ValueEnum;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::process::ExitCode;

/// Run a training program so that Slurm can ask it to save
///
/// To be put in front of the training command in a batch script. The program's output is handed on untouched, and how
/// far the training is is read from it where the program does not report it. When an urgent job needs the resources, the
/// program (and nothing else) is asked to save; once its model is seen to be saved, Slurm is told, and may stop the job and
/// put it back into the queue. Outside a Slurm job the program simply runs.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub(super) struct Args {
    /// Epochs in all, where the program does not report them itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(EPOCHS_MAX)))]
    epochs: Option<u32>,

    /// When the program saves after it was asked
    #[arg(long, value_enum, value_name = "WHEN", help_heading = "Saving")]
    save: Option<Save>,

    #[command(flatten)]
    saving: saving::Args,

    /// Regular expression that finds progress in the program's output
    ///
    /// Instead of the formats of common frameworks, which are read without it. See `surgent progress --help` for its named
    /// groups, and try it there.
    #[arg(long, value_name = "REGEX", conflicts_with = "ignore_output")]
    pattern: Option<Pattern>,

    /// Do not read the program's output
    #[arg(long)]
    ignore_output: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Save {
    /// At any step, at once
    Step,
    /// Only at the end of an epoch
    Epoch,
    /// Never
    None,
}

const AFTER_HELP: &str = "\
Environment of the program:
  SURGENT_REPORT         file to which it (or `surgent report`) appends lines of JSON:
                         {\"epoch\": 12, \"epochs\": 90}  or  {\"saved\": \"model.pt\"}
  SURGENT_SAVE_REQUEST   file in which requests to save are counted, for a program that looks there
  SURGENT_RESUME         1 if it is to go on from its save, otherwise not set
  SURGENT_RESTART_COUNT  how often Slurm has started the job again

Environment of this command:
  SURGENT_MIN_INTERVAL_S  least seconds between two updates of the job's comment (30)

Exit code:
  the program's own, or 128 and the number of the signal that ended it;
  127 if the program was not found, 126 if it could not be executed;
  143 if Slurm took the resources away; 2 for a wrong command line

Example:
  surgent run --save-signal USR1 --epochs 90 -- python train.py";

pub(super) fn main(args: Args) -> ExitCode {
    if let (Some(Save::None), Some(option)) = (args.save, args.saving.first()) {
        let sentence = format!(
            "--save none says that the program never saves, {option} how it does: leave one of them out"
        );
        super::command()
            .error(ErrorKind::ArgumentConflict, sentence)
            .exit();
    }
    let program = Run {
        command: args.command,
        saving: args.saving.options(),
        save: args.save.map(Save::kind),
        epochs: args.epochs,
        reads_output: !args.ignore_output,
        pattern: args.pattern,
    };
    ExitCode::from(run(&program, &JobEnvironment::read()))
}

impl Save {
    fn kind(self) -> SaveKind {
        match self {
            Self::Step => SaveKind::Step,
            Self::Epoch => SaveKind::Epoch,
            Self::None => SaveKind::None,
        }
    }
}

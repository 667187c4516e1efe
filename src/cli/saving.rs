// SPDX-License-Identifier: GPL-2.0-or-later
//! The options of `surgent run` that speak of saving.

use crate::monitor::saving::checkpoint::Places;
use crate::monitor::saving::{Options, SaveCommand, SignalChoice};
use glob::Pattern;
use regex::bytes::{Regex, RegexBuilder};
use std::time::Duration;

/// A pattern of more than this in memory is refused.
const REGEX_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Saving")]
#[group(skip)]
pub(super) struct Args {
    /// Signal that makes the program save its model, such as USR1; `none` if there is none
    ///
    /// It goes to the training itself and its ranks, once they handle it, and not to launchers such as torchrun or the
    /// workers of a data loader. Without this option it is what is known of the framework, if the command line shows
    /// which that is; else USR1 or USR2, if the program is one in Python that handles one of them.
    #[arg(long, value_name = "SIGNAL", value_parser = signal)]
    save_signal: Option<SignalChoice>,

    /// Command that makes the program save, in place of a signal
    ///
    /// One argument, split at blanks as a shell does; no shell is started. Exit code 0 says that the save is complete,
    /// except where --checkpoint is given. The program's process id is in SURGENT_PID.
    #[arg(long, value_name = "'COMMAND ARGS'", value_parser = command, conflicts_with = "save_signal")]
    save_command: Option<Command>,

    /// The save command is ended after this
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "600", requires = "save_command")]
    save_command_limit: Duration,

    /// File or folder that a save writes, a pattern in quotes: 'checkpoints/*.pt' (may be repeated)
    ///
    /// A save is complete when there is a new one for each pattern, and it has lain still for a while, has no temporary
    /// name, and is neither empty, cut off, nor much smaller than the one before. Lines and exit codes are no sign then.
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    checkpoint: Vec<Pattern>,

    /// How long a checkpoint has to lie still; 0.3 to 5 s by what it is, if not given
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "checkpoint")]
    checkpoint_settle: Option<Duration>,

    /// Regular expression for the line that the program prints when it has saved
    #[arg(long, value_name = "REGEX", value_parser = line, conflicts_with = "ignore_output")]
    saved_line: Option<Regex>,

    /// Exit code that the program ends with only when it has saved (may be repeated)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    saved_exit: Vec<u8>,
}

/// A command and its arguments.
#[derive(Clone, Debug)]
struct Command(Vec<String>);

impl Args {
    /// The first option by which a program saves, where there is one.
    pub(super) fn first(&self) -> Option<&'static str> {
        let saves = |signal: &SignalChoice| matches!(signal, SignalChoice::Given(_));
        let given = [
            (self.save_signal.as_ref().is_some_and(saves), "--save-signal"),
            (self.save_command.is_some(), "--save-command"),
            (!self.checkpoint.is_empty(), "--checkpoint"),
            (self.saved_line.is_some(), "--saved-line"),
            (!self.saved_exit.is_empty(), "--saved-exit"),
        ];
        given
            .into_iter()
            .find_map(|(is_given, option)| is_given.then_some(option))
    }

    pub(super) fn options(self) -> Options {
        let limit = self.save_command_limit;
        Options {
            signal: self.save_signal.unwrap_or_default(),
            command: self.save_command.map(|Command(argv)| SaveCommand { argv, limit }),
            places: Places {
                patterns: self.checkpoint,
                settle: self.checkpoint_settle,
            },
            saved_line: self.saved_line,
            saved_exits: self.saved_exit,
        }
    }
}

fn signal(name: &str) -> Result<SignalChoice, String> {
    if name.eq_ignore_ascii_case("none") {
        return Ok(SignalChoice::Never);
    }
    let signal = name
        .parse()
        .map_err(|error| format!("{name} {error}; USR1 and TERM are usual"));
    signal.map(SignalChoice::Given)
}

fn command(text: &str) -> Result<Command, &'static str> {
    SaveCommand::split(text).map(Command)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    number.ok_or_else(|| "write a number of seconds, such as 2.5".to_owned())
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text).map_err(|error| error.to_string())
}

fn line(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build();
    let line = built.map_err(|error| error.to_string())?;
    // Such as that of a variable that is not set. Whatever the program prints would be a save.
    match line.is_match(b"") {
        true => Err("it matches every line; name what the program prints only when it has saved".to_owned()),
        false => Ok(line),
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A command of the user's own that has the program save.

use crate::monitor::environment::REPORT;
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use wait_timeout::ChildExt;

/// In the command's environment: the process that `surgent run` has started.
const PROGRAM_PID: &str = "SURGENT_PID";

/// What to run, and for how long.
#[derive(Clone, Debug)]
pub struct SaveCommand {
    /// The command and its arguments; not empty. No shell is involved.
    pub argv: Vec<String>,
    /// It is ended after this.
    pub limit: Duration,
}

/// Why the command has not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveCommandError {
    /// It could not be started, or waited for.
    #[error("could not be run: {0}")]
    Run(#[from] std::io::Error),
    /// It says so itself.
    #[error("failed ({0})")]
    Failed(String),
    /// It took too long.
    #[error("had not finished after {} s and was ended", .0.as_secs_f64())]
    TooLong(Duration),
}

impl SaveCommand {
    /// The command and arguments in `text`, which has quotes and backslashes as a shell has, and nothing else of a shell.
    ///
    /// # Errors
    ///
    /// No command, or a quote that does not end.
    pub fn split(text: &str) -> Result<Vec<String>, &'static str> {
        match shlex::split(text) {
            None => Err("has a quote that does not end"),
            Some(words) if words.is_empty() => Err("names no command"),
            Some(words) => Ok(words),
        }
    }

    /// Runs it to its end; its output goes where this process's goes.
    ///
    /// # Errors
    ///
    /// Where it does not end with exit code 0 in time.
    pub fn run(&self, program: Pid, reports: Option<PathBuf>) -> Result<(), SaveCommandError> {
        let (name, args) = self
            .argv
            .split_first()
            .ok_or_else(|| std::io::Error::other("no command"))?;
        let mut command = Command::new(name);
        command
            .args(args)
            .env(PROGRAM_PID, program.to_string())
            .stdin(Stdio::null())
            // What it starts is ended with it; and what Slurm sends to the batch shell's group is not for it.
            .process_group(0);
        if let Some(reports) = reports {
            command.env(REPORT, reports);
        }
        let mut child = command.spawn()?;
        match child.wait_timeout(self.limit)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(SaveCommandError::Failed(shown(status))),
            None => {
                if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // Nothing to be done where it is gone already.
                    let _ = kill_process_group(group, Signal::KILL);
                }
                // Killed: it ends, or hangs in the kernel, where nobody can help it.
                let _ = child.wait_timeout(Duration::from_secs(5));
                Err(SaveCommandError::TooLong(self.limit))
            }
        }
    }
}

fn shown(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(argv: &[&str], limit: Duration) -> Result<(), String> {
        let command = SaveCommand {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            limit,
        };
        let own = Pid::from_raw(1).expect("not 0");
        command.run(own, None).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them_and_no_more() {
        let words = SaveCommand::split(r#"save --to "/a b/$HOME" 'c;d' e\ f *"#);
        assert_eq!(
            words.expect("right"),
            ["save", "--to", "/a b/$HOME", "c;d", "e f", "*"]
        );
        assert!(SaveCommand::split("  ").is_err());
        assert!(SaveCommand::split("save 'x").is_err());
    }

    #[test]
    fn its_end_is_told() {
        let long = Duration::from_secs(60);
        assert_eq!(run(&["true"], long), Ok(()));
        assert!(
            run(&["sh", "-c", "exit 7"], long)
                .expect_err("7")
                .contains("exit code 7")
        );
        assert!(
            run(&["/no/such"], long)
                .expect_err("not there")
                .contains("could not")
        );
        let short = Duration::from_millis(200);
        assert!(
            run(&["sleep", "1000"], short)
                .expect_err("too long")
                .contains("0.2 s")
        );
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent follow`

use crate::monitor::onlooker::follow;
use crate::monitor::{JobEnvironment, say};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// Say how far a training is that knows nothing of Surgent, by its output files
///
/// For jobs whose scripts were not changed: a task prolog (see packaging/examples) starts this in the job. It reads along in
/// the files that the batch script, or the first process of a step, writes to, and publishes progress in the job's comment
/// as `surgent run` does. It ends with the task. Where the output is no file, does not look like that of a training, or
/// `surgent run` is in the job, it publishes nothing. It says nothing of how the job can be asked to save.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// Follow in the background: return at once, as a task prolog has to
    #[arg(long)]
    detach: bool,
}

const AFTER_HELP: &str = "\
Environment:
  SLURM_TASK_PID          the task to be followed, as Slurm sets it
  SURGENT_MIN_INTERVAL_S  least seconds between two updates of the job's comment (30)

Exit code:
  0, also where there is nothing to follow: a task prolog that fails would end the task

Example, in the program that TaskProlog= in slurm.conf names:
  surgent follow --detach >/dev/null 2>&1";

pub(super) fn main(args: &Args) -> ExitCode {
    let environment = JobEnvironment::read();
    if environment.job.is_none() || environment.task.is_none() {
        say("not in a task of a Slurm job, so there is nothing to follow");
    } else if !args.detach {
        follow(&environment);
    } else if environment.speaks()
        && let Err(error) = detach()
    {
        say(&format!(
            "the job's output is not followed ({error}); the job runs all the same"
        ));
    }
    ExitCode::SUCCESS
}

/// Starts another process that follows.
///
/// Slurm waits until nobody holds the prolog's output any more, and kills the prolog's process group when it has ended.
/// Once this returns the new process is in a group of its own.
fn detach() -> io::Result<()> {
    Command::new("/proc/self/exe")
        .arg0("surgent")
        .arg("follow")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(())
}

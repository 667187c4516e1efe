// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent explain`

mod exposure;
mod history;
mod report;
mod text;

use super::audit_file::each_line;
use super::cluster::{Cluster, Source};
use super::job_name::JobName;
use super::output;
use super::plan;
use super::screen::Screen;
use crate::policy::ids::JobId;
use crate::policy::units::UnixTime;
use crate::slurm::command::Environment;
use history::History;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say why an urgent job waits, who preempted a job, or what protects or exposes it
///
/// Of an urgent job that waits: what keeps it from starting, and whom it would stop or waits for. Of an urgent job that runs:
/// who made way for it. Of a job that was preempted: for whom, when, whether it had saved, and what it cost. Of a normal job
/// that runs: every rule with its value and its limit, what is believed of its report, and what it would cost to stop it now.
/// Needs no rights, and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// The job: 17, 17_4 for a task of an array, 17+1 for a component of a heterogeneous job
    #[arg(value_name = "JOBID")]
    job: JobName,

    /// Print JSON (see docs/ask.md)
    #[arg(long)]
    json: bool,

    /// A saved snapshot instead of the cluster as it is (see docs/plan-json.md)
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// The site's settings; without this those in surgent.toml beside slurm.conf or in the snapshot, else the defaults
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// The audit file, instead of the one that surgent.toml names
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
What a stop cost stands in the audit file, which is for SlurmUser and administrators. Others are told what the job's own \
record says.

Exit code:
  0 if there is something to say of the job;
  1 if there is no such job, Slurm does not answer, or a file cannot be used; 2 for a wrong command line

Examples:
  surgent explain 17
  surgent explain --snapshot docs/examples/snapshot.json 104";

pub(super) fn main(args: &Args) -> ExitCode {
    output::end(answer(args))
}

fn answer(args: &Args) -> Result<String, String> {
    let mut cluster = match &args.snapshot {
        Some(file) => Cluster::of_snapshot(file, args.settings.as_deref())?,
        None => Cluster::read(
            &Environment::of_user(std::env::vars_os()),
            args.settings.as_deref(),
        )?,
    };
    let id = args
        .job
        .find(&cluster.seen)
        .map_or_else(|| args.job.number(), |seen| seen.id);
    if cluster.source != Source::Snapshot {
        plan::permission::review(&mut cluster, id);
    }
    cluster.note_mode();
    let (history, gap) = history(args, &cluster, id)?;
    let explanation = report::explain(&cluster, id, &history, gap).ok_or_else(|| unknown(args))?;
    if !args.json {
        return Ok(text::describe(&explanation, &cluster, &Screen::new(None, false)));
    }
    output::json("the explanation", &explanation)
}

fn unknown(args: &Args) -> String {
    let job = args.job;
    match &args.snapshot {
        Some(file) => format!("{}: there is no job {job} in this snapshot", file.display()),
        None => format!(
            "Slurm knows no job {job} any more, if there ever was one. sacct -j {job} tells of jobs that ended long ago where \
             accounting is set up; what Surgent did stands in the audit file (--audit FILE)"
        ),
    }
}

/// What the audit file tells of the job; where it cannot be read, a sentence that says so.
fn history(args: &Args, cluster: &Cluster, id: JobId) -> Result<(History, Option<String>), String> {
    let of_site = || match cluster.source {
        Source::Snapshot => None,
        Source::Planner | Source::Slurm => {
            let folder = cluster.state_dir.as_ref()?;
            // An absolute path stays as it is.
            Some(folder.join(&cluster.settings.audit.file))
        }
    };
    let mut history = History::of(id);
    let Some(file) = args.audit.clone().or_else(of_site) else {
        return Ok((history, None));
    };
    let read = each_line(&file, UnixTime(0), &mut |line| {
        history.take(line);
        Ok(())
    });
    match read {
        Ok(()) => Ok((history, None)),
        Err(sentence) if args.audit.is_some() => Err(sentence),
        Err(sentence) => Ok((History::of(id), Some(sentence))),
    }
}

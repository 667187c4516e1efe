// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent plan`

mod text;
mod verdict;

use super::files;
use crate::monitor;
use crate::policy::book::Book;
use crate::policy::facts::{Facts, Hindrance, WaitingJob};
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::party::Party;
use crate::policy::settings::{Mode, Settings};
use crate::policy::snapshot::{Snapshot, VERSION};
use crate::policy::step::step_and_tell;
use serde::Serialize;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use verdict::{Standing, Verdict};

/// So many urgent jobs are named where the one that was asked for is not there.
const NAMED_MAX: usize = 10;

/// Say which jobs would make way for an urgent job, by a saved snapshot of the cluster
///
/// Works offline and touches nothing; it is the same code that decides in slurmctld. Urgent jobs that wait before this
/// one in the queue are planned for first, and what is under way by the snapshot goes on. slurmctld keeps the snapshots
/// behind its latest plans (see docs/admin.md).
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// The snapshot, a file of JSON (see docs/plan-json.md)
    #[arg(long, value_name = "FILE")]
    snapshot: PathBuf,

    /// The urgent job
    #[arg(long, value_name = "ID")]
    job: u32,

    /// The site's settings; without this those in the snapshot, else the defaults
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit code:
  0 if there is something to say of the job, also that nobody can make way for it;
  1 if the snapshot or the settings cannot be used, or the job is none that waits urgently; 2 for a wrong command line

Example:
  surgent plan --snapshot docs/examples/snapshot.json --job 900";

/// What `--json` prints.
#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    /// The names of the nodes of the outcome, in the same order.
    node_names: Vec<String>,
    #[serde(flatten)]
    verdict: &'a Verdict,
    /// The same for further tasks of an array.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further_tasks: Vec<Answer<'a>>,
}

pub(super) fn main(args: &Args) -> ExitCode {
    match answer(args) {
        Ok(text) => {
            // A reader that has seen enough, such as head, is no fault.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            monitor::say(&sentence);
            ExitCode::FAILURE
        }
    }
}

fn answer(args: &Args) -> Result<String, String> {
    let path = args.snapshot.display();
    let snapshot =
        Snapshot::parse(&files::text(&args.snapshot)?).map_err(|error| format!("{path}: {error}"))?;
    let settings = match &args.settings {
        Some(file) => files::settings(file)?,
        None => snapshot.settings.unwrap_or_default(),
    };
    let id = JobId(args.job);
    let mut facts = snapshot.facts;
    let id = waiting(&facts, id)
        .map_err(|sentence| format!("{path}: {sentence}"))?
        .id();
    let verdicts = verdicts(&mut facts, snapshot.book, settings, id);
    if !args.json {
        let texts: Vec<String> = verdicts
            .iter()
            .map(|verdict| text::describe(id, verdict, &facts))
            .collect();
        return Ok(texts.join("\n"));
    }
    let mut answers = verdicts.iter().map(|verdict| Answer {
        version: VERSION,
        node_names: verdict.nodes().iter().map(|node| name(&facts, *node)).collect(),
        verdict,
        further_tasks: Vec::new(),
    });
    let first = answers.next().map(|first| Answer {
        further_tasks: answers.collect(),
        ..first
    });
    let json = serde_json::to_string_pretty(&first);
    json.map(|json| json + "\n")
        .map_err(|error| format!("the plan cannot be written as JSON: {error}"))
}

/// What the planner would decide for `id`: of several tasks of an array for each; never empty.
fn verdicts(facts: &mut Facts, mut book: Book, mut settings: Settings, id: JobId) -> Vec<Verdict> {
    let is_of_it = |job: &WaitingJob| job.id == id || job.het.is_some_and(|het| het.leader == id);
    for job in facts.waiting.iter_mut().filter(|job| is_of_it(job)) {
        // The question is what would become of it once Slurm has tried it.
        job.tested = true;
    }
    if settings.mode == Mode::Off {
        settings.mode = Mode::Shadow;
    }
    let mut verdicts = Vec::new();
    step_and_tell(&mut book, facts, &settings, &mut |decision| {
        if decision.urgent == id {
            verdicts.push(Verdict::Decided(decision.outcome.clone()));
        }
    });
    if verdicts.is_empty() {
        let campaign = book.campaigns.iter().find(|campaign| campaign.urgent == id);
        verdicts.push(Verdict::Standing(match campaign {
            Some(campaign) => Standing::in_progress(campaign),
            None => Standing::Hindered {
                urgent: id,
                hindrance: Party::of(facts, id)
                    .and_then(|party| party.hindrance())
                    .unwrap_or(Hindrance::Other),
            },
        }));
    }
    verdicts
}

/// The urgent job, with all components if it is one of a heterogeneous job; or a sentence that says why it is none.
fn waiting(facts: &Facts, id: JobId) -> Result<Party<'_>, String> {
    if let Some(found) = Party::of(facts, id) {
        return Ok(found);
    }
    let what = if facts.job(id).is_some() {
        format!("job {id} runs; there are plans for urgent jobs that wait")
    } else if facts.parked.iter().any(|job| job.id == id) {
        format!("job {id} is not urgent; there are plans for urgent jobs only")
    } else {
        format!("there is no job {id}")
    };
    let waiting = facts.waiting.iter().take(NAMED_MAX).map(|job| job.id.to_string());
    let waiting: Vec<String> = waiting.collect();
    Err(match waiting.is_empty() {
        true => format!("{what}; no urgent job waits in this snapshot"),
        false => format!("{what}; urgent jobs that wait here: {}", waiting.join(", ")),
    })
}

fn name(facts: &Facts, node: NodeIndex) -> String {
    facts
        .node(node)
        .map_or_else(|| format!("node {}", node.0), |node| node.name.clone())
}

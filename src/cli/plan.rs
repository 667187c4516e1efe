// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent plan`

mod text;

use crate::policy::facts::Facts;
use crate::policy::fit::Ledger;
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::party::Party;
use crate::policy::plan::{Constraints, Outcome};
use crate::policy::settings::Settings;
use crate::policy::snapshot::{Snapshot, VERSION};
use serde::Serialize;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// No snapshot is larger; one of 10,000 nodes and 40,000 jobs has about 40 MB.
const FILE_MAX_BYTES: u64 = 1 << 30;
/// So many urgent jobs are named where the one that was asked for is not there.
const NAMED_MAX: usize = 10;

/// Say which jobs would make way for an urgent job, by a saved snapshot of the cluster
///
/// Works offline and touches nothing; it is the same code that decides in slurmctld. The job is planned for as if no
/// other urgent job waited.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// The snapshot, a file of JSON (see docs/plan-json.md)
    #[arg(long, value_name = "FILE")]
    snapshot: PathBuf,

    /// The urgent job
    #[arg(long, value_name = "ID")]
    job: u32,

    /// The site's settings; the defaults without this
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
    outcome: &'a Outcome,
}

pub(super) fn main(args: &Args) -> ExitCode {
    match answer(args) {
        Ok(text) => {
            // A reader that has seen enough, such as head, is no fault.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(sentence) => {
            eprintln!("surgent: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn answer(args: &Args) -> Result<String, String> {
    let path = args.snapshot.display();
    let settings = match &args.settings {
        Some(file) => Settings::parse(&read(file)?)
            .map_err(|error| format!("{}: {}", file.display(), error.trim_end()))?,
        None => Settings::default(),
    };
    let snapshot = Snapshot::parse(&read(&args.snapshot)?).map_err(|error| format!("{path}: {error}"))?;
    let facts = snapshot.facts;
    let id = JobId(args.job);
    let urgent = waiting(&facts, id).map_err(|sentence| format!("{path}: {sentence}"))?;
    let id = urgent.id();
    if let Some(hindrance) = urgent.hindrance().filter(|_| !args.json) {
        return Ok(text::fill(&crate::policy::notes::blocked(id, hindrance)));
    }
    let constraints = Constraints {
        patience_over: facts.now - urgent.submit() > settings.urgent.patience_s,
        ..Constraints::default()
    };
    let outcome = urgent.plan(&facts, &Ledger::of(&facts), &constraints, &settings);
    if !args.json {
        return Ok(text::describe(id, &outcome, &facts));
    }
    let answer = Answer {
        version: VERSION,
        node_names: nodes(&outcome).iter().map(|node| name(&facts, *node)).collect(),
        outcome: &outcome,
    };
    let json = serde_json::to_string_pretty(&answer);
    json.map(|json| json + "\n")
        .map_err(|error| format!("the plan cannot be written as JSON: {error}"))
}

fn read(path: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut text = String::new();
    let bytes = file
        .take(FILE_MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    if bytes as u64 > FILE_MAX_BYTES {
        return Err(format!("{}: larger than any snapshot", path.display()));
    }
    Ok(text)
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

fn nodes(outcome: &Outcome) -> &[NodeIndex] {
    match outcome {
        Outcome::Fits { nodes } => nodes,
        Outcome::Stop(plan) => &plan.nodes,
        Outcome::Wait(wait) => &wait.nodes,
        Outcome::NoSet { .. } => &[],
    }
}

fn name(facts: &Facts, node: NodeIndex) -> String {
    facts
        .node(node)
        .map_or_else(|| format!("node {}", node.0), |node| node.name.clone())
}

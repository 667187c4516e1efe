// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent plan`

mod lift;
mod options;
pub(super) mod permission;
mod question;
mod submitted;
pub(super) mod text;
pub(super) mod verdict;

use super::job_name::JobName;
use super::output;
use super::words::visible;
use crate::monitor;
use crate::policy::book::Book;
use crate::policy::facts::{Facts, Hindrance, WaitingJob};
use crate::policy::fit::Ledger;
use crate::policy::ids::{JobId, NodeIndex};
use crate::policy::party::Party;
use crate::policy::plan::Outcome;
use crate::policy::settings::{Mode, Settings};
use crate::policy::snapshot::VERSION;
use crate::policy::step::step_within;
use options::Submission;
use question::{AsIf, Question};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use verdict::{Prospect, Standing, Verdict};

/// Say which jobs would make way for an urgent job, now, without doing anything
///
/// For a job that waits (--job), urgent or not, or for one that does not exist, described as to sbatch. It is the same code
/// that decides in slurmctld: urgent jobs that stand before this one in the queue are planned for first, and what is under
/// way goes on. Needs no rights, and touches nothing. With --snapshot it works offline: slurmctld keeps the snapshots behind
/// its latest plans (see docs/admin.md).
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, allow_negative_numbers = true)]
pub(super) struct Args {
    /// A job that waits: 17, 17_4 for a task of an array, 17+0 for a heterogeneous job
    #[arg(long, value_name = "ID")]
    job: Option<JobName>,

    /// A saved snapshot instead of the cluster as it is (see docs/plan-json.md)
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// The site's settings; without this those in surgent.toml beside slurm.conf or in the snapshot, else the defaults
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    submission: Submission,
}

const AFTER_HELP: &str = "\
Options of sbatch that do not matter to a plan, such as --output, are taken and passed over; others that are not named \
above are refused.

Exit code:
  0 if there is something to say of the job, also that nobody can make way for it;
  1 if Slurm does not answer, a file cannot be used, the job does not wait, or Slurm would not take it;
  2 for a wrong command line

Examples:
  surgent plan --nodes 2 --gres gpu:4 --time 2:00:00
  surgent plan --job 17
  surgent plan --snapshot docs/examples/snapshot.json --job 900";

/// What `--json` prints.
#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    /// What the job was taken for, where it is not an urgent one that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_if: Option<AsIf>,
    /// What keeps this from being what slurmctld would decide.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    /// The names of the nodes of the outcome, in the same order.
    node_names: Vec<String>,
    #[serde(flatten)]
    prospect: &'a Prospect,
    /// The same for further tasks of an array.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further_tasks: Vec<Answer<'a>>,
}

pub(super) fn main(args: &Args) -> ExitCode {
    let fault = match (args.job.is_some(), args.submission.is_said()) {
        (true, true) => Some("name a job with --job, or describe one as to sbatch; not both"),
        (false, false) => {
            Some("name a job with --job, or describe one as to sbatch, such as --nodes 2 --gres gpu:4")
        }
        (true, false) | (false, true) => None,
    };
    if let Some(fault) = fault {
        monitor::say(fault);
        return ExitCode::from(2);
    }
    output::end(answer(args))
}

fn answer(args: &Args) -> Result<String, String> {
    let mut question = Question::of(args)?;
    question.permit();
    question.cluster.note_mode();
    let Question { cluster, id, as_if } = question;
    let facts = &cluster.seen.facts;
    let prospects = prospects(facts, &cluster.book, &cluster.settings, id);
    if !args.json {
        let head = as_if.map(|as_if| match as_if {
            AsIf::Urgent => format!("Job {id} is not urgent. If it were:"),
            AsIf::Submitted => format!("If this were submitted now as an urgent job, with number {id}:"),
        });
        let notes = cluster
            .notes
            .iter()
            .map(|note| format!("Note: {}", visible(note)));
        let before: String = notes.chain(head).map(|line| text::fill(&line)).collect();
        let texts: Vec<String> = prospects
            .iter()
            .map(|prospect| text::describe(id, prospect, facts))
            .collect();
        return Ok(before + &texts.join("\n"));
    }
    let mut answers = prospects.iter().map(|prospect| Answer {
        version: VERSION,
        as_if: None,
        notes: &[],
        node_names: prospect
            .verdict
            .nodes()
            .iter()
            .map(|node| name(facts, *node))
            .collect(),
        prospect,
        further_tasks: Vec::new(),
    });
    let first = answers.next().map(|first| Answer {
        further_tasks: answers.collect(),
        as_if,
        notes: &cluster.notes,
        ..first
    });
    output::json("the plan", &first)
}

/// What the planner would decide for `id`, and which rules keep it waiting: of several tasks of an array for each; never
/// empty.
pub(super) fn prospects(facts: &Facts, book: &Book, settings: &Settings, id: JobId) -> Vec<Prospect> {
    let decide = |facts: Facts, settings: Settings| verdicts(facts, book.clone(), settings, id);
    let verdicts = decide(facts.clone(), settings.clone()).into_iter().enumerate();
    let prospects = verdicts.map(|(task, verdict)| {
        let would_help = lift::would_help(&verdict, |lift| {
            let (mut facts, mut settings) = (facts.clone(), settings.clone());
            lift(&mut facts, &mut settings);
            decide(facts, settings).into_iter().nth(task)
        });
        let is_without_set = matches!(verdict, Verdict::Decided(Outcome::NoSet { .. }));
        Prospect {
            never_fits: is_without_set && !fits_alone(facts, id),
            verdict,
            would_help,
        }
    });
    prospects.collect()
}

/// Whether it would fit if no job ran.
fn fits_alone(facts: &Facts, id: JobId) -> bool {
    let facts = Facts {
        running: Vec::new(),
        ..facts.clone()
    };
    Party::of(&facts, id).is_some_and(|party| party.place(&Ledger::of(&facts)).is_some())
}

fn verdicts(mut facts: Facts, mut book: Book, mut settings: Settings, id: JobId) -> Vec<Verdict> {
    let is_of_it = |job: &WaitingJob| job.id == id || job.het.is_some_and(|het| het.leader == id);
    for job in facts.waiting.iter_mut().filter(|job| is_of_it(job)) {
        // The question is what would become of it once Slurm has tried it.
        job.tested = true;
    }
    if settings.mode == Mode::Off {
        settings.mode = Mode::Shadow;
    }
    let mut verdicts = Vec::new();
    // Whoever asks does not wait for the next turns.
    step_within(u64::MAX, &mut book, &facts, &settings, &mut |decision| {
        if decision.urgent == id {
            verdicts.push(Verdict::Decided(decision.outcome.clone()));
        }
    });
    if verdicts.is_empty() {
        let campaign = book.campaigns_of(id).next();
        verdicts.push(Verdict::Standing(match campaign {
            Some(campaign) => Standing::in_progress(campaign),
            None => Standing::Hindered {
                urgent: id,
                hindrance: Party::of(&facts, id)
                    .and_then(|party| party.hindrance())
                    .unwrap_or(Hindrance::Other),
            },
        }));
    }
    verdicts
}

fn name(facts: &Facts, node: NodeIndex) -> String {
    facts
        .node(node)
        .map_or_else(|| format!("node {}", node.0), |node| node.name.clone())
}

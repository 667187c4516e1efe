// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent replay`

mod charts;
mod page;
mod shadow;
mod text;

use super::{files, output};
use crate::monitor;
use crate::policy::settings::Settings;
use crate::replay::figures::Figures;
use crate::replay::sim::{Case, replay};
use crate::replay::timeline::Timeline;
use crate::replay::trace::{self, SACCT_COMMAND, Trace};
use crate::replay::way::{WAYS, Way};
use crate::replay::workload::{Assumptions, Machine, Workload};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use shadow::Shadow;
use signal_hook::consts::SIGINT;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Show what ways of serving urgent jobs would have done to the jobs of a trace
///
/// Runs the jobs of the trace, in a model, on a cluster of equal nodes: normal jobs first in, first out with backfill, and
/// some of all jobs urgent. Surgent's victims are chosen by the code that decides in slurmctld. For comparison there are
/// the orders of Slurm's own preemption and others, each killing at once, after the grace time (-grace), or with a save
/// within the grace time (-saved). The grace time is `victims.save_deadline_s` of the settings for all.
///
/// The trace is what `sacct -P` prints, a published extract of the Helios or Philly traces, a trace of the Muri or
/// Shockwave artifacts, or one in the Standard Workload Format, whose processors are taken for GPUs. What a trace
/// does not tell is drawn by the seed, and the output says so. Jobs without GPUs are left out.
#[derive(Debug, clap::Args)]
#[command(after_long_help = after_help(), allow_negative_numbers = true)]
pub(super) struct Args {
    /// The trace; - is standard input
    #[arg(value_name = "TRACE")]
    trace: PathBuf,

    /// Nodes of the cluster
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,

    /// GPUs of each node
    #[arg(long, value_name = "G", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    gpus_per_node: u32,

    /// The share of jobs that are urgent, where the trace does not tell
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    urgent: f64,

    /// The share of jobs that can save at an epoch's end only
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = share)]
    epoch_savers: f64,

    /// Let no training keep a checkpoint that it was not asked for; by default each keeps one at each epoch's end
    #[arg(long)]
    no_checkpoints: bool,

    /// Draws the same for the same number
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// What to compare, separated by commas; all of them by default
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policies: Vec<Way>,

    /// The site's settings; without this the defaults
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Show as well what Surgent in shadow mode decided for real, by its audit file
    #[arg(long, value_name = "AUDIT-FILE")]
    shadow: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write a page with charts as well, which needs nothing but a browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn after_help() -> String {
    format!(
        "Policies:\n  {}\n\n\
         Exit code:\n  0 if all was replayed; 1 if the trace or the settings cannot be used; 2 for a wrong command line;\n  \
         130 after Ctrl-C, which gives what there is, marked as partial\n\n\
         A trace of your own cluster:\n  {SACCT_COMMAND} > trace\n  surgent replay trace --nodes 20 --gpus-per-node 8",
        WAYS.map(|way| way.to_string()).join(", "),
    )
}

/// A share, such as `5%` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map(|number| number / whole);
    share
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is a number such as 5% or 0.05, from 0 to 100%".to_owned())
}

/// All that is said of a replay.
#[derive(Serialize)]
struct Report {
    version: u32,
    trace: String,
    machine: MachineSize,
    jobs: u64,
    urgent_jobs: u64,
    left_out: BTreeMap<String, u64>,
    assumptions: Vec<String>,
    policies: Vec<Line>,
    is_partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<Shadow>,
}

#[derive(Serialize)]
struct MachineSize {
    nodes: u32,
    gpus_per_node: u32,
}

#[derive(Serialize)]
struct Line {
    policy: String,
    #[serde(flatten)]
    figures: Figures,
}

pub(super) fn main(args: &Args) -> ExitCode {
    let (report, timeline) = match report(args) {
        Ok(both) => both,
        Err(sentence) => {
            monitor::say(&sentence);
            return ExitCode::FAILURE;
        }
    };
    if let Some(file) = &args.html
        && let Err(error) = write_page(file, &report, timeline.as_ref())
    {
        monitor::say(&format!("{}: {error}", file.display()));
        return ExitCode::FAILURE;
    }
    let answer = match args.json {
        true => output::json("the figures", &report),
        false => Ok(text::describe(&report)),
    };
    let is_partial = answer.is_ok() && report.is_partial;
    let code = output::end(answer);
    match is_partial {
        true => ExitCode::from(130),
        false => code,
    }
}

fn write_page(file: &Path, report: &Report, timeline: Option<&Timeline>) -> Result<(), Box<dyn Error>> {
    Ok(std::fs::write(file, page::page(report, timeline)?)?)
}

/// All figures, and the nodes around an urgent start where Surgent is among the policies.
fn report(args: &Args) -> Result<(Report, Option<Timeline>), String> {
    let settings = match &args.settings {
        Some(file) => files::settings(file)?,
        None => Settings::default(),
    };
    let shadow = args.shadow.as_deref().map(Shadow::read).transpose()?;
    let trace = read(args)?;
    let machine = Machine {
        nodes: args.nodes,
        gpus_per_node: args.gpus_per_node,
    };
    let assumptions = Assumptions {
        seed: args.seed,
        urgent_share: args.urgent,
        epoch_savers_share: args.epoch_savers,
        ..Assumptions::default()
    };
    let workload = Workload::new(&trace, machine, &assumptions);
    if workload.jobs.is_empty() {
        let (nodes, gpus) = (args.nodes, args.gpus_per_node);
        return Err(format!(
            "no job of the trace fits on {nodes} nodes with {gpus} GPUs each"
        ));
    }
    check_page(args)?;
    let named = match args.policies.is_empty() {
        true => &WAYS[..],
        false => &args.policies[..],
    };
    let mut ways = Vec::new();
    for way in named {
        // Named twice it is one of them all the same.
        if !ways.contains(way) {
            ways.push(*way);
        }
    }
    let Compared {
        policies,
        timeline,
        is_partial,
    } = compare(args, machine, &workload, &settings, &ways)?;
    let mut left_out: BTreeMap<String, u64> = trace
        .skipped
        .iter()
        .map(|(reason, count)| ((*reason).to_owned(), *count))
        .collect();
    if workload.too_large > 0 {
        left_out.insert("needs more than the cluster has".to_owned(), workload.too_large);
    }
    let report = Report {
        version: 1,
        trace: args.trace.display().to_string(),
        machine: MachineSize {
            nodes: machine.nodes,
            gpus_per_node: machine.gpus_per_node,
        },
        jobs: workload.jobs.len() as u64,
        urgent_jobs: workload.jobs.iter().filter(|job| job.is_urgent).count() as u64,
        left_out,
        assumptions: text::assumptions(args, &assumptions, &workload, &settings),
        policies,
        is_partial,
        shadow,
    };
    Ok((report, timeline))
}

fn read(args: &Args) -> Result<Trace, String> {
    let cannot = |what: String| format!("{}: {what}", args.trace.display());
    if args.trace == Path::new("-") {
        return trace::read(std::io::stdin().lock()).map_err(|error| cannot(error.to_string()));
    }
    let file = File::open(&args.trace).map_err(|error| cannot(error.to_string()))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(cannot("a directory, and no trace".to_owned()));
    }
    trace::read(BufReader::new(file)).map_err(|error| cannot(error.to_string()))
}

/// Said before a replay that may take minutes, and not after it.
fn check_page(args: &Args) -> Result<(), String> {
    let Some(page) = &args.html else {
        return Ok(());
    };
    let cannot = |what: String| format!("{}: {what}", page.display());
    let inputs = [Some(&args.trace), args.settings.as_ref(), args.shadow.as_ref()];
    let is_same = |input: &PathBuf| {
        page.canonicalize()
            .is_ok_and(|page| input.canonicalize().is_ok_and(|input| input == page))
    };
    if inputs.into_iter().flatten().any(is_same) {
        return Err(cannot(
            "the page would overwrite what is read from there".to_owned(),
        ));
    }
    let opened = OpenOptions::new().append(true).create(true).open(page);
    opened.map(drop).map_err(|error| cannot(error.to_string()))
}

struct Compared {
    /// The figures of each way.
    policies: Vec<Line>,
    timeline: Option<Timeline>,
    /// Ctrl-C came between.
    is_partial: bool,
}

/// Replays the workload in each of the ways.
fn compare(
    args: &Args,
    machine: Machine,
    workload: &Workload,
    settings: &Settings,
    ways: &[Way],
) -> Result<Compared, String> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, Arc::clone(&stop))
        .map_err(|error| format!("Ctrl-C cannot be caught: {error}"))?;
    let bar = ProgressBar::new((workload.jobs.len() * ways.len()) as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg:20} {wide_bar} {percent:>3}% {eta:>4} left") {
        bar.set_style(style);
    }
    let mut policies = Vec::new();
    let mut timeline = None;
    for (place, way) in ways.iter().enumerate() {
        bar.set_message(way.to_string());
        let case = Case {
            machine,
            jobs: &workload.jobs,
            way: *way,
            settings,
            keeps_epochs: !args.no_checkpoints,
            seed: args.seed,
        };
        let before = (place * workload.jobs.len()) as u64;
        let replayed = replay(case, |done| {
            bar.set_position(before + done);
            !stop.load(Ordering::Relaxed)
        });
        let is_partial = replayed.is_partial;
        if *way == (Way::Surgent { saves: true }) {
            timeline = Timeline::of(&workload.jobs, machine, &replayed);
        }
        policies.push(Line {
            policy: way.to_string(),
            figures: Figures::of(&workload.jobs, machine, &replayed),
        });
        if is_partial {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(Compared {
        policies,
        timeline,
        is_partial: stop.load(Ordering::Relaxed),
    })
}

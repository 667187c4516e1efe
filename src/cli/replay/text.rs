// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison for people, in lines of at most 100 columns.

use super::{Args, Report};
use crate::policy::settings::Settings;
use crate::replay::workload::{Assumptions, Workload};
use std::fmt::Write as _;

const COLUMNS: usize = 100;

/// What was taken for true where the trace does not tell.
pub(super) fn assumptions(
    args: &Args,
    assumed: &Assumptions,
    workload: &Workload,
    settings: &Settings,
) -> Vec<String> {
    let jobs = workload.jobs.len() as u64;
    let told = |count: u64, what: &str, drawn: String| match count {
        0 => format!("{what}: {drawn}, drawn with seed {}", assumed.seed),
        count if count == jobs => format!("{what}: by the trace"),
        count => format!(
            "{what}: by the trace for {count} jobs, else {drawn}, drawn with seed {}",
            assumed.seed
        ),
    };
    let (least, most) = assumed.epochs;
    let (save_least_s, save_most_s) = assumed.save_s;
    let victims = &settings.victims;
    vec![
        told(
            workload.class_told,
            "urgent",
            format!("{} % of the jobs", assumed.urgent_share * 100.0),
        ),
        told(
            workload.epochs_told,
            "epochs",
            format!(
                "log-uniform from {least} to {most}, none shorter than {} s",
                assumed.epoch_min_s
            ),
        ),
        format!(
            "saves: log-uniform from {save_least_s} to {save_most_s} s, {} % of the jobs at an epoch's end only, drawn with \
             seed {}; {}",
            assumed.epoch_savers_share * 100.0,
            assumed.seed,
            match args.no_checkpoints {
                true => "nobody saves unasked",
                false => "every job keeps a checkpoint at each epoch's end unasked",
            }
        ),
        format!(
            "a job that was stopped trains again {} s after it has started; a victim has {} s for its save",
            victims.restart_s.0, victims.save_deadline_s.0
        ),
        format!(
            "time limits where the trace has none: {} times the run time",
            assumed.limit_factor
        ),
    ]
}

/// The whole answer.
pub(super) fn describe(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = fill(&format!(
        "{}: {}, {} of them urgent, on {} with {} each",
        report.trace,
        counted(report.jobs, "job"),
        report.urgent_jobs,
        counted(machine.nodes.into(), "node"),
        counted(machine.gpus_per_node.into(), "GPU"),
    ));
    for (reason, count) in &report.left_out {
        text += &fill(&format!("left out: {} ({reason})", counted(*count, "job")));
    }
    for assumption in &report.assumptions {
        text += &fill(assumption);
    }
    text.push('\n');
    text += &table(report);
    if report.is_partial {
        text += "\nPartial: ended by Ctrl-C before all jobs were done.\n";
    }
    if let Some(shadow) = &report.shadow {
        text += &shadow.describe();
    }
    text
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{:20}|  urgent wait  |   per urgent start    |   normal jobs    |\n\
         {:20}| p50    p95    | lost GPU-h   victims  | wait     slowdown| use",
        "", "policy"
    );
    let _ = writeln!(text, "{}", "-".repeat(86));
    for line in &report.policies {
        let figures = &line.figures;
        let of_urgent = |figure: String| match figures.urgent_starts {
            0 => "-".to_owned(),
            _ => figure,
        };
        let _ = writeln!(
            text,
            "{:20}| {:6} {:6} | {:>10} {:>9}  | {:8} {:>8.1}| {:>4.1}%{}",
            line.policy,
            of_urgent(time(figures.urgent_wait_s.p50)),
            of_urgent(time(figures.urgent_wait_s.p95)),
            of_urgent(format!("{:.3}", figures.lost_gpu_h_per_start)),
            of_urgent(format!("{:.2}", figures.victims_per_start)),
            time(figures.normal_wait_s.mean),
            figures.normal_slowdown.mean,
            figures.utilisation * 100.0,
            if figures.is_partial { " partial" } else { "" },
        );
    }
    text += &fill(
        "Lost is what victims trained in vain, the time for saves and for starting again. Normal jobs: means; wait is all \
         time from the first submission to the end in which a job did not train.",
    );
    text
}

/// In at most five characters.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0}s"),
        s if s < 6000.0 => format!("{:.0}m", s / 60.0),
        s if s < 360_000.0 => format!("{:.1}h", s / 3600.0),
        s => format!("{:.0}d", s / 86_400.0),
    }
}

/// `1 job`, `2 jobs`.
pub(super) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Lines of at most so many columns.
pub(super) fn fill(sentence: &str) -> String {
    textwrap::fill(sentence, COLUMNS) + "\n"
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A comparison as one page of HTML that needs nothing else: no script, no font, no network.

use super::Report;
use super::charts::{self, LEGEND};
use super::text::{counted, time};
use crate::replay::timeline::Timeline;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::error::Error;

const STYLE: &str = "\
:root { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; }
body { max-width: 62rem; margin: 0 auto; padding: 0 1rem 3rem; }
h1 { font-size: 1.4rem; line-height: 1.2; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.5rem; }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; }
svg { display: block; width: 100%; height: auto; max-width: 40rem; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; list-style: none; }
.key i { display: inline-block; width: 1em; height: 1em; margin-right: .4em; vertical-align: -.1em; border: 1px solid #555; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; } tr.ours { font-weight: 600; }
.name { overflow-wrap: anywhere; }
dl div { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .1rem 0; } dt { width: 16rem; color: #555; } dd { margin: 0; }
@media (max-width: 46rem) {
  thead { display: none; } tr { display: block; padding: .5rem 0; border-bottom: 1px solid #999; }
  td { display: flex; justify-content: space-between; border: 0; padding: .1rem 0; text-align: left; }
  td:not(:first-child)::before { content: attr(data-what); color: #555; } td:first-child { font-weight: 600; }
  dl div { justify-content: space-between; } dt { width: auto; } dd { margin-left: auto; }
}
@media print { body { max-width: none; } a { color: inherit; } }
";

/// The page.
pub(super) fn page(report: &Report, timeline: Option<&Timeline>) -> Result<String, Box<dyn Error>> {
    let machine = &report.machine;
    let lost = charts::lost(report)?;
    let waits = charts::waits(report)?;
    let around = timeline
        .map(|timeline| charts::timeline(timeline, machine.gpus_per_node))
        .transpose()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "surgent replay" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1.name { "Urgent jobs in " (report.trace) }
                p {
                    (counted(report.jobs, "job")) ", " (report.urgent_jobs) " of them urgent, on "
                    (counted(machine.nodes.into(), "node")) " with " (counted(machine.gpus_per_node.into(), "GPU"))
                    " each."
                    @if report.is_partial { strong { " Partial: ended before all jobs were done." } }
                }
                div.charts {
                    figure {
                        figcaption { "What victims lost" }
                        (PreEscaped(lost))
                    }
                    figure {
                        figcaption { "How long urgent jobs waited: median (dark) and 95th percentile" }
                        (PreEscaped(waits))
                    }
                }
                @if let (Some(timeline), Some(around)) = (timeline, around) {
                    h2 { "One urgent start with Surgent" }
                    p {
                        "It waited " (time(timeline.waited_s as f64)) " for " (counted(timeline.victims as u64, "job"))
                        " to save. Each row is a GPU; lines part the nodes. The two upright lines are its submission and its start."
                    }
                    figure { (PreEscaped(around)) }
                    ul.key {
                        @for (_, what, colour) in LEGEND {
                            li { i style=(format!("background:rgb({},{},{})", colour.0, colour.1, colour.2)) {} (what) }
                        }
                    }
                }
                h2 { "Figures" }
                (table(report))
                @if let Some(shadow) = &report.shadow {
                    h2.name { (shadow.title()) }
                    dl { @for (what, value) in shadow.rows() { div { dt { (what) } dd { (value) } } } }
                }
                h2 { "What was assumed" }
                ul { @for assumption in &report.assumptions { li { (assumption) } } }
                @if !report.left_out.is_empty() {
                    h2 { "What was left out" }
                    ul { @for (reason, count) in &report.left_out { li { (counted(*count, "job")) ": " (reason) } } }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn table(report: &Report) -> Markup {
    const COLUMNS: [&str; 7] = [
        "urgent wait, median",
        "urgent wait, p95",
        "GPU-h lost per start",
        "victims per start",
        "normal wait, mean",
        "normal slowdown, mean",
        "GPUs in use",
    ];
    html! {
        table {
            thead { tr { th { "policy" } @for column in COLUMNS { th { (column) } } } }
            tbody {
                @for line in &report.policies {
                    @let figures = &line.figures;
                    @let cells = [
                        time(figures.urgent_wait_s.p50),
                        time(figures.urgent_wait_s.p95),
                        format!("{:.3}", figures.lost_gpu_h_per_start),
                        format!("{:.2}", figures.victims_per_start),
                        time(figures.normal_wait_s.mean),
                        format!("{:.1}", figures.normal_slowdown.mean),
                        format!("{:.1} %", figures.utilisation * 100.0),
                    ];
                    tr.ours[line.policy == "surgent"] {
                        td { (line.policy) }
                        @for (what, cell) in COLUMNS.iter().zip(&cells) { td data-what=(what) { (cell) } }
                    }
                }
            }
        }
    }
}

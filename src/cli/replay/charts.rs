// SPDX-License-Identifier: GPL-2.0-or-later
//! The charts of a comparison, as SVG. Narrow, so that their letters can be read on a phone.

use super::Report;
use crate::replay::timeline::{Timeline, Use};
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::error::Error;
use std::fmt::Write as _;

/// Of all charts, in pixels before they are scaled to the page.
const WIDTH: u32 = 420;
const BAR_HEIGHT: u32 = 34;
const MARGIN: u32 = 45;
const TEXT: (&str, i32) = ("sans-serif", 13);

const OURS: RGBColor = RGBColor(0, 114, 178);
const OTHERS: RGBColor = RGBColor(150, 150, 150);
const MEDIAN: RGBColor = RGBColor(40, 40, 40);

/// What a colour of the timeline means.
pub(super) const LEGEND: [(Use, &str, RGBColor); 5] = [
    (Use::Urgent, "the urgent job", RGBColor(213, 94, 0)),
    (Use::Victim, "trains until it makes way", RGBColor(86, 180, 233)),
    (Use::Saves, "saves", RGBColor(240, 228, 66)),
    (Use::Restarts, "starts again", RGBColor(204, 121, 167)),
    (Use::Other, "trains on", RGBColor(205, 205, 205)),
];

type Drawn = Result<String, Box<dyn Error>>;

/// GPU-hours lost for each urgent start, by policy.
pub(super) fn lost(report: &Report) -> Drawn {
    let bars: Vec<Bar> = report
        .policies
        .iter()
        .map(|line| Bar {
            name: line.policy.clone(),
            length: line.figures.lost_gpu_h_per_start,
            mark: None,
            says: format!("{:.3} GPU-h", line.figures.lost_gpu_h_per_start),
        })
        .collect();
    let most = longest(&bars);
    draw_bars(&bars, 0.0..most, "GPU-hours lost for each urgent start", &|x| {
        format!("{x:.1}")
    })
}

/// How long urgent jobs waited, by policy.
pub(super) fn waits(report: &Report) -> Drawn {
    let bars: Vec<Bar> = report
        .policies
        .iter()
        .map(|line| {
            let wait = line.figures.urgent_wait_s;
            Bar {
                name: line.policy.clone(),
                length: wait.p95.max(1.0),
                mark: Some(wait.p50.max(1.0)),
                says: format!(
                    "{} / {}",
                    super::text::time(wait.p50),
                    super::text::time(wait.p95)
                ),
            }
        })
        .collect();
    let most = longest(&bars).max(10.0);
    let range = (1.0..most).log_scale();
    draw_bars(&bars, range, "seconds (logarithmic)", &|x| format!("{x:.0}"))
}

struct Bar {
    name: String,
    length: f64,
    mark: Option<f64>,
    says: String,
}

fn longest(bars: &[Bar]) -> f64 {
    let most = bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
    // A range of no length cannot be drawn.
    if most > 0.0 { most * 1.02 } else { 1.0 }
}

fn draw_bars<R>(bars: &[Bar], range: R, unit: &str, label: &dyn Fn(&f64) -> String) -> Drawn
where
    R: AsRangedCoord<Value = f64>,
    R::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let rows = i32::try_from(bars.len())?;
    let height = BAR_HEIGHT * u32::try_from(rows)? + MARGIN;
    drawn(height, |frame| {
        let mut chart = frame.build_cartesian_2d(range, 0f64..f64::from(rows))?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(WHITE)
            .x_labels(5)
            .x_label_formatter(label)
            .x_desc(unit)
            .label_style(TEXT)
            .axis_desc_style(TEXT)
            .draw()?;
        let start = chart.x_range().start;
        for (row, bar) in bars.iter().rev().enumerate() {
            let row = row as f64;
            let colour = if bar.name == "surgent" { OURS } else { OTHERS };
            chart.draw_series([Rectangle::new(
                [(start, row + 0.1), (bar.length.max(start), row + 0.45)],
                colour.filled(),
            )])?;
            if let Some(mark) = bar.mark {
                chart.draw_series([Rectangle::new(
                    [(start, row + 0.1), (mark, row + 0.22)],
                    MEDIAN.filled(),
                )])?;
            }
            chart.draw_series([Text::new(
                format!("{}: {}", bar.name, bar.says),
                (start, row + 0.95),
                TEXT,
            )])?;
        }
        Ok(())
    })
}

/// The nodes around an urgent start.
pub(super) fn timeline(timeline: &Timeline, gpus_per_node: u32) -> Drawn {
    const ROW_HEIGHT: u32 = 9;
    let rows = timeline.nodes.len() * gpus_per_node as usize;
    let height = ROW_HEIGHT * u32::try_from(rows)? + MARGIN;
    let minutes = |seconds: i64| seconds as f64 / 60.0;
    drawn(height, |frame| {
        // Rows are counted from the top.
        let mut chart =
            frame.build_cartesian_2d(minutes(timeline.from_s)..minutes(timeline.to_s), rows as f64..0.0)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .disable_y_axis()
            .x_labels(6)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .x_desc("minutes from the urgent job's start")
            .label_style(TEXT)
            .axis_desc_style(TEXT)
            .draw()?;
        for bar in &timeline.bars {
            let colour = LEGEND
                .iter()
                .find(|entry| entry.0 == bar.used)
                .map_or(WHITE, |entry| entry.2);
            let (top, bottom) = (bar.row as f64 + 0.06, (bar.row + bar.rows) as f64 - 0.06);
            chart.draw_series([Rectangle::new(
                [(minutes(bar.from_s), top), (minutes(bar.to_s), bottom)],
                colour.filled(),
            )])?;
        }
        let of_all = rows as f64;
        for node in 1..timeline.nodes.len() {
            let edge = (node * gpus_per_node as usize) as f64;
            let ends = [(minutes(timeline.from_s), edge), (minutes(timeline.to_s), edge)];
            chart.draw_series([PathElement::new(ends, BLACK.stroke_width(1))])?;
        }
        for moment in [-timeline.waited_s, 0] {
            let ends = [(minutes(moment), 0.0), (minutes(moment), of_all)];
            chart.draw_series([PathElement::new(ends, BLACK.stroke_width(1))])?;
        }
        Ok(())
    })
}

/// The chart that `draw` makes in a frame with room for the labels below.
fn drawn(
    height: u32,
    draw: impl FnOnce(&mut ChartBuilder<'_, '_, SVGBackend<'_>>) -> Result<(), Box<dyn Error>>,
) -> Drawn {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let mut frame = ChartBuilder::on(&root);
        frame.margin_left(8).margin_right(18).x_label_area_size(40);
        draw(&mut frame)?;
        root.present()?;
    }
    Ok(scalable(svg, height))
}

/// Without a size of its own, so that the page gives it one.
fn scalable(svg: String, height: u32) -> String {
    let mut fixed = String::new();
    // Writing to a string does not fail.
    let _ = write!(fixed, "width=\"{WIDTH}\" height=\"{height}\" ");
    svg.replacen(&fixed, "role=\"img\" ", 1)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Figures from figures.

/// The value below which the given part of `values` is, 0.5 for the median; `None` of nothing.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * part).round() as usize).copied()
}

/// How much y grows with each unit of x: the median of the slopes between any two points, which single ones cannot move
/// far (Theil and Sen). `None` of less than two.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let pairs = points.iter().enumerate().flat_map(|(at, first)| {
        let later = points[at + 1..].iter();
        later.map(move |second| (second.0 - first.0, second.1 - first.1))
    });
    let slopes: Vec<f64> = pairs
        .filter(|(run, _)| *run != 0.0)
        .map(|(run, rise)| rise / run)
        .collect();
    quantile(&slopes, 0.5)
}

#[test]
fn one_point_far_off_does_not_move_the_slope() {
    let mut points: Vec<(f64, f64)> = (0..20)
        .map(|x| (f64::from(x), 3.0 + 2.0 * f64::from(x)))
        .collect();
    points[7].1 = 1e6;
    assert_eq!(slope(&points), Some(2.0));
    assert_eq!(slope(&points[..1]), None);
    assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0, 9.0], 0.5), Some(3.0));
}

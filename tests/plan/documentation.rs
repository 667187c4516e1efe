// SPDX-License-Identifier: GPL-2.0-or-later
//! The numbers of the worked example in docs/policy.md are those that the code comes to.

use crate::oracle::{Victim, total, victims};
use surgent::policy::settings::Settings;
use surgent::policy::snapshot::Snapshot;

const PAGE: &str = include_str!("../../docs/policy.md");
const SNAPSHOT: &str = include_str!("../../docs/examples/snapshot.json");

#[test]
fn the_worked_example_is_true() {
    let facts = Snapshot::parse(SNAPSHOT).unwrap().facts;
    let settings = Settings::default();
    let known = victims(&facts, false, &settings);
    let example = PAGE.split("## A worked example").nth(1).unwrap();
    let rows: Vec<Vec<&str>> = example
        .lines()
        .filter(|line| line.starts_with("| 1"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), known.len(), "everybody who may be stopped has a row");
    for (row, victim) in rows.iter().zip(&known) {
        let number = |at: usize| row[at].parse::<f64>().unwrap();
        let (cost, ready_s) = victim.ways[0];
        assert_eq!(row[0], victim.job.id.to_string());
        assert_eq!(row[8], format!("{cost:.1}"));
        assert_eq!(row[9], format!("{ready_s:.0}"));
        let product = number(2) * (number(4) + number(5) + number(6)) * number(7);
        assert!(
            (product - cost).abs() < 0.001 * cost,
            "the terms of {}: {product}",
            row[0]
        );
    }
    let of = |jobs: &[u32]| {
        let chosen: Vec<&Victim<'_>> = known
            .iter()
            .filter(|victim| jobs.contains(&victim.job.id.0))
            .collect();
        format!("{:.1}", total(&chosen, settings.urgent.wait_weight))
    };
    for (jobs, said) in [
        (&[102, 105][..], "a total of 357.0"),
        (&[104], "a total of 294.0"),
        (&[102, 106], "it would be 404.0"),
    ] {
        assert!(said.ends_with(&of(jobs)), "{jobs:?}: {}", of(jobs));
        assert!(example.contains(said), "{said}");
    }
}

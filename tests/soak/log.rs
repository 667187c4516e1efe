// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld's log tells, read as it grows.

use crate::support::Cluster;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};

/// See above.
#[derive(Default)]
pub struct Log {
    read: u64,
    pub asked: usize,
    /// How often Slurm has requeued each job for an urgent one.
    pub preempted: BTreeMap<u32, usize>,
    /// Milliseconds that looks held Slurm's locks since this was taken the last time.
    pub looks_ms: Vec<f64>,
    pub looks: usize,
    /// Lines that must not be.
    pub faults: Vec<String>,
    /// How often warnings and errors came, with `#` for each number.
    pub complaints: BTreeMap<String, usize>,
}

const FAULTS: [&str; 3] = ["surgent: fault ", "steps aside", "surgent: panic"];

impl Log {
    /// Reads what is new. A line that is not yet whole is left for the next time.
    pub fn read(&mut self, cluster: &Cluster) {
        let Ok(mut file) = File::open(cluster.folder().join("slurmctld.log")) else {
            return;
        };
        if file.seek(SeekFrom::Start(self.read)).is_err() {
            return;
        }
        let (mut file, mut line) = (BufReader::new(file), Vec::new());
        while file.read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n") {
            self.read += line.len() as u64;
            self.note(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }

    fn note(&mut self, line: &str) {
        let text = line.split_once("] ").map_or(line, |(_, text)| text);
        if text.contains("surgent: asked job ") {
            self.asked += 1;
        }
        if let Some(id) = preempted(text) {
            *self.preempted.entry(id).or_default() += 1;
        }
        if let Some(held_ms) = text.contains("surgent: looked at ").then(|| held_ms(text)) {
            self.looks += 1;
            self.looks_ms.extend(held_ms);
        }
        if FAULTS.iter().any(|sign| text.contains(sign)) {
            self.faults.push(text.to_owned());
        }
        if text.starts_with("error:") || text.starts_with("fatal:") || text.contains("warning") {
            *self.complaints.entry(without_numbers(text)).or_default() += 1;
        }
    }
}

/// The job of `preempted JobId=7_1(8) has been requeued to reclaim resources for JobId=9`.
fn preempted(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("preempted JobId=")?;
    let (id, _) = rest.split_once(" has been requeued")?;
    let number = id
        .split_once('(')
        .map_or(id, |(_, number)| number.trim_end_matches(')'));
    number.parse().ok()
}

fn held_ms(text: &str) -> Option<f64> {
    let (before, _) = text.split_once(" ms under them")?;
    before.rsplit(' ').next()?.parse().ok()
}

fn without_numbers(text: &str) -> String {
    let mut short = String::new();
    for letter in text.chars() {
        match letter.is_ascii_digit() {
            true if short.ends_with('#') => {}
            true => short.push('#'),
            false => short.push(letter),
        }
    }
    short
}

#[test]
fn lines_are_understood() {
    let mut log = Log::default();
    log.note(
        "[2026-11-30T08:00:39.001] preempted JobId=7_1(8) has been requeued to reclaim resources for JobId=9",
    );
    log.note(
        "[2026-11-30T08:00:40.001] preempted JobId=8 has been requeued to reclaim resources for JobId=9",
    );
    log.note(
        "[2026-11-30T08:01:06.655] debug:  surgent: looked at 4 nodes and 6 running jobs: 0.00 ms until Slurm's locks were \
         had, 0.04 ms under them, 0.03 ms to read what was copied, 0.01 ms to decide",
    );
    assert_eq!(log.preempted, BTreeMap::from([(8, 2)]));
    assert_eq!((log.looks, log.looks_ms), (1, vec![0.04]));
}

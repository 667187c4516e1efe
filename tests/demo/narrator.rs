// SPDX-License-Identifier: GPL-2.0-or-later
//! Tells the story on the terminal as it happens: who was looked at, and what was seen.

use crate::support::Cluster;
use jiff::Timestamp;
use std::cell::Cell;

const WIDTH: usize = 100;
const MARGIN: usize = 25;

/// Prints lines with the seconds since its making.
pub struct Narrator {
    begin: Timestamp,
    logged: Cell<usize>,
}

impl Narrator {
    pub fn new() -> Self {
        Self {
            begin: Timestamp::now(),
            logged: Cell::new(0),
        }
    }

    /// A new part of the story.
    pub fn chapter(&self, title: &str) {
        println!("\n== {title}");
    }

    /// Something seen now, at `source`.
    pub fn tell(&self, source: &str, text: &str) {
        self.tell_at(Timestamp::now(), source, text);
    }

    fn tell_at(&self, at: Timestamp, source: &str, text: &str) {
        let since_s = (at - self.begin).total(jiff::Unit::Second).unwrap_or_default();
        let mut margin = format!("{since_s:6.1} s  {source:<MARGIN$}", MARGIN = MARGIN - 10);
        for line in wrapped(text, WIDTH - MARGIN) {
            println!("{margin}{line}");
            margin = " ".repeat(MARGIN);
        }
    }

    /// Passes on the lines that Surgent has written to slurmctld's log since the last call, with the log's times.
    pub fn relay_log(&self, cluster: &Cluster) {
        let lines = cluster.log();
        for line in lines.iter().skip(self.logged.get()) {
            if let Some(text) = line.text.strip_prefix("surgent: ") {
                self.tell_at(line.at, "slurmctld.log", text);
            }
        }
        self.logged.set(lines.len());
    }
}

/// `text` broken at blanks into lines of at most `width` characters, where blanks allow it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        match line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width {
            true if line.is_empty() => *line = word.to_owned(),
            true => *line += &format!(" {word}"),
            false => lines.push(word.to_owned()),
        }
    }
    lines
}

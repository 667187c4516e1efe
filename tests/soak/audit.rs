// SPDX-License-Identifier: GPL-2.0-or-later
//! What Surgent's audit file and the victims' own accounts tell of the whole run.

use crate::support::{Cluster, Outcome};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The audit file and those that were put aside.
pub fn files(cluster: &Cluster) -> Vec<PathBuf> {
    let entries = fs::read_dir(cluster.state()).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_audit = |path: &PathBuf| path.to_string_lossy().contains("surgent.audit.jsonl");
    paths.filter(is_audit).collect()
}

/// See above.
#[derive(Default)]
pub struct Audit {
    /// How many lines of each kind.
    pub kinds: BTreeMap<String, usize>,
    /// How often each job was asked for each urgent one.
    pub asks: BTreeMap<(u32, u32), usize>,
    /// How often each job was stopped.
    pub stops: BTreeMap<u32, usize>,
    /// Those that were, unsaved.
    pub unsaved: BTreeSet<u32>,
    /// Those that Surgent requeued by command, for a heterogeneous job.
    pub by_command: BTreeSet<u32>,
}

impl Audit {
    pub fn read(cluster: &Cluster) -> Outcome<Self> {
        let mut audit = Self::default();
        for path in files(cluster) {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            for line in text.lines() {
                let line: Value = serde_json::from_str(line).map_err(|error| {
                    format!("the audit file has a line that is no JSON ({error}): {line:?}")
                })?;
                audit.note(&line);
            }
        }
        Ok(audit)
    }

    fn note(&mut self, line: &Value) {
        let kind = line["kind"].as_str().unwrap_or_default();
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
        let number = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        match (kind, number(&line["job"])) {
            ("asked", Some(job)) => {
                let urgent = number(&line["urgent"]).unwrap_or_default();
                *self.asks.entry((job, urgent)).or_default() += 1;
            }
            ("stopped", Some(job)) => {
                *self.stops.entry(job).or_default() += 1;
                if line["saved"].is_null() {
                    self.unsaved.insert(job);
                }
            }
            ("gate_opened", _) if line["how"] == "requeued_by_command" => {
                let jobs = line["jobs"].as_array().into_iter().flatten();
                self.by_command.extend(jobs.filter_map(number));
            }
            _ => {}
        }
    }
}

/// Runs of a job in which it was asked and then saved, by its own account.
pub fn saved_runs(cluster: &Cluster, job: u32) -> usize {
    let text = fs::read_to_string(cluster.work().join(format!("{job}.events"))).unwrap_or_default();
    let mut asked = BTreeSet::new();
    let mut saved = BTreeSet::new();
    for (run, kind) in text.lines().filter_map(|line| line.split_once(' ')) {
        match kind {
            "asked" => asked.insert(run),
            "saved" if asked.contains(run) => saved.insert(run),
            _ => false,
        };
    }
    saved.len()
}

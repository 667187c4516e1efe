// SPDX-License-Identifier: GPL-2.0-or-later
//! What the kernel knows of slurmctld.

use crate::support::{Cluster, Outcome};
use std::fs;

/// See above.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Memory that it has in all, and its share of it where it is shared.
    pub rss_mib: f64,
    pub pss_mib: f64,
    /// What is no file's: heap and stacks.
    pub anonymous_mib: f64,
    pub threads: usize,
    pub files: usize,
}

impl Process {
    pub fn of_controller(cluster: &Cluster) -> Outcome<Self> {
        let pid = cluster.controller_pid().ok_or("slurmctld does not run")?;
        let folder = format!("/proc/{}", pid.as_raw_nonzero());
        let path = format!("{folder}/smaps_rollup");
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let mib = |key: &str| -> Outcome<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
            Ok(kib.ok_or_else(|| format!("{path} has no {key:?}"))? / 1024.0)
        };
        let entries = |name: &str| -> Outcome<usize> {
            let path = format!("{folder}/{name}");
            let entries = fs::read_dir(&path).map_err(|error| format!("{path}: {error}"))?;
            Ok(entries.count())
        };
        Ok(Self {
            rss_mib: mib("Rss:")?,
            pss_mib: mib("Pss:")?,
            anonymous_mib: mib("Anonymous:")?,
            threads: entries("task")?,
            files: entries("fd")?,
        })
    }
}

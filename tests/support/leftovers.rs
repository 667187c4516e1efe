// SPDX-License-Identifier: GPL-2.0-or-later
//! What must not be left: processes of jobs and commands, threads and children of slurmctld, files.

use super::{Cluster, JobId, LIMIT, Outcome};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A process that belongs to a cluster, other than its daemons.
pub struct Process {
    pub pid: i32,
    /// Its arguments, each ended by a NUL.
    pub command: String,
    pub job: Option<JobId>,
}

/// All of them: they name the cluster's slurm.conf in their environment.
pub fn processes(folder: &Path) -> Vec<Process> {
    let conf = format!("\0SLURM_CONF={}/slurm.conf\0", folder.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let text = |file: &str| {
            let bytes = fs::read(entry.path().join(file)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let environment = format!("\0{}\0", text("environ")?);
        let command = text("cmdline")?;
        let program = command.split(['\0', ' ', ':']).next()?.rsplit('/').next()?;
        let is_daemon = ["slurmctld", "slurmd", "munged"].contains(&program);
        if !environment.contains(&conf) || is_daemon || command.is_empty() {
            return None;
        }
        let job = environment
            .split('\0')
            .find_map(|word| word.strip_prefix("SLURM_JOB_ID="));
        Some(Process {
            pid,
            job: job.and_then(|id| id.parse().ok()).map(JobId),
            command,
        })
    });
    found.collect()
}

/// What there is although no job of the round is there any more; `controller` is the number of slurmctld's process.
pub fn left(folder: &Path, controller: Option<i32>) -> Vec<String> {
    let ours: Vec<String> = threads(controller).into_iter().chain(files(folder)).collect();
    if !ours.is_empty() {
        return ours;
    }
    // Last, for a machine may have thousands.
    let processes = processes(folder).into_iter();
    let named =
        processes.map(|process| format!("process {} {}", process.pid, process.command.replace('\0', " ")));
    named.collect()
}

/// Waits until nothing is left, no job being there any more.
pub fn wait_until_gone(cluster: &Cluster) -> Outcome {
    cluster.wait_until("nothing to be left of the jobs", LIMIT, |cluster| {
        let pid = cluster.controller_pid().map(|pid| pid.as_raw_nonzero().get());
        let left = left(cluster.folder(), pid);
        match left.is_empty() {
            true => Ok(Some(())),
            false => Err(format!("left of the jobs: {}", left.join("; ")).into()),
        }
    })
}

/// Plans that Surgent is still in the middle of, by its state file in `state`.
pub fn plans(state: &Path) -> Option<String> {
    let path = state.join("surgent.state");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(format!("{}: {error}", path.display())),
    };
    let state: Value = match serde_json::from_str(&text) {
        Ok(state) => state,
        Err(error) => return Some(format!("surgent.state: {error}")),
    };
    let campaigns = state["book"]["campaigns"].as_array();
    let is_empty = campaigns.is_some_and(|campaigns| campaigns.is_empty());
    (!is_empty).then(|| format!("plans in surgent.state: {}", state["book"]["campaigns"]))
}

/// GPUs that Slurm counts as used although no job is there any more. Surgent does not touch that count.
pub fn leaked_gpus(cluster: &Cluster) -> Outcome<Vec<String>> {
    let nodes = cluster.ask("scontrol", &["show", "node", "-d", "-o"])?;
    let leaked = nodes.lines().filter(|node| !node.contains("GresUsed=gpu:0"));
    let name = |node: &str| node.split(' ').next().unwrap_or_default().to_owned();
    Ok(leaked
        .map(|node| format!("Slurm counts GPUs of {} as used", name(node)))
        .collect())
}

/// One planner, no command's thread, and no child of slurmctld but its own helper.
fn threads(controller: Option<i32>) -> Vec<String> {
    let Some(pid) = controller else {
        return vec!["slurmctld does not run".to_owned()];
    };
    let tasks = format!("/proc/{pid}/task");
    let (mut planners, mut left) = (0, Vec::new());
    for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
        let text = |file: &str| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        match text("comm").trim() {
            "surgent" => planners += 1,
            name if name.starts_with("surgent") => left.push(format!("thread {name}")),
            _ => {}
        }
        let children = text("children");
        for child in children.split_whitespace() {
            let command = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
            if !command.starts_with("slurmctld") && !command.contains("/slurmctld") {
                left.push(format!("child {child} {command:?}"));
            }
        }
    }
    if planners != 1 {
        left.push(format!("{planners} planner threads"));
    }
    left
}

/// In StateSaveLocation only what stays: the state, the audit, the counters, the facts behind the latest plans.
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("state")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let ours = names.filter(|name| name.starts_with("surgent."));
    let stay = [
        "surgent.state",
        "surgent.audit.jsonl",
        "surgent.metrics.json",
        "surgent.plans",
    ];
    ours.filter(|name| !stay.contains(&name.as_str()))
        .map(|name| format!("file {name}"))
        .collect()
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! How a cluster is described and started.

use super::conf::{Configuration, NODES, NodeKind, Preempt};
use super::{Cluster, LIMIT, Outcome, finish, places};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a cluster is to be like; see the methods.
pub struct Builder {
    configuration: Configuration,
    controller_environment: Vec<(String, String)>,
    state_mib: Option<u32>,
    interrupted: Arc<AtomicBool>,
}

impl Builder {
    pub fn preempt(mut self, preempt: Preempt) -> Self {
        self.configuration.preempt = preempt;
        self
    }

    /// A further line of slurm.conf. Where a key comes twice Slurm takes the later.
    pub fn conf(mut self, line: &str) -> Self {
        self.configuration.lines += &format!("{line}\n");
        self
    }

    /// What tells the node `name` from the others: features, separated by commas, and GPUs by model.
    pub fn node(mut self, name: &str, features: &str, gpu_models: &[(&str, u32)]) -> Self {
        let at = NODES.iter().position(|node| *node == name);
        self.configuration.nodes[at.expect("a node's name")] = NodeKind {
            features: features.to_owned(),
            gpu_models: gpu_models
                .iter()
                .map(|(model, count)| ((*model).to_owned(), *count))
                .collect(),
        };
        self
    }

    /// Threads of each core; the CPUs of a node stay as many.
    pub fn threads_per_core(mut self, threads: u32) -> Self {
        self.configuration.threads_per_core = threads;
        self
    }

    /// The program that Slurm runs before each task.
    pub fn task_prolog(mut self, text: &str) -> Self {
        self.configuration.task_prolog = Some(text.to_owned());
        self
    }

    /// With slurmdbd, for which `setup` are the words of one sacctmgr each.
    pub fn accounting(mut self, setup: &[&str]) -> Self {
        self.configuration.accounting = Some(setup.iter().map(|words| (*words).to_owned()).collect());
        self
    }

    /// The text of surgent.toml.
    pub fn toml(mut self, text: &str) -> Self {
        self.configuration.surgent_toml = text.to_owned();
        self
    }

    /// A further file beside slurm.conf.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.configuration.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// StateSaveLocation is a file system of its own, of so many MiB, that can be filled. Wants root.
    pub fn state_mib(mut self, mib: u32) -> Self {
        self.state_mib = Some(mib);
        self
    }

    /// The plugins of another folder than [`places::plugins`].
    pub fn plugins(mut self, folder: PathBuf) -> Self {
        self.configuration.plugins = Some(folder);
        self
    }

    /// A variable in slurmctld's environment.
    pub fn controller_env(mut self, name: &str, value: &str) -> Self {
        self.controller_environment
            .push((name.to_owned(), value.to_owned()));
        self
    }

    /// Every wait on the cluster ends with a failure once `flag` is set.
    pub fn interrupted_by(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupted = flag;
        self
    }

    /// Starts all daemons; returns when all nodes are idle.
    pub fn start(self) -> Outcome<Cluster> {
        places::check()?;
        let folder = tempfile::Builder::new()
            .prefix("surgent-")
            .tempdir()
            .map_err(|error| format!("no folder for the cluster: {error}"))?
            .keep();
        let keeper = keeper(&folder)?;
        let mut cluster = Cluster {
            folder,
            keeper,
            controller: None,
            daemons: Vec::new(),
            controller_environment: self.controller_environment,
            interrupted: self.interrupted,
        };
        // Jobs of ordinary users read the configuration and write their output.
        let open = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode))
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        open(&cluster.folder, 0o755)?;
        self.configuration.write(&cluster.folder)?;
        open(&cluster.work(), 0o1777)?;
        if let Some(mib) = self.state_mib {
            // The keeper unmounts it.
            let options = format!("size={mib}m,mode=755");
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", &options, "surgent-state"]);
            finish(mount.arg(cluster.state()), "mount")?;
        }
        cluster.start_munge()?;
        if let Some(setup) = &self.configuration.accounting {
            cluster.start_accounting(setup)?;
        }
        cluster.start_controller()?;
        for node in NODES {
            let slurmd = cluster.daemon("slurmd", &["-D", "-N", node])?;
            cluster.daemons.push(slurmd);
        }
        // A node is listed once for each of its partitions.
        cluster.wait_for("all nodes to be idle", LIMIT, |cluster| {
            let states = cluster.ask("sinfo", &["-h", "-N", "-o", "%T"])?;
            Ok(states.lines().count() >= NODES.len() && states.lines().all(|state| state == "idle"))
        })?;
        Ok(cluster)
    }
}

impl Cluster {
    /// A cluster with Surgent and Slurm's defaults.
    pub fn builder() -> Builder {
        Builder {
            configuration: Configuration {
                preempt: Preempt::Surgent,
                lines: String::new(),
                surgent_toml: String::new(),
                files: Vec::new(),
                plugins: None,
                nodes: Default::default(),
                threads_per_core: 1,
                task_prolog: None,
                accounting: None,
            },
            controller_environment: Vec::new(),
            state_mib: None,
            interrupted: Arc::default(),
        }
    }
}

/// The keeper ends all processes of the cluster when this process ends, in whatever way.
fn keeper(folder: &Path) -> Outcome<Child> {
    let mut keeper = Command::new("/bin/sh")
        .arg(places::keeper())
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("the cluster's keeper could not be started: {error}"))?;
    let pipe = keeper.stdin.as_mut().expect("stdin is piped");
    writeln!(pipe, "{}", folder.display())
        .map_err(|error| format!("the cluster's keeper is gone: {error}"))?;
    Ok(keeper)
}

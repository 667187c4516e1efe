// SPDX-License-Identifier: GPL-2.0-or-later
//! The configuration of a test cluster: slurm.conf, gres.conf, cgroup.conf, plugstack.conf, surgent.toml.

use super::{Outcome, accounting, places, write_program};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

/// Nodes of every cluster, each with [`CPUS`], [`GPUS`] and [`MEMORY_MIB`].
pub const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
pub const CPUS: u32 = 8;
pub const GPUS: u32 = 4;
pub const MEMORY_MIB: u32 = 16_000;

/// Who chooses what is preempted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Preempt {
    Surgent,
    /// Slurm's own choice by the tier of the partition: `low` gives way to `high`.
    PartitionPrio,
    Nothing,
}

impl Preempt {
    fn lines(self) -> &'static str {
        match self {
            Self::Surgent => "PreemptType=preempt/surgent\nPreemptMode=REQUEUE\nJobSubmitPlugins=surgent\n",
            Self::PartitionPrio => "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n",
            Self::Nothing => "PreemptType=preempt/none\nPreemptMode=OFF\n",
        }
    }

    fn partitions(self) -> &'static str {
        match self {
            Self::PartitionPrio => {
                "PartitionName=low Nodes=ALL Default=YES PriorityTier=1\nPartitionName=high Nodes=ALL PriorityTier=2\n"
            }
            _ => "PartitionName=all Nodes=ALL Default=YES\n",
        }
    }
}

/// What tells a node from the others.
#[derive(Clone, Default)]
pub struct NodeKind {
    /// Its features, separated by commas.
    pub features: String,
    /// Its GPUs by model, [`GPUS`] in all; empty if they have no model.
    pub gpu_models: Vec<(String, u32)>,
}

impl NodeKind {
    fn gres(&self) -> String {
        if self.gpu_models.is_empty() {
            return format!("gpu:{GPUS}");
        }
        let models: Vec<_> = self
            .gpu_models
            .iter()
            .map(|(model, count)| format!("gpu:{model}:{count}"))
            .collect();
        models.join(",")
    }

    fn feature_line(&self) -> String {
        match self.features.is_empty() {
            true => String::new(),
            false => format!("Features={}", self.features),
        }
    }
}

/// What a cluster is to be like.
pub struct Configuration {
    pub preempt: Preempt,
    pub lines: String,
    pub surgent_toml: String,
    /// Names and texts of further files beside slurm.conf.
    pub files: Vec<(String, String)>,
    pub plugins: Option<PathBuf>,
    /// By the order of [`NODES`].
    pub nodes: [NodeKind; NODES.len()],
    pub threads_per_core: u32,
    /// The program that TaskProlog= names.
    pub task_prolog: Option<String>,
    /// What sacctmgr is told before slurmctld starts; `None` is no accounting.
    pub accounting: Option<Vec<String>>,
}

impl Configuration {
    /// Writes all files into `folder` and makes the folders and devices that they name.
    pub fn write(&self, folder: &Path) -> Outcome {
        let put = |name: &str, text: &str| {
            fs::write(folder.join(name), text)
                .map_err(|error| format!("{name} could not be written: {error}"))
        };
        for name in ["state", "spool", "work", "gpu"] {
            fs::create_dir(folder.join(name))
                .map_err(|error| format!("the folder {name} could not be made: {error}"))?;
        }
        for number in 0..GPUS {
            put(&format!("gpu/{number}"), "")?;
        }
        put("gres.conf", &self.gres_conf(folder))?;
        put("cgroup.conf", &format!("CgroupPlugin={}\n", cgroup_plugin()?))?;
        if self.preempt == Preempt::Surgent {
            self.copy_plugins(&folder.join("plugins"))?;
            put("surgent.toml", &self.surgent_toml)?;
            put("plugstack.conf", "optional spank_surgent.so\n")?;
        }
        for (name, text) in &self.files {
            put(name, text)?;
        }
        if let Some(text) = &self.task_prolog {
            write_program(&folder.join("task-prolog"), text)?;
        }
        let ports = free_ports(2 + NODES.len())?;
        put("slurm.conf", &self.slurm_conf(folder, &ports)?)?;
        if self.accounting.is_some() {
            put("slurmdbd.conf", &accounting::slurmdbd_conf(folder, ports[1])?)?;
            // slurmdbd wants that: a password may be in it.
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(folder.join("slurmdbd.conf"), private)
                .map_err(|error| format!("slurmdbd.conf: {error}"))?;
        }
        Ok(())
    }

    /// Slurm's commands look into every directory of PluginDir, also where an ordinary user runs them, and this checkout
    /// may lie where only root can go.
    fn copy_plugins(&self, target: &Path) -> Outcome {
        let source = self.plugins.clone().map_or_else(places::plugins, Ok)?;
        fs::create_dir(target).map_err(|error| format!("{}: {error}", target.display()))?;
        // Installed beside Slurm's own, they are found there.
        if source == places::stock_plugins()? {
            return Ok(());
        }
        let entries = fs::read_dir(&source).map_err(|error| format!("{}: {error}", source.display()))?;
        for entry in entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "so"))
        {
            let copied = fs::copy(entry.path(), target.join(entry.file_name()));
            copied.map_err(|error| format!("{}: {error}", entry.path().display()))?;
        }
        Ok(())
    }

    fn gres_conf(&self, folder: &Path) -> String {
        let at = folder.display();
        let mut text = String::new();
        for (node, kind) in NODES.iter().zip(&self.nodes) {
            if kind.gpu_models.is_empty() {
                text += &format!("NodeName={node} Name=gpu File={at}/gpu/[0-{}]\n", GPUS - 1);
            }
            let mut first = 0;
            for (model, count) in &kind.gpu_models {
                let last = first + count - 1;
                text += &format!("NodeName={node} Name=gpu Type={model} File={at}/gpu/[{first}-{last}]\n");
                first += count;
            }
        }
        text
    }

    fn slurm_conf(&self, folder: &Path, ports: &[u16]) -> Outcome<String> {
        let at = folder.display();
        let host = hostname()?;
        let stock = places::stock_plugins()?;
        let plugin_dir = match self.preempt {
            Preempt::Surgent => format!("{at}/plugins:{}", stock.display()),
            _ => stock.display().to_string(),
        };
        let nodes: String = NODES
            .iter()
            .zip(&self.nodes)
            .zip(&ports[2..])
            .map(|((node, kind), port)| {
                format!(
                    "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} CoresPerSocket={cores} \
                     ThreadsPerCore={threads} RealMemory={MEMORY_MIB} Gres={gres} {features}\n",
                    threads = self.threads_per_core,
                    cores = CPUS / self.threads_per_core,
                    gres = kind.gres(),
                    features = kind.feature_line(),
                )
            })
            .collect();
        Ok(format!(
            "ClusterName=surgent\n\
             SlurmctldHost={host}(127.0.0.1)\n\
             SlurmUser=root\n\
             SlurmctldPort={controller_port}\n\
             PluginDir={plugin_dir}\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={at}/munge.socket\n\
             CredType=cred/munge\n\
             StateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool/%n\n\
             SlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmdPidFile={at}/slurmd-%n.pid\n\
             SlurmctldLogFile={at}/slurmctld.log\n\
             SlurmdLogFile={at}/slurmd-%n.log\n\
             SlurmctldDebug=verbose\n\
             LogTimeFormat=iso8601_ms\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             MpiDefault=none\n\
             MailProg=/bin/true\n\
             SelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core_Memory\n\
             DefMemPerCPU=1000\n\
             GresTypes=gpu\n\
             SlurmdParameters=config_overrides\n\
             ReturnToService=2\n\
             KillWait=5\n\
             MessageTimeout=60\n\
             {prolog}{accounting}{preempt}{lines}{nodes}{partitions}",
            controller_port = ports[0],
            prolog = match self.task_prolog {
                Some(_) => format!("TaskProlog={at}/task-prolog\n"),
                None => String::new(),
            },
            accounting = match self.accounting {
                Some(_) => accounting::slurm_conf_lines(folder, ports[1]),
                None => String::new(),
            },
            preempt = self.preempt.lines(),
            lines = self.lines,
            partitions = self.preempt.partitions(),
        ))
    }
}

/// The plugin that needs no cgroups: there may be none here, as in a chroot, and the cluster is to leave them alone.
/// Before 24.05 there is no `disabled`; that for the first version touches nothing until it is used, which it is not.
fn cgroup_plugin() -> Outcome<&'static str> {
    Ok(if places::slurm_version()? < (24, 5) {
        "cgroup/v1"
    } else {
        "disabled"
    })
}

/// `count` ports that nobody listens on. They are taken from below the range that the kernel gives to outgoing
/// connections: a port from `bind(0)` could be such a connection's again before the daemon comes to bind it.
fn free_ports(count: usize) -> Outcome<Vec<u16>> {
    use std::hash::{BuildHasher, Hasher};
    let start = std::hash::RandomState::new().build_hasher().finish() % 20_000;
    let held: Vec<TcpListener> = (0..20_000)
        .map(|offset| 10_500 + ((start + offset) % 20_000) as u16)
        .filter_map(|port| TcpListener::bind(("0.0.0.0", port)).ok())
        .take(count)
        .collect();
    let ports: Vec<u16> = held
        .iter()
        .filter_map(|socket| Some(socket.local_addr().ok()?.port()))
        .collect();
    match ports.len() == count {
        true => Ok(ports),
        false => Err(format!("fewer than {count} free ports between 10500 and 30499").into()),
    }
}

/// This machine's short name: slurmctld runs only on the host that slurm.conf names.
fn hostname() -> Outcome<String> {
    let name =
        fs::read_to_string("/proc/sys/kernel/hostname").map_err(|error| format!("hostname: {error}"))?;
    Ok(name.trim().split('.').next().unwrap_or_default().to_owned())
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The nodes: what slurmctld is told of them, and what each slurmd is told of itself.
//!
//! A slurmd keeps a record of each node in its slurm.conf, so that those of n nodes keep n². With 3,000 nodes that is 18 GB. Here
//! each has a slurm.conf in which there is only itself; with one machine for each node the usual one does no harm.

use crate::size::Size;
use crate::support::{Cluster, Outcome};
use std::fs;
use std::path::{Path, PathBuf};

/// All of them.
pub struct Nodes {
    number: u32,
    /// The name of the machine that plays them.
    host: String,
    first_port: u16,
    /// Lines of slurm.conf that are for everybody.
    common: String,
}

impl Nodes {
    /// As many as `size` says, on ports that are free now.
    pub fn new(size: Size, host: &str, common: &str) -> Outcome<Self> {
        let common = common
            .lines()
            .filter(|line| !line.starts_with("NodeName=") && !line.starts_with("PartitionName="));
        Ok(Self {
            number: size.nodes,
            host: host.to_owned(),
            first_port: size.free_ports()?,
            common: common.map(|line| format!("{line}\n")).collect(),
        })
    }

    /// The lines of slurmctld's slurm.conf that are about them.
    pub fn slurm_conf(&self) -> String {
        let last = self.number - 1;
        let last_port = u32::from(self.first_port) + last;
        let of_nodes = self.line(
            &format!("s[0-{last}]"),
            &format!("[{}-{last_port}]", self.first_port),
        );
        format!(
            "{of_nodes}\
             PartitionName=low Nodes=s[0-{last}] PriorityTier=1\n\
             PartitionName=high Nodes=s[0-{last}] PriorityTier=2\n"
        )
    }

    /// The lines of slurmctld's gres.conf that are about them.
    pub fn gres_conf(&self, folder: &Path) -> String {
        gres_line(&format!("s[0-{}]", self.number - 1), folder)
    }

    /// Starts the slurmd with this number.
    pub fn start(&self, cluster: &mut Cluster, number: u32) -> Outcome {
        let folder = cluster.folder().to_owned();
        let at = folder.join("nodes").join(name(number));
        fs::create_dir_all(&at).map_err(|error| format!("{}: {error}", at.display()))?;
        let port = u32::from(self.first_port) + number;
        let line = self.line(&name(number), &port.to_string());
        put(&at.join("gres.conf"), &gres_line(&name(number), &folder))?;
        let cgroup = at.join("cgroup.conf");
        fs::copy(folder.join("cgroup.conf"), &cgroup)
            .map_err(|error| format!("{}: {error}", cgroup.display()))?;
        let conf = put(&at.join("slurm.conf"), &format!("{}{line}", self.common))?;
        cluster.start_slurmd_with(&name(number), &conf)
    }

    fn line(&self, names: &str, ports: &str) -> String {
        format!(
            "NodeName={names} NodeHostname={} NodeAddr=127.0.0.1 Port={ports} CPUs=4 RealMemory=8000 Gres=gpu:2\n",
            self.host
        )
    }
}

fn name(number: u32) -> String {
    format!("s{number}")
}

fn gres_line(names: &str, folder: &Path) -> String {
    format!("NodeName={names} Name=gpu File={}/gpu/[0-1]\n", folder.display())
}

fn put(path: &Path, text: &str) -> Outcome<PathBuf> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.to_owned())
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What Slurm would make of sbatch's options: the request of a job that does not exist.
//!
//! sbatch works numbers out that its user did not give, and slurmctld works out more. Plans are made from what comes out of
//! that, so it is done here in the same way: see `numbers`.

mod counts;
pub mod forms;
mod gres;

use crate::policy::facts::{MemoryRequest, Request};
use crate::policy::ids::{NodeIndex, UserId};
use crate::policy::resources::GresTable;
use counts::Counts;
use forms::{GresCount, NodeCount};

/// Options of sbatch, as far as they decide where a job fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--nodes`
    pub nodes: Option<NodeCount>,
    /// `--ntasks`
    pub ntasks: Option<u32>,
    /// `--ntasks-per-node`
    pub ntasks_per_node: Option<u32>,
    /// `--ntasks-per-core`
    pub ntasks_per_core: Option<u32>,
    /// `--cpus-per-task`
    pub cpus_per_task: Option<u32>,
    /// `--mincpus`
    pub mincpus: Option<u32>,
    /// `--threads-per-core`
    pub threads_per_core: Option<u32>,
    /// `--sockets-per-node`
    pub sockets_per_node: Option<u32>,
    /// `--mem`, `--mem-per-cpu` or `--mem-per-gpu`
    pub memory: Option<Memory>,
    /// `--gres`
    pub gres: Vec<GresCount>,
    /// `--gpus`
    pub gpus: Vec<GresCount>,
    /// `--gpus-per-node`
    pub gpus_per_node: Vec<GresCount>,
    /// `--gpus-per-task`
    pub gpus_per_task: Vec<GresCount>,
    /// `--gpus-per-socket`
    pub gpus_per_socket: Vec<GresCount>,
    /// `--cpus-per-gpu`
    pub cpus_per_gpu: Option<u32>,
    /// `--exclusive`, `--oversubscribe`
    pub sharing: Option<Sharing>,
    /// `--overcommit`
    pub overcommit: bool,
}

/// How much memory, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// `--mem`
    PerNode(u64),
    /// `--mem-per-cpu`
    PerCpu(u64),
    /// `--mem-per-gpu`
    PerGpu(u64),
}

/// With whom it shares nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// With nobody.
    Exclusive,
    /// With its own user's jobs.
    User,
    /// CPUs, too, where the partition lets that be.
    Oversubscribe,
}

/// What the job gets where its user does not say: from its first partition, else from slurm.conf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    /// `DefMemPerNode`, `DefMemPerCPU`; without these it gets all memory, if that is shared out at all.
    pub memory: MemoryRequest,
    /// `DefCpuPerGPU`
    pub cpus_per_gpu: Option<u32>,
    /// `DefMemPerGPU`, in MiB.
    pub mem_per_gpu_mib: Option<u64>,
    /// Memory is shared out (`CR_…_Memory`).
    pub shares_memory: bool,
}

impl Options {
    /// The request of `user`'s job that must have the nodes `required`, sorted and each once. Where it may run is not in it.
    ///
    /// # Errors
    /// A sentence where Slurm would not take the job.
    pub fn request(
        &self,
        user: UserId,
        required: &[NodeIndex],
        defaults: &Defaults,
        table: &mut GresTable,
    ) -> Result<Request, String> {
        let mut counts = Counts::of_sbatch(self, required.len())?;
        let gres = gres::requests(self, defaults, &mut counts, table)?;
        counts.finish(self, required.len());
        Ok(Request {
            user: Some(user),
            min_nodes: counts.min_nodes,
            max_nodes: counts.max_nodes,
            min_cpus: counts.min_cpus,
            tasks: counts.tasks,
            tasks_per_node: counts.tasks_per_node,
            cpus_per_task: counts.cpus_per_task.unwrap_or(1),
            overcommit: self.overcommit,
            cpus_per_node: counts.cpus_per_node,
            cpus_per_core: self.cpus_per_core(),
            memory: self.memory(defaults),
            gres,
            whole_node: self.sharing == Some(Sharing::Exclusive),
            user_node: self.sharing == Some(Sharing::User),
            required: required.to_vec(),
            ..Request::default()
        })
    }

    fn cpus_per_core(&self) -> Option<u32> {
        let of_tasks = self
            .ntasks_per_core
            .map(|tasks| tasks * self.cpus_per_task.unwrap_or(1));
        [of_tasks, self.threads_per_core].into_iter().flatten().min()
    }

    fn memory(&self, defaults: &Defaults) -> MemoryRequest {
        let said = match self.memory {
            Some(Memory::PerNode(mib)) => MemoryRequest::PerNode(mib),
            Some(Memory::PerCpu(mib)) => MemoryRequest::PerCpu(mib),
            // Beside what comes with each GPU, the default is there and does not count.
            Some(Memory::PerGpu(_)) | None => defaults.memory,
        };
        match said {
            MemoryRequest::PerNode(0) | MemoryRequest::PerCpu(0) | MemoryRequest::Unsaid => {
                match defaults.shares_memory {
                    true => MemoryRequest::AllOfNode,
                    false => MemoryRequest::Unsaid,
                }
            }
            said => said,
        }
    }
}

#[cfg(test)]
mod tests;

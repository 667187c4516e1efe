// SPDX-License-Identifier: GPL-2.0-or-later
//! What a job gets where its user does not say: by partition, and for the site as a whole.

use super::fields::{Fields, duration_s, mib, number, word};
use crate::policy::facts::MemoryRequest;
use crate::slurm::config::Config;
use bstr::ByteSlice;
use std::collections::HashMap;

/// The defaults of all partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionDefaults {
    /// Where a job goes that names no partition.
    pub partition: Option<String>,
    /// By name.
    pub of: HashMap<String, JobDefaults>,
}

/// The defaults of one partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobDefaults {
    /// `DefaultTime`, else `MaxTime`, in seconds.
    pub time_s: Option<u64>,
    /// `DefMemPerNode`, `DefMemPerCPU`.
    pub memory: MemoryRequest,
    /// `DefCpuPerGPU`
    pub cpus_per_gpu: Option<u32>,
    /// `DefMemPerGPU`, in MiB.
    pub mem_per_gpu_mib: Option<u64>,
    /// Jobs may wait in it.
    pub is_up: bool,
}

/// Reads `scontrol show partition -o`.
pub fn read(printed: &[u8]) -> PartitionDefaults {
    let mut all = PartitionDefaults::default();
    for line in printed.lines() {
        // The order of the fields differs between releases.
        let field = |key: &str| Fields::of(line).next(key);
        let Some(name) = field("PartitionName").and_then(word) else {
            continue;
        };
        if field("Default") == Some(b"YES") {
            all.partition = Some(name.clone());
        }
        let of_gpu = |key: &str| {
            let defaults = field("JobDefaults").unwrap_or_default().split_str(",");
            let mut pairs = defaults.filter_map(|pair| pair.split_once_str("="));
            pairs
                .find(|(one, _)| *one == key.as_bytes())
                .map(|(_, value)| value)
        };
        let time = |key: &str| field(key).and_then(duration_s);
        let defaults = JobDefaults {
            time_s: time("DefaultTime").or_else(|| time("MaxTime")),
            memory: memory(field("DefMemPerNode"), field("DefMemPerCPU")),
            cpus_per_gpu: of_gpu("DefCpuPerGPU").and_then(number),
            mem_per_gpu_mib: of_gpu("DefMemPerGPU").and_then(mib),
            is_up: field("State").is_none_or(|state| state == b"UP" || state == b"DRAIN"),
        };
        all.of.insert(name, defaults);
    }
    all
}

/// What slurm.conf says for all partitions.
pub fn memory_of_site(config: &Config) -> MemoryRequest {
    let bytes = |key: &str| config.get(key).map(str::as_bytes);
    memory(bytes("DefMemPerNode"), bytes("DefMemPerCPU"))
}

fn memory(per_node: Option<&[u8]>, per_cpu: Option<&[u8]>) -> MemoryRequest {
    let given = |value: Option<&[u8]>| value.and_then(mib).filter(|mib| *mib > 0);
    match (given(per_cpu), given(per_node)) {
        (Some(mib), _) => MemoryRequest::PerCpu(mib),
        (None, Some(mib)) => MemoryRequest::PerNode(mib),
        (None, None) => MemoryRequest::Unsaid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_read() {
        let printed = b"PartitionName=gpu AllowGroups=ALL Default=YES QoS=N/A DefaultTime=01:00:00 MaxTime=UNLIMITED State=UP \
JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=2048 DefMemPerCPU=100 MaxMemPerNode=UNLIMITED \n\
PartitionName=old Default=NO DefaultTime=NONE MaxTime=1-00:00:00 State=DOWN JobDefaults=(null) DefMemPerNode=UNLIMITED \n";
        let read = read(printed);
        assert_eq!(read.partition.as_deref(), Some("gpu"));
        assert_eq!(
            read.of["gpu"],
            JobDefaults {
                time_s: Some(3600),
                memory: MemoryRequest::PerCpu(100),
                cpus_per_gpu: Some(4),
                mem_per_gpu_mib: Some(2048),
                is_up: true,
            }
        );
        assert_eq!(
            read.of["old"],
            JobDefaults {
                time_s: Some(86_400),
                ..JobDefaults::default()
            }
        );
    }
}

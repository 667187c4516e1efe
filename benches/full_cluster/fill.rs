// SPDX-License-Identifier: GPL-2.0-or-later
//! A full cluster.

use crate::common::wait_until_started;
use crate::support::{Cluster, LIMIT, Outcome};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Jobs on each node.
const JOBS_PER_NODE: u32 = 4;
/// Slurm starts a job the sooner the fewer nodes its partition has.
const NODES_PER_PARTITION: u32 = 100;

/// While it is filled, Slurm need not ask of every job whether it would make way. These lines are then taken away.
const WITHOUT_PREEMPTION: &str = "PreemptType=preempt/none\nPreemptMode=OFF\n";

/// What a training job reports.
const COMMENT: &str = "epochs=90 epoch=12.5 epoch_s=600 at=1764410000 save=step save_s=20 signal=USR1@batch";

/// How large a cluster is.
#[derive(Clone, Copy)]
pub struct Size {
    pub nodes: u32,
    /// Urgent jobs that wait, and may run on each node.
    pub urgent: u32,
}

impl Size {
    pub fn jobs(self) -> u32 {
        self.nodes * JOBS_PER_NODE
    }

    /// First and last node of each partition.
    fn partitions(self) -> impl Iterator<Item = (u32, u32)> {
        let firsts = (0..self.nodes).step_by(NODES_PER_PARTITION as usize);
        firsts.map(move |first| (first, (first + NODES_PER_PARTITION).min(self.nodes) - 1))
    }

    fn conf(self) -> String {
        let partitions: String = self
            .partitions()
            .map(|(first, last)| format!("PartitionName=c{first} Nodes=c[{first}-{last}]\n"))
            .collect();
        format!(
            "MaxJobCount={most}\n\
             MaxArraySize=10001\n\
             SchedulerParameters=defer,default_queue_depth={most},max_sched_time=20,sched_interval=2,bf_interval=3600\n\
             SuspendProgram=/bin/true\n\
             ResumeProgram=/bin/true\n\
             SuspendTime=60000000\n\
             SuspendExcNodes=n[1-4]\n\
             ResumeTimeout=65000\n\
             BatchStartTimeout=65000\n\
             ResumeRate=0\n\
             TreeWidth=65000\n\
             SlurmctldParameters=cloud_dns\n\
             NodeName=c[0-{last}] NodeAddr=127.0.0.1 State=CLOUD CPUs=64 Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 \
             RealMemory=500000 Gres=gpu:a100:4\n\
             PartitionName=clouds Nodes=c[0-{last}]\n\
             {partitions}",
            most = 2 * self.jobs() + 1000,
            last = self.nodes - 1,
        )
    }
}

/// Starts a cluster and fills it.
pub fn full(size: Size, interrupted: Arc<AtomicBool>) -> Outcome<Cluster> {
    println!("Starting slurmctld with {} nodes.", size.nodes);
    let mut cluster = Cluster::builder()
        .conf(&size.conf())
        .conf(WITHOUT_PREEMPTION)
        .interrupted_by(interrupted)
        .start()?;
    for (first, last) in size.partitions() {
        let array = format!("--array=0-{}", (last - first + 1) * JOBS_PER_NODE - 1);
        let job = [
            "-N1",
            "-c8",
            "--mem=60000",
            "--gres=gpu:a100:1",
            "-t",
            "10-0",
            "--requeue",
        ];
        let partition = format!("c{first}");
        let rest = [
            "-p",
            &partition,
            &array,
            "-o",
            "/dev/null",
            "--comment",
            COMMENT,
            "--wrap",
            "sleep 1000000",
        ];
        cluster.ask("sbatch", &[&job[..], &rest[..]].concat())?;
    }
    wait_until_started(&cluster, size.jobs())?;
    with_preemption(&mut cluster)?;
    if size.urgent > 0 {
        println!("Submitting {} urgent jobs that wait.", size.urgent);
    }
    for _ in 0..size.urgent {
        // Held, so that they are looked at and not planned for.
        let job = ["--hold", "-N1", "-p", "clouds", "-o", "/dev/null"];
        let rest = ["--comment=urgency=urgent", "--wrap", "sleep 1"];
        cluster.ask("sbatch", &[&job[..], &rest[..]].concat())?;
    }
    Ok(cluster)
}

/// Starts slurmctld anew with Surgent's preemption.
fn with_preemption(cluster: &mut Cluster) -> Outcome {
    println!("Starting slurmctld anew, with Surgent.");
    cluster.ask("scontrol", &["shutdown", "slurmctld"])?;
    cluster.wait_for("slurmctld to end", LIMIT, |cluster| {
        Ok(!cluster.folder().join("slurmctld.pid").exists())
    })?;
    cluster.kill_controller()?;
    let path = cluster.folder().join("slurm.conf");
    let conf = fs::read_to_string(&path).map_err(|error| format!("slurm.conf: {error}"))?;
    fs::write(&path, conf.replace(WITHOUT_PREEMPTION, "")).map_err(|error| format!("slurm.conf: {error}"))?;
    cluster.start_controller()
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! One cluster, whose slurmctld is started anew for each site.

use crate::common::Sdiag;
use crate::nodes::Nodes;
use crate::size::Size;
use crate::support::{Cluster, Outcome};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// slurmd's are started so many at a time.
const AT_A_TIME: u32 = 50;
/// Generous: one machine plays all nodes.
const LIMIT: Duration = Duration::from_secs(900);
/// So many nodes in a hundred have to answer a slurmctld that has just started. It asks each of them once, and one machine
/// that plays thousands of them is late with some, which then do not take part.
const ANSWERING_PERCENT: u64 = 98;
/// What slurmctld does right after it has started is over by then.
const SETTLES: Duration = Duration::from_secs(15);

/// What the sites differ in.
const KEYS: [&str; 4] = [
    "PreemptType=",
    "PreemptMode=",
    "JobSubmitPlugins=",
    "SchedulerParameters=",
];

/// How a site preempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Not at all, and starts what it can. The cluster is filled so; it is not measured.
    Filling,
    /// Not at all.
    Nothing,
    /// As Slurm does: jobs of one partition give way to those of another.
    Stock,
    /// As Surgent does.
    Surgent,
}

impl Site {
    fn lines(self, size: Size) -> String {
        // Backfill comes more often than by default, so that there is more of it to be measured, and looks at fewer jobs, so
        // that it gets through them: with many nodes each of them takes it long, on a busy machine too.
        let measured = "SchedulerParameters=bf_interval=10,bf_continue,bf_max_job_test=50,bf_max_time=120\n";
        match self {
            Self::Filling => format!(
                "PreemptType=preempt/none\nPreemptMode=OFF\n\
                 SchedulerParameters=defer,default_queue_depth={},max_sched_time=20,sched_interval=2,bf_interval=3600\n",
                size.running()
            ),
            Self::Nothing => format!("PreemptType=preempt/none\nPreemptMode=OFF\n{measured}"),
            Self::Stock => format!("PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n{measured}"),
            Self::Surgent => {
                format!(
                    "PreemptType=preempt/surgent\nPreemptMode=REQUEUE\nJobSubmitPlugins=surgent\n{measured}"
                )
            }
        }
    }
}

/// The cluster, and what of its slurm.conf all sites have.
pub struct Sites {
    pub cluster: Cluster,
    pub size: Size,
    nodes: Nodes,
    common_conf: String,
}

impl Sites {
    /// Starts a cluster of the size with all of its slurmd's, to be filled.
    pub fn start(size: Size, interrupted: Arc<AtomicBool>) -> Outcome<Self> {
        println!("Starting slurmctld.");
        let mut cluster = Cluster::builder().interrupted_by(interrupted).start()?;
        let at = cluster.folder().to_owned();
        // Its nodes come only now: the builder would wait for them.
        cluster.stop_controller()?;
        let read =
            fs::read_to_string(at.join("slurm.conf")).map_err(|error| format!("slurm.conf: {error}"))?;
        let kept = read
            .lines()
            .filter(|line| !KEYS.iter().any(|key| line.starts_with(key)));
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        let host = read
            .lines()
            .find_map(|line| line.strip_prefix("SlurmctldHost=")?.split('(').next());
        let host = host.ok_or("slurm.conf does not name this machine")?;
        let gres = at.join("gres.conf");
        let read = fs::read_to_string(&gres).map_err(|error| format!("gres.conf: {error}"))?;
        let kept = kept + &size.limits();
        let nodes = Nodes::new(size, host, &kept)?;
        fs::write(&gres, read + &nodes.gres_conf(&at)).map_err(|error| format!("gres.conf: {error}"))?;
        let mut sites = Self {
            common_conf: kept + &nodes.slurm_conf(),
            cluster,
            size,
            nodes,
        };
        sites.start_controller(Site::Filling)?;
        sites.start_nodes()?;
        Ok(sites)
    }

    fn start_nodes(&mut self) -> Outcome {
        let nodes = self.size.nodes;
        for first in (0..nodes).step_by(AT_A_TIME as usize) {
            let begun = nodes.min(first + AT_A_TIME);
            for number in first..begun {
                self.nodes.start(&mut self.cluster, number)?;
            }
            // Not all at once: what they say when they have started is answered in time.
            self.wait_for_nodes("idle", begun as usize)?;
            if begun.is_multiple_of(500) || begun == nodes {
                println!("{begun} of {nodes} slurmd's have started.");
            }
        }
        Ok(())
    }

    /// Waits until so many nodes are in the state.
    fn wait_for_nodes(&self, state: &str, nodes: usize) -> Outcome {
        self.cluster
            .wait_for(&format!("{nodes} nodes to be {state}"), LIMIT, |cluster| {
                let states = cluster.ask("sinfo", &["-h", "-p", "low", "-o", "%D %T"])?;
                let of_state = states
                    .lines()
                    .filter_map(|line| line.split_once(' '))
                    .filter(|(_, one)| *one == state);
                Ok(of_state
                    .map(|(number, _)| number.parse().unwrap_or(0))
                    .sum::<usize>()
                    >= nodes)
            })
    }

    /// Starts slurmctld anew as that of a site. Its jobs are those that there were, running and waiting.
    pub fn become_site(&mut self, site: Site) -> Outcome {
        self.cluster.stop_controller()?;
        self.start_controller(site)?;
        let needed = (u64::from(self.size.nodes) * ANSWERING_PERCENT).div_ceil(100);
        self.cluster
            .wait_for(&format!("{needed} nodes to have answered"), LIMIT, |cluster| {
                let diagnosis = Sdiag::ask(cluster)?;
                Ok(diagnosis.rpc("MESSAGE_NODE_REGISTRATION_STATUS")?.count >= needed
                    && diagnosis.number("", "Agent queue size")? == 0)
            })?;
        self.pause(SETTLES)
    }

    fn start_controller(&mut self, site: Site) -> Outcome {
        let conf = format!("{}{}", self.common_conf, site.lines(self.size));
        fs::write(self.cluster.folder().join("slurm.conf"), conf)
            .map_err(|error| format!("slurm.conf: {error}"))?;
        self.cluster.start_controller()
    }

    /// Lets time go by; fails where somebody interrupts.
    pub fn pause(&self, time: Duration) -> Outcome {
        let begin = Instant::now();
        self.cluster
            .wait_for("the time to go by", LIMIT, |_| Ok(begin.elapsed() > time))
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Prints made-up nodes and jobs in the forms of squeue and scontrol, and has them read.

use std::collections::HashMap;
use std::fmt::Write as _;
use surgent::policy::facts::Facts;
use surgent::policy::ids::JobId;
use surgent::policy::resources::GresTable;
use surgent::policy::units::UnixTime;
use surgent::slurm::show::assemble::{Parts, Site, facts};
use surgent::slurm::show::details::Details;
use surgent::slurm::show::fixed::Table;
use surgent::slurm::show::list::{self, Listed};
use surgent::slurm::show::places::{Nodes, partitions};
use surgent::slurm::show::texts::{self, TEXTS, WHOLE_TEXTS};

pub const NOW: i64 = 1_764_410_000;

/// CPUs, memory in MiB and GPUs of each node.
const NODE: (u32, u64, u32) = (64, 500_000, 8);

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: u32,
    pub state: &'static str,
    pub name: Vec<u8>,
    pub comment: Vec<u8>,
    pub admin_comment: Vec<u8>,
    pub account: Vec<u8>,
    /// Node, CPUs and GPUs of each part that it holds.
    pub holds: Vec<(u32, u32, u32)>,
}

impl Job {
    pub fn running(id: u32, holds: Vec<(u32, u32, u32)>) -> Self {
        Self {
            id,
            state: "RUNNING",
            name: format!("train-{id}").into_bytes(),
            comment: b"epochs=90 epoch=12.5 epoch_s=300 at=1764409990 save=step".to_vec(),
            admin_comment: b"surgent{class=normal first=1764400000}".to_vec(),
            account: b"vision".to_vec(),
            holds,
        }
    }

    pub fn waiting(id: u32) -> Self {
        Self {
            state: "PENDING",
            ..Self::running(id, Vec::new())
        }
    }

    fn nodes(&self) -> String {
        let names: Vec<String> = self.holds.iter().map(|(node, ..)| format!("n{node}")).collect();
        names.join(",")
    }

    fn cell(&self, column: &str) -> String {
        let sum = |part: fn(&(u32, u32, u32)) -> u32| self.holds.iter().map(part).sum::<u32>();
        let is_running = self.state == "RUNNING";
        match column {
            "JobID" | "ArrayJobID" => self.id.to_string(),
            "UserID" | "GroupID" => "1000".into(),
            "UserName" => "eve".into(),
            "Partition" => "gpu".into(),
            "State" => self.state.into(),
            "Reason" => if is_running { "None" } else { "Priority" }.into(),
            "SubmitTime" | "EligibleTime" => (NOW - 5000).to_string(),
            "StartTime" if is_running => (NOW - 4000).to_string(),
            "EndTime" if is_running => (NOW + 40_000).to_string(),
            "TimeLimit" => "12:13:20".into(),
            "PriorityLong" => "4294901000".into(),
            "NumNodes" => self.holds.len().max(1).to_string(),
            "RestartCnt" => "0".into(),
            "BatchFlag" | "Requeue" => "1".into(),
            "tres-alloc" => {
                let (cpus, gpus) = (sum(|one| one.1), sum(|one| one.2));
                let count = self.holds.len();
                format!("cpu={cpus},mem={}M,node={count},gres/gpu={gpus}", 1000 * count)
            }
            "NodeList" => self.nodes(),
            _ => "N/A".into(),
        }
    }

    /// As `scontrol show job -d -o`.
    pub fn record(&self) -> Vec<u8> {
        let mut text = format!("JobId={} JobName=", self.id).into_bytes();
        text.extend(&self.name);
        text.extend(b" UserId=eve(1000) GroupId=eve(1000) MCS_label=N/A Priority=4294901000 Nice=0 Account=");
        text.extend(&self.account);
        let mut rest = format!(
            " QOS=(null) JobState={} Reason=None Dependency=(null) Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0 DerivedExitCode=0:0 \
             RunTime=01:06:40 TimeLimit=12:13:20 TimeMin=N/A SubmitTime={NOW} EligibleTime={NOW} AccrueTime={NOW} StartTime={NOW} \
             EndTime={NOW} Deadline=N/A PreemptEligibleTime={} PreemptTime=None SuspendTime=None SecsPreSuspend=0 \
             LastSchedEval={NOW} Scheduler=Main Partition=gpu AllocNode:Sid=login:1 ReqNodeList=(null) ExcNodeList=(null) \
             NodeList={} BatchHost=n1 NumNodes=1 NumCPUs=8 NumTasks=1 CPUs/Task=8 ReqB:S:C:T=0:0:*:* TRES=cpu=8 Socks/Node=* \
             NtasksPerN:B:S:C=0:0:*:* CoreSpec=* JOB_GRES=gpu:8 ",
            self.state,
            NOW - 4000,
            self.nodes()
        );
        for (node, cpus, gpus) in &self.holds {
            let last = cpus.saturating_sub(1);
            let _ = write!(
                rest,
                "  Nodes=n{node} CPU_IDs=0-{last} Mem=1000 GRES=gpu:{gpus}(IDX:0-7) "
            );
        }
        rest += "MinCPUsNode=8 MinMemoryNode=1000M MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 OverSubscribe=OK \
                 Contiguous=0 Licenses=(null) Network=(null) Command=/home/eve/train.sh WorkDir=/home/eve AdminComment=";
        text.extend(rest.as_bytes());
        text.extend(&self.admin_comment);
        text.extend(b"  Comment=");
        text.extend(&self.comment);
        text.extend(
            b"  StdErr=/home/eve/out StdIn=/dev/null StdOut=/home/eve/out Power= TresPerNode=gres:gpu:8 \n",
        );
        text
    }
}

/// What the commands print.
#[derive(Clone, Debug)]
pub struct Printed {
    pub list: Vec<u8>,
    pub texts: Vec<u8>,
    pub whole_texts: Vec<u8>,
    pub records: Vec<u8>,
    pub nodes: Vec<u8>,
    pub partitions: Vec<u8>,
}

/// One of the six.
pub fn stream(printed: &mut Printed, which: usize) -> &mut Vec<u8> {
    match which % 6 {
        0 => &mut printed.list,
        1 => &mut printed.texts,
        2 => &mut printed.whole_texts,
        3 => &mut printed.records,
        4 => &mut printed.nodes,
        _ => &mut printed.partitions,
    }
}

impl Printed {
    pub fn of(node_count: u32, jobs: &[Job]) -> Self {
        let format = list::format();
        let columns: Vec<&str> = format
            .split(',')
            .filter_map(|one| one.split(':').next())
            .collect();
        let mut list = Vec::new();
        for job in jobs {
            for column in &columns {
                list.extend(job.cell(column).into_bytes());
                list.push(0x1f);
            }
            list.push(b'\n');
        }
        let (cpus, memory_mib, gpus) = NODE;
        let node = |node: u32| {
            format!(
                "NodeName=n{node} Arch=x86_64 CoresPerSocket=32  CPUAlloc=0 CPUEfctv={cpus} CPUTot={cpus} CPULoad=1.00 \
                 AvailableFeatures=ib ActiveFeatures=ib Gres=gpu:{gpus}(S:0-1) NodeAddr=n{node} NodeHostName=n{node} \
                 Version=22.05.8 OS=Linux 6.1 #1 SMP RealMemory={memory_mib} AllocMem=0 FreeMem=1 Sockets=2 Boards=1 \
                 State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu BootTime=None \n"
            )
        };
        Self {
            list,
            texts: table(&TEXTS, jobs),
            whole_texts: table(&WHOLE_TEXTS, jobs.iter().filter(|job| job.is_long())),
            records: jobs.iter().flat_map(Job::record).collect(),
            nodes: (0..node_count).map(node).collect::<String>().into_bytes(),
            partitions: format!(
                "PartitionName=gpu AllowGroups=ALL MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 Nodes=n[0-{}] \
                 OverSubscribe=NO State=UP\n",
                node_count.saturating_sub(1)
            )
            .into_bytes(),
        }
    }
}

impl Job {
    /// In the order of [`TEXTS`].
    fn texts(&self) -> [&Vec<u8>; 4] {
        [&self.name, &self.comment, &self.admin_comment, &self.account]
    }

    fn is_long(&self) -> bool {
        self.texts()
            .into_iter()
            .zip(TEXTS.0)
            .any(|(text, (_, width))| text.len() + 20 > width)
    }
}

/// squeue's columns: cut at their width, filled up with blanks.
fn table<'a>(table: &Table<4>, jobs: impl IntoIterator<Item = &'a Job>) -> Vec<u8> {
    let mut printed = Vec::new();
    for job in jobs {
        printed.extend(format!("{:<12}", job.id).into_bytes());
        for (text, (_, width)) in job.texts().into_iter().zip(table.0) {
            let end = printed.len() + width;
            printed.extend(&text[..text.len().min(width)]);
            printed.resize(end, b' ');
        }
        printed.push(b'\n');
    }
    printed
}

/// Reads it all; `alone` prints the record of one job.
pub fn read(printed: &Printed, alone: impl Fn(JobId) -> Vec<u8>) -> Option<(Vec<Listed>, Facts)> {
    let (mut jobs, _) = list::read(&printed.list);
    let mut names = vec![Vec::new(); jobs.len()];
    texts::put(&TEXTS, &printed.texts, &mut jobs, &mut names)?;
    texts::put(&WHOLE_TEXTS, &printed.whole_texts, &mut jobs, &mut names)?;
    let mut table = GresTable::default();
    let nodes = Nodes::read(&printed.nodes, &mut table);
    let partitions = partitions(&printed.partitions, &nodes);
    let details = Details::of(&printed.records);
    let contested = details.contested();
    let alone: HashMap<JobId, Vec<u8>> = contested.into_iter().map(|id| (id, alone(id))).collect();
    let parts = Parts {
        as_urgent: &|_| false,
        now: UnixTime(NOW),
        site: Site {
            consumes_cpus: true,
            consumes_memory: true,
            ..Site::default()
        },
        nodes,
        partitions,
        reservations: Vec::new(),
        jobs: &jobs,
        names: &names,
        details,
        alone: &alone,
        wishes: b"",
    };
    let facts = facts(&parts, table);
    Some((jobs, facts))
}

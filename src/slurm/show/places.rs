// SPDX-License-Identifier: GPL-2.0-or-later
//! Where jobs can run: nodes, partitions and reservations, as `scontrol show … -o` prints them.
//!
//! Nothing in these is an ordinary user's to write.

use super::defaults::PartitionDefaults;
use super::fields::{Fields, duration_s, given, number, time, word};
use super::{gres, hostlist};
use crate::policy::facts::{Availability, MemoryRequest, Node};
use crate::policy::ids::NodeIndex;
use crate::policy::resources::{Amounts, GresTable};
use crate::policy::units::UnixTime;
use bstr::ByteSlice;
use std::collections::{BTreeSet, HashMap};

/// The nodes, in Slurm's order.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// As the plan knows them.
    pub nodes: Vec<Node>,
    /// The features of each, with commas between them.
    pub features: Vec<(NodeIndex, Vec<u8>)>,
    index: HashMap<String, NodeIndex>,
}

/// All of these.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The nodes.
    pub nodes: Nodes,
    /// The partitions by name.
    pub partitions: HashMap<String, Partition>,
    /// What jobs get in them that do not say otherwise.
    pub defaults: PartitionDefaults,
    /// The memory that they get where the partition does not say.
    pub memory: MemoryRequest,
    /// The reservations.
    pub reservations: Vec<Reservation>,
    /// Memory is shared out to jobs.
    pub consumes_memory: bool,
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its nodes, sorted.
    pub nodes: Vec<NodeIndex>,
    /// A job has at least so many.
    pub min_nodes: u32,
    /// At most so many.
    pub max_nodes: Option<u32>,
    /// The longest time limit; `None` without.
    pub max_time_s: Option<u64>,
    /// Jobs have whole nodes.
    pub whole_node: bool,
    /// Nodes are not shared by users.
    pub user_node: bool,
    /// So many jobs may use a CPU at once; `None` where CPUs are not shared.
    pub jobs_per_cpu: Option<u32>,
    /// They share it whether they want to or not.
    pub forced: bool,
}

/// A reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// When it begins; its next time, where it comes again and again.
    pub start: UnixTime,
    /// When it ends.
    pub end: UnixTime,
    /// Its nodes, sorted.
    pub nodes: Vec<NodeIndex>,
    /// Such as `MAINT`.
    pub flags: Vec<String>,
}

impl Reservation {
    /// Whether it has this flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|one| one == flag)
    }
}

impl Nodes {
    /// Reads `scontrol show node -o`.
    pub fn read(printed: &[u8], table: &mut GresTable) -> Self {
        let mut all = Self::default();
        for line in records(printed, b"NodeName=") {
            all.put(line, table);
        }
        all
    }

    fn put(&mut self, line: &[u8], table: &mut GresTable) {
        let mut fields = Fields::of(line);
        let Some(name) = fields.next("NodeName").and_then(word) else {
            return;
        };
        // Slurm knows far fewer nodes than that.
        let index = NodeIndex(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        if self.index.contains_key(&name) {
            return;
        }
        let cpus = fields.next("CPUEfctv").or_else(|| fields.next("CPUTot"));
        let available = fields.next("AvailableFeatures").unwrap_or_default();
        let active = fields.next("ActiveFeatures").and_then(given);
        let has = fields.next("Gres").unwrap_or_default();
        let memory_mib = fields.next("RealMemory").and_then(number).unwrap_or(0u64);
        let kept_mib = fields.next("MemSpecLimit").and_then(number).unwrap_or(0u64);
        let state = fields.next("State").unwrap_or_default();
        let threads = fields.next("ThreadsPerCore").and_then(number).unwrap_or(1u32);
        let cpus = cpus.and_then(number).unwrap_or(0);
        let mut total = Amounts::new(cpus, memory_mib.saturating_sub(kept_mib));
        gres::add(has, table, &mut total);
        self.nodes.push(Node {
            index,
            name: name.clone(),
            availability: availability(state),
            total,
            cpus_per_core: threads.max(1),
        });
        let features = active.or(given(available)).unwrap_or_default();
        self.features.push((index, features.to_vec()));
        self.index.insert(name, index);
    }

    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        self.index.get(name).copied()
    }

    /// The nodes of a list such as `n[1-3]`, in its order; names that are not known are passed over.
    pub fn list(&self, list: &[u8]) -> Vec<NodeIndex> {
        let Some(list) = given(list) else {
            return Vec::new();
        };
        let list = list.to_str_lossy();
        if let Some(one) = self.find(&list) {
            return vec![one];
        }
        let names = hostlist::expand(&list);
        names.iter().filter_map(|name| self.find(name)).collect()
    }

    /// The same, sorted.
    pub fn sorted(&self, list: &[u8]) -> Vec<NodeIndex> {
        let mut nodes = self.list(list);
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

/// The lines that hold a record.
fn records<'a>(printed: &'a [u8], start: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    printed.lines().filter(move |line| line.starts_with(start))
}

/// A node's state is a word and flags: `IDLE+DRAIN+NOT_RESPONDING`.
fn availability(state: &[u8]) -> Availability {
    let words: Vec<&[u8]> = state.split_str("+").collect();
    let has = |names: &[&str]| {
        words
            .iter()
            .any(|word| names.iter().any(|name| name.as_bytes() == *word))
    };
    let rules: [(&[&str], Availability); 4] = [
        (
            &[
                "UNKNOWN",
                "DOWN",
                "FUTURE",
                "ERROR",
                "FAIL",
                "NOT_RESPONDING",
                "INVALID_REG",
                "REBOOT_ISSUED",
                "EXTERNAL",
            ],
            Availability::Down,
        ),
        (&["DRAIN", "POWER_DRAIN"], Availability::Drained),
        (&["POWERING_DOWN", "POWER_DOWN"], Availability::PoweringDown),
        (&["MAINTENANCE", "RESERVED"], Availability::Reserved),
    ];
    let found = rules.iter().find(|(names, _)| has(names));
    found.map_or(Availability::Up, |(_, availability)| *availability)
}

/// Reads `scontrol show partition -o`.
pub fn partitions(printed: &[u8], nodes: &Nodes) -> HashMap<String, Partition> {
    let all = records(printed, b"PartitionName=").filter_map(|line| partition(line, nodes));
    all.collect()
}

/// The names in what `scontrol show partition -o` prints.
pub fn partition_names(printed: &[u8]) -> BTreeSet<String> {
    let all = records(printed, b"PartitionName=");
    all.filter_map(|line| word(Fields::of(line).next("PartitionName")?))
        .collect()
}

fn partition(line: &[u8], nodes: &Nodes) -> Option<(String, Partition)> {
    let mut fields = Fields::of(line);
    let name = fields.next("PartitionName").and_then(word)?;
    let users = fields.next("ExclusiveUser") == Some(b"YES");
    // From 26.05 on one word for both.
    let exclusive = fields.next("Exclusive").unwrap_or_default();
    let max_nodes = fields.next("MaxNodes").and_then(number);
    let max_time = fields.next("MaxTime").and_then(duration_s);
    let min_nodes = fields.next("MinNodes").and_then(number).unwrap_or(0);
    let list = fields.next("Nodes").unwrap_or_default();
    let share = fields.next("OverSubscribe").unwrap_or_default();
    let (share, count) = share.split_once_str(":").unwrap_or((share, b""));
    Some((
        name,
        Partition {
            nodes: nodes.sorted(list),
            min_nodes,
            max_nodes,
            max_time_s: max_time,
            whole_node: share == b"EXCLUSIVE" || matches!(exclusive, b"NODE" | b"TOPO"),
            user_node: users || exclusive == b"USER",
            jobs_per_cpu: number(count),
            forced: share == b"FORCE",
        },
    ))
}

/// Reads `scontrol show reservation -o`.
pub fn reservations(printed: &[u8], nodes: &Nodes) -> Vec<Reservation> {
    let read = |line| {
        let mut fields = Fields::of(line);
        let name = fields.next("ReservationName").and_then(word)?;
        let start = fields.next("StartTime").and_then(time)?;
        let end = fields.next("EndTime").and_then(time)?;
        let list = fields.next("Nodes").unwrap_or_default();
        let flags = fields.next("Flags").unwrap_or_default().to_str_lossy();
        Some(Reservation {
            name,
            start,
            end,
            nodes: nodes.sorted(list),
            flags: flags.split(',').map(str::to_owned).collect(),
        })
    };
    records(printed, b"ReservationName=").filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &[u8] = b"NodeName=n1 Arch=x86_64 CoresPerSocket=4  CPUAlloc=2 CPUEfctv=8 CPUTot=8 CPULoad=0.10 \
AvailableFeatures=a,b ActiveFeatures=a Gres=gpu:a100:4(S:0-1) NodeAddr=h NodeHostName=h Version=22.05.8 OS=Linux 6.1 #1 SMP \
RealMemory=1000 AllocMem=0 FreeMem=9 Sockets=1 Boards=1 MemSpecLimit=100 State=MIXED+DRAIN ThreadsPerCore=2 TmpDisk=0 \
Reason=a reason State=IDLE\nNodeName=n1 State=DOWN [root@1] \n\
NodeName=n2 CPUTot=4 Gres=(null) RealMemory=500 State=IDLE ThreadsPerCore=1 \n";

    fn nodes(table: &mut GresTable) -> Nodes {
        Nodes::read(NODES, table)
    }

    #[test]
    fn nodes_are_read_once_each_and_not_from_their_reasons() {
        let mut table = GresTable::default();
        let nodes = nodes(&mut table);
        assert_eq!(nodes.nodes.len(), 2);
        let first = &nodes.nodes[0];
        assert_eq!(
            (first.total.cpus, first.total.memory_mib, first.cpus_per_core),
            (8, 900, 2)
        );
        assert_eq!(first.availability, Availability::Drained);
        assert_eq!(table.total_of(&first.total, "gpu"), 4);
        assert_eq!(nodes.features[0].1, b"a");
        assert_eq!(nodes.nodes[1].availability, Availability::Up);
        assert_eq!(nodes.nodes[1].total.cpus, 4);
        assert_eq!(nodes.list(b"n[2-3],n1"), [NodeIndex(1), NodeIndex(0)]);
    }

    #[test]
    fn partitions_are_read_in_the_forms_of_all_releases() {
        let nodes = nodes(&mut GresTable::default());
        let old = b"PartitionName=gpu AllowGroups=ALL AllocNodes=ALL Default=YES ExclusiveUser=YES GraceTime=0 \
MaxNodes=UNLIMITED MaxTime=1-00:00:00 MinNodes=0 LLN=NO Nodes=n[1-2] OverSubscribe=FORCE:4 State=UP \n\
PartitionName=new Exclusive=NODE MaxNodes=2 MaxTime=UNLIMITED MinNodes=1 Nodes=n2 OverSubscribe=NO State=UP\n";
        let partitions = partitions(old, &nodes);
        let gpu = &partitions["gpu"];
        assert_eq!(gpu.nodes, [NodeIndex(0), NodeIndex(1)]);
        assert_eq!((gpu.max_nodes, gpu.max_time_s), (None, Some(86_400)));
        assert!(gpu.user_node && gpu.forced && !gpu.whole_node);
        assert_eq!(gpu.jobs_per_cpu, Some(4));
        let new = &partitions["new"];
        assert!(new.whole_node && !new.user_node);
        assert_eq!((new.max_nodes, new.jobs_per_cpu), (Some(2), None));
    }

    #[test]
    fn reservations_are_read() {
        let nodes = nodes(&mut GresTable::default());
        let printed =
            b"ReservationName=m StartTime=100 EndTime=200 Duration=00:01:40 Nodes=n2 NodeCnt=1 CoreCnt=4 \
Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES TRES=cpu=4 Users=root \n\
No reservations in the system\n";
        let found = reservations(printed, &nodes);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].nodes, [NodeIndex(1)]);
        assert!(found[0].has("MAINT") && !found[0].has("FLEX"));
    }
}

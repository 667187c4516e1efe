// SPDX-License-Identifier: GPL-2.0-or-later
//! The forms in which different releases print the same.

use surgent::policy::facts::{Hindrance, MemoryRequest, Request};
use surgent::policy::ids::JobId;
use surgent::policy::resources::GresTable;
use surgent::policy::units::UnixTime;
use surgent::slurm::show::details::{Details, shares, sharing};
use surgent::slurm::show::fixed::Cell;
use surgent::slurm::show::list::{self, Listed};
use surgent::slurm::show::places::{Nodes, partitions};
use surgent::slurm::show::waiting::{Cluster, Wishes, hindrance, request};

const NOW: UnixTime = UnixTime(1_764_410_000);

/// The fields of a record from the nodes on, in 22.05 and in 26.05; unknown ones are passed over.
const OLD: &str = "JobId=7 JobName=a UserId=eve(1000) Dependency=expand:5 ReqNodeList=n1 ExcNodeList=n3 NodeList=(null) \
    NumNodes=2-3 NumCPUs=8 NumTasks=4 CPUs/Task=2 ReqB:S:C:T=0:0:*:1 TRES=cpu=8 Socks/Node=2 NtasksPerN:B:S:C=2:0:*:* CoreSpec=* \
    MinCPUsNode=4 MinMemoryCPU=1.50G MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 OverSubscribe=NO Contiguous=0 \
    Licenses=(null) Network=(null) Command=x Exclusive=USER\n";
const NEW: &str = "JobId=7 JobName=a SLUID=s1 UserId=eve(1000) Dependency=expand:5 ReqNodeList=n1 ExcNodeList=n3 NodeList= \
    StepMgrEnabled=Yes NumNodes=2-3 NumCPUs=8 NumTasks=4 CPUs/Task=2 ReqB:S:C:T=0:0:*:1 ReqTRES=cpu=8 AllocTRES=(null) Socks/Node=2 \
    NtasksPerN:B:S:C=2:0:*:* CoreSpec=* Novelty=12 MinCPUsNode=4 MinMemoryCPU=1536M MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 \
    OverSubscribe=NO Exclusive=NODE Contiguous=0 Licenses=(null) LicensesAlloc= Network=(null) Command=x SubmitLine=sbatch\n";

/// A line of the list with these values, and Slurm's words for "none" elsewhere.
fn listed(values: &[(&str, &str)]) -> Listed {
    let format = list::format();
    let mut line = String::new();
    for column in format.split(',').filter_map(|one| one.split(':').next()) {
        let usual = match column {
            "JobID" => "7",
            "UserID" => "1000",
            "State" => "PENDING",
            "Reason" => "Resources",
            "Partition" => "gpu",
            "PriorityLong" => "100",
            _ => "N/A",
        };
        let given = values.iter().find(|(name, _)| *name == column);
        line += given.map_or(usual, |(_, value)| *value);
        line.push('\x1f');
    }
    let (mut jobs, unread) = list::read(line.as_bytes());
    assert_eq!(unread, 0);
    jobs.remove(0)
}

fn requested(record: &str, wishes: [&str; 7], table: &mut GresTable) -> Request {
    let printed = "NodeName=n1 CPUTot=8 RealMemory=9000 State=IDLE \nNodeName=n2 CPUTot=8 RealMemory=9000 State=IDLE \n\
                   NodeName=n3 CPUTot=8 RealMemory=9000 State=IDLE \n";
    let nodes = Nodes::read(printed.as_bytes(), table);
    let partitions = partitions(b"PartitionName=gpu Nodes=n[1-3] OverSubscribe=NO\n", &nodes);
    let cluster = Cluster {
        nodes: &nodes,
        partitions: &partitions,
        reservations: &[],
        now: NOW,
        consumes_memory: true,
    };
    let details = Details::of(record.as_bytes());
    let cells: Wishes<'_> = wishes.map(|text| Cell {
        text: text.as_bytes(),
        is_cut: false,
    });
    request(
        &listed(&[]),
        details.record(JobId(7), b"a"),
        &cells,
        &cluster,
        table,
    )
}

#[test]
fn a_request_is_the_same_in_every_form() {
    let old = [
        "gres:gpu:a100:2",
        "N/A",
        "N/A",
        "N/A",
        "gres:gpu:3",
        "N/A",
        "(null)",
    ];
    let new = ["gres/gpu:a100:2", "N/A", "N/A", "cpu:2", "gres/gpu:3", "N/A", ""];
    let mut table = GresTable::default();
    let first = requested(OLD, old, &mut table);
    assert_eq!(first, requested(NEW, new, &mut table));
    assert_eq!(
        (first.min_nodes, first.max_nodes, first.tasks),
        (2, Some(3), Some(4))
    );
    assert_eq!((first.cpus_per_task, first.tasks_per_node), (2, Some(2)));
    assert_eq!((first.cpus_per_core, first.cpus_per_node), (Some(1), 4));
    assert_eq!(first.memory, MemoryRequest::PerCpu(1536));
    assert_eq!(first.expands, Some(JobId(5)));
    assert!(first.whole_node && !first.user_node);
    let nodes: Vec<u32> = first.choices[0].nodes.iter().map(|node| node.0).collect();
    assert_eq!((nodes, first.required.len()), (vec![0, 1], 1));
    let counts: Vec<_> = first
        .gres
        .iter()
        .map(|gres| (gres.per_node, gres.cpus_each))
        .collect();
    assert_eq!(counts, [(2, 3), (2, 0)]);
}

#[test]
fn a_request_without_a_record_or_a_partition_is_one_that_nothing_can_serve() {
    let mut table = GresTable::default();
    let alone = requested("JobId=8 JobName=b \n", ["N/A"; 7], &mut table);
    assert_eq!((alone.min_nodes, alone.choices.len()), (1, 1));
    let pink = requested(OLD, ["", "", "", "", "", "", "pink"], &mut table);
    assert!(pink.choices.iter().all(|choice| choice.nodes.is_empty()));
}

#[test]
fn words_for_reasons_and_states_are_understood() {
    for (reason, expected) in [
        ("Resources", None),
        ("Priority", None),
        ("None", None),
        ("BeginTime", Some(Hindrance::Date)),
        ("DependencyNeverSatisfied", Some(Hindrance::Dependency)),
        ("ReqNodeNotAvail, UnavailableNodes:n3", Some(Hindrance::Nodes)),
        ("JobHeldUser", Some(Hindrance::Held)),
        ("QOSMaxGRESPerUser", Some(Hindrance::Other)),
    ] {
        assert_eq!(
            hindrance(&listed(&[("Reason", reason)]), NOW),
            expected,
            "{reason}"
        );
    }
    let later = (NOW.0 + 100).to_string();
    let early = listed(&[("EligibleTime", &later)]);
    assert_eq!(hindrance(&early, NOW), Some(Hindrance::Date));
    for (state, phase) in [
        ("CONFIGURING", list::Phase::Running),
        ("SUSPENDED", list::Phase::Suspended),
        ("REQUEUE_HOLD", list::Phase::Waiting),
        ("COMPLETING", list::Phase::Ended),
        ("SOMETHING_NEW", list::Phase::Ended),
    ] {
        assert_eq!(listed(&[("State", state)]).phase(), phase, "{state}");
    }
}

#[test]
fn a_task_of_an_array_and_tasks_that_wait_together_are_told_apart() {
    let task = listed(&[("ArrayJobID", "5"), ("ArrayTaskID", "3")]);
    assert_eq!(
        task.job.array.map(|task| task.to_string()),
        Some("5_3".to_owned())
    );
    let several = listed(&[("ArrayJobID", "7"), ("ArrayTaskID", "0-9%2")]);
    assert_eq!((several.job.array, several.array_job), (None, Some(JobId(7))));
    let none = listed(&[("ArrayJobID", "7")]);
    assert_eq!((none.job.array, none.array_job), (None, None));
}

#[test]
fn a_record_that_ends_early_holds_what_it_says() {
    for cut in 0..OLD.len() {
        let details = Details::of(&OLD.as_bytes()[..cut]);
        if let Some(mut record) = details.record(JobId(7), b"a") {
            assert!(shares(&record).is_empty());
            let _ = sharing(&mut record);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A site keeps its own preemption: `base` in surgent.toml.
//!
//! The scenes run once with Slurm's own plugin and once with Surgent over it, and all that becomes of the jobs must be equal.

mod loading;
mod scenes;
mod urgent;

use crate::scene::TOML;
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, Preempt, places};
use crate::{on_cluster, skips, tell};
use scenes::{Seen, Site};

/// Partitions of the first tier that differ in how their jobs are stopped; `high` takes from all of them.
const PARTITIONS: [&str; 3] = [
    "PartitionName=cancelled Nodes=ALL PriorityTier=1 PreemptMode=CANCEL",
    "PartitionName=graced Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE GraceTime=5",
    "PartitionName=spared Nodes=ALL PriorityTier=1 PreemptMode=OFF",
];
const LOW_AND_HIGH: [&str; 2] = [
    "PartitionName=low Nodes=ALL PriorityTier=1",
    "PartitionName=high Nodes=ALL PriorityTier=2",
];

const NO_DELAY: &str = "SchedulerParameters=batch_sched_delay=0";

fn with(builder: Builder, lines: &[&str]) -> Builder {
    lines.iter().fold(builder, |builder, line| builder.conf(line))
}

/// preempt/partition_prio as it comes.
fn stock(lines: &[&str]) -> Builder {
    let builder = Cluster::builder().preempt(Preempt::PartitionPrio);
    with(with(builder, &PARTITIONS), lines)
}

/// The same partitions with Surgent and the base that `toml` names.
fn with_surgent(toml: &str, lines: &[&str]) -> Builder {
    let builder = Cluster::builder().toml(&format!("{toml}\n{TOML}"));
    with(with(with(builder, &LOW_AND_HIGH), &PARTITIONS), lines)
}

const BASE: &str = "base = \"partition_prio\"";

/// The same by QOS, of which the names are those of the partitions.
const QOS: [&str; 6] = [
    "add qos low Priority=1",
    "add qos cancelled Priority=1 PreemptMode=cancel",
    "add qos graced Priority=1 PreemptMode=requeue GraceTime=5",
    "add qos spared Priority=1",
    "add qos high Priority=9 Preempt=low,cancelled,graced",
    "modify user root set QOS+=low,cancelled,graced,spared,high",
];

/// `base` as the log has it.
fn wait_for_base(cluster: &Cluster, base: &str) -> Outcome {
    let line = format!("surgent: {base}");
    cluster.wait_for(&format!("{line:?} in the log"), LIMIT, |cluster| {
        Ok(cluster.logged(&[&line]).is_some())
    })
}

/// Submits a job of the higher tier that takes whole nodes for a moment.
fn submit(cluster: &Cluster, name: &str, options: &[&str]) -> Outcome<JobId> {
    let name = format!("--job-name={name}");
    let arguments: Vec<_> = ["--exclusive", "--partition=high", &name]
        .into_iter()
        .chain(options.iter().copied())
        .collect();
    cluster.sbatch(&arguments, "echo up; sleep 3")
}

/// Plays the scenes with Slurm's plugin and with Surgent over it, and compares what was seen.
fn compare(
    setups: [Builder; 2],
    by: &'static str,
    base: &str,
    scenes: impl Fn(Site<'_>) -> Outcome<Vec<Seen>>,
) -> Outcome {
    if skips() {
        return Ok(());
    }
    let [stock, with_surgent] = setups;
    let mut expected = Vec::new();
    on_cluster(stock, |cluster| {
        expected = scenes(Site { cluster, by })?;
        Ok(())
    })?;
    on_cluster(with_surgent, |cluster| {
        wait_for_base(cluster, base)?;
        let seen = scenes(Site { cluster, by })?;
        assert_eq!(seen, expected, "left: with Surgent, right: without");
        Ok(())
    })
}

fn by_partition(lines: &[&str], scenes: impl Fn(Site<'_>) -> Outcome<Vec<Seen>>) -> Outcome {
    compare(
        [stock(lines), with_surgent(BASE, lines)],
        "--partition",
        "the base is preempt/partition_prio",
        scenes,
    )
}

#[test]
fn by_partition_all_becomes_of_jobs_that_does_without_surgent() -> Outcome {
    by_partition(&[NO_DELAY], scenes::all)
}

#[test]
fn by_partition_the_youngest_go_first_where_the_site_wants_that() -> Outcome {
    let order = "preempt_youngest_first,preempt_strict_order,preempt_reorder_count=4";
    by_partition(&[&format!("{NO_DELAY},{order}")], |site| {
        Ok(vec![scenes::the_youngest_first(site)?])
    })
}

#[test]
fn by_qos_all_becomes_of_jobs_that_does_without_surgent() -> Outcome {
    if let Some(missing) = ["slurmdbd", "mariadbd"]
        .into_iter()
        .find(|name| places::daemon(name).is_err())
    {
        tell(&format!(
            "skipped, for {missing} is not installed (make setup): preemption by QOS"
        ));
        return Ok(());
    }
    let stock = ["PreemptType=preempt/qos", "PreemptMode=REQUEUE", NO_DELAY];
    let stock = with(Cluster::builder().preempt(Preempt::Nothing), &stock);
    let with_surgent = with_surgent("base = \"qos\"", &[NO_DELAY]);
    let setups = [stock, with_surgent].map(|setup| setup.accounting(&QOS));
    compare(setups, "--qos", "the base is preempt/qos", scenes::all)
}

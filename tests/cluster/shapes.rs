// SPDX-License-Identifier: GPL-2.0-or-later
//! The model against the real thing: for each shape of an urgent job, Slurm starts it on the plan's victims and on no
//! one else. Where Slurm wants somebody else too, or leaves somebody out, the model of `policy::fit` is wrong.

mod crowd;

use crate::on_cluster;
use crate::support::{Cluster, Outcome};
use crowd::{Crowd, Member, Shape};

const TOML: &str = "[victims]\nmin_runtime_s = 0\nnearly_done_s = 0\nmax_preemptions = 100000\nsave_s = 1\n\
                    [urgent]\ngate_patience_s = 15\n";

fn gpus_of(count: u32, more: &[&str]) -> Vec<String> {
    let cpus = format!("--cpus-per-task={}", 2 * count);
    let gres = format!("--gres=gpu:{count}");
    [&cpus, &gres, "--mem=3000"]
        .into_iter()
        .chain(more.iter().copied())
        .map(str::to_owned)
        .collect()
}

/// Four nodes that nothing fits on any more: halves, quarters, a whole node, and a job on two nodes.
fn crowd() -> Vec<Member> {
    vec![
        Member::new("half1", gpus_of(2, &["-wn1"])),
        Member::new("half2", gpus_of(2, &["-wn1"])),
        Member::new("whole", ["--exclusive", "--gres=gpu:4", "-wn2"]),
        Member::new("quarter1", gpus_of(1, &["-wn3"])),
        Member::new("quarter2", gpus_of(1, &["-wn3"])),
        Member::new("quarter3", gpus_of(1, &["-wn3"])),
        Member::new("wide", gpus_of(1, &["-N2", "-wn3,n4"])),
        Member::new("three", gpus_of(3, &["-wn4"])),
    ]
}

#[test]
fn slurm_starts_each_shape_on_the_plans_victims_alone() -> Outcome {
    let setup = Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .conf("PartitionName=west Nodes=n1,n2")
        .conf("PartitionName=east Nodes=n3,n4")
        .node("n1", "old,ib", &[])
        .node("n2", "old", &[])
        .node("n3", "new,ib", &[])
        .node("n4", "new", &[]);
    let shapes = [
        Shape::starts("one whole node", &["-N1", "--exclusive"]),
        Shape::starts("two whole nodes", &["-N2", "--exclusive"]),
        Shape::starts("all nodes", &["-N4", "--exclusive"]),
        Shape::starts("one gpu of a node", &["--gres=gpu:1"]),
        Shape::starts("four gpus of a node", &["--gres=gpu:4"]),
        Shape::starts("two gpus on each of two nodes", &["-N2", "--gres=gpu:2"]),
        Shape::starts("gpus of the job", &["--gpus=3"]),
        Shape::starts("more gpus of the job than a node has", &["--gpus=6"]),
        Shape::starts("gpus of the job on two nodes", &["--gpus=5", "-N2"]),
        Shape::starts("gpus of each task", &["-n3", "--gpus-per-task=1"]),
        Shape::starts("gpus of each task on two nodes", &["-N2", "-n4", "--gpus-per-task=1"]),
        Shape::starts("gpus of a socket", &["--gpus-per-socket=2", "--sockets-per-node=1"]),
        Shape::starts("cpus with each gpu", &["--gpus=2", "--cpus-per-gpu=3"]),
        Shape::starts("cpus alone", &["-n5"]),
        Shape::starts("cpus of two nodes", &["-n12"]),
        Shape::starts("tasks on each node", &["-N2", "--ntasks-per-node=3"]),
        Shape::starts("tasks of three cpus", &["-n4", "-c3"]),
        Shape::starts("one task of many cpus", &["-n1", "-c7"]),
        Shape::starts("tasks that share a node", &["-N1", "-n6"]),
        Shape::starts("cpus of a node", &["-N1", "--mincpus=6"]),
        Shape::starts("one to three nodes", &["-N1-3", "-n14"]),
        Shape::starts("memory of a node", &["--mem=12000"]),
        Shape::starts("all memory of a node", &["--mem=0"]),
        Shape::starts("memory of a cpu", &["-n2", "--mem-per-cpu=5000"]),
        Shape::starts("memory of a gpu", &["--gpus=2", "--mem-per-gpu=6000"]),
        Shape::starts("a feature", &["-N1", "--exclusive", "-Cnew"]),
        Shape::starts("one feature and another", &["-n4", "-Cnew&ib"]),
        Shape::starts("one feature or another", &["-n4", "-Cib|old"]),
        Shape::starts("nodes of one kind", &["-N2", "-C[old|new]", "--gres=gpu:1"]),
        Shape::starts("a node of each feature", &["-N2", "-C[old*1&new*1]", "--gres=gpu:1"]),
        Shape::starts("two nodes of a feature", &["-N2", "-Cib*2", "--gres=gpu:1"]),
        Shape::starts("a named node", &["-wn3", "--gres=gpu:2"]),
        Shape::starts("named nodes and another", &["-N3", "-wn1,n4", "--gres=gpu:1"]),
        Shape::starts("not these nodes", &["-xn1,n3", "--gres=gpu:1"]),
        Shape::starts("a partition", &["-peast", "-N1", "--exclusive"]),
        Shape::starts("one of two partitions", &["-peast,west", "-N2", "--gres=gpu:2"]),
        Shape::starts("exclusive for the user", &["--exclusive=user", "-n8"]),
        Shape::asks_nobody("more gpus than a node has", &["--gres=gpu:5"]),
        Shape::asks_nobody("a feature that nobody has", &["-Cpink"]),
        Shape::asks_nobody("more nodes than of this feature", &["-N3", "-Cib"]),
    ];
    on_cluster(setup, |cluster| Crowd::gather(cluster, crowd())?.try_all(&shapes))
}

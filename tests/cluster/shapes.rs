// SPDX-License-Identifier: GPL-2.0-or-later
//! The model against the real thing: for each shape of an urgent job, Slurm starts it on the plan's victims and on no
//! one else. Where Slurm wants somebody else too, or leaves somebody out, the model of `policy::fit` is wrong.

pub mod crowd;
mod random;
mod spared;

use crate::on_cluster;

use crate::support::{Builder, Cluster, Outcome, places};
use crowd::{Crowd, Member, Shape};
use random::Dice;
use std::fs;

pub const TOML: &str = "[victims]\nmin_runtime_s = 0\nnearly_done_s = 0\nmax_preemptions = 100000\nsave_s = 1\n\
                    [urgent]\ngate_patience_s = 15\n";

/// Options of a job with so many GPUs, and more; two CPUs come with each.
pub fn gpus_of(count: u32, more: &[&str]) -> Vec<String> {
    let cpus = format!("--cpus-per-task={}", 2 * count);
    let gres = format!("--gres=gpu:{count}");
    [&cpus, &gres, "--mem=3000"]
        .into_iter()
        .chain(more.iter().copied())
        .map(str::to_owned)
        .collect()
}

/// Four nodes that nothing fits on any more: halves, quarters, a whole node, and a job on two nodes.
pub fn crowd() -> Vec<Member> {
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

/// Two partitions, features, and no room.
pub fn crowded_cluster() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .conf("PartitionName=west Nodes=n1,n2")
        .conf("PartitionName=east Nodes=n3,n4")
        .node("n1", "old,ib", &[])
        .node("n2", "old", &[])
        .node("n3", "new,ib", &[])
        .node("n4", "new", &[])
}

/// 22.05 starts it, 24.11 does not take it.
fn gpus_of_a_feature() -> Outcome<Shape> {
    let name = "a node of a feature, and gpus that Slurm wants of that kind";
    let options = ["-N2", "-n5", "--gpus-per-task=1", "-Cib*1"];
    Ok(match places::slurm_version()? < (24, 11) {
        true => Shape::starts(name, &options),
        false => Shape::refused(name, &options),
    })
}

#[test]
fn slurm_starts_each_shape_on_the_plans_victims_alone() -> Outcome {
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
        Shape::starts(
            "gpus of each task on two nodes",
            &["-N2", "-n4", "--gpus-per-task=1"],
        ),
        Shape::starts(
            "gpus of a socket",
            &["--gpus-per-socket=2", "--sockets-per-node=1"],
        ),
        Shape::starts("cpus with each gpu", &["--gpus=2", "--cpus-per-gpu=3"]),
        Shape::starts(
            "more tasks than cpus with the gpus",
            &["-N1", "-n3", "--gpus=2", "--cpus-per-gpu=1"],
        ),
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
        Shape::starts(
            "a node of each feature",
            &["-N2", "-C[old*1&new*1]", "--gres=gpu:1"],
        ),
        Shape::starts("two nodes of a feature", &["-N2", "-Cib*2", "--gres=gpu:1"]),
        gpus_of_a_feature()?,
        Shape::starts("a named node", &["-wn3", "--gres=gpu:2"]),
        Shape::starts("named nodes and another", &["-N3", "-wn1,n4", "--gres=gpu:1"]),
        Shape::starts("not these nodes", &["-xn1,n3", "--gres=gpu:1"]),
        Shape::starts("a partition", &["-peast", "-N1", "--exclusive"]),
        Shape::starts("one of two partitions", &["-peast,west", "-N2", "--gres=gpu:2"]),
        Shape::starts("exclusive for the user", &["--exclusive=user", "-n8"]),
        Shape::array("an array of two", 2, &["--array=1-2", "--gres=gpu:3"]),
        Shape::array("an array of one at a time", 1, &["--array=1-3%1", "--gres=gpu:2"]),
        Shape::refused("more gpus than a node has", &["--gres=gpu:5"]),
        Shape::refused("a feature that nobody has", &["-Cpink"]),
        Shape::refused("more nodes than of this feature", &["-N3", "-Cib"]),
    ];
    on_cluster(crowded_cluster(), |cluster| {
        Crowd::gather(cluster, crowd())?.try_all(&shapes)
    })
}

/// `SURGENT_SEED` and `SURGENT_SHAPES` (how many) try others.
#[test]
fn slurm_agrees_with_the_plan_for_shapes_made_up_at_random() -> Outcome {
    let number = |name: &str, usual: u64| {
        let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
        given.unwrap_or(usual)
    };
    // 24.11 itself does not start some jobs that overcommit, not even on empty nodes.
    let starts_all = places::slurm_version()? < (24, 11);
    let is_more = |option: &String| option.starts_with("-c") || option == "--exclusive";
    let mut dice = Dice::new(number("SURGENT_SEED", 1));
    let shapes: Vec<Shape> = (0..number("SURGENT_SHAPES", 12))
        .map(|_| random::options(&mut dice))
        .filter(|options| {
            starts_all || !options.contains(&"--overcommit".to_owned()) || !options.iter().any(is_more)
        })
        .map(Shape::any)
        .collect();
    on_cluster(crowded_cluster(), |cluster| {
        Crowd::gather(cluster, crowd())?.try_all(&shapes)
    })
}

/// GPUs of two models, cores of two CPUs, and jobs that hold a core for one CPU of it.
#[test]
fn slurm_starts_typed_and_threaded_shapes_on_the_plans_victims_alone() -> Outcome {
    let setup = Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .threads_per_core(2)
        .node("n1", "", &[("a100", 4)])
        .node("n2", "", &[("a100", 2), ("h100", 2)])
        .node("n3", "", &[("h100", 4)])
        .node("n4", "", &[]);
    let crowd = vec![
        Member::new("a1", ["-wn1", "--gres=gpu:a100:2", "-n1", "-c3", "--mem=2000"]),
        Member::new("a2", ["-wn1", "--gres=gpu:2", "-n1", "-c4", "--mem=2000"]),
        Member::new(
            "mixed",
            ["-wn2", "--gres=gpu:a100:1,gpu:h100:1", "-n1", "-c2", "--mem=2000"],
        ),
        Member::new("any", ["-wn2", "--gres=gpu:1", "-n1", "-c1", "--mem=2000"]),
        Member::new("h1", ["-wn2", "--gres=gpu:h100:1", "-n1", "-c1", "--mem=2000"]),
        Member::new("h2", ["-wn3", "--gres=gpu:h100:3", "-n1", "-c5", "--mem=2000"]),
        Member::new("h3", ["-wn3", "--gres=gpu:1", "-n1", "-c1", "--mem=2000"]),
        Member::new("single1", ["-wn4", "-n1", "-c1", "--mem=2000"]),
        Member::new("single2", ["-wn4", "-n1", "-c1", "--mem=2000"]),
        Member::new("single3", ["-wn4", "-n1", "-c1", "--mem=2000"]),
        Member::new("single4", ["-wn4", "--gres=gpu:4", "-n1", "-c1", "--mem=2000"]),
    ];
    let shapes = [
        Shape::starts("one of a model", &["--gres=gpu:a100:1"]),
        Shape::starts("the other model", &["--gres=gpu:h100:1"]),
        Shape::starts("four of a model", &["--gres=gpu:h100:4"]),
        Shape::starts(
            "two of a model on each of two nodes",
            &["-N2", "--gres=gpu:a100:2"],
        ),
        Shape::starts("one of each model", &["--gres=gpu:a100:1,gpu:h100:1"]),
        Shape::starts("two of each model", &["--gres=gpu:a100:2,gpu:h100:2"]),
        Shape::starts("any three", &["--gres=gpu:3"]),
        Shape::starts("any four on each of two nodes", &["-N2", "--gres=gpu:4"]),
        Shape::starts("of a model for the job", &["--gpus=a100:3"]),
        Shape::starts("of a model for each task", &["-n3", "--gpus-per-task=h100:1"]),
        Shape::starts(
            "memory with each of a model",
            &["--gpus=h100:2", "--mem-per-gpu=4000"],
        ),
        Shape::starts("one cpu", &["-n1"]),
        Shape::starts("three cpus", &["-n3"]),
        Shape::starts("cpus for one task", &["-n1", "-c6"]),
        Shape::starts("one cpu of each core", &["-n3", "--hint=nomultithread"]),
        Shape::starts(
            "cores of two nodes, one cpu of each",
            &["-n6", "--threads-per-core=1"],
        ),
        Shape::starts("one task on each core", &["-n4", "--ntasks-per-core=1"]),
        Shape::starts(
            "tasks on cores of their own on two nodes",
            &["-N2", "--ntasks-per-node=4", "--ntasks-per-core=1"],
        ),
        Shape::starts("memory of odd cpus", &["-n3", "--mem-per-cpu=3500"]),
        Shape::refused("more of a model than a node has", &["--gres=gpu:a100:5"]),
        Shape::refused(
            "more cores than a node has",
            &["-N1", "-n5", "--hint=nomultithread"],
        ),
    ];
    on_cluster(setup, |cluster| Crowd::gather(cluster, crowd)?.try_all(&shapes))
}

/// Jobs of arrays, of other users and of reservations; partitions that share CPUs or give whole nodes.
#[test]
fn slurm_starts_shapes_among_neighbours_on_the_plans_victims_alone() -> Outcome {
    let setup = Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .conf("PartitionName=whole Nodes=n1,n2 OverSubscribe=EXCLUSIVE")
        .conf("PartitionName=shared Nodes=n4 OverSubscribe=FORCE:2")
        .conf("PartitionName=mine Nodes=n1,n2 ExclusiveUser=YES");
    let crowd = vec![
        Member::new("task", gpus_of(1, &["-wn1", "--array=1-4"])),
        Member::new("half1", gpus_of(2, &["-wn2"])),
        Member::new("half2", gpus_of(2, &["-wn2"])),
        Member::new("reserved", gpus_of(4, &["-wn3", "--reservation=ours"])),
        Member::new("sharer1", ["-pshared", "-n8", "--mem=1000"]),
        Member::new("sharer2", ["-pshared", "-n8", "--mem=1000"]),
    ];
    let shapes = [
        Shape::starts("the place of two tasks", &["--gres=gpu:2", "-wn1"]),
        Shape::starts("a whole node by its partition", &["-pwhole", "-n1"]),
        Shape::starts("in the reservation", &["--reservation=ours", "--gres=gpu:1"]),
        Shape::starts("outside of the reservation", &["-N2", "--gres=gpu:2", "-xn4"]),
        Shape::waits(
            "in vain for reserved nodes",
            "down, drained or reserved",
            &["-N3", "--gres=gpu:1", "-xn4"],
        ),
        Shape::starts("a shared cpu", &["-pshared", "-n1", "--mem=1000"]),
        Shape::starts("cpus of a shared node alone", &["-n1", "-wn4"]),
        Shape::array(
            "an array of three",
            3,
            &["--array=1-3", "--gres=gpu:2", "-xn3,n4"],
        ),
        Shape::starts("another user's node for this one alone", &["-n1", "-xn3,n4"]).by_nobody(),
        Shape::waits(
            "a node without others' jobs",
            "no set of jobs",
            &["--exclusive=user", "-n1", "-xn3,n4"],
        )
        .by_nobody(),
        Shape::waits(
            "a partition without others' jobs",
            "no set of jobs",
            &["-pmine", "-n1"],
        )
        .by_nobody(),
        Shape::starts("a whole node of another user", &["--exclusive", "-n1", "-xn3,n4"]).by_nobody(),
    ];
    on_cluster(setup, |cluster| {
        let reservation = [
            "create",
            "reservation",
            "ReservationName=ours",
            "Nodes=n3",
            "StartTime=now",
            "Duration=600",
            "Users=root,nobody",
        ];
        cluster.ask("scontrol", &reservation)?;
        Crowd::gather(cluster, crowd)?.try_all(&shapes)
    })
}

/// Whatever stands in the way, nobody is asked where that does not help, and the log says what it is.
#[test]
fn nobody_is_asked_in_vain() -> Outcome {
    let setup = Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .conf("Licenses=solver:1")
        .conf("PartitionName=closed Nodes=n1 State=DOWN");
    let crowd = vec![
        Member::new("half1", gpus_of(2, &["-wn1"])),
        Member::new("half2", gpus_of(2, &["-wn1"])),
        Member::new("licensed", gpus_of(4, &["-wn2", "-Lsolver:1"])),
        Member::new("stubborn", gpus_of(1, &["-wn3", "--no-requeue"])),
        Member::new("rest", gpus_of(3, &["-wn3"])),
        Member::new("drained", gpus_of(2, &["-wn4"])),
    ];
    let shapes = [
        Shape::waits("all nodes", "no set of jobs", &["-N4", "--gres=gpu:1"]),
        Shape::waits(
            "a node that somebody keeps",
            "1 not_requeueable",
            &["-wn3", "--exclusive"],
        ),
        Shape::starts("what he does not keep", &["-wn3", "--gres=gpu:3"]),
        Shape::waits("a drained node", "down, drained or reserved", &["-wn4", "-n1"]),
        Shape::waits("a license", "it lacks licenses", &["-Lsolver:1", "-n1"]),
        Shape::waits("a date", "it is not to start yet", &["--begin=now+1hour", "-n1"]),
        Shape::waits("a release", "it is held", &["--hold", "-n1"]),
        Shape::waits(
            "another job",
            "it waits for another job",
            &["--dependency=afterok:1", "-n1"],
        ),
        Shape::waits(
            "a partition that is open",
            "its partition is down",
            &["-pclosed", "-n1"],
        ),
        Shape::waits(
            "a component that is not urgent",
            "heterogeneous",
            &["-n1", ":", "-n1", "--comment=urgency=normal"],
        ),
        Shape::starts("nothing of that kind", &["--exclusive"]),
    ];
    on_cluster(setup, |cluster| {
        let crowd = Crowd::gather(cluster, crowd)?;
        cluster.ask(
            "scontrol",
            &["update", "NodeName=n4", "State=DRAIN", "Reason=test"],
        )?;
        crowd.try_all(&shapes)
    })
}

/// Who is exempt from preemption by Slurm's own rules is not counted on.
#[test]
fn whom_slurm_protects_is_not_asked() -> Outcome {
    let setup = Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0");
    on_cluster(setup, |cluster| {
        let nodes = ["-wn1", "-wn2", "-wn3", "-wn4"];
        let members = nodes.map(|node| Member::new(&node[2..], gpus_of(4, &[node])));
        let crowd = Crowd::gather(cluster, members.into())?;
        let path = cluster.folder().join("slurm.conf");
        let conf = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        for (lines, shape) in [
            (
                "PreemptExemptTime=01:00:00\n",
                Shape::waits("under protection", "4 slurm_exempt", &["-N1"]),
            ),
            ("", Shape::starts("after that", &["-N1"])),
        ] {
            fs::write(&path, format!("{conf}{lines}")).map_err(|error| error.to_string())?;
            cluster.reconfigure()?;
            crowd.try_all(&[shape])?;
        }
        Ok(())
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A plan counts on no node that Slurm will not use and on no job that Slurm will not give, be they ever so cheap.

use super::crowd::{Crowd, Member, Shape};
use super::{TOML, gpus_of};
use crate::on_cluster;
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome};

/// How long a node takes to be powered down.
const SUSPEND_TIMEOUT_S: u32 = 20;
/// For so long a job is exempt from preemption in the test of that.
const EXEMPT_S: u64 = 40;

/// Whole nodes; what is on n3 and n4 is cheapest by far.
fn crowd() -> Vec<Member> {
    let member = |name: &str, priority| {
        let node = format!("-w{}", name.replace('m', "n"));
        Member::new(name, gpus_of(4, &[&node, "--time=600"])).worth(priority)
    };
    vec![
        member("m1", 80),
        member("m2", 90),
        member("m3", 10),
        member("m4", 20),
    ]
}

fn cluster() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=1")
        .conf("SuspendProgram=/bin/true")
        .conf("ResumeProgram=/bin/true")
        .conf("SuspendTime=100000")
        .conf(&format!("SuspendTimeout={SUSPEND_TIMEOUT_S}"))
        .conf("ResumeTimeout=300")
}

fn whole_nodes(count: u32) -> Shape {
    Shape::starts("whole nodes", &[&format!("-N{count}"), "--exclusive"])
}

fn update_node(cluster: &Cluster, node: &str, state: &str) -> Outcome {
    let (node, state) = (format!("NodeName={node}"), format!("State={state}"));
    cluster
        .ask("scontrol", &["update", &node, &state, "Reason=test"])
        .map(drop)
}

fn wait_for_node(cluster: &Cluster, node: &str, state: &str) -> Outcome {
    cluster.wait_for(&format!("{node} to be {state}"), LIMIT, |cluster| {
        let shown = cluster.ask("scontrol", &["show", "node", node])?;
        let states = shown
            .split_whitespace()
            .find_map(|word| word.strip_prefix("State="));
        Ok(states.is_some_and(|states| states.split('+').any(|one| one == state)))
    })
}

#[test]
fn drained_and_reserved_nodes_are_left_out() -> Outcome {
    on_cluster(cluster(), |cluster| {
        let crowd = Crowd::gather(cluster, crowd())?;
        assert_eq!(crowd.try_one(&whole_nodes(1))?, "m3", "the cheapest");

        for node in ["n3", "n4"] {
            update_node(cluster, node, "DRAIN")?;
        }
        assert_eq!(
            crowd.try_one(&whole_nodes(1))?,
            "m1",
            "neither n3 nor n4: they drain"
        );
        for node in ["n3", "n4"] {
            update_node(cluster, node, "RESUME")?;
        }

        let reservation = [
            "create",
            "reservation",
            "ReservationName=maintenance",
            "Nodes=n3",
            "StartTime=now",
            "Duration=600",
            "Users=root",
            "Flags=MAINT,IGNORE_JOBS",
        ];
        cluster.ask("scontrol", &reservation)?;
        wait_for_node(cluster, "n3", "MAINTENANCE")?;
        assert_eq!(crowd.try_one(&whole_nodes(1))?, "m4", "n3 is in maintenance");
        crowd.try_one(&Shape::waits("all nodes", "", &["-N4", "--exclusive"]))?;
        cluster.ask("scontrol", &["delete", "ReservationName=maintenance"])?;
        assert_eq!(crowd.try_one(&whole_nodes(1))?, "m3", "after the maintenance");
        Ok(())
    })
}

/// An urgent job that gets n4, which is idle, and n3, from which `victim` is stopped.
fn takes_the_place_of(cluster: &Cluster, victim: JobId) -> Outcome<JobId> {
    let options = ["-N2", "--exclusive", "--comment=urgency=urgent"];
    let urgent = cluster.sbatch(&options, "sleep 100")?;
    wait_for_place(cluster, urgent, "n[3-4]")?;
    let plan = format!("plan for job {urgent}: stop jobs {victim} to free");
    assert!(cluster.logged(&[&plan]).is_some(), "no {plan}");
    Ok(urgent)
}

#[test]
fn planned_nodes_serve_and_those_that_are_powered_down_do_once_they_are() -> Outcome {
    on_cluster(cluster(), |cluster| {
        let mut crowd = Crowd::gather(cluster, crowd())?;
        crowd.leave("m4")?;

        // Slurm plans n4 for a normal job; an urgent one may have it.
        let normal = cluster.sbatch(&["-N4", "--exclusive", "--time=10"], "sleep 1")?;
        wait_for_node(cluster, "n4", "PLANNED")?;
        let urgent = takes_the_place_of(cluster, crowd.numbers("m3")[0])?;
        // Otherwise m3, which ends later now than what that waits for, may not be backfilled.
        cluster.ask("scancel", &[&normal.to_string(), &urgent.to_string()])?;
        crowd.settle()?;
        wait_for_node(cluster, "n4", "IDLE")?;

        update_node(cluster, "n4", "POWER_DOWN")?;
        wait_for_node(cluster, "n4", "POWERING_DOWN")?;
        assert_eq!(crowd.try_one(&whole_nodes(1))?, "m3", "n4 is on its way down");
        crowd.try_one(&Shape::waits("on its way down", "", &["-wn4", "--exclusive"]))?;

        wait_for_node(cluster, "n4", "POWERED_DOWN")?;
        let urgent = takes_the_place_of(cluster, crowd.numbers("m3")[0])?;
        cluster.ask("scancel", &[&urgent.to_string()])?;
        crowd.settle()?;

        // Whose node is being powered up is not asked.
        let starting = cluster.sbatch(
            &["-wn4", "--exclusive", "--comment=signal=USR1@batch"],
            "sleep 1000",
        )?;
        wait_for_place(cluster, starting, "n4")?;
        crowd.try_one(&Shape::waits(
            "powering up",
            "1 configuring",
            &["-wn4", "--exclusive"],
        ))?;
        assert_eq!(
            crowd.try_one(&whole_nodes(1))?,
            "m3",
            "not whose node is powering up"
        );
        cluster.ask("scancel", &[&starting.to_string()]).map(drop)
    })
}

/// Waits until the job has these nodes, also where they are not up yet.
fn wait_for_place(cluster: &Cluster, job: JobId, nodes: &str) -> Outcome {
    cluster.wait_for(&format!("job {job} to have {nodes}"), LIMIT, |cluster| {
        let job = cluster.job(job)?;
        Ok(["RUNNING", "CONFIGURING"].contains(&job.state()) && job.get("NodeList") == nodes)
    })
}

#[test]
fn a_dearer_job_makes_way_where_slurm_exempts_the_cheaper() -> Outcome {
    let setup = Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
        .conf(&format!("PreemptExemptTime={}", clock(EXEMPT_S)));
    on_cluster(setup, |cluster| {
        let kept = |name: &str, node: &str| Member::new(name, gpus_of(4, &[node, "--no-requeue"]));
        let old = vec![
            Member::new("old", gpus_of(4, &["-wn1"])).worth(90),
            kept("kept1", "-wn3"),
            kept("kept2", "-wn4"),
        ];
        let crowd = Crowd::gather(cluster, old)?;
        let old = crowd.numbers("old")[0];
        cluster.wait_for("the old job to be exempt no more", LIMIT, |cluster| {
            let job = cluster.job(old)?;
            Ok(seconds(job.get("RunTime")) > EXEMPT_S)
        })?;
        let young = Member::new("young", gpus_of(4, &["-wn2"])).worth(10);
        let crowd = crowd.join(vec![young])?;
        assert_eq!(crowd.try_one(&whole_nodes(1))?, "old");
        Ok(())
    })
}

/// Seconds as hours, minutes and seconds.
fn clock(seconds: u64) -> String {
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `01:02:03` in seconds.
fn seconds(clock: &str) -> u64 {
    clock
        .split(':')
        .filter_map(|part| part.parse::<u64>().ok())
        .fold(0, |sum, part| sum * 60 + part)
}

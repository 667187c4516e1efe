// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurm's schedulers: what victims leave is for the urgent job, whatever else waits.

use super::{prompt, whole_nodes};
use crate::on_cluster;
use crate::shapes::crowd::{Crowd, Shape};
use crate::support::{LIMIT, Outcome};

/// Saves when asked, and holds its node for as long as Slurm lets it when it is stopped.
const STUBBORN: &str = r#"
save() { scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$(date +%s)"; }
trap save USR1
trap '' TERM
sleep 100000 &
echo up
while kill -0 $!; do wait $!; done
"#;

#[test]
fn nothing_is_backfilled_into_the_place_of_victims() -> Outcome {
    let setup = prompt()
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1")
        .conf("PartitionName=other Nodes=ALL");
    on_cluster(setup, |cluster| {
        // Two save at once: one leaves at once, the other after KillWait. Two cannot save.
        let job = |name: &str, node: &str, more: &str, script: &str| {
            let (name, node) = (format!("--job-name={name}"), format!("-w{node}"));
            cluster.sbatch(
                &[&name, &node, "--exclusive", "--gres=gpu:4", "--time=60", more],
                script,
            )
        };
        let asked = "--comment=signal=USR1@batch";
        let victims = [
            job("quick", "n1", asked, &STUBBORN.replace("trap '' TERM", ""))?,
            job("slow", "n2", asked, STUBBORN)?,
        ];
        for node in ["n3", "n4"] {
            job("rest", node, "--no-requeue", "sleep 100000")?;
        }
        for name in ["quick", "slow"] {
            cluster.wait_for_output(name, "up", LIMIT)?;
        }
        let mut small = Vec::new();
        for partition in ["-pall", "-pother", "-pall", "-pother"] {
            small.push(cluster.sbatch(
                &[partition, "-Jsmall", "-n1", "--time=1", "--mem=100"],
                "sleep 30",
            )?);
        }
        let served = cluster.sbatch(
            &["--comment=urgency=urgent", "-N2", "--exclusive", "--time=60"],
            "sleep 100000",
        )?;
        cluster.wait_for_state(served, "RUNNING", LIMIT)?;
        for job in small {
            assert_eq!(cluster.job(job)?.state(), "PENDING");
        }
        for victim in victims {
            assert_eq!(cluster.job(victim)?.restarts(), 1);
        }
        Ok(())
    })
}

#[test]
fn without_backfill_victims_make_way_too() -> Outcome {
    // Before 24.11, Slurm's queue without priorities starts who preempted others only after its next look ahead.
    let setup = prompt()
        .conf("SchedulerType=sched/builtin")
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=2");
    on_cluster(setup, |cluster| {
        let crowd = Crowd::gather(cluster, whole_nodes())?;
        let two = Shape::starts("two nodes", &["-N2", "--exclusive"]);
        assert_eq!(crowd.try_one(&two)?, "m3 m4");
        Ok(())
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Jobs that save by a trap of their own, without `surgent run`.

use crate::on_cluster;
use crate::support::{Cluster, LIMIT, Outcome};

/// Saves on USR1, says so, and waits for what comes.
const TRAPPED: &str = r#"
save() { echo "saving $(date +%s.%N)"; sleep 1; scontrol update JobId=$SLURM_JOB_ID Comment="hand made signal=USR1@batch saved=$(date +%s)"; echo saved; }
trap save USR1
echo "up restart ${SLURM_RESTART_COUNT:-0}"
while :; do sleep 0.1; done
"#;

#[test]
fn jobs_with_a_trap_of_their_own_save_and_make_way() -> Outcome {
    let setup = Cluster::builder().toml("[victims]\nmin_runtime_s = 0\nnearly_done_s = 0\n");
    on_cluster(setup, |cluster| {
        let mut victims = Vec::new();
        for name in ["t1", "t2", "t3", "t4"] {
            let job = cluster.sbatch(
                &[
                    "-J",
                    name,
                    "-N1",
                    "--exclusive",
                    "--open-mode=append",
                    "--comment=hand made signal=USR1@batch",
                ],
                TRAPPED,
            )?;
            victims.push(job);
            cluster.wait_for_output(name, "up restart 0", LIMIT)?;
        }
        let urgent = cluster.sbatch(
            &["-J", "urgent", "-N2", "--exclusive", "--comment=urgency=urgent"],
            "echo urgent ran; sleep 3",
        )?;
        cluster.wait_for_output("urgent", "urgent ran", LIMIT)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        for name in ["t1", "t2"] {
            cluster.wait_for_output(name, "saved", LIMIT)?;
            cluster.wait_for_output(name, "up restart 1", LIMIT)?;
        }
        for line in cluster.log().iter().filter(|line| line.has(&["surgent"])) {
            println!("{line:?}");
        }
        Ok(())
    })
}

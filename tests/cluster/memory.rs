// SPDX-License-Identifier: GPL-2.0-or-later
//! A story in which everything happens once and slurmctld ends in order: for `make check-memory`, which watches its memory.

use crate::on_cluster;
use crate::scene::{SAVER, TOML, by_factors, urgent};
use crate::support::{Cluster, JobId, LIMIT, Outcome};

#[test]
#[ignore = "make check-memory runs it under valgrind; the other cluster tests see more"]
fn everything_happens_once_and_slurmctld_ends_in_order() -> Outcome {
    let setup = by_factors(Cluster::builder())
        .toml(&format!("{TOML}[admission.per_user]\ngpus = 16\n"))
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=5");
    on_cluster(setup, |cluster| {
        let whole = [
            "--exclusive",
            "--comment=epochs=90 epoch=1.5 epoch_s=100 signal=USR1@batch",
            "--requeue",
        ];
        let trainees = ["a", "b", "c", "d"].map(|name| {
            let name = format!("--job-name={name}");
            cluster.sbatch(&[&whole[..], &[&name]].concat(), SAVER)
        });
        let trainees = trainees.into_iter().collect::<Outcome<Vec<JobId>>>()?;
        cluster.wait_for_all(&trainees, "RUNNING")?;
        for name in ["a", "b", "c", "d"] {
            cluster.wait_for_output(name, "up restart 0", LIMIT)?;
        }
        assert!(cluster.sbatch(&["--comment=urgency=urgnt"], "true").is_err());
        assert!(
            cluster
                .sbatch(
                    &["--comment=urgent", "--gres=gpu:4", "--nodes=4", "--array=1-9"],
                    "true"
                )
                .is_err()
        );
        let waiting = cluster.sbatch(
            &["--comment={\"epochs\": 3}", "--exclusive", "--array=1-3"],
            "true",
        )?;
        cluster.reconfigure()?;

        let first = urgent(cluster, "urgent", 2)?;
        cluster.wait_for_state(first, "COMPLETED", 2 * LIMIT)?;
        let second = urgent(cluster, "again", 1)?;
        cluster.wait_for_state(second, "COMPLETED", 2 * LIMIT)?;
        let het = [
            "--comment=urgent",
            "-N1",
            "--exclusive",
            ":",
            "-N1",
            "--exclusive",
        ];
        let het = cluster.sbatch(&het, "true")?;
        cluster.ask("scancel", &[&het.to_string(), &waiting.to_string()])?;
        cluster.ask("sprio", &[])?;
        let comment = [
            "update",
            &format!("JobId={}", trainees[0]),
            "Comment=urgency=urgent",
        ];
        assert!(cluster.ask("scontrol", &comment).is_err());
        for trainee in &trainees {
            cluster.ask("scancel", &[&trainee.to_string()])?;
        }
        cluster.stop_controller()
    })
}

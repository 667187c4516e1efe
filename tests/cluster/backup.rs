// SPDX-License-Identifier: GPL-2.0-or-later
//! Two controllers, of which one stands by. They share StateSaveLocation; only the one in control may touch it.

use crate::metrics::{metrics, value, wait_for_value};
use crate::on_cluster;
use crate::scene::{TOML, urgent};
use crate::support::{Cluster, JobId, LIMIT, Outcome};
use rustix::process::{Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

/// Saves when it is asked, as soon as there is a file `save`.
const WAITING_SAVER: &str = r#"
save() {
    until [ -e save ]; do sleep 0.1; done
    scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$(date +%s)"
}
trap save USR1
sleep 100000 &
while kill -0 $!; do wait $!; done
"#;
const ASKED: &str = "surgent_saves_asked_total{mode=on}";
const STARTS: &str = "surgent_urgent_starts_total{mode=on}";
/// Several looks of the planner's while something is under way, and one write of its counters.
const SOME_LOOKS: Duration = Duration::from_secs(8);

/// Lets the savers save until the job has run.
fn let_save(cluster: &Cluster, urgent: JobId) -> Outcome {
    let file = cluster.work().join("save");
    fs::write(&file, "").map_err(|error| format!("save: {error}"))?;
    cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
    fs::remove_file(file).map_err(|error| format!("save: {error}").into())
}

/// When each of Surgent's own files was written last.
fn written(cluster: &Cluster) -> BTreeMap<String, SystemTime> {
    let entries = fs::read_dir(cluster.state()).expect("StateSaveLocation");
    entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry))
        .filter(|(name, _)| name.starts_with("surgent"))
        .filter_map(|(name, entry)| Some((name, entry.metadata().ok()?.modified().ok()?)))
        .collect()
}

#[test]
fn what_is_under_way_is_for_the_controller_in_control_and_for_no_other() -> Outcome {
    // Nobody is to miss a deadline while controllers change.
    let toml = TOML.replace("save_deadline_s = 20", "save_deadline_s = 200");
    let builder = Cluster::builder()
        .toml(&toml)
        // In a backup of 22.05 that has taken over, backfill alone starts jobs.
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=1")
        // For so long Slurm's commands try a controller that is gone before they go to the other one.
        .conf("MessageTimeout=10")
        // A command that met a controller which stands by asks again after half of this.
        .conf("SlurmctldTimeout=30")
        .backup();
    on_cluster(builder, |cluster| {
        cluster.start_backup()?;
        let options = ["--comment=signal=USR1@batch", "--exclusive", "--gres=gpu:4"];
        for _ in 0..4 {
            let saver = cluster.sbatch(&options, WAITING_SAVER)?;
            cluster.wait_for_state(saver, "RUNNING", LIMIT)?;
        }
        let first = urgent(cluster, "first", 1)?;
        wait_for_value(cluster, ASKED, 1.0)?;

        cluster.take_over()?;
        let_save(cluster, first)?;
        wait_for_value(cluster, STARTS, 1.0)?;
        let second = urgent(cluster, "second", 3)?;
        cluster.wait_for("others to be asked for the second", LIMIT, |cluster| {
            Ok(value(&metrics(cluster)?, ASKED) > 1.0)
        })?;

        cluster.take_back()?;
        cluster.wait_for("the backup to have lost control", LIMIT, |cluster| {
            Ok(cluster
                .backup_log()
                .contains("surgent: this slurmctld has lost control"))
        })?;
        // The backup has the jobs of when it was in control, among them one that waits for others to save.
        let primary = cluster.controller_pid().ok_or("slurmctld does not run")?;
        kill_process(primary, Signal::STOP).map_err(|error| format!("slurmctld: {error}"))?;
        let before = written(cluster);
        std::thread::sleep(SOME_LOOKS);
        let after = written(cluster);
        kill_process(primary, Signal::CONT).map_err(|error| format!("slurmctld: {error}"))?;
        assert!(before.contains_key("surgent.state"), "{before:?}");
        assert_eq!(before, after, "a controller that stands by has written");
        let_save(cluster, second)?;
        wait_for_value(cluster, STARTS, 2.0)?;

        // It reads the files anew, and counts on from there.
        cluster.take_over()?;
        let third = urgent(cluster, "third", 1)?;
        let_save(cluster, third)?;
        wait_for_value(cluster, STARTS, 3.0).map(drop)
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs that do not save as they should, and monitors and controllers that are away.

use crate::interruptions::wait_for_saved_state;
use crate::on_cluster;
use crate::scene::{TOML, asked_for, assert_finishes_whole, quick, start, urgent, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training, places};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// On USR1 does what its first argument says; counts its steps in the file that the second names.
const ACTOR: &str = r#"
import os, signal, subprocess, sys, time, zipfile
does, name = sys.argv[1:]
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
print("up restart", os.environ.get("SLURM_RESTART_COUNT", "0"), flush=True)
while True:
    time.sleep(0.1)
    open(name + ".count", "a").write(".")
    if not asked:
        continue
    asked.clear()
    print("asked", flush=True)
    if does == "die":
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGUSR1)
    if does == "half":
        open(name + ".npz", "wb").write(b"PK\x03\x04" + os.urandom(10000))
        time.sleep(1000)
    if does == "requeue":
        with zipfile.ZipFile(name + ".npz", "w") as archive:
            archive.writestr("weights", os.urandom(10000))
        subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]])
"#;

/// Submits a job that takes a whole node, and waits until it can be asked.
fn actor(cluster: &Cluster, name: &str, does: &str, priority: u32) -> Outcome<JobId> {
    let file = cluster.work().join("actor.py");
    fs::write(&file, ACTOR).map_err(|error| format!("{}: {error}", file.display()))?;
    let surgent = places::surgent()?.display().to_string();
    let script = format!(
        "'{surgent}' run --save-signal USR1 --checkpoint '{name}*.npz' -- /usr/bin/python3 actor.py {does} {name}"
    );
    let (job_name, comment) = (
        format!("--job-name={name}"),
        format!("--comment=priority={priority}"),
    );
    let arguments = [
        "--nodes=1",
        "--exclusive",
        "--gres=gpu:4",
        "--requeue",
        &job_name,
        &comment,
    ];
    let job = cluster.sbatch(&arguments, &script)?;
    cluster.wait_for_output(name, "up restart 0", LIMIT)?;
    cluster.wait_for("the job to say how it is asked", LIMIT, |cluster| {
        Ok(cluster.comment(job)?.contains("signal="))
    })?;
    Ok(job)
}

#[test]
fn half_a_checkpoint_frees_nothing_and_a_death_is_no_save() -> Outcome {
    let toml = TOML.replace("save_deadline_s = 20", "save_deadline_s = 5");
    on_cluster(quick().toml(&toml), |cluster| {
        let half = actor(cluster, "half", "half", 1)?;
        let dies = actor(cluster, "dies", "die", 20)?;
        let others = [
            actor(cluster, "a", "half", 100)?,
            actor(cluster, "b", "half", 100)?,
        ];
        let urgent = urgent(cluster, "urgent", 1)?;
        cluster.wait_for_output("half", "asked", LIMIT)?;
        cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
        assert_eq!(cluster.job(dies)?.state(), "FAILED");
        assert!(
            cluster.output("dies").contains("no save was seen"),
            "{}",
            cluster.output("dies")
        );
        let said = cluster.output("half");
        assert!(said.contains("not taken for a save"), "{said}");
        for job in [half, dies].iter().chain(&others) {
            assert!(
                !cluster.comment(*job)?.contains("saved="),
                "{}",
                cluster.comment(*job)?
            );
            assert_eq!(cluster.job(*job)?.restarts(), 0);
        }
        assert_eq!(cluster.job(half)?.state(), "RUNNING");
        Ok(())
    })
}

#[test]
fn a_job_that_requeues_itself_when_asked_has_made_way() -> Outcome {
    on_cluster(quick(), |cluster| {
        let mut jobs = Vec::new();
        for name in ["a", "b", "c", "d"] {
            jobs.push(actor(cluster, name, "requeue", 50)?);
        }
        let urgent = urgent(cluster, "urgent", 2)?;
        cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
        // Those who made way start again at once, not after Slurm's two minutes, and with nothing in their records.
        let restarted = |cluster: &Cluster| {
            let names = ["a", "b", "c", "d"];
            let count = names
                .iter()
                .filter(|name| cluster.output(name).contains("up restart 1"))
                .count();
            Ok(count == 2)
        };
        cluster.wait_for("both to start again", LIMIT, restarted)?;
        cluster.wait_for("the requests to be taken back", LIMIT, |cluster| {
            let asked = jobs.iter().map(|job| asked_for(cluster, *job));
            Ok(asked.collect::<Outcome<Vec<_>>>()?.iter().all(Option::is_none))
        })?;
        for (job, name) in jobs.iter().zip(["a", "b", "c", "d"]) {
            let restarts = cluster.job(*job)?.restarts();
            assert!(restarts <= 1, "{name} was requeued {restarts} times");
            let output = cluster.output(name);
            assert_eq!(
                output.matches("asked\n").count(),
                usize::try_from(restarts).unwrap_or(9),
                "{output}"
            );
        }
        Ok(())
    })
}

#[test]
fn a_training_whose_monitor_was_killed_goes_on_and_is_passed_over() -> Outcome {
    let toml = TOML.replace("save_deadline_s = 20", "save_deadline_s = 5");
    on_cluster(quick().toml(&toml), |cluster| {
        let dear = |name: &'static str| {
            (
                name,
                Training::new(name)
                    .lasting(8, 0.1)
                    .sbatch("--comment=priority=80"),
            )
        };
        let trainees = start(cluster, [dear("a"), dear("b"), dear("c")])?;
        let file = cluster.work().join("actor.py");
        fs::write(&file, ACTOR).map_err(|error| format!("{}: {error}", file.display()))?;
        let surgent = places::surgent()?.display().to_string();
        // The batch script outlives the monitor, or Slurm would end what is left of the job.
        let script = format!(
            "'{surgent}' run --save-signal USR1 -- /usr/bin/python3 actor.py none orphan & echo $! > orphan.pid; wait; sleep 1000"
        );
        let arguments = [
            "--exclusive",
            "--gres=gpu:4",
            "--job-name=orphan",
            "--comment=priority=1",
        ];
        let orphan = cluster.sbatch(&arguments, &script)?;
        cluster.wait_for("the job to say how it is asked", LIMIT, |cluster| {
            Ok(cluster.comment(orphan)?.contains("signal="))
        })?;
        let steps = |cluster: &Cluster| {
            fs::metadata(cluster.work().join("orphan.count")).map_or(0, |count| count.len())
        };
        // Long enough that it may be asked.
        cluster.wait_for("the orphan to train", LIMIT, |cluster| Ok(steps(cluster) > 30))?;
        let pid = fs::read_to_string(cluster.work().join("orphan.pid")).unwrap_or_default();
        let pid = pid
            .trim()
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .ok_or("no process id")?;
        kill_process(pid, Signal::KILL).map_err(|error| error.to_string())?;
        let urgent = urgent(cluster, "urgent", 1)?;
        wait_for_requests(cluster, &trainees, urgent, 1)?;
        let passed_over = format!("surgent: job {orphan} did not save before its deadline");
        assert!(cluster.logged(&[&passed_over]).is_some());
        let before = steps(cluster);
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        cluster.wait_for(
            "the orphan to train",
            LIMIT,
            |cluster| Ok(steps(cluster) > before),
        )?;
        assert_eq!(
            (cluster.job(orphan)?.state(), cluster.job(orphan)?.restarts()),
            ("RUNNING", 0)
        );
        trainees
            .iter()
            .try_for_each(|trainee| assert_finishes_whole(cluster, trainee))
    })
}

#[test]
fn what_is_reported_while_slurmctld_is_away_is_published_when_it_is_back() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = start(cluster, [("a", Training::new("a").lasting(6, 0.1))])?;
        // What Slurm itself has not saved yet, it loses.
        wait_for_saved_state(cluster, "epoch=", 1)?;
        cluster.kill_controller()?;
        // Epochs end, and in the end the program, while nobody hears of it.
        cluster.wait_for_steps("a", 140)?;
        cluster.start_controller()?;
        cluster.wait_for("its progress to be published", LIMIT, |cluster| {
            let comment = cluster.comment(trainees[0].id)?;
            let epoch = comment
                .split([' ', ','])
                .find_map(|word| word.strip_prefix("epoch="));
            Ok(epoch.is_some_and(|epoch| !epoch.starts_with('0') && !epoch.starts_with('1')))
        })?;
        assert_finishes_whole(cluster, &trainees[0])
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Jobs whose scripts were not changed, followed by the task prolog of packaging/examples.

use crate::kept::{kept, plan_again};
use crate::on_cluster;
use crate::scene::{quick, urgent};
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, places};
use std::fs;
use std::path::Path;

/// Told often, so that a test need not last.
const OFTEN: &str = "--export=ALL,SURGENT_MIN_INTERVAL_S=1";

/// Trains on, an epoch in three seconds, until the file `NAME.end` is there.
const TRAINS: &str = r#"trap : USR1
for epoch in $(seq 1 300); do
    echo "Epoch $epoch/300"
    for part in $(seq 30); do
        [ ! -e "$SLURM_JOB_NAME.end" ] || exit 0
        sleep 0.1
    done
done"#;

/// A cluster whose task prolog is the example, with the `surgent` of this checkout.
fn with_prolog() -> Outcome<Builder> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/examples/task-prolog");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = "\nsurgent=/usr/local/bin/surgent\n";
    assert!(text.contains(line), "{text}");
    let ours = format!("\nsurgent='{}'\n", places::surgent()?.display());
    Ok(quick().task_prolog(&text.replace(line, &ours)))
}

fn wait_for_comment(cluster: &Cluster, job: JobId, parts: &[&str]) -> Outcome<String> {
    cluster.wait_until(&format!("{parts:?} in the comment"), LIMIT, |cluster| {
        let comment = cluster.comment(job)?;
        Ok(parts.iter().all(|part| comment.contains(part)).then_some(comment))
    })
}

/// How many processes of the job there are whose command line holds `part`.
fn processes(cluster: &Cluster, job: JobId, part: &str) -> usize {
    let conf = format!("SLURM_CONF={}/", cluster.folder().display());
    let id = format!("\0SLURM_JOB_ID={job}\0");
    let entries = fs::read_dir("/proc").map(|entries| entries.flatten().collect());
    let entries: Vec<fs::DirEntry> = entries.unwrap_or_default();
    let is_ours = |path: &Path| {
        let text = |file: &str| {
            let bytes = fs::read(path.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let environment = format!("\0{}", text("environ"));
        environment.contains(&conf) && environment.contains(&id) && text("cmdline").contains(part)
    };
    entries.iter().filter(|entry| is_ours(&entry.path())).count()
}

const FOLLOWER: &str = "surgent\0follow\0";

/// The job ends well, and nothing of it stays behind.
fn assert_ends(cluster: &Cluster, name: &str, job: JobId) -> Outcome {
    fs::write(cluster.work().join(format!("{name}.end")), "").map_err(|error| error.to_string())?;
    cluster.wait_for_state(job, "COMPLETED", LIMIT)?;
    cluster.wait_for("all processes of the job to end", LIMIT, |cluster| {
        Ok(processes(cluster, job, "") == 0)
    })
}

#[test]
fn a_job_whose_script_was_not_changed_says_how_far_it_is_and_is_believed() -> Outcome {
    on_cluster(with_prolog()?, |cluster| {
        let comment = "--comment=signal=USR1@batch save=epoch";
        let whole = ["-J", "plain", "--nodes=4", "--exclusive", comment, OFTEN];
        let job = cluster.sbatch_as_nobody(&whole, TRAINS)?;
        let said = wait_for_comment(cluster, job, &["epochs=300", "epoch=", "epoch_s=", "at="])?;
        // What its user says of saving stays as it was.
        assert!(said.starts_with("signal=USR1@batch save=epoch "), "{said}");
        let urgent = urgent(cluster, "urgent", 1)?;
        let plan = plan_again(&kept(cluster, urgent)?, urgent)?;
        assert_eq!(plan["victims"][0]["job"], job.0, "{plan}");
        assert!(
            plan["disbelieved"].as_object().is_some_and(|all| all.is_empty()),
            "{plan}"
        );
        // One that says nothing of its epochs is taken to be ready only just before its deadline of 20 s.
        assert!(
            plan["ready_s"].as_f64().is_some_and(|ready_s| ready_s < 10.0),
            "{plan}"
        );
        cluster.ask("scancel", &[&urgent.to_string()])?;
        // Started again, it counts from the beginning, below what it had printed before.
        cluster.ask("scontrol", &["requeue", &job.to_string()])?;
        cluster.wait_for("the job to be requeued", LIMIT, |cluster| {
            let state = cluster.job(job)?.state().to_owned();
            Ok(state == "PENDING" || state == "RUNNING")
        })?;
        // A job that starts in the second of its requeueing is killed by slurmd ("Job credential revoked").
        std::thread::sleep(std::time::Duration::from_secs(3));
        // Slurm's own delay of two minutes is lifted by Surgent only for jobs that are asked to make way at that moment; such
        // a one runs by now.
        let _ = cluster.ask("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
        cluster.wait_for("the job to run again", LIMIT, |cluster| {
            let job = cluster.job(job)?;
            Ok(job.restarts() == 1 && job.state() == "RUNNING")
        })?;
        // At least the second had ended when an epoch's length was known.
        cluster.wait_for("an earlier epoch in the comment", LIMIT, |cluster| {
            let comment = cluster.comment(job)?;
            Ok([" epoch=0 ", " epoch=1 "]
                .iter()
                .any(|part| comment.contains(part)))
        })?;
        assert_eq!(processes(cluster, job, FOLLOWER), 1);
        assert_ends(cluster, "plain", job)
    })
}

#[test]
fn what_does_not_train_is_not_touched_and_its_steps_run_as_ever() -> Outcome {
    on_cluster(with_prolog()?, |cluster| {
        let script = "srun -n 2 sh -c 'echo step $SLURM_PROCID of 2'\n\
                      for file in $(seq 1000); do echo \"step $file/1000: copying\"; [ ! -e other.end ] || break; sleep 0.2; done";
        let job = cluster.sbatch_as_nobody(&["-J", "other", "-n", "2", "--comment=mine", OFTEN], script)?;
        cluster.wait_for_output("other", "step 1 of 2", LIMIT)?;
        cluster.wait_for("the batch script alone to be followed", LIMIT, |cluster| {
            Ok(processes(cluster, job, FOLLOWER) == 1)
        })?;
        // By then it has read that some are done.
        cluster.wait_for_output("other", "step 20/1000", LIMIT)?;
        assert_ends(cluster, "other", job)?;
        assert_eq!(cluster.comment(job)?, "mine");
        // Nothing of the prolog's is in it.
        let output = cluster.output("other");
        assert!(output.lines().all(|line| line.starts_with("step ")), "{output}");
        Ok(())
    })
}

#[test]
fn a_step_with_a_file_of_its_own_is_followed() -> Outcome {
    on_cluster(with_prolog()?, |cluster| {
        let script =
            format!("cat > step.sh <<'END'\n{TRAINS}\nEND\nsrun -n 2 --output=rank-%t.out bash step.sh");
        let job = cluster.sbatch_as_nobody(&["-J", "step", "-n", "2", OFTEN], &script)?;
        let said = wait_for_comment(cluster, job, &["epochs=300", "epoch_s="])?;
        assert!(!said.contains("save=") && !said.contains("signal="), "{said}");
        assert_ends(cluster, "step", job)
    })
}

#[test]
fn under_surgent_run_only_that_speaks() -> Outcome {
    on_cluster(with_prolog()?, |cluster| {
        let surgent = places::surgent()?.display().to_string();
        for (name, srun) in [("batch", ""), ("step", "srun ")] {
            let script = format!(
                "cat > {name}.sh <<'END'\n{TRAINS}\nEND\n{srun}'{surgent}' run --save-signal USR1 -- bash {name}.sh"
            );
            let job = cluster.sbatch_as_nobody(&["-J", name, OFTEN], &script)?;
            wait_for_comment(cluster, job, &["signal=URG@", "epochs=300", "epoch_s="])?;
            cluster.wait_for("the follower to stand back", LIMIT, |cluster| {
                Ok(processes(cluster, job, FOLLOWER) == 0)
            })?;
            assert!(processes(cluster, job, "run\0--save-signal") >= 1, "{name}");
            assert_ends(cluster, name, job)?;
        }
        Ok(())
    })
}

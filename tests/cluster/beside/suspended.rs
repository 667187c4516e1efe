// SPDX-License-Identifier: GPL-2.0-or-later
//! Jobs that an administrator suspends (`scontrol suspend`): their programs stand still, so they cannot save.

use super::{prompt, whole_nodes};
use crate::on_cluster;
use crate::scene::{TOML, Trainee, four, quick, urgent, wait_for_log, wait_for_requests};
use crate::shapes::crowd::{Crowd, Shape};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training, write_program};

#[test]
fn who_is_suspended_is_not_asked_and_keeps_memory_and_gpus() -> Outcome {
    on_cluster(prompt(), |cluster| {
        let mut crowd = Crowd::gather(cluster, whole_nodes())?;
        crowd.suspend("m3")?;
        let whole = Shape::starts("a whole node", &["-N1", "--exclusive"]);
        assert_eq!(crowd.try_one(&whole)?, "m4", "not m3, which is cheaper");
        crowd.try_one(&Shape::waits(
            "its GPUs",
            "1 suspended",
            &["-wn3", "--gres=gpu:1"],
        ))?;
        let cpus = Shape::starts("its CPUs", &["-wn3", "-n8", "--mem=1000"]);
        assert_eq!(crowd.try_one(&cpus)?, "nobody", "Slurm gives them away");

        crowd.resume("m3")?;
        assert_eq!(crowd.try_one(&whole)?, "m3");
        Ok(())
    })
}

/// It may go on in a moment, so it has until its deadline.
#[test]
fn who_is_suspended_while_saving_is_passed_over_at_its_deadline() -> Outcome {
    let setup = quick().toml(&TOML.replace("save_deadline_s = 20", "save_deadline_s = 5"));
    on_cluster(setup, |cluster| {
        let slow = |training: Training| training.lasting(100, 0.1).option("--save-s=2");
        let trainees = four(cluster, slow)?;
        let served = urgent(cluster, "served", 1)?;
        let at = wait_for_requests(cluster, &trainees, served, 1)?[0];
        let suspended = &trainees[at];
        wait_for_log(cluster, &format!("asked job {} to save", suspended.id))?;
        suspend(cluster, suspended.id)?;
        cluster.wait_for_state(served, "COMPLETED", LIMIT)?;
        let passed_over = format!("job {} did not save before its deadline", suspended.id);
        assert!(cluster.logged(&[&passed_over]).is_some());
        // scancel would try again and again, and the planner wait for it.
        assert!(cluster.logged(&["can't be sent signal"]).is_none());

        let stood_at = cluster.steps(&suspended.name).last();
        cluster.ask("scontrol", &["resume", &suspended.id.to_string()])?;
        cluster.wait_for("it to go on", LIMIT, |cluster| {
            Ok(cluster.steps(&suspended.name).last() > stood_at + 5)
        })?;
        let restarts = |trainee: &Trainee| Ok(cluster.job(trainee.id)?.restarts());
        assert_eq!(restarts(suspended)?, 0);
        let stopped = trainees.iter().map(restarts).sum::<Outcome<u32>>()?;
        assert_eq!(stopped, 1, "another made way");
        Ok(())
    })
}

/// Between the look at the cluster and the signal; scancel would try for minutes.
#[test]
fn who_is_suspended_before_the_signal_comes_holds_nobody_up() -> Outcome {
    let commands = tempfile::tempdir().map_err(|error| error.to_string())?;
    let late = commands.path().join("late-scancel");
    let toml = format!(
        "{}[commands]\nscancel = \"{}\"\n",
        TOML.replace("save_deadline_s = 20", "save_deadline_s = 3"),
        late.display()
    );
    write_program(&late, "#!/bin/sh\nsleep 2\nexec scancel \"$@\"\n")?;
    on_cluster(quick().toml(&toml), |cluster| {
        let trainees = four(cluster, |training| training.lasting(100, 0.1))?;
        let served = urgent(cluster, "served", 1)?;
        let at = wait_for_requests(cluster, &trainees, served, 1)?[0];
        let suspended = &trainees[at];
        suspend(cluster, suspended.id)?;
        wait_for_log(cluster, "late-scancel had not finished after 4.5 s")?;
        let passed_over = format!("job {} did not save before its deadline", suspended.id);
        wait_for_log(cluster, &passed_over)?;
        cluster.wait_for_state(served, "COMPLETED", LIMIT)?;
        cluster.ask("scontrol", &["resume", &suspended.id.to_string()])?;
        let mut restarts = Vec::new();
        for trainee in &trainees {
            restarts.push(cluster.job(trainee.id)?.restarts());
        }
        assert_eq!(restarts.remove(at), 0, "who was suspended");
        assert_eq!(restarts.iter().sum::<u32>(), 1, "another made way");
        Ok(())
    })
}

fn suspend(cluster: &Cluster, job: JobId) -> Outcome {
    cluster.ask("scontrol", &["suspend", &job.to_string()])?;
    cluster.wait_for_state(job, "SUSPENDED", LIMIT)
}

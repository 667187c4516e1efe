// SPDX-License-Identifier: GPL-2.0-or-later
//! Jobs that an administrator suspends (`scontrol suspend`): their programs stand still, so they cannot save.

use super::{prompt, whole_nodes};
use crate::on_cluster;
use crate::scene::{TOML, Trainee, four, quick, urgent, wait_for_requests};
use crate::shapes::crowd::{Crowd, Shape};
use crate::support::{LIMIT, Outcome, Training};

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
        let slow = |training: Training| training.lasting(7, 0.1).option("--save-s=2");
        let trainees = four(cluster, slow)?;
        let served = urgent(cluster, "served", 1)?;
        let at = wait_for_requests(cluster, &trainees, served, 1)?[0];
        let suspended = &trainees[at];
        cluster.ask("scontrol", &["suspend", &suspended.id.to_string()])?;
        cluster.wait_for_state(suspended.id, "SUSPENDED", LIMIT)?;
        cluster.wait_for_state(served, "COMPLETED", LIMIT)?;

        let passed_over = format!("job {} did not save before its deadline", suspended.id);
        assert!(cluster.logged(&[&passed_over]).is_some());
        assert_eq!(cluster.job(suspended.id)?.state(), "SUSPENDED");
        cluster.ask("scontrol", &["resume", &suspended.id.to_string()])?;
        let restarts = |trainee: &Trainee| Ok(cluster.job(trainee.id)?.restarts());
        for trainee in &trainees {
            cluster.wait_for_state(trainee.id, "COMPLETED", LIMIT)?;
        }
        assert_eq!(restarts(suspended)?, 0, "it went on where it stood");
        let stopped = trainees.iter().map(restarts).sum::<Outcome<u32>>()?;
        assert_eq!(stopped, 1, "another made way");
        Ok(())
    })
}

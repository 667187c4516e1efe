// SPDX-License-Identifier: GPL-2.0-or-later
//! A waiting job whose user changes its class.

use crate::on_cluster;
use crate::scene::{Trainee, assert_undisturbed, four, quick, urgent};
use crate::support::{Cluster, JobId, LIMIT, Outcome};

fn comment(cluster: &Cluster, job: JobId, comment: &str) -> Outcome {
    let update = ["update", &format!("JobId={job}"), &format!("Comment={comment}")];
    cluster.ask("scontrol", &update).map(drop)
}

/// Waits until Surgent's record of the job says so.
fn wait_for_class(cluster: &Cluster, job: JobId, class: &str) -> Outcome {
    let record = format!("surgent{{class={class}");
    cluster.wait_for(&format!("job {job} to be {class}"), LIMIT, |cluster| {
        Ok(cluster.job(job)?.get("AdminComment").starts_with(&record))
    })
}

fn assert_two_made_way(cluster: &Cluster, trainees: &[Trainee]) -> Outcome {
    let stopped = trainees
        .iter()
        .map(|trainee| Ok(cluster.job(trainee.id)?.restarts()))
        .sum::<Outcome<u32>>()?;
    assert_eq!(stopped, 2, "two one-node trainings made way");
    Ok(())
}

#[test]
fn a_waiting_job_that_becomes_urgent_takes_its_place() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(6, 0.1))?;
        let options = ["--job-name=late", "--nodes=2", "--exclusive", "--gres=gpu:4"];
        let late = cluster.sbatch(&options, "echo late; sleep 3")?;
        comment(cluster, late, "urgency=urgent")?;
        wait_for_class(cluster, late, "urgent")?;
        cluster.wait_for_state(late, "COMPLETED", LIMIT)?;
        assert_two_made_way(cluster, &trainees)
    })
}

#[test]
fn a_waiting_job_that_is_urgent_no_more_stops_nobody() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(3, 0.1))?;
        // Held until it is normal again, or it would take its place at once.
        let hesitant = urgent(cluster, "hesitant", 2)?;
        cluster.ask("scontrol", &["hold", &hesitant.to_string()])?;
        comment(cluster, hesitant, "not so urgent after all")?;
        wait_for_class(cluster, hesitant, "normal")?;
        cluster.ask("scontrol", &["release", &hesitant.to_string()])?;
        cluster.wait_for_state(hesitant, "COMPLETED", 2 * LIMIT)?;
        for trainee in &trainees {
            cluster.wait_for_state(trainee.id, "COMPLETED", LIMIT)?;
            assert_eq!(
                cluster.job(trainee.id)?.restarts(),
                0,
                "{} was stopped",
                trainee.name
            );
        }
        Ok(())
    })
}

#[test]
fn an_urgent_job_that_was_held_stands_first_once_it_is_released() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(6, 0.1))?;
        let options = ["--hold", "--nodes=2", "--exclusive", "--comment=urgency=urgent"];
        let held = cluster.sbatch(&options, "echo held; sleep 3")?;
        // It was there first, and waits for the same nodes.
        cluster.sbatch(&["--job-name=ahead", "--nodes=4", "--exclusive"], "true")?;
        cluster.ask("scontrol", &["release", &held.to_string()])?;
        cluster.wait_for_state(held, "COMPLETED", LIMIT)?;
        assert_two_made_way(cluster, &trainees)
    })
}

#[test]
fn a_running_job_cannot_make_itself_urgent() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(2, 0.1))?;
        let refused = comment(cluster, trainees[0].id, "urgency=urgent");
        assert!(refused.is_err());
        assert_undisturbed(cluster, &trainees[0])
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The whole story of one urgent job.

use crate::on_cluster;
use crate::scene::{
    assert_finishes_whole, assert_undisturbed, four, quick, start, urgent, wait_for_requests,
};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training};

#[test]
fn an_urgent_job_takes_the_place_of_trainings_that_have_saved() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(5, 0.1))?;
        let starts = starts(
            cluster,
            &trainees.iter().map(|trainee| trainee.id).collect::<Vec<_>>(),
        )?;
        let urgent = urgent(cluster, "urgent", 2)?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;

        for (position, trainee) in trainees.iter().enumerate() {
            assert_finishes_whole(cluster, trainee)?;
            match victims.contains(&position) {
                true => assert_stopped_after_its_save(cluster, &trainee.name, trainee.id, urgent)?,
                false => {
                    assert_undisturbed(cluster, trainee)?;
                    assert_eq!(cluster.job(trainee.id)?.get("StartTime"), starts[position]);
                }
            }
        }
        // All four do the same training: those that were stopped must end where the others do, to the last bit.
        let weights: Vec<_> = trainees
            .iter()
            .map(|trainee| cluster.weights(&trainee.name))
            .collect();
        assert!(
            weights[0].is_some() && weights.iter().all(|other| *other == weights[0]),
            "{weights:?}"
        );
        Ok(())
    })
}

fn starts(cluster: &Cluster, jobs: &[JobId]) -> Outcome<Vec<String>> {
    jobs.iter()
        .map(|job| Ok(cluster.job(*job)?.get("StartTime").to_owned()))
        .collect()
}

/// Plan, request, save, acknowledgement, gate, requeue, start of the urgent job: in this order.
fn assert_stopped_after_its_save(cluster: &Cluster, name: &str, victim: JobId, urgent: JobId) -> Outcome {
    let logged = |parts: &[&str]| {
        let line = cluster
            .logged(parts)
            .ok_or_else(|| cluster.with_logs(format!("no line with {parts:?} in the log")))?;
        Outcome::Ok((line.to_string(), line.at.as_millisecond()))
    };
    let steps = cluster.steps(name);
    let happened = |kind: &str, run: u32| {
        let event = steps
            .first(kind, run)
            .ok_or(format!("{name} has no {kind:?} in run {run}"))?;
        Outcome::Ok((
            format!("{name}: {kind} at step {}", event.step),
            (event.at_s * 1e3) as i64,
        ))
    };
    let order = [
        logged(&[&format!("surgent: plan for job {urgent}: stop job")])?,
        happened("asked", 0)?,
        happened("saved", 0)?,
        logged(&[&format!("surgent: job {victim} has saved for job {urgent}")])?,
        logged(&[&format!("surgent: gate open for job {urgent}")])?,
        logged(&[&format!("JobId={victim} has been requeued")])?,
        logged(&["Allocate ", &format!("JobId={urgent} ")])?,
        happened("resumed", 1)?,
    ];
    assert!(
        order.is_sorted_by_key(|(_, at_ms)| *at_ms),
        "not in this order: {order:#?}"
    );
    assert_eq!(cluster.job(victim)?.restarts(), 1);
    Ok(())
}

#[test]
fn the_users_own_words_survive_every_rewrite_of_the_comment() -> Outcome {
    let words = "run 7  of the grid; für Ärzte, {α: 0.5}\tsave=step";
    on_cluster(quick(), |cluster| {
        let training = Training::new("worded")
            .lasting(4, 0.1)
            .sbatch(&format!("--comment={words}"));
        let trainees = start(cluster, [("worded", training)])?;
        let urgent = urgent(cluster, "urgent", 4)?;
        cluster.wait_for_state(urgent, "RUNNING", LIMIT)?;
        let comment = cluster.comment(trainees[0].id)?;
        assert!(comment.contains("saved="), "{comment}");
        assert!(
            comment.starts_with(words),
            "{comment:?} does not begin with {words:?}"
        );
        assert_finishes_whole(cluster, &trainees[0])
    })
}

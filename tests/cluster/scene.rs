// SPDX-License-Identifier: GPL-2.0-or-later
//! What most tests begin with: a cluster full of trainings, and an urgent job.

use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, Training};

/// Deadlines short enough for a test.
pub const TOML: &str =
    "[victims]\nmin_runtime_s = 1\nnearly_done_s = 1\nsave_deadline_s = 20\nsave_s = 1\nrestart_s = 2\n";

/// Writes surgent.toml anew: `toml`, whose keys come before all tables, and [`TOML`].
pub fn settings(cluster: &Cluster, toml: &str) -> Outcome {
    std::fs::write(cluster.folder().join("surgent.toml"), format!("{toml}\n{TOML}"))
        .map_err(|error| format!("surgent.toml: {error}").into())
}

/// A script that saves when asked, at once, and stays.
pub const SAVER: &str = r#"
me=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
save() { scontrol update JobId=${me:-$SLURM_JOB_ID} Comment="signal=USR1@batch ${PRIORITY:+priority=$PRIORITY }saved=$(date +%s)"; }
trap save USR1
sleep 100000 &
echo "$SLURM_JOB_ID up restart ${SLURM_RESTART_COUNT:-0}"
while kill -0 $!; do wait $!; done
"#;

/// A cluster with short deadlines that schedules at once.
pub fn quick() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0")
}

/// The same with priorities from factors, of which Surgent's is the only one.
pub fn by_factors(builder: Builder) -> Builder {
    builder
        .conf("PriorityType=priority/multifactor")
        .conf("PrioritySiteFactorPlugin=site_factor/surgent")
}

/// A training job by name and number.
pub struct Trainee {
    pub name: String,
    pub id: JobId,
}

/// Submits the trainings and waits until each trains and can be asked to save.
pub fn start(
    cluster: &Cluster,
    trainings: impl IntoIterator<Item = (&'static str, Training)>,
) -> Outcome<Vec<Trainee>> {
    let mut trainees = Vec::new();
    for (name, training) in trainings {
        trainees.push(Trainee {
            name: name.to_owned(),
            id: training.submit(cluster)?,
        });
    }
    for trainee in &trainees {
        cluster.wait_for_steps(&trainee.name, 12)?;
        cluster.wait_for(
            &format!("{} to say how it is asked", trainee.name),
            LIMIT,
            |cluster| Ok(cluster.comment(trainee.id)?.contains("signal=")),
        )?;
    }
    Ok(trainees)
}

/// Four trainings of the same kind, one on each node.
pub fn four(cluster: &Cluster, change: impl Fn(Training) -> Training) -> Outcome<Vec<Trainee>> {
    start(
        cluster,
        ["a", "b", "c", "d"].map(|name| (name, change(Training::new(name)))),
    )
}

/// Submits an urgent job that takes so many whole nodes for three seconds.
pub fn urgent(cluster: &Cluster, name: &str, nodes: u32) -> Outcome<JobId> {
    let (name, nodes) = (format!("--job-name={name}"), format!("--nodes={nodes}"));
    let arguments = [
        "--comment=urgency=urgent",
        "--exclusive",
        "--gres=gpu:4",
        &name,
        &nodes,
    ];
    cluster.sbatch(&arguments, "echo urgent; sleep 3")
}

/// Waits until slurmctld has logged a line with this in it.
pub fn wait_for_log(cluster: &Cluster, sentence: &str) -> Outcome {
    cluster.wait_for(&format!("{sentence:?} in the log"), LIMIT, |cluster| {
        Ok(cluster.logged(&[sentence]).is_some())
    })
}

/// The urgent job that `job` is asked to make way for.
pub fn asked_for(cluster: &Cluster, job: JobId) -> Outcome<Option<JobId>> {
    let job = cluster.job(job)?;
    let record = job
        .get("AdminComment")
        .split([' ', '{', '}'])
        .find_map(|word| word.strip_prefix("ask="));
    Ok(record.and_then(|number| number.parse().ok()).map(JobId))
}

/// Waits until `count` of the trainees are asked to make way for `urgent`; gives their positions.
pub fn wait_for_requests(
    cluster: &Cluster,
    trainees: &[Trainee],
    urgent: JobId,
    count: usize,
) -> Outcome<Vec<usize>> {
    cluster.wait_until(
        &format!("{count} jobs to be asked for job {urgent}"),
        LIMIT,
        |cluster| {
            let mut asked = Vec::new();
            for (position, trainee) in trainees.iter().enumerate() {
                if asked_for(cluster, trainee.id)? == Some(urgent) {
                    asked.push(position);
                }
            }
            Ok((asked.len() == count).then_some(asked))
        },
    )
}

/// Whether this training was never disturbed: no request in its record, none in the program, one run.
pub fn assert_undisturbed(cluster: &Cluster, trainee: &Trainee) -> Outcome {
    let job = cluster.job(trainee.id)?;
    let name = &trainee.name;
    assert_eq!(job.restarts(), 0, "{name} was requeued");
    assert_eq!(asked_for(cluster, trainee.id)?, None, "{name} was asked to save");
    assert_eq!(
        cluster.steps(name).of("asked").count(),
        0,
        "{name} got the signal"
    );
    let asked = format!("asked job {} to save", trainee.id);
    assert!(cluster.logged(&[&asked]).is_none(), "{name} was asked to save");
    Ok(())
}

/// Waits until the training has finished, and checks that no step of it was lost or left out.
pub fn assert_finishes_whole(cluster: &Cluster, trainee: &Trainee) -> Outcome {
    cluster.wait_for_state(trainee.id, "COMPLETED", LIMIT)?;
    let steps = cluster.steps(&trainee.name);
    assert_eq!(
        steps.of("finished").count(),
        1,
        "{} ended without being finished",
        trainee.name
    );
    assert_eq!(
        (steps.lost(), steps.repeated()),
        (0, 0),
        "{} did steps again",
        trainee.name
    );
    assert!(steps.complete(), "{} left steps out", trainee.name);
    Ok(())
}

/// Waits until all trainings have finished whole; those at the positions `stopped` were stopped once, and no others.
pub fn assert_all_finish_whole(cluster: &Cluster, trainees: &[Trainee], stopped: &[usize]) -> Outcome {
    for (position, trainee) in trainees.iter().enumerate() {
        assert_finishes_whole(cluster, trainee)?;
        let expected = u32::from(stopped.contains(&position));
        assert_eq!(
            cluster.job(trainee.id)?.restarts(),
            expected,
            "restarts of {}",
            trainee.name
        );
    }
    Ok(())
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Urgent heterogeneous jobs: nobody is stopped for them, and they are in nobody's way.

use crate::on_cluster;
use crate::scene::{
    TOML, Trainee, assert_finishes_whole, assert_undisturbed, four, quick, urgent, wait_for_requests,
};
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome};

/// All four nodes, by two components.
const ALL_NODES: [&str; 5] = ["--nodes=1", "--exclusive", ":", "--nodes=3", "--exclusive"];

fn submit(cluster: &Cluster, options: &[&str]) -> Outcome<JobId> {
    let options = [options, &ALL_NODES].concat();
    cluster.sbatch(&options, "echo urgent; sleep 3")
}

fn components(leader: JobId) -> [JobId; 2] {
    [leader, JobId(leader.0 + 1)]
}

/// Waits until the log says for each component that nobody is stopped for it.
fn wait_for_refusal(cluster: &Cluster, leader: JobId) -> Outcome {
    components(leader).iter().try_for_each(|component| {
        let sentence = format!("surgent: job {component} waits: it is part of a heterogeneous job");
        cluster.wait_for(&format!("{sentence:?} in the log"), LIMIT, |cluster| {
            Ok(cluster.logged(&[&sentence]).is_some())
        })
    })
}

fn priority(cluster: &Cluster, job: JobId) -> Outcome<u32> {
    let job = cluster.job(job)?;
    let priority = job.get("Priority").parse();
    priority.map_err(|_| format!("{:?} is no priority", job.get("Priority")).into())
}

/// A cluster where Slurm looks for places for heterogeneous jobs often: only its backfill scheduler does.
fn often() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=2")
}

/// Four trainings that Slurm expects to end within minutes, so that it keeps their nodes for who waits longest.
fn four_short(cluster: &Cluster) -> Outcome<Vec<Trainee>> {
    four(cluster, |training| training.lasting(4, 0.1).sbatch("--time=5"))
}

#[test]
fn an_urgent_heterogeneous_job_stops_nobody_and_still_goes_before_normal_jobs() -> Outcome {
    on_cluster(often(), |cluster| {
        let trainees = four_short(cluster)?;
        let normal = cluster.sbatch(&["--job-name=normal", "--nodes=1", "--time=60"], "sleep 1")?;
        let leader = submit(cluster, &["--job-name=het", "--comment=urgency=urgent"])?;
        wait_for_refusal(cluster, leader)?;
        for component in components(leader) {
            assert!(priority(cluster, component)? > priority(cluster, normal)?);
        }
        for trainee in &trainees {
            assert_finishes_whole(cluster, trainee)?;
            assert_undisturbed(cluster, trainee)?;
        }
        cluster.wait_for_output("het", "urgent", LIMIT)?;
        cluster.wait_for_all(&components(leader), "COMPLETED")?;
        cluster.wait_for_state(normal, "COMPLETED", LIMIT)?;
        let [first, second] = components(leader).map(|job| start(cluster, job));
        assert_eq!(first?, second?, "all components start together");
        assert!(start(cluster, leader)? < start(cluster, normal)?);
        Ok(())
    })
}

fn start(cluster: &Cluster, job: JobId) -> Outcome<String> {
    Ok(cluster.job(job)?.get("StartTime").to_owned())
}

/// Slurm's main scheduler starts nothing in the partition of a heterogeneous job that stands before it.
#[test]
fn an_urgent_job_is_served_although_a_heterogeneous_one_waits_longer() -> Outcome {
    on_cluster(quick(), |cluster| {
        // They go on for longer than anything is waited for here.
        let trainees = four(cluster, |training| training.lasting(200, 0.1))?;
        let leader = submit(cluster, &["--job-name=het", "--comment=urgency=urgent"])?;
        wait_for_refusal(cluster, leader)?;
        let plain = urgent(cluster, "plain", 1)?;
        let victims = wait_for_requests(cluster, &trainees, plain, 1)?;
        cluster.wait_for_state(plain, "RUNNING", LIMIT)?;
        let spared = trainees
            .iter()
            .enumerate()
            .filter(|(position, _)| *position != victims[0]);
        for (_, trainee) in spared {
            assert_eq!(cluster.job(trainee.id)?.state(), "RUNNING");
            assert_undisturbed(cluster, trainee)?;
        }
        for component in components(leader) {
            assert_eq!(cluster.job(component)?.state(), "PENDING");
        }
        Ok(())
    })
}

#[test]
fn the_user_of_an_urgent_heterogeneous_job_is_told_once() -> Outcome {
    on_cluster(quick(), |cluster| {
        let mut sbatch = cluster.command("sbatch");
        sbatch.args([
            "--comment=urgency=urgent",
            "--nodes=1",
            ":",
            "--nodes=1",
            "--wrap=true",
        ]);
        let answer = sbatch.output().map_err(|error| format!("sbatch: {error}"))?;
        let said = String::from_utf8_lossy(&answer.stderr);
        assert!(answer.status.success(), "{said}");
        assert_eq!(said.matches("no job is stopped for it").count(), 1, "{said}");
        Ok(())
    })
}

#[test]
fn a_waiting_heterogeneous_job_that_becomes_urgent_takes_its_place_with_all_components() -> Outcome {
    on_cluster(quick(), |cluster| {
        four(cluster, |training| training)?;
        let leader = submit(cluster, &["--job-name=het"])?;
        let plain = urgent(cluster, "plain", 4)?;
        let update = ["update", &format!("JobId={leader}"), "Comment=urgency=urgent"];
        cluster.ask("scontrol", &update)?;
        wait_for_refusal(cluster, leader)?;
        let place = priority(cluster, plain)? - 1;
        for component in components(leader) {
            cluster.wait_for(&format!("job {component} to have its place"), LIMIT, |cluster| {
                Ok(priority(cluster, component)? == place)
            })?;
        }
        Ok(())
    })
}

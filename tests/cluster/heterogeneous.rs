// SPDX-License-Identifier: GPL-2.0-or-later
//! Urgent heterogeneous jobs: who makes way for them saves first, and all components start at once.

use crate::interruptions::{wait_for_saved_state, wait_for_signals};
use crate::on_cluster;
use crate::scene::{
    TOML, Trainee, assert_all_finish_whole, assert_undisturbed, four, start, urgent, wait_for_log,
    wait_for_requests,
};
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, Training};

/// A cluster where Slurm looks for places for heterogeneous jobs often: only its backfill scheduler does.
fn often() -> Builder {
    Cluster::builder()
        .toml(TOML)
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=2")
}

/// A heterogeneous job of two components with so many whole nodes.
fn submit(cluster: &Cluster, options: &[&str], nodes: [u32; 2]) -> Outcome<JobId> {
    let [first, second] = nodes.map(|nodes| format!("--nodes={nodes}"));
    let components = [&first, "--exclusive", ":", &second, "--exclusive"];
    cluster.sbatch(&[options, &components].concat(), "echo urgent; sleep 3")
}

fn submit_urgent(cluster: &Cluster, nodes: [u32; 2]) -> Outcome<JobId> {
    submit(cluster, &["--job-name=het", "--comment=urgency=urgent"], nodes)
}

fn components(leader: JobId) -> [JobId; 2] {
    [leader, JobId(leader.0 + 1)]
}

fn priority(cluster: &Cluster, job: JobId) -> Outcome<u32> {
    let job = cluster.job(job)?;
    let priority = job.get("Priority").parse();
    priority.map_err(|_| format!("{:?} is no priority", job.get("Priority")).into())
}

fn start_of(cluster: &Cluster, job: JobId) -> Outcome<String> {
    Ok(cluster.job(job)?.get("StartTime").to_owned())
}

/// All components started at once and have ended; exactly `victims` were stopped, once, after all of them had saved, and
/// nothing is lost.
fn assert_served(cluster: &mut Cluster, leader: JobId, trainees: &[Trainee], victims: &[usize]) -> Outcome {
    cluster.wait_for_output("het", "urgent", 2 * LIMIT)?;
    cluster.wait_for_all(&components(leader), "COMPLETED")?;
    let [first, second] = components(leader).map(|job| start_of(cluster, job));
    assert_eq!(first?, second?, "all components start together");
    let log = cluster.log();
    let requeued = log
        .iter()
        .position(|line| line.has(&["surgent: requeueing jobs"]));
    let saved = format!("has saved for job {leader},");
    let saved: Vec<usize> = (0..log.len()).filter(|at| log[*at].has(&[&saved])).collect();
    assert_eq!(saved.len(), victims.len());
    assert!(
        saved.iter().all(|saved| Some(*saved) < requeued),
        "requeued before all had saved"
    );
    assert_all_finish_whole(cluster, trainees, victims)?;
    for (position, trainee) in trainees.iter().enumerate() {
        if !victims.contains(&position) {
            assert_undisturbed(cluster, trainee)?;
        }
    }
    cluster.controller_is_well()
}

#[test]
fn all_components_start_at_once_when_all_their_victims_have_saved() -> Outcome {
    on_cluster(often(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(10, 0.1))?;
        let normal = cluster.sbatch(&["--job-name=normal", "--nodes=1", "--exclusive"], "sleep 1")?;
        let leader = submit_urgent(cluster, [1, 2])?;
        for component in components(leader) {
            assert!(priority(cluster, component)? > priority(cluster, normal)?);
        }
        let victims = wait_for_requests(cluster, &trainees, leader, 3)?;
        assert_served(cluster, leader, &trainees, &victims)?;
        assert!(cluster.logged(&["surgent: gate open"]).is_none());
        assert!(start_of(cluster, leader)? <= start_of(cluster, normal)?);
        Ok(())
    })
}

#[test]
fn a_component_that_fits_on_a_free_node_stops_nobody() -> Outcome {
    on_cluster(often(), |cluster| {
        let names = ["a", "b", "c"];
        let trainees = start(
            cluster,
            names.map(|name| (name, Training::new(name).lasting(10, 0.1))),
        )?;
        let leader = submit_urgent(cluster, [1, 1])?;
        let victims = wait_for_requests(cluster, &trainees, leader, 1)?;
        assert_served(cluster, leader, &trainees, &victims)
    })
}

/// Slurm's main scheduler starts nothing in the partition of a heterogeneous job that stands before it.
#[test]
fn nobody_is_asked_if_one_component_cannot_fit_and_other_urgent_jobs_are_served() -> Outcome {
    on_cluster(often(), |cluster| {
        // They go on for longer than anything is waited for here.
        let trainees = four(cluster, |training| training.lasting(200, 0.1))?;
        let leader = submit_urgent(cluster, [1, 4])?;
        wait_for_log(cluster, &format!("surgent: job {leader} waits: no set of jobs"))?;
        for trainee in &trainees {
            assert_undisturbed(cluster, trainee)?;
        }
        let plain = urgent(cluster, "plain", 1)?;
        let victims = wait_for_requests(cluster, &trainees, plain, 1)?;
        cluster.wait_for_state(plain, "RUNNING", LIMIT)?;
        for (position, trainee) in trainees.iter().enumerate() {
            if !victims.contains(&position) {
                assert_eq!(cluster.job(trainee.id)?.state(), "RUNNING");
                assert_undisturbed(cluster, trainee)?;
            }
        }
        for component in components(leader) {
            assert_eq!(cluster.job(component)?.state(), "PENDING");
        }
        Ok(())
    })
}

#[test]
fn cancelling_it_while_victims_save_stops_nobody() -> Outcome {
    on_cluster(often(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(8, 0.1).option("--save-s=4"))?;
        let leader = submit_urgent(cluster, [1, 2])?;
        wait_for_requests(cluster, &trainees, leader, 3)?;
        cluster.ask("scancel", &[&leader.to_string()])?;
        assert_all_finish_whole(cluster, &trainees, &[])?;
        assert!(cluster.logged(&["surgent: requeueing"]).is_none());
        Ok(())
    })
}

#[test]
fn it_is_served_beside_another_urgent_job() -> Outcome {
    on_cluster(often(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(10, 0.1).option("--save-s=3"))?;
        let leader = submit_urgent(cluster, [1, 1])?;
        wait_for_requests(cluster, &trainees, leader, 2)?;
        let plain = urgent(cluster, "plain", 2)?;
        wait_for_requests(cluster, &trainees, plain, 2)?;
        for job in [plain, leader] {
            cluster.wait_for_state(job, "COMPLETED", 2 * LIMIT)?;
        }
        assert_all_finish_whole(cluster, &trainees, &[0, 1, 2, 3])?;
        cluster.controller_is_well()
    })
}

#[test]
fn slurmctld_killed_while_victims_save_goes_on_when_it_is_back() -> Outcome {
    on_cluster(often(), |cluster| {
        // Slurm writes its state up to five seconds late; the saves must take longer.
        let trainees = four(cluster, |training| {
            training.lasting(12, 0.1).option("--save-s=10")
        })?;
        let leader = submit_urgent(cluster, [1, 2])?;
        let victims = wait_for_requests(cluster, &trainees, leader, 3)?;
        wait_for_signals(cluster, &trainees, &victims)?;
        wait_for_saved_state(cluster, &format!("ask={leader} "), 3)?;
        cluster.kill_controller()?;
        // The saves end while nobody is there to hear of it.
        for victim in &victims {
            cluster.wait_for_output(&trainees[*victim].name, "saved at step", LIMIT)?;
        }
        cluster.start_controller()?;
        assert_served(cluster, leader, &trainees, &victims)
    })
}

#[test]
fn slurmctld_killed_when_it_has_just_requeued_the_victims_requeues_nobody_twice() -> Outcome {
    on_cluster(often(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(10, 0.1).option("--save-s=6"))?;
        let leader = submit_urgent(cluster, [1, 2])?;
        let victims = wait_for_requests(cluster, &trainees, leader, 3)?;
        wait_for_log(cluster, "surgent: requeueing jobs")?;
        cluster.kill_controller()?;
        cluster.start_controller()?;
        cluster.wait_for_output("het", "urgent", 2 * LIMIT)?;
        cluster.wait_for_all(&components(leader), "COMPLETED")?;
        assert_all_finish_whole(cluster, &trainees, &victims)?;
        cluster.controller_is_well()
    })
}

#[test]
fn its_user_is_told_once_how_it_starts() -> Outcome {
    on_cluster(often(), |cluster| {
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
        assert_eq!(said.matches("start together").count(), 1, "{said}");
        Ok(())
    })
}

#[test]
fn a_waiting_job_that_becomes_urgent_takes_its_place_with_all_components() -> Outcome {
    on_cluster(often(), |cluster| {
        four(cluster, |training| training)?;
        let leader = submit(cluster, &["--job-name=het"], [1, 3])?;
        let plain = urgent(cluster, "plain", 4)?;
        let update = ["update", &format!("JobId={leader}"), "Comment=urgency=urgent"];
        cluster.ask("scontrol", &update)?;
        let place = priority(cluster, plain)? - 1;
        for component in components(leader) {
            cluster.wait_for(&format!("job {component} to have its place"), LIMIT, |cluster| {
                Ok(priority(cluster, component)? == place)
            })?;
        }
        Ok(())
    })
}

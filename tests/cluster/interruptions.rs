// SPDX-License-Identifier: GPL-2.0-or-later
//! What happens between a request to save and the opening of the gate.

use crate::on_cluster;
use crate::scene::{
    Trainee, assert_all_finish_whole, assert_finishes_whole, four, quick, settings, urgent, wait_for_log,
    wait_for_requests,
};
use crate::support::{Cluster, JobId, LIMIT, Outcome, finish, write_program};
use std::process::Command;
use tempfile::TempDir;

/// The victims' saves take so long that much can happen meanwhile.
const SAVE: &str = "--save-s=4";

#[test]
fn cancelling_the_urgent_job_stops_nobody() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(5, 0.1).option(SAVE))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.ask("scancel", &[&urgent.to_string()])?;
        assert_all_finish_whole(cluster, &trainees, &[])?;
        assert!(cluster.logged(&["surgent: gate open"]).is_none());
        Ok(())
    })
}

#[test]
fn slurmctld_killed_while_victims_save_goes_on_when_it_is_back() -> Outcome {
    on_cluster(quick(), |cluster| {
        // Slurm writes its state up to five seconds late; the saves must take longer.
        let trainees = four(cluster, |training| training.lasting(9, 0.1).option("--save-s=10"))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        wait_for_signals(cluster, &trainees, &victims)?;
        wait_for_saved_state(cluster, &format!("ask={urgent} "), 2)?;
        cluster.kill_controller()?;
        // The saves end while nobody is there to hear of it.
        for victim in &victims {
            cluster.wait_for_output(&trainees[*victim].name, "saved at step", LIMIT)?;
        }
        cluster.start_controller()?;
        assert_ends_well(cluster, &trainees, &victims, urgent)
    })
}

#[test]
fn slurmctld_killed_before_it_has_saved_the_requests_harms_no_training() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(5, 0.1).option(SAVE))?;
        // What Slurm itself has not saved yet, it loses: first the trainings must be on disk.
        wait_for_saved_state(cluster, "signal=URG@full", trainees.len())?;
        let urgent = urgent(cluster, "urgent", 2)?;
        wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.kill_controller()?;
        cluster.start_controller()?;
        // Slurm may have lost the urgent job itself; nobody's training may suffer either way.
        for trainee in &trainees {
            cluster.wait_for_state(trainee.id, "COMPLETED", 2 * LIMIT)?;
            assert_finishes_whole(cluster, trainee)?;
        }
        cluster.controller_is_well()
    })
}

#[test]
fn reconfigure_while_victims_save_changes_nothing() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(5, 0.1).option(SAVE))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        wait_for_signals(cluster, &trainees, &victims)?;
        cluster.reconfigure()?;
        assert_ends_well(cluster, &trainees, &victims, urgent)
    })
}

/// What a batch script says at its end comes to a slurmctld that takes it for a job which ended by itself.
#[test]
fn slurmctld_killed_while_slurm_stops_the_victims_has_them_requeued_all_the_same() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(9, 0.1).option("--save-s=8"))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        wait_for_signals(cluster, &trainees, &victims)?;
        wait_for_saved_state(cluster, &format!("ask={urgent} "), 2)?;
        let caretakers = victims
            .iter()
            .map(|victim| caretaker(cluster, trainees[*victim].id))
            .collect::<Outcome<Vec<_>>>()?;
        // Both would die at once otherwise.
        caretakers.iter().try_for_each(|pid| signal(*pid, "STOP"))?;
        wait_for_log(
            cluster,
            &format!("has been requeued to reclaim resources for JobId={urgent}"),
        )?;
        cluster.kill_controller()?;
        cluster.start_controller()?;
        caretakers.iter().try_for_each(|pid| signal(*pid, "CONT"))?;
        assert_ends_well(cluster, &trainees, &victims, urgent)
    })
}

/// The end of the batch script came to the slurmctld that was killed. The next one takes the victims for running until their
/// nodes register again, which it does not look at for jobs that began a few seconds ago.
#[test]
fn slurmctld_killed_once_the_victims_have_ended_has_them_requeued_all_the_same() -> Outcome {
    // Until it ends, nobody else gets the nodes.
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (epilog, go_on) = (folder.path().join("epilog"), folder.path().join("go-on"));
    let wait = format!(
        "#!/bin/sh\n: > '{}'/$SLURM_JOB_ID\nuntil [ -e '{}' ]; do sleep 0.1; done\n",
        folder.path().display(),
        go_on.display()
    );
    write_program(&epilog, &wait)?;
    let builder = quick().conf(&format!("Epilog={}", epilog.display()));
    on_cluster(builder, |cluster| {
        let trainees = four(cluster, |training| training.lasting(9, 0.1).option("--save-s=6"))?;
        let urgent = urgent(cluster, "urgent", 2)?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        wait_for_saved_state(cluster, &format!("ask={urgent} "), 2)?;
        let in_the_way = keep_from_writing_jobs(cluster)?;
        // It begins when the batch script has ended, and slurmctld knows that.
        for victim in &victims {
            let epilog_of = folder.path().join(trainees[*victim].id.to_string());
            cluster.wait_for("a victim's epilog", LIMIT, |_| Ok(epilog_of.exists()))?;
        }
        cluster.kill_controller()?;
        in_the_way.close().map_err(|error| error.to_string())?;
        std::fs::write(&go_on, "").map_err(|error| format!("{}: {error}", go_on.display()))?;
        cluster.start_controller()?;
        assert_ends_well(cluster, &trainees, &victims, urgent)
    })
}

/// Slurm has lost even more: that the urgent job ran in their place.
#[test]
fn slurmctld_killed_once_the_victims_may_start_again_has_them_requeued_all_the_same() -> Outcome {
    has_them_requeued_all_the_same("on")
}

/// Nobody is stopped any more, but those who were are owed their place.
#[test]
fn so_it_does_where_it_was_switched_off_meanwhile() -> Outcome {
    has_them_requeued_all_the_same("off")
}

/// slurmctld is killed once the victims may start again, and is in this mode when it is back.
fn has_them_requeued_all_the_same(mode: &str) -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = four(cluster, |training| training.lasting(9, 0.1).option("--save-s=6"))?;
        let end = cluster.work().join("end");
        let script = format!("until [ -e '{}' ]; do sleep 0.1; done", end.display());
        let urgent = cluster.sbatch(
            &["--comment=urgent", "--exclusive", "--gres=gpu:4", "--nodes=2"],
            &script,
        )?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        wait_for_saved_state(cluster, &format!("ask={urgent} "), 2)?;
        let in_the_way = keep_from_writing_jobs(cluster)?;
        for victim in &victims {
            let id = trainees[*victim].id;
            wait_for_log(
                cluster,
                &format!("surgent: job {id} was requeued for job {urgent}"),
            )?;
        }
        // Then nothing is under way any more that would have it look.
        let state = cluster.state().join("surgent.state");
        cluster.wait_for("everybody to have been given his place back", LIMIT, |_| {
            let kept = std::fs::read_to_string(&state).unwrap_or_default();
            Ok(kept.contains(r#""campaigns":[]"#))
        })?;
        cluster.kill_controller()?;
        in_the_way.close().map_err(|error| error.to_string())?;
        std::fs::write(&end, "").map_err(|error| format!("{}: {error}", end.display()))?;
        settings(cluster, &format!("mode = \"{mode}\""))?;
        cluster.start_controller()?;
        // Slurm would launch it once more, beside its first run as far as slurmd knows.
        cluster.ask("scancel", &[&urgent.to_string()])?;
        for victim in &victims {
            let id = trainees[*victim].id;
            wait_for_log(
                cluster,
                &format!("surgent: job {id} was stopped when slurmctld ended"),
            )?;
        }
        assert_all_finish_whole(cluster, &trainees, &victims)?;
        cluster.controller_is_well()
    })
}

/// As long as what is returned is there, Slurm writes no jobs.
fn keep_from_writing_jobs(cluster: &Cluster) -> Outcome<TempDir> {
    let in_the_way = tempfile::Builder::new()
        .prefix("job_state.new")
        .rand_bytes(0)
        .tempdir_in(cluster.state());
    Ok(in_the_way.map_err(|error| error.to_string())?)
}

/// The slurmstepd above a job's batch script on this cluster.
fn caretaker(cluster: &Cluster, job: JobId) -> Outcome<u32> {
    let here = cluster.folder().to_string_lossy().into_owned();
    let of_job = format!("SLURM_JOB_ID={job}");
    let processes = std::fs::read_dir("/proc").map_err(|error| error.to_string())?;
    let mut pids = processes.flatten().filter_map(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let is_of_job = environment.split('\0').any(|line| line == of_job) && environment.contains(&here);
        is_of_job.then(|| process.file_name().to_str()?.parse().ok())?
    });
    let mut pid: u32 = pids.next().ok_or_else(|| format!("job {job} has no process"))?;
    loop {
        let status =
            std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        if field("Name:") == Some("slurmstepd") {
            return Ok(pid);
        }
        let parent = field("PPid:").and_then(|parent| parent.parse().ok());
        pid = parent.ok_or_else(|| format!("job {job} has no slurmstepd above it"))?;
    }
}

fn signal(pid: u32, name: &str) -> Outcome {
    finish(
        Command::new("kill").args([&format!("-{name}"), &pid.to_string()]),
        "kill",
    )
    .map(drop)
}

/// A request is written into the record before the signal goes out; waits until the programs have heard it.
pub fn wait_for_signals(cluster: &Cluster, trainees: &[Trainee], victims: &[usize]) -> Outcome {
    victims.iter().try_for_each(|victim| {
        let name = &trainees[*victim].name;
        cluster.wait_for(&format!("{name} to hear the request"), LIMIT, |cluster| {
            Ok(cluster.steps(name).of("asked").count() == 1)
        })
    })
}

/// Waits until the job state that slurmctld keeps on disk holds `text` so many times.
pub fn wait_for_saved_state(cluster: &Cluster, text: &str, count: usize) -> Outcome {
    cluster.wait_for(&format!("slurmctld to save {text:?}"), LIMIT, |cluster| {
        let state = std::fs::read(cluster.folder().join("state/job_state")).unwrap_or_default();
        Ok(String::from_utf8_lossy(&state).matches(text).count() == count)
    })
}

/// The urgent job runs, the chosen victims and no others were stopped, and nothing is lost.
fn assert_ends_well(
    cluster: &mut Cluster,
    trainees: &[Trainee],
    victims: &[usize],
    urgent: JobId,
) -> Outcome {
    cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
    assert_all_finish_whole(cluster, trainees, victims)?;
    cluster.controller_is_well()
}

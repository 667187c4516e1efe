// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent drill`: a save that nobody needs.

use crate::on_cluster;
use crate::scene::{asked_for, assert_finishes_whole, quick, start, urgent, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training, places};
use serde_json::Value;

/// Exit code, standard output and standard error of a drill.
fn drill(cluster: &Cluster, job: JobId, options: &[&str], as_nobody: bool) -> Outcome<(i32, String, String)> {
    let surgent = places::surgent()?.display().to_string();
    let mut command = match as_nobody {
        true => cluster.command_as_nobody(&surgent),
        false => cluster.command(&surgent),
    };
    let output = command.arg("drill").arg(job.to_string()).args(options).output();
    let output = output.map_err(|error| format!("surgent drill: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

#[test]
fn a_drill_disturbs_nobody_and_says_how_long_the_save_took() -> Outcome {
    on_cluster(quick(), |cluster| {
        let trainees = start(
            cluster,
            [
                (
                    "exits",
                    Training::new("exits").lasting(6, 0.1).option("--save-s=1"),
                ),
                (
                    "goes",
                    Training::new("goes").lasting(6, 0.1).option("--after-save=go-on"),
                ),
                (
                    "deaf",
                    Training::new("deaf").lasting(6, 0.1).option("--ignore-requests"),
                ),
            ],
        )?;
        let (code, out, err) = drill(cluster, trainees[0].id, &["--json", "--timeout=40"], false)?;
        assert_eq!(code, 0, "{out}{err}");
        let said: Value = serde_json::from_str(&out).map_err(|error| format!("{out}: {error}"))?;
        assert_eq!(said["result"], "saved");
        assert!(
            said["save_s"].as_f64().is_some_and(|save_s| save_s >= 1.0),
            "{out}"
        );
        let (code, out, err) = drill(cluster, trainees[1].id, &["--timeout=40"], false)?;
        assert_eq!(code, 0, "{out}{err}");
        assert!(out.contains("saved: the answer came after"), "{out}");
        let (code, out, err) = drill(cluster, trainees[2].id, &["--timeout=3"], false)?;
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("did not save within 3 s"), "{err}");
        for trainee in &trainees {
            assert_eq!(asked_for(cluster, trainee.id)?, None);
            assert_finishes_whole(cluster, trainee)?;
            assert_eq!(cluster.job(trainee.id)?.restarts(), 0, "{}", trainee.name);
            assert_eq!(
                cluster.steps(&trainee.name).of("asked").count(),
                1,
                "{}",
                trainee.name
            );
        }
        let (code, _, err) = drill(cluster, trainees[0].id, &[], false)?;
        assert!(code == 3 && err.contains("does not run"), "{err}");
        Ok(())
    })
}

/// Saves when asked, in a shell.
fn shell_training() -> Outcome<String> {
    let surgent = places::surgent()?.display().to_string();
    Ok(format!(
        "'{surgent}' run --save-signal USR1 -- sh -c 'trap \"echo {{\\\\\\\"saved\\\\\\\": true}} >> \\$SURGENT_REPORT\" USR1; \
         while :; do sleep 0.1; done'"
    ))
}

#[test]
fn a_user_drills_their_own_jobs_and_no_others() -> Outcome {
    on_cluster(quick(), |cluster| {
        let script = shell_training()?;
        let own = cluster.sbatch_as_nobody(&["-J", "own", "--exclusive"], &script)?;
        let other = cluster.sbatch(&["-J", "other", "--exclusive"], &script)?;
        let silent = cluster.sbatch_as_nobody(&["-J", "silent", "--exclusive"], "sleep 1000")?;
        for job in [own, other] {
            cluster.wait_for("the job to say how it is asked", LIMIT, |cluster| {
                Ok(cluster.comment(job)?.contains("signal="))
            })?;
        }
        cluster.wait_for_state(silent, "RUNNING", LIMIT)?;
        let (code, out, err) = drill(cluster, own, &["--timeout=40"], true)?;
        assert_eq!(code, 0, "{out}{err}");
        let (code, _, err) = drill(cluster, other, &["--timeout=40"], true)?;
        assert_eq!(code, 3, "{err}");
        let (code, _, err) = drill(cluster, silent, &["--timeout=40"], true)?;
        assert!(code == 3 && err.contains("does not say how"), "{err}");
        let (code, _, err) = drill(cluster, JobId(999_999), &[], true)?;
        assert!(code == 3 && err.contains("there is no job"), "{err}");
        Ok(())
    })
}

#[test]
fn a_drill_during_a_real_request_waits_for_that() -> Outcome {
    on_cluster(quick(), |cluster| {
        let slow = |name: &'static str| (name, Training::new(name).lasting(6, 0.1).option("--save-s=5"));
        let trainees = start(cluster, ["a", "b", "c", "d"].map(slow))?;
        let urgent = urgent(cluster, "urgent", 1)?;
        let victim = &trainees[wait_for_requests(cluster, &trainees, urgent, 1)?[0]];
        let (code, out, err) = drill(cluster, victim.id, &["--timeout=2"], false)?;
        assert_eq!(code, 3, "{out}{err}");
        assert!(err.contains(&format!("for the urgent job {urgent}")), "{err}");
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        trainees
            .iter()
            .try_for_each(|trainee| assert_finishes_whole(cluster, trainee))?;
        assert_eq!(cluster.steps(&victim.name).of("asked").count(), 1);
        Ok(())
    })
}

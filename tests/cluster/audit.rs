// SPDX-License-Identifier: GPL-2.0-or-later
//! The audit file, by which alone it can be told a month later who preempted whose job, and why.

use crate::on_cluster;
use crate::scene::{TOML, four, quick, urgent, wait_for_requests};
use crate::support::{Cluster, JobId, LIMIT, Outcome, Training};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

/// Slurm's number of the user nobody.
const NOBODY: u64 = 65534;

fn file(cluster: &Cluster) -> PathBuf {
    cluster.folder().join("state/surgent.audit.jsonl")
}

/// All lines of a file; each must be whole.
fn lines(file: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
        .collect()
}

/// Waits until the file has `count` lines of this kind; gives them.
pub fn wait_for_kind(cluster: &Cluster, kind: &str, count: usize) -> Outcome<Vec<Value>> {
    cluster.wait_until(
        &format!("{count} lines of kind {kind} in the audit file"),
        LIMIT,
        |cluster| {
            let mut lines = lines(&file(cluster));
            lines.retain(|line| line["kind"] == kind);
            Ok((lines.len() >= count).then_some(lines))
        },
    )
}

/// A submission that is refused; gives what its user was told. The planner sleeps meanwhile.
fn be_refused(cluster: &Cluster, word: &str) -> String {
    let comment = format!("--comment=urgency={word}");
    let refused = cluster.sbatch_as_nobody(&[&comment], "true");
    let Err(failure) = refused else {
        panic!("{word} was accepted")
    };
    failure.to_string()
}

/// What somebody finds out who has nothing but the file.
#[derive(Debug)]
struct Answer {
    preempted_by: u64,
    whose: u64,
    when: i64,
    account: String,
    lost_by: String,
    cost_gpu_s: f64,
    saved: Option<i64>,
}

/// Who preempted this job, when, why, was it saved, what did it cost?
fn who_preempted(file: &PathBuf, job: JobId) -> Answer {
    let lines = lines(file);
    let stopped = lines
        .iter()
        .find(|line| line["kind"] == "stopped" && line["job"] == job.0)
        .expect("the job was stopped");
    let plans = lines
        .iter()
        .filter(|line| line["kind"] == "plan" && line["urgent"] == stopped["urgent"]);
    let (plan, victim) = plans
        .flat_map(|plan| {
            let victims = plan["victims"].as_array().unwrap();
            victims.iter().map(move |victim| (plan, victim))
        })
        .find(|(_, victim)| victim["job"] == job.0 && victim["start"] == stopped["start"])
        .expect("a plan names it");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Answer {
        preempted_by: stopped["urgent"].as_u64().unwrap(),
        whose: plan["user"].as_u64().unwrap(),
        when: stopped["at"].as_i64().unwrap(),
        account: text(&victim["account"]),
        lost_by: text(&victim["cost"]["lost_by"]),
        cost_gpu_s: victim["cost_gpu_s"].as_f64().unwrap(),
        saved: stopped["saved"].as_i64(),
    }
}

/// The number behind `key=` in a job's comment.
fn in_comment(cluster: &Cluster, job: JobId, key: &str) -> Outcome<Option<i64>> {
    let comment = cluster.comment(job)?;
    let mut words = comment.split_whitespace();
    Ok(words.find_map(|word| word.strip_prefix(key)?.parse().ok()))
}

#[test]
fn the_audit_file_alone_tells_who_preempted_whom_and_why() -> Outcome {
    let setup = quick().toml(&format!("{TOML}[audit]\nmax_mib = 1\n"));
    on_cluster(setup, |cluster| {
        let said = be_refused(cluster, "urgnt");
        let refused = wait_for_kind(cluster, "refused", 1)?.remove(0);
        assert!(said.contains(refused["sentence"].as_str().unwrap()), "{said}");
        assert_eq!(
            (&refused["user"], &refused["rule"]),
            (&NOBODY.into(), &"comment".into())
        );

        let trainees = four(cluster, |training: Training| {
            training.lasting(30, 0.1).sbatch("--account=vision")
        })?;
        let arguments = [
            "--comment=urgency=urgent",
            "--exclusive",
            "--gres=gpu:4",
            "--nodes=2",
        ];
        let urgent = cluster.sbatch_as_nobody(&arguments, "sleep 3")?;
        let victims = wait_for_requests(cluster, &trainees, urgent, 2)?;
        cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
        let restored = wait_for_kind(cluster, "restored", 2)?;

        for position in victims {
            let job = trainees[position].id;
            let answer = who_preempted(&file(cluster), job);
            assert_eq!((answer.preempted_by, answer.whose), (urgent.0.into(), NOBODY));
            assert_eq!(
                (answer.account.as_str(), answer.lost_by.as_str()),
                ("vision", "one_step")
            );
            let cost = format!("-> {:.0} GPU-s", answer.cost_gpu_s);
            let line = cluster.logged(&[&format!("plan for job {urgent}: victim {job} "), &cost]);
            assert!(line.is_some(), "{answer:?}");
            let requeued = cluster.logged(&[&format!("JobId={job} has been requeued")]);
            let requeued_s = requeued.expect("the log tells").at.as_second();
            // The next look saw it; Slurm is looked at every second at least.
            assert!(
                (requeued_s..=requeued_s + 20).contains(&answer.when),
                "{answer:?}"
            );
            assert!(
                answer.saved.is_some_and(|saved| saved <= requeued_s + 1),
                "{answer:?}"
            );
            // It has not saved again since, or only later.
            assert!(answer.saved <= in_comment(cluster, job, "saved=")?, "{answer:?}");
            assert!(
                restored
                    .iter()
                    .any(|line| line["job"] == job.0 && line["preempted"] == 1)
            );
        }
        let started = wait_for_kind(cluster, "started", 1)?.remove(0);
        assert_eq!(
            (&started["urgent"], &started["user"]),
            (&urgent.0.into(), &NOBODY.into())
        );
        assert!(started["waited_s"].as_f64().unwrap() < 60.0);
        let all = lines(&file(cluster));
        let order = [
            "refused",
            "admitted",
            "waits",
            "plan",
            "asked",
            "saved",
            "gate_opened",
            "stopped",
        ];
        let at = order.map(|kind| all.iter().position(|line| line["kind"] == kind).expect(kind));
        assert!(at.is_sorted(), "{order:?} are at {at:?}");
        let of = |kind: &str| all.iter().filter(|line| line["kind"] == kind).count();
        let once = ["admitted", "plan", "started", "gate_opened"];
        assert_eq!(once.map(of), [1; 4], "{all:#?}");
        assert_eq!(
            ["asked", "saved", "stopped", "restored"].map(of),
            [2; 4],
            "{all:#?}"
        );
        let mode = fs::metadata(file(cluster))
            .map_err(|error| error.to_string())?
            .mode();
        assert_eq!(mode & 0o137, 0, "{mode:o}");

        is_put_aside_when_full(cluster)?;
        harms_nothing_where_it_cannot_be_written(cluster)
    })
}

fn is_put_aside_when_full(cluster: &Cluster) -> Outcome {
    let file = file(cluster);
    let before = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let filler = format!(
        "{{\"v\":1,\"kind\":\"filler\",\"text\":\"{}\"}}\n",
        "x".repeat(1 << 20)
    );
    fs::write(&file, before.clone() + &filler).map_err(|error| error.to_string())?;
    be_refused(cluster, "once-more");
    let aside = PathBuf::from(format!("{}.1", file.display()));
    cluster.wait_for("the full file to be put aside", LIMIT, |_| Ok(aside.exists()))?;
    wait_for_kind(cluster, "refused", 1)?;
    assert_eq!(fs::read_to_string(&aside).unwrap_or_default(), before + &filler);
    assert!(!lines(&file).iter().any(|line| line["kind"] == "filler"));
    Ok(())
}

fn harms_nothing_where_it_cannot_be_written(cluster: &mut Cluster) -> Outcome {
    let file = file(cluster);
    let elsewhere = cluster.folder().join("elsewhere");
    fs::write(&elsewhere, "untouched")
        .and_then(|()| fs::remove_file(&file))
        .and_then(|()| symlink(&elsewhere, &file))
        .map_err(|error| error.to_string())?;
    be_refused(cluster, "first");
    cluster.wait_for("the log to say so", LIMIT, |cluster| {
        Ok(cluster.logged(&["the audit file", "symbolic link"]).is_some())
    })?;
    be_refused(cluster, "second");
    let urgent = urgent(cluster, "unseen", 1)?;
    cluster.wait_for_state(urgent, "COMPLETED", LIMIT)?;
    cluster.controller_is_well()?;
    let complaints = cluster.log();
    let complaints = complaints
        .iter()
        .filter(|line| line.has(&["the audit file", "symbolic link"]));
    assert_eq!(complaints.count(), 1, "it is said once");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap_or_default(), "untouched");

    fs::remove_file(&file).map_err(|error| error.to_string())?;
    be_refused(cluster, "third");
    let lost = wait_for_kind(cluster, "lost", 1)?;
    assert!(lost[0]["lines"].as_u64() >= Some(2), "{lost:?}");
    cluster.wait_for("the log to say that too", LIMIT, |cluster| {
        Ok(cluster
            .logged(&["surgent.audit.jsonl is written again"])
            .is_some())
    })
}

#[test]
fn settings_change_while_surgent_sleeps_and_shadow_is_told_as_such() -> Outcome {
    on_cluster(quick().toml("mode = \"no\"\n"), |cluster| {
        let toml = cluster.folder().join("surgent.toml");
        let write = |text: &str| fs::write(&toml, text).map_err(|error| error.to_string());
        let wait_for_line = |parts: &[&str]| {
            cluster.wait_for(&format!("{parts:?} in the log"), 2 * LIMIT, |cluster| {
                Ok(cluster.logged(parts).is_some())
            })
        };
        wait_for_line(&[
            "surgent.toml: line 1, column 8: ",
            "; Surgent is off until that is mended",
        ])?;
        let ignored = cluster.sbatch(&["--comment=urgency=urgnt"], "true")?;
        cluster.wait_for_state(ignored, "COMPLETED", LIMIT)?;
        write(TOML)?;
        wait_for_line(&["surgent: settings read; mode On"])?;
        let trainees = four(cluster, |training| training.lasting(100, 0.1))?;
        let settings_read = |cluster: &Cluster| {
            let log = cluster.log();
            log.iter()
                .filter(|line| line.has(&["surgent: settings read"]))
                .count()
        };
        let before = settings_read(cluster);

        write(&format!("{TOML}step_s = -1\n"))?;
        let place = "surgent.toml: line 7, column 10: victims.step_s = -1 must be";
        wait_for_line(&[place, "; the settings in force stay"])?;
        fs::remove_file(&toml)
            .and_then(|()| rustix::fs::mkfifoat(rustix::fs::CWD, &toml, 0o600.into()).map_err(Into::into))
            .map_err(|error| error.to_string())?;
        wait_for_line(&["surgent.toml: it is no regular file"])?;
        assert_eq!(settings_read(cluster), before, "neither was taken for settings");
        fs::remove_file(&toml).map_err(|error| error.to_string())?;
        write(&format!("mode = \"shadow\"\n{TOML}"))?;
        wait_for_line(&["surgent: settings read; mode Shadow"])?;

        let urgent = urgent(cluster, "urgent", 2)?;
        let plan = wait_for_kind(cluster, "plan", 1)?.remove(0);
        assert_eq!(
            (&plan["shadow"], &plan["urgent"]),
            (&true.into(), &urgent.0.into())
        );
        let all = lines(&file(cluster));
        assert!(all.iter().all(|line| line["shadow"] == true), "{all:#?}");
        let kinds: Vec<_> = all
            .iter()
            .map(|line| line["kind"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(kinds, ["admitted", "waits", "plan"]);
        for trainee in &trainees {
            crate::scene::assert_undisturbed(cluster, trainee)?;
        }
        Ok(())
    })
}

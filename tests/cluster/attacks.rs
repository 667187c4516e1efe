// SPDX-License-Identifier: GPL-2.0-or-later
//! What an ordinary user tries who knows Surgent, and has Slurm's library instead of its commands.

use crate::scene::{TOML, asked_for, urgent};
use crate::support::{Builder, Cluster, JobId, LIMIT, Outcome, finish, places};
use crate::{on_cluster, tell};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// So often the busiest job reports.
const REPORTS: u32 = 20_000;

/// The priority that priority/basic gives the first job. Those of urgent jobs are above it.
const SLURMS_HIGHEST: u64 = 0xfffe_ffff;

fn ruled(rules: &str) -> Builder {
    Cluster::builder()
        .toml(&format!("{TOML}{rules}"))
        .conf("SchedulerParameters=batch_sched_delay=0")
}

/// Slurm's headers of the release that runs, which the plugins were built with.
fn headers() -> Outcome<Option<PathBuf>> {
    let (year, month) = places::slurm_version()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/slurm-headers");
    let trees = fs::read_dir(folder).into_iter().flatten().flatten();
    let release = format!("{year}.{month:02}.");
    Ok(trees
        .filter(|tree| tree.file_name().to_string_lossy().starts_with(&release))
        .map(|tree| tree.path())
        .find(|tree| tree.join("slurm/slurm.h").exists()))
}

/// Builds `attacker.c`; its path, or nothing where there are no headers to build it with.
fn attacker(cluster: &Cluster) -> Outcome<Option<String>> {
    let Some(headers) = headers()? else {
        tell("skipped, for target/slurm-headers has none of this Slurm: an attack with Slurm's library");
        return Ok(None);
    };
    let program = cluster.folder().join("attacker").display().to_string();
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Werror", "-o", &program, "-isystem"])
        .arg(headers);
    cc.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/attacker.c"));
    let library = places::stock_plugins()?.join("libslurmfull.so");
    cc.arg(&library).arg(format!(
        "-Wl,-rpath,{}",
        library.parent().unwrap_or(Path::new("/")).display()
    ));
    finish(&mut cc, "cc")?;
    Ok(Some(program))
}

/// The attacker with these words, as nobody.
fn attack(cluster: &Cluster, attacker: &str, words: &[&str]) -> Outcome<String> {
    finish(cluster.command_as_nobody(attacker).args(words), &words.join(" "))
}

fn is_urgent(cluster: &Cluster, job: &str) -> Outcome<bool> {
    let shown = cluster.ask("scontrol", &["show", "job", job])?;
    Ok(shown.contains("AdminComment=surgent{class=urgent"))
}

/// The highest priority of any job there is.
fn highest_priority(cluster: &Cluster) -> Outcome<u64> {
    let priorities = cluster.ask("squeue", &["-h", "-t", "all", "-o", "%Q"])?;
    Ok(priorities
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .max()
        .unwrap_or(0))
}

#[test]
fn no_raw_field_makes_a_job_urgent() -> Outcome {
    on_cluster(ruled("[admission]\nallow_users = [\"root\"]\n"), |cluster| {
        let Some(attacker) = attacker(cluster)? else {
            return Ok(());
        };
        let try_it = |words: &[&str]| attack(cluster, &attacker, words);
        // The attacker works, as far as he may.
        let job = try_it(&["submit", "comment=epochs=3"])?;
        assert!(!is_urgent(cluster, job.trim())?);

        for words in [
            &["submit", "admin_comment=surgent{class=urgent first=1}"][..],
            &["submit", "comment=urgent"],
            &["submit", "comment={\"urgency\":\"urgent\"}", "array=1-3"],
            &["submit", "comment=x; URGENCY=Urgent\n", "array=1"],
            &["submit", "spank=_SLURM_SPANK_OPTION_surgent_urgency=urgent"],
            &["submit", "comment=urgent", "user_id=0"],
            &[
                "submit",
                "comment=surgent{class=urgent first=1}",
                "priority=4294967000",
            ],
        ] {
            match try_it(words) {
                Ok(job) => assert!(!is_urgent(cluster, job.trim())?, "{words:?} is urgent"),
                Err(refusal) => {
                    let refusal = refusal.to_string();
                    assert!(refusal.len() < 2000, "{refusal}");
                }
            }
        }
        let array = cluster
            .sbatch_as_nobody(&["--hold", "--array=1-3"], "true")?
            .to_string();
        let (task, held) = (
            format!("{array}_2"),
            cluster.sbatch_as_nobody(&["--hold"], "true")?.to_string(),
        );
        for job in [&array, &task, &held] {
            for change in [
                "comment=urgent",
                "admin_comment=surgent{class=urgent}",
                "comment={\"urgency\": \"urgent\"}",
            ] {
                assert!(try_it(&["update", job, change]).is_err(), "{change} of {job}");
            }
            for change in ["priority=4294967000", "site_factor=4294967000"] {
                // Slurm may take it for less than it says; what counts is looked at below.
                let _ = try_it(&["update", job, change]);
            }
            assert!(!is_urgent(cluster, job)?, "{job}");
        }
        assert!(
            highest_priority(cluster)? <= SLURMS_HIGHEST,
            "nobody stands before urgent jobs"
        );
        cluster.controller_is_well()
    })
}

/// A victim whose comment is made to break out of everything that it is put into.
#[test]
fn no_text_of_a_user_is_run_or_taken_for_a_line_of_surgents() -> Outcome {
    on_cluster(ruled(""), |cluster| {
        let mark = cluster.work().join("broken-out");
        let touch = format!("touch {}", mark.display());
        let line = "{\"v\":1,\"kind\":\"stopped\",\"job\":1,\"urgent\":2}";
        let comment = format!(
            "$({touch}) `{touch}` ;{touch}; |{touch} %n%s%x ../../etc '\"\\\n{line}\nsignal=USR1@batch"
        );
        let saying = format!("--comment={comment}");
        fs::write(cluster.work().join("comment"), &comment).map_err(|error| error.to_string())?;
        let script = "trap 'scontrol update JobId=$SLURM_JOB_ID Comment=\"$(cat comment) saved=$(date +%s)\"' USR1\n\
                      sleep 100000 &\necho up\nwhile kill -0 $!; do wait $!; done";
        let whole = ["--nodes=4", "--exclusive", "--job-name=$(id)", &saying];
        let victim = cluster.sbatch_as_nobody(&whole, script)?;
        cluster.wait_for_output("$(id)", "up", LIMIT)?;
        // An administrator's words, which go back to scontrol with Surgent's record, are no better.
        let note = format!("AdminComment=$({touch}) '`{touch}`");
        cluster.ask("scontrol", &["update", &format!("JobId={victim}"), &note])?;

        let urgent = urgent(cluster, "urgent", 4)?;
        cluster.wait_for("the victim to be asked", LIMIT, |cluster| {
            Ok(asked_for(cluster, victim)? == Some(urgent))
        })?;
        cluster.wait_for_state(urgent, "COMPLETED", 2 * LIMIT)?;
        // What is refused is told to the log and to the audit file, too.
        let forged = format!("--comment=urgency=x\nsurgent: gate open for job 1\n{line}");
        assert!(cluster.sbatch_as_nobody(&[&forged], "true").is_err());

        assert!(!mark.exists(), "a command was run");
        assert!(cluster.logged(&["surgent: gate open for job 1"]).is_none());
        let state = cluster.folder().join("state");
        let audit = crate::audit::wait_for_kind(cluster, "refused", 1)?;
        assert_eq!(audit.len(), 1);
        let stopped = crate::audit::wait_for_kind(cluster, "stopped", 1)?;
        let jobs: Vec<_> = stopped.iter().map(|line| line["job"].clone()).collect();
        assert_eq!(jobs, [victim.0], "and no other was");
        for (file, mode) in [
            ("surgent.state", 0o600),
            ("surgent.plans", 0o700),
            ("surgent.audit.jsonl", 0o640),
        ] {
            let found = fs::metadata(state.join(file)).map_err(|error| format!("{file}: {error}"))?;
            assert_eq!(
                found.mode() & 0o777 & !mode,
                0,
                "{file} has mode {:o}",
                found.mode()
            );
        }
        cluster.controller_is_well()
    })
}

/// Memory of slurmctld, in KiB.
fn memory_kib(cluster: &Cluster) -> Outcome<u64> {
    let read =
        |path: PathBuf| fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
    let pid = read(cluster.folder().join("slurmctld.pid"))?;
    let status = read(Path::new("/proc").join(pid.trim()).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| "slurmctld has no VmRSS".into())
}

/// A job without any pause between its reports, while an urgent job waits and so every report wakes the planner. It is asked
/// to save and never does, so it is not stopped. How many
/// reports a second slurmctld takes, and by how much it grows.
fn be_busy(cluster: &Cluster) -> Outcome<Option<(f64, u64)>> {
    let Some(attacker) = attacker(cluster)? else {
        return Ok(None);
    };
    let whole = ["--nodes=4", "--exclusive", "--job-name=busy"];
    let busy = cluster.sbatch_as_nobody(&whole, "trap '' USR1; echo up; sleep 100000")?;
    cluster.wait_for_output("busy", "up", LIMIT)?;
    urgent(cluster, "urgent", 4)?;
    let report = |count: u32| {
        attack(
            cluster,
            &attacker,
            &["report", &busy.to_string(), &count.to_string()],
        )
    };
    // What grows once, has grown then.
    report(REPORTS / 10)?;
    let (before, begin) = (memory_kib(cluster)?, Instant::now());
    for _ in 0..10 {
        report(REPORTS / 10)?;
    }
    let took_s = begin.elapsed().as_secs_f64();
    Ok(Some((
        f64::from(REPORTS) / took_s,
        memory_kib(cluster)?.saturating_sub(before),
    )))
}

#[test]
fn a_job_that_reports_all_the_time_costs_no_memory_and_no_disk() -> Outcome {
    on_cluster(ruled(""), |cluster| {
        let Some((per_s, grown_kib)) = be_busy(cluster)? else {
            return Ok(());
        };
        let state = cluster.folder().join("state");
        let size = |name: &str| fs::metadata(state.join(name)).map_or(0, |found| found.len());
        let (audit, kept) = (size("surgent.audit.jsonl"), size("surgent.state"));
        tell(&format!(
            "{REPORTS} reports of one job: {per_s:.0} a second, slurmctld grew by {grown_kib} KiB, audit file {audit} bytes, \
             state file {kept} bytes"
        ));
        assert!(grown_kib < 16 * 1024, "slurmctld grew by {grown_kib} KiB");
        assert!(audit < 64 * 1024 && kept < 64 * 1024, "{audit} and {kept} bytes");
        cluster.controller_is_well()
    })
}

/// Nobody else's job is changed by what somebody says.
#[test]
fn a_user_cannot_speak_for_the_job_of_another() -> Outcome {
    on_cluster(ruled(""), |cluster| {
        let Some(attacker) = attacker(cluster)? else {
            return Ok(());
        };
        let of_root = cluster.sbatch(&["--hold", "--comment=epochs=90 signal=USR1@batch"], "true")?;
        let number = of_root.to_string();
        for change in ["comment=saved=1764410000", "comment=urgent", "comment="] {
            assert!(
                attack(cluster, &attacker, &["update", &number, change]).is_err(),
                "{change}"
            );
        }
        assert_eq!(cluster.comment(JobId(of_root.0))?, "epochs=90 signal=USR1@batch");
        assert!(!is_urgent(cluster, &number)?);
        cluster.controller_is_well()
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What users write into `--comment`, as sbatch and scontrol answer it.

use crate::on_cluster;
use crate::scene::quick;
use crate::support::{Outcome, finish};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

#[test]
fn malformed_directives_are_refused_with_a_reason() -> Outcome {
    on_cluster(quick(), |cluster| {
        for (comment, named) in [
            ("urgency=urgnt", "urgnt"),
            ("epochs=-3", "epochs"),
            ("epoch=nan", "epoch"),
            ("signal=FOO", "FOO"),
            ("{\"epochs\": 12", "JSON"),
            ("{\"epochs\": \"many\"}", "epochs"),
        ] {
            let refusal = match cluster.sbatch(&[&format!("--comment={comment}")], "true") {
                Ok(job) => panic!("--comment={comment} was accepted as job {job}"),
                Err(refusal) => refusal.to_string(),
            };
            assert!(
                refusal.contains("surgent: ") && refusal.contains(named),
                "for {comment} sbatch said: {refusal}"
            );
        }
        cluster.controller_is_well()
    })
}

#[test]
fn a_malformed_change_is_refused_and_changes_nothing() -> Outcome {
    on_cluster(quick(), |cluster| {
        let job = cluster.sbatch(&["--hold", "--comment=epochs=12"], "true")?;
        let update = |comment: &str| {
            cluster.ask(
                "scontrol",
                &["update", &format!("JobId={job}"), &format!("Comment={comment}")],
            )
        };
        assert!(update("epochs=-3").is_err());
        assert_eq!(cluster.comment(job)?, "epochs=12");
        update("epochs=13 as I like")?;
        assert_eq!(cluster.comment(job)?, "epochs=13 as I like");
        cluster.controller_is_well()
    })
}

#[test]
fn free_text_and_random_bytes_are_accepted() -> Outcome {
    on_cluster(quick(), |cluster| {
        let text = "my run no. 7: lr=0.1, seed 3; see https://example.org/?a=b&c={d} 100% %s %n";
        let job = cluster.sbatch(&["--hold", &format!("--comment={text}")], "true")?;
        assert_eq!(cluster.comment(job)?, text);
        assert_eq!(cluster.job(job)?.get("AdminComment"), "");

        for seed in 1..=20 {
            let mut comment = b"--comment=".to_vec();
            comment.extend(noise(seed, 1024));
            let mut sbatch = cluster.command("sbatch");
            sbatch
                .arg("--hold")
                .arg(OsString::from_vec(comment))
                .arg("--wrap=true");
            finish(&mut sbatch, "sbatch with random bytes")?;
        }
        cluster.controller_is_well()
    })
}

/// Bytes that look random, none of them the NUL that no argument can hold. The same seed gives the same bytes.
fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next)
        .filter(|byte| *byte != 0)
        .take(count)
        .collect()
}

#[test]
fn a_job_without_directives_is_never_touched() -> Outcome {
    on_cluster(quick().conf("JobRequeue=0"), |cluster| {
        for arguments in [&["--hold"][..], &["--hold", "--comment=for the paper"]] {
            let job = cluster.job(cluster.sbatch(arguments, "true")?)?;
            assert_eq!(
                (job.get("Requeue"), job.get("AdminComment")),
                ("0", ""),
                "with {arguments:?}"
            );
        }
        Ok(())
    })
}

#[test]
fn a_job_with_directives_may_be_requeued_unless_its_user_says_otherwise() -> Outcome {
    on_cluster(quick().conf("JobRequeue=0"), |cluster| {
        for (arguments, requeue) in [
            (&["--hold", "--comment=epochs=12"][..], "1"),
            (&["--hold", "--comment=epochs=12", "--no-requeue"], "0"),
            (&["--hold", "--comment=epochs=12", "--requeue"], "1"),
        ] {
            let job = cluster.job(cluster.sbatch(arguments, "true")?)?;
            assert_eq!(job.get("Requeue"), requeue, "with {arguments:?}");
            assert!(
                job.get("AdminComment").starts_with("surgent{class=normal"),
                "{}",
                job.get("AdminComment")
            );
        }
        Ok(())
    })
}

#[test]
fn an_ordinary_user_may_be_urgent_but_not_write_the_record() -> Outcome {
    on_cluster(quick(), |cluster| {
        let job = cluster.sbatch_as_nobody(&["--hold", "--comment=urgency=urgent"], "true")?;
        assert!(
            cluster
                .job(job)?
                .get("AdminComment")
                .starts_with("surgent{class=urgent")
        );
        let mut scontrol = cluster.command_as_nobody("scontrol");
        scontrol.args([
            "update",
            &format!("JobId={job}"),
            "AdminComment=surgent{class=normal}",
        ]);
        assert!(finish(&mut scontrol, "scontrol").is_err());
        assert!(
            cluster
                .job(job)?
                .get("AdminComment")
                .starts_with("surgent{class=urgent")
        );
        Ok(())
    })
}

/// Slurm shows one request once for each record that it changes, with what was written into it for the last one.
#[test]
fn an_administrators_note_on_many_jobs_at_once_leaves_each_its_own_record() -> Outcome {
    on_cluster(quick(), |cluster| {
        let record = |task: u32| format!("surgent{{class=normal first={task} preempted={task}}}");
        let admin_comment = |job: &str| -> Outcome<String> {
            let show = cluster.ask("scontrol", &["show", "job", job])?;
            let mut lines = show.lines().map(str::trim);
            let text = lines.find_map(|line| line.strip_prefix("AdminComment="));
            Ok(text.unwrap_or_default().to_owned())
        };
        let update = |job: &str, text: &str| {
            let (job, text) = (format!("JobId={job}"), format!("AdminComment={text}"));
            cluster.ask("scontrol", &["update", &job, &text]).map(drop)
        };

        // Task 5 stays in the record of the array.
        let array = cluster.sbatch(&["--hold", "--array=1-5"], "true")?;
        let tasks = [1, 2, 3, 4, 5].map(|task| (task, format!("{array}_{task}")));
        for (task, job) in &tasks[..4] {
            // Each second one has no record, which must not get one either.
            let text = if task % 2 == 1 {
                record(*task)
            } else {
                "-".to_owned()
            };
            update(job, &text)?;
        }
        for note in ["checked by ops", "checked again"] {
            update(&array.to_string(), note)?;
            for (task, job) in &tasks {
                let expected = match task {
                    1 | 3 => format!("{} {note}", record(*task)),
                    _ => note.to_owned(),
                };
                assert_eq!(admin_comment(job)?, expected, "of task {task}");
            }
        }
        // A whole record is written as it is.
        update(&tasks[0].1, &record(7))?;
        assert_eq!(admin_comment(&tasks[0].1)?, record(7));

        let component = ["--hold", "--comment=epochs=9", "--nodes=1"];
        let leader = cluster.sbatch(&[&component[..], &[":"], &component[1..]].concat(), "true")?;
        let components = [(1, format!("{leader}+0")), (2, format!("{leader}+1"))];
        for (number, job) in &components {
            update(job, &record(*number))?;
        }
        update(&leader.to_string(), "for the demo")?;
        for (number, job) in &components {
            let expected = format!("{} for the demo", record(*number));
            assert_eq!(admin_comment(job)?, expected, "of {job}");
        }
        cluster.controller_is_well()
    })
}

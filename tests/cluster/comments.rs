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

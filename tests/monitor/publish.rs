// SPDX-License-Identifier: GPL-2.0-or-later
//! What is published in the job's comment.

use crate::bench::{Bench, parts};
use rustix::process::Signal;

const SAVEABLE: [&str; 2] = ["--save-signal", "USR1"];

#[test]
fn the_users_own_text_survives_byte_for_byte() {
    let text = b"line one\n  AdminComment=surgent{class=normal ask=1} \xff '\"$(x)\" signal=USR1@batch, end";
    let bench = Bench::in_job(text);
    let running = bench.train(&["--save-signal", "USR1", "--save", "epoch", "--epochs", "90"]);
    bench.until_comment_has("epochs=90");
    let comment = std::fs::read(bench.path("comment")).expect("it is there");
    let expected = [
        b"line one\n  AdminComment=surgent{class=normal ask=1} \xff '\"$(x)\" signal=URG@full, end"
            .as_slice(),
        b" save=epoch epochs=90",
    ];
    assert_eq!(
        String::from_utf8_lossy(&comment),
        String::from_utf8_lossy(&expected.concat())
    );
    assert_eq!(comment, expected.concat());
    drop(running);
}

#[test]
fn a_step_is_asked_as_a_step() {
    let bench = Bench::in_job("");
    let _running = bench.train_with(&SAVEABLE, |surgent| {
        surgent.env("SLURM_STEP_ID", "0").env("SLURM_PROCID", "0");
    });
    bench.until_comment_has("signal=URG@steps save=step");
}

#[test]
fn a_program_that_cannot_be_asked_says_so() {
    let bench = Bench::in_job("words");
    let _running = bench.train(&["--save-signal", "none"]);
    bench.until_comment_has("words save=none");
}

#[test]
fn progress_is_published_first_at_once_and_at_the_end() {
    let bench = Bench::in_job("");
    let running = bench.train_with(&[], |surgent| _ = surgent.env("SURGENT_MIN_INTERVAL_S", "3600"));
    bench.write("epoch", "1");
    bench.until_comment_has("epoch=1 epochs=90 at=");
    bench.write("epoch", "2");
    bench.until("it is reported", || !bench.path("epoch").exists());
    assert!(
        bench.read("comment").contains("epoch=1 "),
        "not within the interval"
    );
    bench.write("end", "");
    assert_eq!(running.end().0, 3);
    let comment = bench.read("comment");
    assert!(
        comment.contains("epoch=2 epochs=90") && comment.contains("epoch_s="),
        "{comment}"
    );
}

#[test]
fn slurmctld_may_be_away_for_a_while() {
    let bench = Bench::in_job("");
    bench.write("failures", "5");
    let running = bench.train(&SAVEABLE);
    bench.ask();
    running.signal_all(Signal::URG);
    bench.until_comment_has("saved=");
    bench.finish();
    let (code, _, err) = running.end();
    assert_eq!(code, 3);
    assert!(!err.contains("could not"), "{err}");
}

#[test]
fn a_slurmctld_that_hangs_does_not_hold_up_the_training() {
    let bench = Bench::in_job("");
    bench.command("scontrol", "#!/bin/sh\nexec sleep 1000\n");
    bench.command("squeue", "#!/bin/sh\nexec sleep 1000\n");
    let running = bench.train(&SAVEABLE);
    running.signal_all(Signal::URG);
    bench.until_story_has("asked");
    bench.finish();
    assert_eq!(running.end().0, 3);
}

#[test]
fn wrong_reports_are_named_and_change_nothing() {
    let bench = Bench::in_job("");
    let script = "printf '%s\\n' nonsense '{\"epoch\": 91, \"epochs\": 90}' '{\"saved\": \"/no/such\"}' \
                  '{\"epoch\": -1}' '{\"epoch\": 4, \"epochs\": 90}' >> $SURGENT_REPORT";
    let output = bench
        .surgent(&["run", "--", "sh", "-c", script])
        .output()
        .expect("surgent can be started");
    let (code, _, err) = parts(&output);
    assert_eq!(code, 0);
    assert_eq!(err.lines().count(), 3, "{err}");
    for part in ["nonsense", "epoch 91", "/no/such"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let comment = bench.read("comment");
    assert!(
        comment.contains("epoch=4 epochs=90") && !comment.contains("saved="),
        "{comment}"
    );
}

#[test]
fn a_job_that_was_finished_before_its_restart_ends_at_once() {
    let bench = Bench::in_job("epoch=90 epochs=90");
    let mut surgent = bench.surgent(&["run", "--", "touch", "ran"]);
    let (code, _, err) = parts(
        &surgent
            .env("SLURM_RESTART_COUNT", "1")
            .output()
            .expect("surgent can be started"),
    );
    assert_eq!(code, 0);
    assert!(err.contains("90") && err.lines().count() == 1, "{err}");
    assert!(!bench.path("ran").exists());
}

#[test]
fn a_job_that_was_not_finished_resumes() {
    let bench = Bench::in_job("epoch=89.5 epochs=90");
    let script = "echo $SURGENT_RESUME $SURGENT_RESTART_COUNT";
    let mut surgent = bench.surgent(&["run", "--", "sh", "-c", script]);
    let output = surgent
        .env("SLURM_RESTART_COUNT", "2")
        .output()
        .expect("surgent can be started");
    assert_eq!(parts(&output).1, "1 2\n");
}

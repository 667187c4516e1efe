// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent report`

use crate::bench::{Bench, now, parts};

fn report(bench: &Bench, args: &[&str]) -> (i32, String) {
    let args = [&["report"], args].concat();
    let (code, out, err) = parts(&bench.surgent(&args).output().expect("surgent can be started"));
    assert_eq!(out, "");
    (code, err)
}

#[test]
fn wrong_values_are_refused_with_a_sentence() {
    let bench = Bench::outside();
    let table: [(&[&str], &str); 9] = [
        (&[], "nothing to report"),
        (&["--epoch", "twelve"], "12/90"),
        (&["--epoch", "12/"], "12/90"),
        (&["--epoch", "nan"], "12/90"),
        (&["--epoch", "91/90"], "beyond the 90"),
        (&["--epoch", "1/2.5"], "whole number"),
        (&["--epoch", "1/90", "--epochs", "80"], "only one of them"),
        (&["--epochs", "0"], "whole number"),
        (&["--saved", "no/such/model"], "is not there"),
    ];
    for (args, part) in table {
        let (code, err) = report(&bench, args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(part), "{args:?}: {err}");
    }
}

#[test]
fn a_script_does_not_break_where_nobody_listens() {
    let bench = Bench::outside();
    let (code, err) = report(&bench, &["--epoch", "12/90"]);
    assert_eq!((code, err.lines().count()), (0, 1), "{err}");
    let mut surgent = bench.surgent(&["report", "--epoch", "1"]);
    let (code, _, err) = parts(
        &surgent
            .env("SURGENT_REPORT", "/no/such/file")
            .output()
            .expect("it starts"),
    );
    assert_eq!((code, err.lines().count()), (0, 1), "{err}");
}

#[test]
fn within_surgent_run_it_reaches_the_monitor() {
    let bench = Bench::in_job("");
    let script = format!(
        ": > model; {0} report --epoch 12/90 --saved model",
        env!("CARGO_BIN_EXE_surgent")
    );
    let run = bench
        .surgent(&["run", "--", "sh", "-c", &script])
        .output()
        .expect("surgent can be started");
    assert_eq!(parts(&run), (0, String::new(), String::new()));
    let comment = bench.read("comment");
    assert!(
        comment.contains("epoch=12 epochs=90") && comment.contains("saved="),
        "{comment}"
    );
}

#[test]
fn it_reaches_the_monitor_also_where_somebody_cleans_up() {
    let bench = Bench::in_job("");
    let script = format!(
        "rm -r \"${{SURGENT_REPORT%/*}}\"; until [ -e \"$SURGENT_REPORT\" ]; do sleep 0.1; done; {} report --epoch 12/90",
        env!("CARGO_BIN_EXE_surgent")
    );
    let run = bench.surgent(&["run", "--", "sh", "-c", &script]).output();
    let (code, out, err) = parts(&run.expect("surgent can be started"));
    assert_eq!((code, out.as_str()), (0, ""));
    assert!(
        err.contains("the file for reports was removed, and is there again"),
        "{err}"
    );
    let comment = bench.read("comment");
    assert!(comment.contains("epoch=12 epochs=90"), "{comment}");
}

#[test]
fn a_hand_written_trap_reports_straight_to_slurm() {
    let bench = Bench::in_job("mine signal=USR1@batch save=step");
    bench.write("model", "");
    // slurmctld's clock is ahead of this one.
    let asked = now() + 50;
    bench.write(
        "admin",
        format!(
            "surgent{{class=normal ask=99 asked={asked} deadline={}}}",
            asked + 60
        ),
    );
    bench.write("failures", "1");
    let (code, err) = report(&bench, &["--epoch", "12", "--epochs", "90", "--saved", "model"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let comment = bench.read("comment");
    assert!(
        comment.starts_with("mine signal=USR1@batch save=step "),
        "{comment}"
    );
    assert!(
        comment.contains(&format!("saved={asked} epoch=12 epochs=90")),
        "{comment}"
    );
}

#[test]
fn a_report_file_of_another_job_is_not_missed() {
    let bench = Bench::in_job("");
    let mut surgent = bench.surgent(&["report", "--epoch", "12/90"]);
    let output = surgent.env("SURGENT_REPORT", "/no/such/file").output();
    assert_eq!(
        parts(&output.expect("it starts")),
        (0, String::new(), String::new())
    );
    assert!(bench.read("comment").contains("epoch=12 epochs=90"));
}

#[test]
fn only_the_first_rank_of_a_step_reports() {
    let bench = Bench::in_job("");
    let mut surgent = bench.surgent(&["report", "--epoch", "12/90"]);
    surgent.env("SLURM_STEP_ID", "0").env("SLURM_PROCID", "3");
    assert_eq!(
        parts(&surgent.output().expect("it starts")),
        (0, String::new(), String::new())
    );
    assert_eq!(bench.read("updates"), "");
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What the looks took.

use crate::common::{Look, Sdiag, looks, rss_mib};
use crate::fill::Size;
use crate::support::{Cluster, Outcome};
use std::time::Duration;

/// A look comes every second; this is for so many of them, and more.
const LIMIT_PER_LOOK: Duration = Duration::from_secs(10);
/// squeue is asked so many times.
const QUESTIONS: usize = 5;

/// Has Surgent look `count` times, and prints what that took.
pub fn print(cluster: &Cluster, size: Size, count: u32) -> Outcome {
    println!("Asking slurmctld for all jobs {QUESTIONS} times.");
    for _ in 0..QUESTIONS {
        cluster.ask("squeue", &["-h", "-r", "-o", "%i"])?;
    }
    // By slurmctld's own account.
    let question_ms = Sdiag::ask(cluster)?.rpc("REQUEST_JOB_INFO")?.average_us() / 1e3;
    let rss_before_mib = rss_mib(cluster)?;

    cluster.ask("scontrol", &["setdebug", "debug"])?;
    // No job may be stopped, as all are still being started. So it is looked for a set of victims every second.
    println!("An urgent job is submitted; {count} looks are waited for.");
    let job = [
        "-N1",
        "--exclusive",
        "--gres=gpu:a100:4",
        "-p",
        "c0",
        "-o",
        "/dev/null",
    ];
    let rest = ["--comment=urgency=urgent", "--wrap", "sleep 1"];
    cluster.ask("sbatch", &[&job[..], &rest[..]].concat())?;
    let limit = LIMIT_PER_LOOK * count;
    let seen = cluster.wait_until("looks in the log", limit, |cluster| {
        let seen = looks(&cluster.log());
        Ok((seen.len() >= count as usize).then_some(seen))
    })?;
    let rss_after_mib = rss_mib(cluster)?;

    println!("\n  nodes    jobs   looks");
    println!("{:7} {:7} {:7}", size.nodes, size.jobs(), seen.len());
    println!(
        "\n                                least    median      most   (ms; x: of slurmctld's time for one squeue)"
    );
    row("under Slurm's locks", &seen, question_ms, |look| {
        look.under_locks_ms
    });
    row("in the longest hold", &seen, question_ms, |look| {
        look.longest_hold_ms
    });
    row("to read what was copied", &seen, question_ms, |look| look.read_ms);
    row("to decide", &seen, question_ms, |look| look.decided_ms);
    println!("\nslurmctld's time for one squeue: {question_ms:.1} ms");
    println!(
        "slurmctld's memory: {rss_before_mib} MiB before the first look, {rss_after_mib} MiB after the last"
    );
    Ok(())
}

fn row(what: &str, looks: &[Look], question_ms: f64, of: impl Fn(&Look) -> f64) {
    let mut times: Vec<f64> = looks.iter().map(of).collect();
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    println!(
        "{what:26} {:9.2} {median:9.2} {:9.2}   ({:.2} x)",
        times[0],
        times[times.len() - 1],
        median / question_ms
    );
}

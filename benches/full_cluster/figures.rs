// SPDX-License-Identifier: GPL-2.0-or-later
//! What the looks took.

use crate::fill::Size;
use crate::support::{Cluster, Outcome};
use std::fs;
use std::time::Duration;

/// A look comes every second; this is for so many of them, and more.
const LIMIT_PER_LOOK: Duration = Duration::from_secs(10);
/// squeue is asked so many times.
const QUESTIONS: usize = 5;

/// One look, in milliseconds, as slurmctld's log has it.
struct Look {
    under_locks_ms: f64,
    longest_hold_ms: f64,
    read_ms: f64,
    decided_ms: f64,
}

/// Has Surgent look `looks` times, and prints what that took.
pub fn print(cluster: &Cluster, size: Size, looks: u32) -> Outcome {
    println!("Asking slurmctld for all jobs {QUESTIONS} times.");
    for _ in 0..QUESTIONS {
        cluster.ask("squeue", &["-h", "-r", "-o", "%i"])?;
    }
    let question_ms = job_info_ms(cluster)?;
    let rss_before_mib = rss_mib(cluster)?;

    cluster.ask("scontrol", &["setdebug", "debug"])?;
    // No job may be stopped, as all are still being started. So it is looked for a set of victims every second.
    println!("An urgent job is submitted; {looks} looks are waited for.");
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
    let limit = LIMIT_PER_LOOK * looks;
    let seen = cluster.wait_until("looks in the log", limit, |cluster| {
        let seen: Vec<Look> = cluster.log().iter().filter_map(|line| look(&line.text)).collect();
        Ok((seen.len() >= looks as usize).then_some(seen))
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

/// Of a line such as "debug:  surgent: looked at 8 nodes and 9 running jobs: 0.00 ms until …, 1.23 ms under them, …; the locks
/// were had 3 times, 0.70 ms at most".
fn look(line: &str) -> Option<Look> {
    let times = line.split_once("surgent: looked at ")?.1.split_once(": ")?.1;
    let (times, holds) = times.split_once("; ")?;
    let longest = holds.split_once(", ")?.1.split_once(" ms ")?.0;
    let mut times = times
        .split(", ")
        .map(|part| part.split_once(" ms ")?.0.parse().ok());
    let _waited: f64 = times.next()??;
    Some(Look {
        under_locks_ms: times.next()??,
        longest_hold_ms: longest.parse().ok()?,
        read_ms: times.next()??,
        decided_ms: times.next()??,
    })
}

/// How long slurmctld takes on average to answer a request for all jobs, by its own account.
fn job_info_ms(cluster: &Cluster) -> Outcome<f64> {
    let answer = cluster.ask("sdiag", &[])?;
    // REQUEST_JOB_INFO ( 2003) count:5 ave_time:56789 total_time:283945
    let line = answer.lines().find(|line| line.contains("REQUEST_JOB_INFO "));
    let average = line.and_then(|line| line.split_once("ave_time:")?.1.split_whitespace().next());
    let average_us: Option<f64> = average.and_then(|number| number.parse().ok());
    average_us
        .map(|us| us / 1e3)
        .ok_or_else(|| format!("sdiag does not say how long requests for jobs take:\n{answer}").into())
}

fn rss_mib(cluster: &Cluster) -> Outcome<u64> {
    let read = |path: &std::path::Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let pid = read(&cluster.folder().join("slurmctld.pid"))?;
    let status = read(format!("/proc/{}/status", pid.trim()).as_ref())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    Ok(kib.ok_or("slurmctld's memory is not known")? / 1024)
}

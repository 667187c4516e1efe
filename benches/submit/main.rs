// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-submit`: what a submission takes slurmctld, by its own account (sdiag), with no job_submit plugin, with
//! job_submit/lua doing the same classification, and with Surgent.
//!
//! Three clusters run at the same time and have their turn in each round: what else the machine does meets all alike.
//! SURGENT_BENCH_ROUNDS is the number of rounds (20), SURGENT_BENCH_SUBMISSIONS that of submissions to each in a round (15).

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

mod figures;

use figures::{Rounds, Spent};
use std::env;
use std::process::ExitCode;
use support::{Cluster, Outcome, Preempt};

/// What jobs say: nothing, what a training says, and that it is urgent.
const COMMENTS: [&str; 3] = [
    "",
    "epochs=90 save=step save_s=20 signal=USR1@batch",
    "urgency=urgent",
];

/// How a cluster's submissions are looked at.
struct Contender {
    name: &'static str,
    cluster: Cluster,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-submit: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let rounds = number("SURGENT_BENCH_ROUNDS", 20)?;
    let submissions = number("SURGENT_BENCH_SUBMISSIONS", 15)?;
    println!("Starting three clusters: nothing, lua, surgent.");
    let contenders = [
        contender("nothing", "# no plugin", Preempt::Nothing)?,
        contender("lua", "JobSubmitPlugins=lua", Preempt::Nothing)?,
        contender("surgent", "JobSubmitPlugins=surgent", Preempt::Surgent)?,
    ];
    let mut spent = Rounds::new(contenders.each_ref().map(|contender| contender.name));
    println!("{rounds} rounds of {submissions} submissions to each.");
    for contender in &contenders {
        // The first ones are slower with everybody.
        submit(&contender.cluster, submissions)?;
    }
    for round in 0..rounds {
        let mut of_round = [Spent::default(); 3];
        // Each is the first as often as the others.
        for turn in 0..contenders.len() {
            let at = (round as usize + turn) % contenders.len();
            of_round[at] = submit(&contenders[at].cluster, submissions)?;
        }
        spent.push(of_round);
    }
    spent.print();
    Ok(())
}

fn contender(name: &'static str, plugins: &str, preempt: Preempt) -> Outcome<Contender> {
    // Nothing else is to be done meanwhile: the jobs are held, and backfill does not look.
    let cluster = Cluster::builder()
        .preempt(preempt)
        .conf(plugins)
        .conf("SchedulerParameters=bf_interval=3600")
        .file("job_submit.lua", include_str!("job_submit.lua"))
        .start()?;
    Ok(Contender { name, cluster })
}

/// Submits jobs of all kinds in turn, and takes them back.
fn submit(cluster: &Cluster, submissions: u32) -> Outcome<Spent> {
    let before = figures::spent(cluster)?;
    for comment in COMMENTS.iter().cycle().take(submissions as usize) {
        let comment = format!("--comment={comment}");
        cluster.ask(
            "sbatch",
            &["--hold", &comment, "-o", "/dev/null", "--wrap", "true"],
        )?;
    }
    let after = figures::spent(cluster)?;
    cluster.ask("scancel", &["--state=PENDING"])?;
    let spent = after - before;
    match spent.submissions == u64::from(submissions) {
        true => Ok(spent),
        false => Err(format!(
            "sdiag counts {} submissions instead of {submissions}",
            spent.submissions
        )
        .into()),
    }
}

fn number(variable: &str, default: u32) -> Outcome<u32> {
    match env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{variable}={text:?} is not a number above 0").into())
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-submit`: what a submission takes slurmctld, by its own account (sdiag), with no job_submit plugin, with
//! job_submit/lua doing the same classification, with Surgent's job_submit alone, and with all of Surgent.
//!
//! Four clusters run at the same time and have their turn in each round: what else the machine does meets all alike.
//! SURGENT_BENCH_ROUNDS is the number of rounds (60); in each, every cluster gets five submissions of each kind.

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

mod figures;

use figures::{Seen, Spent};
use std::env;
use std::process::ExitCode;
use support::{Cluster, Outcome, Preempt};

/// What jobs are, and what their comments say. Urgent ones come last: while they wait the planner looks at them.
const KINDS: [(&str, &str); 3] = [
    ("no comment", ""),
    ("a training", "epochs=90 save=step save_s=20 signal=USR1@batch"),
    ("urgent", "urgency=urgent"),
];
/// Submissions of each kind in a round.
const OF_EACH: usize = 5;

/// How a cluster's submissions are looked at.
struct Contender {
    name: &'static str,
    cluster: Cluster,
    /// By kind.
    spent: [Spent; KINDS.len()],
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
    let rounds = rounds()?;
    println!("Starting four clusters.");
    let mut contenders = [
        contender("nothing", "# no plugin", Preempt::Nothing)?,
        contender("lua", "JobSubmitPlugins=lua", Preempt::Nothing)?,
        // Without the planner, which looks at the cluster when an urgent job comes.
        contender(
            "hook only",
            "JobSubmitPlugins=surgent\nPreemptType=preempt/none\nPreemptMode=OFF",
            Preempt::Surgent,
        )?,
        contender("surgent", "JobSubmitPlugins=surgent", Preempt::Surgent)?,
    ];
    println!(
        "{rounds} rounds of {} submissions to each.",
        OF_EACH * KINDS.len()
    );
    for round in 0..rounds {
        // Each is the first as often as the others.
        for turn in 0..contenders.len() {
            let at = (round + turn) % contenders.len();
            submit(&mut contenders[at])?;
        }
    }
    let seen: Vec<Seen> = contenders
        .iter()
        .map(|contender| Seen::read(contender.name, &contender.cluster, &contender.spent, OF_EACH))
        .collect::<Outcome<_>>()?;
    figures::print(&seen, KINDS.map(|(name, _)| name));
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
    Ok(Contender {
        name,
        cluster,
        spent: Default::default(),
    })
}

/// Submits jobs of each kind, and takes them back.
fn submit(contender: &mut Contender) -> Outcome {
    let cluster = &contender.cluster;
    for ((_, comment), spent) in KINDS.iter().zip(&mut contender.spent) {
        let comment = format!("--comment={comment}");
        let before = figures::spent(cluster)?;
        for _ in 0..OF_EACH {
            cluster.ask(
                "sbatch",
                &["--hold", &comment, "-o", "/dev/null", "--wrap", "true"],
            )?;
        }
        *spent = *spent + (figures::spent(cluster)? - before);
    }
    cluster.ask("scancel", &["--state=PENDING"]).map(drop)
}

fn rounds() -> Outcome<usize> {
    const VARIABLE: &str = "SURGENT_BENCH_ROUNDS";
    match env::var(VARIABLE) {
        Err(_) => Ok(60),
        Ok(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.ok_or_else(|| format!("{VARIABLE}={text:?} is not a number above 0").into())
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `make bench-submit`: what a submission takes slurmctld, by its own account (sdiag), with no job_submit plugin, with
//! job_submit/lua doing the same classification, with Surgent's job_submit alone, and with all of Surgent.
//!
//! Four clusters run at the same time and have their turn in each round: what else the machine does meets all alike.
//! SURGENT_BENCH_ROUNDS is the number of rounds (60); in each, every cluster gets five submissions of each kind.

#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the cluster tests use the rest")]
mod support;

#[path = "../common/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other benches use the rest")]
mod common;

mod figures;

use common::{Rpc, Sdiag, number};
use figures::Seen;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    spent: [Rpc; KINDS.len()],
}

fn main() -> ExitCode {
    common::run("bench-submit", run)
}

fn run(interrupted: Arc<AtomicBool>) -> Outcome {
    let rounds = number("SURGENT_BENCH_ROUNDS", 60)? as usize;
    println!("Starting four clusters.");
    let contender = |name, plugins, preempt| contender(name, plugins, preempt, Arc::clone(&interrupted));
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
            if interrupted.load(Ordering::Relaxed) {
                return Err("interrupted".into());
            }
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

fn contender(
    name: &'static str,
    plugins: &str,
    preempt: Preempt,
    interrupted: Arc<AtomicBool>,
) -> Outcome<Contender> {
    // Nothing else is to be done meanwhile: the jobs are held, and backfill does not look.
    let cluster = Cluster::builder()
        .preempt(preempt)
        .conf(plugins)
        .conf("SchedulerParameters=bf_interval=3600")
        .file("job_submit.lua", include_str!("job_submit.lua"))
        .interrupted_by(interrupted)
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
        let before = submissions(cluster)?;
        for _ in 0..OF_EACH {
            cluster.ask(
                "sbatch",
                &["--hold", &comment, "-o", "/dev/null", "--wrap", "true"],
            )?;
        }
        *spent = *spent + (submissions(cluster)? - before);
    }
    cluster.ask("scancel", &["--state=PENDING"]).map(drop)
}

/// All submissions since slurmctld was started.
fn submissions(cluster: &Cluster) -> Outcome<Rpc> {
    Sdiag::ask(cluster)?.rpc("REQUEST_SUBMIT_BATCH_JOB")
}

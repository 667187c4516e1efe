// SPDX-License-Identifier: GPL-2.0-or-later
//! An hour of random submissions on a real cluster with compressed times, and whether slurmctld is then as it was.
//!
//! `SURGENT_SOAK_S` seconds (3,600) of them after the warm-up, from the seed `SURGENT_SOAK_SEED` (1); with
//! `SURGENT_SOAK_PLUGINS=off` the same without Surgent, and nobody is stopped: what Slurm itself does.

#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;

mod audit;
mod figures;
mod jobs;
mod judge;
mod log;
mod process;
mod site;
mod traffic;
mod watch;

use process::Process;
use std::thread;
use std::time::{Duration, Instant};
use support::{Cluster, Outcome, leftovers, number, tell};
use traffic::Traffic;
use watch::Watch;

const TICK: Duration = Duration::from_secs(1);
/// After which slurmctld has what it needs: threads, and memory for as many jobs as there will be at any time.
const WARM_UP_S: u64 = 180;
/// The longest training takes two minutes, Slurm makes one that was requeued wait for two, and a dozen wait for each other.
const DRAINED_IN: Duration = Duration::from_secs(1200);
/// Slurm looks each minute for jobs to forget.
const FORGOTTEN_IN: Duration = Duration::from_secs(300);

#[test]
#[ignore = "takes an hour: make soak"]
fn after_an_hour_of_use_slurmctld_is_as_it_was() -> Outcome {
    let lasts_s = number("SURGENT_SOAK_S", 3600)?;
    let seed = number("SURGENT_SOAK_SEED", 1)?;
    let with_surgent = std::env::var("SURGENT_SOAK_PLUGINS").as_deref() != Ok("off");
    tell(&format!(
        "{lasts_s} s of use from the seed {seed}, with Surgent {}",
        if with_surgent { "on" } else { "off" }
    ));
    let cluster = site::start(with_surgent)?;
    let urgent_options = if with_surgent { &[] } else { site::URGENT_WITHOUT };
    let mut soak = Soak {
        traffic: Traffic::new(seed, site::surgent(&cluster), urgent_options),
        watch: Watch::new(),
        with_surgent,
        cluster,
    };
    soak.submit_for(Duration::from_secs(WARM_UP_S.min(lasts_s)))?;
    // The end shows that all end by themselves; this is but for the figures.
    soak.cluster.ask("scancel", &["--state=PENDING"])?;
    soak.traffic.awaited.clear();
    let before = soak.drain()?;
    let first_row = soak.watch.rows.len();
    tell("Idle after the warm-up; going on.");
    soak.submit_for(Duration::from_secs(lasts_s))?;
    let rows = first_row..soak.watch.rows.len();
    let after = soak.drain()?;

    judge::tell_memory(&before, &after, &soak.watch.rows[rows]);
    judge::tell_latencies(&soak.traffic);
    tell(&format!(
        "Done to jobs by their users: {}",
        soak.traffic.disturbances
    ));
    tell(&format!(
        "Complaints in slurmctld's log: {:#?}",
        soak.watch.log.complaints
    ));
    let mut wrong = judge::process(&before, &after);
    wrong.extend(soak.watch.log.faults.iter().cloned());
    if with_surgent {
        wrong.extend(judge::work(&soak.watch.log, &soak.traffic));
        wrong.extend(judge::stops(&soak.cluster, &soak.watch.log)?);
    }
    soak.cluster.stop_controller()?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n").into()),
    }
}

struct Soak {
    traffic: Traffic,
    watch: Watch,
    with_surgent: bool,
    cluster: Cluster,
}

impl Soak {
    fn submit_for(&mut self, time: Duration) -> Outcome {
        let begun = Instant::now();
        while begun.elapsed() < time {
            let tick = Instant::now();
            self.traffic.tick(&self.cluster)?;
            self.watch.tick(&self.cluster, &self.traffic)?;
            thread::sleep(TICK.saturating_sub(tick.elapsed()));
        }
        Ok(())
    }

    /// Waits until all jobs have ended, by themselves, and slurmctld has forgotten them; what it is like then.
    fn drain(&mut self) -> Outcome<Process> {
        self.traffic.stop(&self.cluster);
        self.wait_for_no_job("every job to end", &[], DRAINED_IN)?;
        self.traffic.stop(&self.cluster);
        self.wait_for_no_job("slurmctld to forget every job", &["-t", "all"], FORGOTTEN_IN)?;
        let leaked = leftovers::leaked_gpus(&self.cluster)?;
        if !leaked.is_empty() {
            tell(&format!("Slurm's own: {}", leaked.join("; ")));
        }
        if self.with_surgent {
            if let Some(plans) = leftovers::plans(&self.cluster.state()) {
                return Err(plans.into());
            }
            leftovers::wait_until_gone(&self.cluster)?;
        }
        self.watch.log.read(&self.cluster);
        let mut least = Process::of_controller(&self.cluster)?;
        // Without those that come and go: a connection from a node, say.
        for _ in 0..20 {
            thread::sleep(TICK);
            let now = Process::of_controller(&self.cluster)?;
            least = Process {
                threads: now.threads.min(least.threads),
                files: now.files.min(least.files),
                ..now
            };
        }
        Ok(least)
    }

    fn wait_for_no_job(&mut self, what: &str, which: &[&str], limit: Duration) -> Outcome {
        let begun = Instant::now();
        loop {
            let jobs = self.cluster.ask("squeue", &[&["-h"], which].concat())?;
            if jobs.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > limit {
                let sentence = format!("waited {} s in vain for {what}:\n{jobs}", limit.as_secs());
                return Err(self.cluster.with_logs(sentence));
            }
            self.watch.tick(&self.cluster, &self.traffic)?;
            thread::sleep(TICK);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A cluster for as many rounds as go well on it; after one that did not, another.

use crate::field::Field;
use crate::rounds::damage::{clock_environment, set_clock};
use crate::rounds::round::Round;
use crate::rounds::settings;
use crate::rounds::tally::Verdict;
use crate::story;
use crate::strike::write_wrappers;
use crate::support::{Cluster, Failure, Outcome};
use tempfile::TempDir;

/// See above.
#[derive(Default)]
pub struct Site(Option<(Cluster, TempDir)>);

const STATE_MIB: u32 = 32;

impl Site {
    pub fn play(&mut self, round: &Round) -> Verdict {
        if round.fault.wants_root() && !rustix::process::geteuid().is_root() {
            return Verdict::Skipped("not root: StateSaveLocation cannot be a file system of its own");
        }
        let (mut cluster, commands) = match self.0.take().map_or_else(start, Ok) {
            Ok(site) => site,
            Err(failure) => return Verdict::Violated(format!("no cluster: {failure}")),
        };
        if round.fault.steps_clock() {
            let Some(environment) = clock_environment(cluster.folder()) else {
                self.0 = Some((cluster, commands));
                return Verdict::Skipped("libfaketime is not installed");
            };
            if let Err(failure) = start_again(&mut cluster, environment) {
                return Verdict::Violated(failure.to_string());
            }
        }
        let mut field = Field::new(&mut cluster, round, commands.path());
        let played = story::play(&mut field);
        let (story, remarks) = (field.story(), std::mem::take(&mut field.remarks));
        let (log, audit) = (field.log(), field.audit());
        let ended = match &played {
            Ok(_) if round.fault.steps_clock() => start_again(&mut cluster, Vec::new()),
            _ => Ok(()),
        };
        match played.and_then(|struck| ended.map(|()| struck)) {
            Ok(struck) => {
                // A slurmctld that has forgotten a job gives its number to another.
                if remarks.is_empty() {
                    self.0 = Some((cluster, commands));
                }
                struck.map_or_else(Verdict::Missed, |()| Verdict::Well(remarks))
            }
            Err(failure) => Verdict::Violated(tale(&cluster, round, &failure, &story, &log, &audit)),
        }
    }
}

fn tale(cluster: &Cluster, round: &Round, failure: &Failure, story: &str, log: &str, audit: &str) -> String {
    let ask = |name: &str, words: &[&str]| {
        cluster
            .ask(name, words)
            .unwrap_or_else(|failure| failure.to_string())
    };
    let jobs = ask("scontrol", &["show", "job", "-o", "-d"]);
    let of_round = format!("JobName=r{}-", round.seed);
    let jobs: String = jobs
        .lines()
        .filter(|line| line.contains(&of_round))
        .map(|line| format!("\n{line}"))
        .collect();
    let letters = ["a", "b", "c", "d", "urgent"];
    let outputs = letters.map(|letter| {
        let name = format!("r{}-{letter}", round.seed);
        format!("\n{name}: {}", cluster.output(&name))
    });
    let nodes = ask("sinfo", &["-N", "-o", "%N %T %C %E"]) + &ask("scontrol", &["show", "reservation", "-o"]);
    format!(
        "{}\nThe story:{story}\nslurmctld.log since the round began:\n{log}\nThe audit file:\n{audit}\nJobs:{jobs}\nNodes:\n{nodes}\nOutputs:{}",
        failure.to_string().lines().next().unwrap_or_default(),
        outputs.concat(),
    )
}

fn start() -> Outcome<(Cluster, TempDir)> {
    let commands = tempfile::tempdir().map_err(|error| error.to_string())?;
    write_wrappers(commands.path())?;
    let mut builder = Cluster::builder()
        .toml(&settings(commands.path()))
        .conf("SchedulerParameters=batch_sched_delay=0,bf_interval=2")
        .conf("PartitionName=other Nodes=ALL");
    if rustix::process::geteuid().is_root() {
        builder = builder.state_mib(STATE_MIB);
    }
    Ok((builder.start()?, commands))
}

/// slurmctld with other variables in its environment.
fn start_again(cluster: &mut Cluster, environment: Vec<(String, String)>) -> Outcome {
    set_clock(cluster.folder(), 0)?;
    cluster.stop_controller()?;
    cluster.set_controller_env(environment);
    cluster.start_controller()
}

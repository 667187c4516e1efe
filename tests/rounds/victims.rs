// SPDX-License-Identifier: GPL-2.0-or-later
//! The jobs of a round. A victim writes down, in a file that outlives it, when each run of it began, was asked, had
//! saved; it trains until a file tells it to end.

use crate::rounds::round::{Round, Shape, VictimPlan};
use crate::rounds::sight::Event;
use crate::support::{Cluster, JobId, Outcome, places};
use std::fs;

/// A submitted victim.
#[derive(Clone, Debug)]
pub struct Victim {
    pub name: String,
    pub id: JobId,
}

impl Victim {
    /// What it has written down so far.
    pub fn events(&self, cluster: &Cluster) -> Vec<Event> {
        let file = cluster.work().join(format!("{}.events", self.name));
        let text = fs::read_to_string(file).unwrap_or_default();
        let event = |line: &str| {
            let (run, kind) = line.split_once(' ')?;
            Some(Event {
                run: run.parse().ok()?,
                kind: kind.to_owned(),
            })
        };
        text.lines().filter_map(event).collect()
    }

    pub fn is_up(&self, cluster: &Cluster, run: u32) -> bool {
        let events = self.events(cluster);
        events.iter().any(|event| event.run == run && event.kind == "up")
    }

    /// Slurm's own: a slurmd that looks at its steps in the moment before slurmstepd listens takes the job's script for a
    /// left-over and removes it (`_handle_stray_script`), and the job fails. What is to be said of that.
    pub fn lost_script(&self, cluster: &Cluster) -> Option<String> {
        let output = cluster.output(&self.name);
        let lost =
            output.contains("execve(): ") && output.contains("slurm_script: No such file or directory");
        lost.then(|| format!("Slurm has removed the script of job {}", self.id))
    }

    /// Has it end well, or badly.
    pub fn end(&self, cluster: &Cluster, how: &str) -> Outcome {
        let file = cluster.work().join(format!("{}.{how}", self.name));
        fs::write(&file, "").map_err(|error| format!("{}: {error}", file.display()).into())
    }
}

/// Trains, and does `tell` once a save is done.
fn program(name: &str, save_s: f64, tell: &str) -> String {
    format!(
        r#"run=${{SLURM_RESTART_COUNT:-0}}
note() {{ echo "$run $1" >> {name}.events; }}
save() {{
    note asked
    sleep {save_s}
    at=$(date +%s)
    note saved
    {tell}
}}
trap save USR1
note up
while [ ! -e {name}.end ]; do
    [ ! -e {name}.fail ] || exit 1
    sleep 0.2
done"#
    )
}

/// Says it until slurmctld has heard it.
const BY_TRAP: &str = r#"for try in $(seq 200); do
        scontrol update JobId=$SLURM_JOB_ID Comment="signal=USR1@batch saved=$at" && break
        sleep 0.3
    done"#;

const BY_REPORT: &str = r#"echo '{"saved": true}' >> "$SURGENT_REPORT""#;

pub fn submit_victim(cluster: &Cluster, name: &str, plan: &VictimPlan) -> Outcome<Victim> {
    let (job_name, nodes) = (format!("--job-name={name}"), format!("--nodes={}", plan.nodes));
    let mut arguments = vec!["--exclusive", "--gres=gpu:4", "--requeue", &job_name, &nodes];
    let script = if plan.monitored {
        let surgent = places::surgent()?.display().to_string();
        let text = program(name, plan.save_s, BY_REPORT);
        let file = cluster.work().join(format!("{name}.sh"));
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        format!("'{surgent}' run --save-signal USR1 -- bash {name}.sh")
    } else {
        arguments.push("--comment=signal=USR1@batch save=step");
        program(name, plan.save_s, BY_TRAP)
    };
    Ok(Victim {
        name: name.to_owned(),
        id: cluster.sbatch(&arguments, &script)?,
    })
}

/// Submits the urgent job; the numbers of all its parts that have one by then.
pub fn submit_urgent(cluster: &Cluster, round: &Round) -> Outcome<Vec<JobId>> {
    let name = format!("--job-name={}", urgent_name(round));
    let whole = ["--exclusive", "--gres=gpu:4"];
    let first = [&name, "--comment=urgency=urgent", whole[0], whole[1]];
    let (arguments, parts): (Vec<&str>, u32) = match round.shape {
        Shape::Plain(1) => ([&first[..], &["--nodes=1"]].concat(), 1),
        Shape::Plain(2) => ([&first[..], &["--nodes=2"]].concat(), 1),
        Shape::Plain(_) => ([&first[..], &["--nodes=3"]].concat(), 1),
        Shape::Array => ([&first[..], &["--nodes=1", "--array=1-2"]].concat(), 1),
        Shape::Het => {
            let second = [":", "--nodes=1", "--exclusive", "--gres=gpu:4"];
            ([&first[..], &["--nodes=1"], &second].concat(), 2)
        }
    };
    let leader = cluster.sbatch(&arguments, "echo urgent runs; sleep 1.5")?;
    Ok((0..parts).map(|part| JobId(leader.0 + part)).collect())
}

pub fn urgent_name(round: &Round) -> String {
    format!("r{}-urgent", round.seed)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What is asked: about which job, in which cluster.

use super::options::Submission;
use super::{Args, permission, submitted};
use crate::cli::cluster::{Cluster, SettingsFrom, Source};
use crate::cli::job_name::JobName;
use crate::cli::status::words::visible;
use crate::policy::admission::urgent_priority;
use crate::policy::directives::Urgency;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::party::Party;
use crate::policy::record::Record;
use crate::slurm::command::Environment;
use crate::slurm::show::SeenJob;
use crate::slurm::show::places::Places;
use serde::Serialize;

/// So many urgent jobs are named where the one that was asked for is not there.
const NAMED_MAX: usize = 10;

/// What a job was taken for. The names are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AsIf {
    /// It waits, and is not urgent.
    Urgent,
    /// It does not exist.
    Submitted,
}

/// The cluster with an urgent job in it that waits.
pub(super) struct Question {
    pub cluster: Cluster,
    /// Which.
    pub id: JobId,
    /// `None` for an urgent job that waits.
    pub as_if: Option<AsIf>,
}

impl Question {
    /// The one that `args` ask.
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let settings = args.settings.as_deref();
        match (&args.snapshot, args.job) {
            (Some(file), job) => {
                let cluster = Cluster::of_snapshot(file, settings)?;
                let in_file = |sentence: String| format!("{}: {sentence}", file.display());
                match job {
                    Some(job) => {
                        let id = waiting(&cluster.seen.facts, job.number()).map_err(in_file)?.id();
                        Ok(Self {
                            cluster,
                            id,
                            as_if: None,
                        })
                    }
                    None => Self::submitted(cluster, &args.submission, None),
                }
            }
            (None, Some(job)) => Self::waiting_in_cluster(job, args),
            (None, None) => {
                let environment = environment();
                let (cluster, places) = Cluster::read_as(&environment, settings, &|_| false)?;
                Self::submitted(cluster, &args.submission, Some(&places))
            }
        }
    }

    fn submitted(mut cluster: Cluster, asked: &Submission, places: Option<&Places>) -> Result<Self, String> {
        let id = submitted::submit(asked, &mut cluster.seen.facts, places)?;
        Ok(Self {
            cluster,
            id,
            as_if: Some(AsIf::Submitted),
        })
    }

    fn waiting_in_cluster(job: JobName, args: &Args) -> Result<Self, String> {
        let as_urgent = |seen: &SeenJob| job.is_of(seen);
        let (mut cluster, _) = Cluster::read_as(&environment(), args.settings.as_deref(), &as_urgent)?;
        let found = job.find(&cluster.seen);
        let seen = found.ok_or_else(|| format!("Slurm knows no job {job}; squeue shows those that wait"))?;
        let was_urgent = Record::is_urgent_fast(&seen.admin_comment);
        let Some(party) = Party::of(&cluster.seen.facts, seen.id) else {
            return Err(format!(
                "job {job} does not wait (it is {}); there are plans for jobs that wait. See surgent explain {job}",
                visible(&seen.state)
            ));
        };
        let id = party.id();
        if !was_urgent {
            for job in &mut cluster.seen.facts.waiting {
                if job.id == id || job.het.is_some_and(|het| het.leader == id) {
                    job.priority = urgent_priority(job.het.is_some());
                    job.record.get_or_insert(Record::new(Urgency::Urgent)).class = Urgency::Urgent;
                }
            }
        }
        Ok(Self {
            cluster,
            id,
            as_if: (!was_urgent).then_some(AsIf::Urgent),
        })
    }

    /// Looks at who may be urgent, as the planner does before it plans. What a snapshot has was looked at before.
    pub(super) fn permit(&mut self) {
        if self.cluster.source != Source::Snapshot {
            if self.cluster.settings_from == SettingsFrom::Defaults {
                let sentence = "surgent.toml is not here or cannot be used, so its defaults are assumed";
                self.cluster.notes.push(sentence.to_owned());
            }
            permission::review(&mut self.cluster, self.id);
        }
    }
}

fn environment() -> Environment {
    Environment::of_user(std::env::vars_os())
}

/// The urgent job, with all components if it is one of a heterogeneous job; or a sentence that says why it is none.
fn waiting(facts: &Facts, id: JobId) -> Result<Party<'_>, String> {
    if let Some(found) = Party::of(facts, id) {
        return Ok(found);
    }
    let what = if facts.job(id).is_some() {
        format!("job {id} runs; there are plans for urgent jobs that wait")
    } else if facts.parked.iter().any(|job| job.id == id) {
        format!("job {id} is not urgent; there are plans for urgent jobs only")
    } else {
        format!("there is no job {id}")
    };
    let waiting = facts.waiting.iter().take(NAMED_MAX).map(|job| job.id.to_string());
    let waiting: Vec<String> = waiting.collect();
    Err(match waiting.is_empty() {
        true => format!("{what}; no urgent job waits in this snapshot"),
        false => format!("{what}; urgent jobs that wait here: {}", waiting.join(", ")),
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What there is to say of a job.

use super::exposure::{Exposure, exposure};
use super::history::{History, Started};
use crate::cli::cluster::Cluster;
use crate::cli::plan::prospects;
use crate::cli::plan::verdict::Prospect;
use crate::cli::who::Who;
use crate::policy::advance::saved;
use crate::policy::cost::Cost;
use crate::policy::directives::{self, Urgency};
use crate::policy::eligibility::due_runtime_s;
use crate::policy::ids::{JobId, UserId};
use crate::policy::party::Party;
use crate::policy::record::Record;
use crate::policy::units::{Seconds, UnixTime};
use serde::Serialize;

/// The version of the JSON. It changes when a field changes its meaning, not when one is added.
const VERSION: u32 = 1;

/// What `--json` prints.
#[derive(Serialize)]
pub(super) struct Explanation {
    pub version: u32,
    pub at: UnixTime,
    #[serde(flatten)]
    pub who: Who,
    /// Slurm's word, such as `RUNNING`; in a snapshot only whether it runs or waits.
    pub state: String,
    /// Why it waits or ended, in Slurm's words.
    pub reason: Option<String>,
    pub class: Urgency,
    /// When this run began, of a job that runs.
    pub start: Option<UnixTime>,
    /// Where it runs, as Slurm abbreviates it.
    pub nodes: Option<String>,
    /// Of an urgent job that waits: what will become of it, for each task of an array.
    pub outlook: Vec<Outcome>,
    /// Of these, whom it waits for.
    pub awaited: Vec<Awaited>,
    /// Of an urgent job: its last start, as the audit file tells it.
    pub started: Option<Started>,
    /// Of an urgent job: who made way for it.
    pub displaced: Vec<Displaced>,
    /// Of a job that is asked to make way now.
    pub asked: Option<Awaited>,
    /// Of a job that was stopped for an urgent one: the last time.
    pub preempted: Option<Preempted>,
    /// Of a normal job that runs.
    pub exposure: Option<Exposure>,
    /// What keeps this from being the whole picture.
    pub notes: Vec<String>,
}

/// What is decided for an urgent job.
#[derive(Serialize)]
pub(super) struct Outcome {
    pub node_names: Vec<String>,
    #[serde(flatten)]
    pub prospect: Prospect,
}

/// A job that is asked to make way.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Awaited {
    pub job: JobId,
    pub urgent: JobId,
    pub asked: UnixTime,
    pub deadline: UnixTime,
    /// When it had saved.
    pub saved: Option<UnixTime>,
    /// It is asked to save; else it is stopped without.
    pub saves: bool,
}

/// A job that made way.
#[derive(Debug, Serialize)]
pub(super) struct Displaced {
    pub job: JobId,
    pub stopped: UnixTime,
    /// Whether it had saved; `null` where that is not known.
    pub had_saved: Option<bool>,
}

/// The last time that a job was stopped for an urgent one.
#[derive(Debug, Serialize)]
pub(super) struct Preempted {
    /// How often it has been by now.
    pub times: u32,
    pub by: Option<JobId>,
    pub by_user: Option<UserId>,
    pub stopped: Option<UnixTime>,
    /// Whether it had saved; `null` where that is not known.
    pub had_saved: Option<bool>,
    /// What it was to cost, by the plan that chose it; only the audit file tells.
    pub cost: Option<Cost>,
    pub cost_gpu_s: Option<f64>,
    /// How long it is left alone once it runs again, or from its start on.
    pub left_alone_s: Seconds,
    /// What is left of that, of a job that runs.
    pub still_left_alone_s: Option<Seconds>,
}

/// Why a waiting job that is normal is so although its comment asks for more. `is_judged`: Surgent has looked at it.
fn unheard(id: JobId, state: &str, comment: &[u8], is_judged: bool) -> Option<String> {
    let asked = directives::parse(comment).ok()?.urgency;
    if state != "PENDING" || asked != Some(Urgency::Urgent) {
        return None;
    }
    Some(match is_judged {
        true => {
            "its comment asks for urgency=urgent, and [admission] in surgent.toml does not let it be urgent"
                .to_owned()
        }
        false => format!(
            "its comment asks for urgency=urgent, and Surgent has not looked at that: it was off or not loaded when the job \
             was submitted; `scontrol update JobId={id} Comment=urgency=urgent` has it looked at"
        ),
    })
}

/// All that is to be said of `id`; `None` where there is no such job. `gap`: why the audit file could not be read.
pub(super) fn explain(
    cluster: &Cluster,
    id: JobId,
    history: &History,
    gap: Option<String>,
) -> Option<Explanation> {
    let facts = &cluster.seen.facts;
    let seen = cluster.seen.job(id);
    let running = facts.job(id);
    let parked = facts.parked.iter().find(|job| job.id == id);
    let party = Party::of(facts, id);
    let record = record(cluster, id);
    let known = seen.is_some() || running.is_some() || parked.is_some() || party.is_some();
    if !known && history.stops.is_empty() && history.started.is_none() {
        return None;
    }
    let who = match (seen, running) {
        (Some(seen), _) => Who::seen(seen),
        (None, Some(running)) => Who::running(running),
        (None, None) => Who::unknown(id),
    };
    let state = match seen {
        Some(seen) => seen.state.clone(),
        None if running.is_some() => "RUNNING".to_owned(),
        None if known => "PENDING".to_owned(),
        None => "FORGOTTEN".to_owned(),
    };
    let class = record.as_ref().map_or(Urgency::Normal, |record| record.class);
    // Those that wait are among the facts because they are urgent.
    let is_urgent = class == Urgency::Urgent || history.started.is_some() || party.is_some();
    let outlook = party.as_ref().map(|party| outlook(cluster, party.id()));
    let preempted = preempted(cluster, id, record.as_ref(), history);
    let displaced = match is_urgent {
        true => displaced(cluster, id, history),
        false => Vec::new(),
    };
    let mut notes = cluster.notes.clone();
    let unheard = seen.and_then(|seen| unheard(id, &seen.state, &seen.comment, record.is_some()));
    notes.extend(unheard.filter(|_| !is_urgent));
    notes.extend(gap.filter(|_| preempted.is_some() || (is_urgent && running.is_some())));
    Some(Explanation {
        version: VERSION,
        at: facts.now,
        who,
        state,
        reason: seen.and_then(|seen| seen.reason.clone()),
        class: if is_urgent { Urgency::Urgent } else { class },
        start: running.map(|job| job.start),
        nodes: nodes(cluster, id),
        outlook: outlook.unwrap_or_default(),
        awaited: party.map_or_else(Vec::new, |party| awaited(cluster, party.id())),
        started: history.started,
        displaced,
        asked: asked(cluster, id),
        preempted,
        exposure: running
            .filter(|job| !job.is_urgent())
            .map(|job| exposure(job, facts, &cluster.book, &cluster.settings)),
        notes,
    })
}

/// Surgent's record of a job, wherever it stands.
fn record(cluster: &Cluster, id: JobId) -> Option<Record> {
    let facts = &cluster.seen.facts;
    let running = || facts.job(id).and_then(|job| job.record.clone());
    let waiting = || facts.waiting.iter().find(|job| job.id == id)?.record.clone();
    let parked = || facts.parked.iter().find(|job| job.id == id)?.record.clone();
    let seen = || Record::read(&cluster.seen.job(id)?.admin_comment);
    running().or_else(waiting).or_else(parked).or_else(seen)
}

fn nodes(cluster: &Cluster, id: JobId) -> Option<String> {
    if let Some(seen) = cluster.seen.job(id) {
        return Some(seen.nodes.clone()).filter(|nodes| !nodes.is_empty());
    }
    let facts = &cluster.seen.facts;
    let holdings = facts.job(id)?.holdings.iter();
    Some(facts.node_names(holdings.map(|holding| holding.node)).join(","))
}

fn outlook(cluster: &Cluster, id: JobId) -> Vec<Outcome> {
    let facts = &cluster.seen.facts;
    let prospects = prospects(facts, &cluster.book, &cluster.settings, id).into_iter();
    let outcomes = prospects.map(|prospect| Outcome {
        node_names: facts.node_names(prospect.verdict.nodes().iter().copied()),
        prospect,
    });
    outcomes.collect()
}

/// Who is asked to make way for `urgent`.
fn awaited(cluster: &Cluster, urgent: JobId) -> Vec<Awaited> {
    all_asked(cluster)
        .filter(|asked| asked.urgent == urgent)
        .collect()
}

/// The request to `job`, if there is one.
fn asked(cluster: &Cluster, job: JobId) -> Option<Awaited> {
    all_asked(cluster).find(|asked| asked.job == job)
}

fn all_asked(cluster: &Cluster) -> impl Iterator<Item = Awaited> {
    let facts = &cluster.seen.facts;
    let campaigns = cluster.book.campaigns.iter().filter(|campaign| campaign.claims());
    campaigns.flat_map(move |campaign| {
        campaign.active().map(move |asked| Awaited {
            job: asked.job,
            urgent: campaign.urgent,
            asked: asked.asked,
            deadline: asked.deadline,
            saved: saved(facts, asked),
            saves: asked.signal.is_some(),
        })
    })
}

/// Who made way for `urgent`: by the audit file, else by the records of those that Slurm still knows.
fn displaced(cluster: &Cluster, urgent: JobId, history: &History) -> Vec<Displaced> {
    let told = history.stops.iter().filter(|stop| stop.urgent == urgent);
    let mut displaced: Vec<Displaced> = told
        .map(|stop| Displaced {
            job: stop.job,
            stopped: stop.at,
            had_saved: Some(stop.saved.is_some()),
        })
        .collect();
    let facts = &cluster.seen.facts;
    let seen = cluster
        .seen
        .jobs
        .iter()
        .map(|job| (job.id, Record::read(&job.admin_comment)));
    let running = facts.running.iter().map(|job| (job.id, job.record.clone()));
    let parked = facts.parked.iter().map(|job| (job.id, job.record.clone()));
    for (job, record) in seen.chain(running).chain(parked) {
        let Some(record) = record.filter(|record| record.by == Some(urgent)) else {
            continue;
        };
        if !displaced.iter().any(|one| one.job == job) {
            displaced.push(Displaced {
                job,
                stopped: record.stopped.unwrap_or(UnixTime(0)),
                had_saved: record.saved,
            });
        }
    }
    displaced
}

fn preempted(cluster: &Cluster, id: JobId, record: Option<&Record>, history: &History) -> Option<Preempted> {
    let stop = history.last_stop();
    let times = record.map_or(0, |record| record.preempted);
    if stop.is_none() && times == 0 {
        return None;
    }
    let by = stop
        .map(|stop| stop.urgent)
        .or_else(|| record.and_then(|record| record.by));
    let cost = stop.and_then(|stop| history.cost(stop));
    let left_alone_s = due_runtime_s(times, &cluster.settings.victims);
    let facts = &cluster.seen.facts;
    let ran_s = facts.job(id).map(|job| facts.now - job.start);
    Some(Preempted {
        times: times.max(u32::from(stop.is_some())),
        by,
        by_user: by.and_then(|by| history.user(by)),
        stopped: stop
            .map(|stop| stop.at)
            .or_else(|| record.and_then(|record| record.stopped)),
        had_saved: stop
            .map(|stop| stop.saved.is_some())
            .or_else(|| record.and_then(|record| record.saved)),
        cost,
        cost_gpu_s: cost.map(|cost| cost.total_gpu_s()),
        left_alone_s,
        still_left_alone_s: ran_s.map(|ran_s| Seconds((left_alone_s.0 - ran_s.0).max(0.0))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_asked_in_vain_is_told_so() {
        let told = |state, comment: &[u8], is_judged| unheard(JobId(7), state, comment, is_judged);
        let urgent = b"urgency=urgent";
        let new = told("PENDING", urgent, false).unwrap();
        assert!(
            new.contains("`scontrol update JobId=7 Comment=urgency=urgent`"),
            "{new}"
        );
        assert!(told("PENDING", urgent, true).unwrap().contains("[admission]"));
        assert_eq!(told("RUNNING", urgent, false), None);
        assert_eq!(told("PENDING", b"urgency=normal", false), None);
        assert_eq!(told("PENDING", b"urgent please", false), None);
    }
}

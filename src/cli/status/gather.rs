// SPDX-License-Identifier: GPL-2.0-or-later
//! From the cluster to what is shown of it. What is believed, what stopping a job costs and what protects it is asked of
//! the code that decides.

use super::report::{Plan, Report, Stage, State, Training, Urgent, VERSION, Victim, VictimState};
use crate::cli::cluster::Cluster;
use crate::cli::who::Who;
use crate::policy::advance::{same_run, saved};
use crate::policy::belief::Belief;
use crate::policy::book::{Asked, Campaign, Phase, Stance};
use crate::policy::demand::Demand;
use crate::policy::directives::{self, Directives};
use crate::policy::eligibility::Refusal;
use crate::policy::facts::{Facts, RunningJob, WaitingJob};
use crate::policy::ids::JobId;
use crate::policy::outlook::{Outlook, PricedWays, cheapest};
use crate::policy::party::Party;
use crate::policy::record::Record;
use crate::slurm::show::SeenJob;
use std::collections::{BTreeMap, BTreeSet};

/// All that there is to show; `silent_too`: also running jobs that say nothing to Surgent.
pub(super) fn gather(cluster: &Cluster, silent_too: bool) -> Report {
    let facts = &cluster.seen.facts;
    let urgent = waiting(cluster).chain(running(cluster)).collect();
    let plans = cluster
        .book
        .campaigns
        .iter()
        .map(|campaign| plan(cluster, campaign));
    let (training, silent) = trainings(cluster, silent_too);
    Report {
        version: VERSION,
        cluster: cluster.name.clone(),
        at: facts.now,
        source: cluster.source,
        settings: cluster.settings_from,
        mode: cluster.settings.mode,
        notes: cluster.notes.clone(),
        urgent,
        plans: plans.collect(),
        training,
        silent,
    }
}

fn who(cluster: &Cluster, job: JobId) -> Who {
    let seen = cluster.seen.job(job).map(Who::seen);
    let running = || cluster.seen.facts.job(job).map(Who::running);
    seen.or_else(running).unwrap_or_else(|| Who::unknown(job))
}

fn waiting(cluster: &Cluster) -> impl Iterator<Item = Urgent> {
    let facts = &cluster.seen.facts;
    let mut parties = Party::all(facts);
    parties.sort_by_key(Party::place_in_queue);
    parties.into_iter().map(move |party| {
        let id = party.id();
        let campaign = cluster.book.campaigns_of(id).next();
        let job = party.leader();
        let first = job.record.as_ref().and_then(|record| record.first);
        let seen = cluster.seen.job(id);
        let gpus = |job: &WaitingJob| facts.gres.total_of(&Demand::of(&job.request).total, "gpu");
        let who = who(cluster, id);
        Urgent {
            who: Who {
                user_id: who.user_id.or(job.request.user),
                ..who
            },
            state: State::Waiting,
            submitted: first.unwrap_or(job.submit),
            start: None,
            node_count: party.components().iter().map(|job| job.request.min_nodes).sum(),
            gpus: party.components().iter().map(|job| gpus(job)).sum(),
            nodes: campaign.map_or_else(Vec::new, |campaign| {
                facts.node_names(campaign.nodes.iter().copied())
            }),
            tasks: party.tasks(),
            reason: seen.and_then(|seen| seen.reason.clone()),
            hindrance: party.hindrance().filter(|_| party.is_blocked()),
            stage: campaign.map(|campaign| stage(campaign, facts)),
            said: cluster.book.said.get(&id).cloned(),
        }
    })
}

fn running(cluster: &Cluster) -> impl Iterator<Item = Urgent> {
    let facts = &cluster.seen.facts;
    facts.running.iter().filter(|job| job.is_urgent()).map(|job| {
        let first = job.record.as_ref().and_then(|record| record.first);
        Urgent {
            who: who(cluster, job.id),
            state: own_state(job),
            submitted: first.or(job.submit).unwrap_or(job.start),
            start: Some(job.start),
            node_count: node_count(job),
            gpus: facts.gres.total_of(&job.held(), "gpu"),
            nodes: facts.node_names(job.holdings.iter().map(|holding| holding.node)),
            tasks: 1,
            reason: None,
            hindrance: None,
            stage: None,
            said: None,
        }
    })
}

fn node_count(job: &RunningJob) -> u32 {
    u32::try_from(job.holdings.len()).unwrap_or(u32::MAX)
}

/// How far a campaign is, by its phase and what the facts show: where nobody has the book, the phase is not known.
fn stage(campaign: &Campaign, facts: &Facts) -> Stage {
    let waits = Party::of(facts, campaign.urgent).is_some();
    let has_saved =
        |asked: &Asked| same_run(facts, asked).is_none() || asked.ready() || saved(facts, asked).is_some();
    match campaign.phase {
        Phase::GivenUp { .. } => Stage::GivenUp,
        Phase::Releasing { .. } => Stage::WindingUp,
        _ if !waits => Stage::WindingUp,
        Phase::Open { .. } | Phase::Requeued { .. } => Stage::Stopping,
        Phase::Saving if campaign.active().all(has_saved) => Stage::Saved,
        Phase::Saving => Stage::Saving,
    }
}

fn plan(cluster: &Cluster, campaign: &Campaign) -> Plan {
    let facts = &cluster.seen.facts;
    let victims = campaign.victims.iter().map(|asked| Victim {
        who: who(cluster, asked.job),
        state: victim_state(asked, facts),
        asked: asked.asked,
        deadline: asked.deadline,
        saved: saved(facts, asked),
        signal: asked.signal.map(|signal| signal.to_string()),
    });
    Plan {
        urgent: campaign.urgent,
        stage: stage(campaign, facts),
        nodes: facts.node_names(campaign.nodes.iter().copied()),
        victims: victims.collect(),
        missed: campaign.missed.clone(),
    }
}

fn victim_state(asked: &Asked, facts: &Facts) -> VictimState {
    if same_run(facts, asked).is_none() {
        let is_there = facts.job(asked.job).is_some() || facts.parked.iter().any(|job| job.id == asked.job);
        return match is_there {
            true => VictimState::Requeued,
            false => VictimState::Ended,
        };
    }
    match (asked.stance, saved(facts, asked), asked.signal) {
        (Stance::LetOff, ..) => VictimState::LetOff,
        (Stance::Victim, Some(_), _) => VictimState::Saved,
        (Stance::Victim, None, None) => VictimState::Unasked,
        (Stance::Victim, None, Some(_)) if facts.now > asked.deadline => VictimState::Late,
        (Stance::Victim, None, Some(_)) => VictimState::Saving,
    }
}

/// Jobs that are not urgent and speak to Surgent, and how many run that do not.
fn trainings(cluster: &Cluster, silent_too: bool) -> (Vec<Training>, usize) {
    let facts = &cluster.seen.facts;
    let outlook = Outlook::new(facts, &cluster.settings);
    let makes_way: BTreeMap<JobId, (JobId, bool)> = cluster
        .book
        .campaigns
        .iter()
        .flat_map(|campaign| campaign.active().map(|asked| (campaign.urgent, asked)))
        .filter(|(_, asked)| same_run(facts, asked).is_some())
        .map(|(urgent, asked)| (asked.job, (urgent, saved(facts, asked).is_some())))
        .collect();
    let jobs = facts
        .running
        .iter()
        .zip(outlook.beliefs())
        .zip(outlook.ways(false));
    let normal = jobs.filter(|((job, _), _)| !job.is_urgent());
    let (speaking, silent): (Vec<_>, Vec<_>) = normal.partition(|((job, _), _)| silent_too || speaks(job));
    let rows = speaking.into_iter().map(|((job, belief), ways)| Training {
        who: who(cluster, job.id),
        ..training(cluster, job, belief, ways, makes_way.get(&job.id).copied())
    });
    let ids: BTreeSet<JobId> = facts.running.iter().map(|job| job.id).collect();
    let queued = cluster.seen.jobs.iter().filter(|job| !ids.contains(&job.id));
    (
        rows.chain(queued.filter_map(queued_training)).collect(),
        silent.len(),
    )
}

/// Whether it has anything to do with Surgent. A comment that cannot be read was meant to be read.
fn speaks(job: &RunningJob) -> bool {
    job.record.is_some() || job.directives.is_none_or(|directives| !directives.is_empty())
}

fn own_state(job: &RunningJob) -> State {
    match (job.traits.completing, job.traits.suspended) {
        (true, _) => State::Completing,
        (false, true) => State::Suspended,
        (false, false) => State::Running,
    }
}

fn training(
    cluster: &Cluster,
    job: &RunningJob,
    belief: &Belief,
    ways: &Result<PricedWays, Refusal>,
    makes_way: Option<(JobId, bool)>,
) -> Training {
    let facts = &cluster.seen.facts;
    let told = job.directives.unwrap_or_default();
    let held = job.held();
    let cheapest = ways.as_ref().ok().and_then(cheapest);
    let progress = belief.progress.as_ref();
    Training {
        who: Who::running(job),
        state: match (own_state(job), makes_way) {
            (State::Running, Some((_, false))) => State::Saving,
            (State::Running, Some((_, true))) => State::Saved,
            (state, _) => state,
        },
        start: Some(job.start),
        node_count: node_count(job),
        gpus: facts.gres.total_of(&held, "gpu"),
        cpus: held.cpus,
        epoch: progress.map(|progress| progress.epoch),
        epochs: told.epochs,
        epoch_s: progress.map(|progress| progress.epoch_s),
        left_s: progress.and_then(|progress| progress.left_s()),
        reported: told.at,
        report_age_s: told.at.map(|at| facts.now - at),
        saved: belief.saved,
        disbelief: belief.disbelief.to_vec(),
        cost_gpu_s: cheapest.map(|cost| cost.total_gpu_s()),
        ready_s: cheapest.map(|cost| cost.ready_s),
        protected_by: ways.as_ref().err().copied(),
        makes_way_for: makes_way.map(|(urgent, _)| urgent),
        preempted: job.record.as_ref().map_or(0, |record| record.preempted),
    }
}

/// A waiting job that has trained, or has been asked about: its report is of an earlier run.
fn queued_training(job: &SeenJob) -> Option<Training> {
    if job.state != "PENDING" && job.state != "REQUEUED" {
        return None;
    }
    let told = directives::parse(&job.comment).unwrap_or_default();
    let record = Record::read(&job.admin_comment);
    let class = record.as_ref().map(|record| record.class);
    if class == Some(directives::Urgency::Urgent) || (told == Directives::default() && record.is_none()) {
        return None;
    }
    Some(Training {
        who: Who::seen(job),
        state: State::Waiting,
        start: None,
        node_count: job.node_count,
        gpus: 0,
        cpus: 0,
        epoch: told.epoch,
        epochs: told.epochs,
        epoch_s: told.epoch_s,
        left_s: None,
        reported: told.at,
        report_age_s: None,
        saved: told.saved,
        disbelief: Vec::new(),
        cost_gpu_s: None,
        ready_s: None,
        protected_by: None,
        makes_way_for: None,
        preempted: record.map_or(0, |record| record.preempted),
    })
}

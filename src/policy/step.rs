// SPDX-License-Identifier: GPL-2.0-or-later
//! One step of all campaigns: facts and book in, new book and actions out.
//!
//! A step may be taken as often as one likes, at any moment, also after slurmctld was killed half-way: what has to
//! be done follows from what the facts show, not from what was done before.

use super::admission::urgent_priority;
use super::adopt::adopt;
use super::advance::{Advance, GIVEN_UP_S, RELEASING_MAX_S, RESTART_AFTER_S, behind_gate, release, say};
use super::ahead::{Ahead, FreePlaces, is_untested};
use super::book::{Action, Asked, Book, Campaign, Fitting, Phase, Promotion};
use super::decision::{Decision, Listener};
use super::directives::Urgency;
use super::eligibility::Refusal;
use super::facts::{Facts, PlaceInQueue, WaitingJob};
use super::fit::Ledger;
use super::het::{is_as_it_was, start_max_s};
use super::ids::{JobId, NodeIndex};
use super::notes;
use super::outlook::Outlook;
use super::party::Party;
use super::plan::{Constraints, Outcome, Plan};
use super::queue;
use super::round::{Round, Standstill};
use super::settings::{Mode, Settings};
use super::turn::{self, Turn};
use super::units::{Seconds, UnixTime};
use super::waits;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// While an urgent job fits, the scheduler is nudged this often.
const NUDGE_EVERY_S: Seconds = Seconds(2.0);
/// Slurm may have its own mind about a job's priority; it is told again no sooner than after this.
const PROMOTE_EVERY_S: Seconds = Seconds(60.0);
/// An urgent job that Slurm leaves waiting although it fits: from then on, nudges are as rare as this.
const NUDGE_SELDOM_EVERY_S: Seconds = Seconds(30.0);

/// Urgent jobs are planned for in one step until that has taken so many looks at nodes: half a second to one and a half.
const LOOKS_MAX: u64 = 3_000_000;

/// Takes one step.
pub fn step(book: &mut Book, facts: &Facts, settings: &Settings) -> Vec<Action> {
    step_and_tell(book, facts, settings, &mut |_| {})
}

/// Takes one step, and tells `listener` of each plan that was asked for.
pub fn step_and_tell(
    book: &mut Book,
    facts: &Facts,
    settings: &Settings,
    listener: &mut Listener<'_>,
) -> Vec<Action> {
    step_within(LOOKS_MAX, book, facts, settings, listener)
}

/// The same where urgent jobs are planned for until that has taken `looks_max` looks at nodes, the others in the next steps.
pub fn step_within(
    looks_max: u64,
    book: &mut Book,
    facts: &Facts,
    settings: &Settings,
    listener: &mut Listener<'_>,
) -> Vec<Action> {
    let mut actions = Vec::new();
    adopt(book, facts);
    book.stops.watch(facts);
    if settings.mode == Mode::On {
        actions.extend(reclass(facts));
        promote(book, facts, settings, &mut actions);
    } else {
        // What was begun before the mode changed is called off.
        for campaign in &mut book.campaigns {
            release(campaign, facts.now, &mut actions);
        }
    }

    let outlook = Outlook::new(facts, settings).up_to(looks_max);
    let parties = Party::all(facts);
    let mut ledger = Ledger::of(facts);
    wind_up_served(book, facts, &mut actions);
    // Those come first whose turn it is: what their victims have left is theirs, also while it is empty. So it is with the
    // tasks of one array.
    book.campaigns.sort_by_key(|campaign| {
        let its_turn = turn::is_on(campaign.phase, facts.now);
        let leaving = matches!(campaign.phase, Phase::Open { .. });
        (!its_turn, queue_position(facts, campaign.urgent), !leaving)
    });
    let being_served = being_served(book, &parties, facts.now, settings);
    let (mut ahead, mut free) = (Ahead::new(book, &parties, facts.now), FreePlaces::default());
    // Whoever has to wait for these comes behind them.
    let mut turns = Vec::new();
    for at in 0..book.campaigns.len() {
        if !turn::is_on(book.campaigns[at].phase, facts.now) {
            let position = queue_position(facts, book.campaigns[at].urgent);
            ahead.set_aside(&book.campaigns[at], position, &mut ledger, &mut free);
        }
        let barred = claimed(&book.campaigns, Some(at));
        let mut advance = Advance {
            facts,
            parties: &parties,
            turns: &turns,
            restart_after: book.restart_after,
            being_served: &being_served,
            settings,
            outlook: &outlook,
            ledger: &mut ledger,
            free: &mut free,
            stops: &mut book.stops,
            said: &mut book.said,
            actions: &mut actions,
            listener: &mut *listener,
        };
        advance.campaign(&mut book.campaigns[at], barred);
        turns.extend(Turn::of(&book.campaigns[at], facts.now));
    }
    book.campaigns
        .retain(|campaign| !is_over(campaign, &parties, facts.now));

    if settings.mode != Mode::Off {
        begin(
            book,
            &outlook,
            &parties,
            free,
            &mut ledger,
            &mut actions,
            listener,
        );
    }
    if settings.mode != Mode::Shadow {
        waits::show(book, facts, &mut actions);
    }
    forget_gone(book, facts);
    book.restart_after = book
        .restart_after
        .filter(|after| facts.now - *after < RESTART_AFTER_S);
    book.tries.let_rest(&mut actions, facts.now);
    open_gates(book, facts, &mut actions);
    actions
}

/// The gates that are to be open, before all other actions: whoever is nudged is to find them so.
fn open_gates(book: &Book, facts: &Facts, actions: &mut Vec<Action>) {
    let mut gates: BTreeMap<JobId, Vec<(JobId, UnixTime)>> = BTreeMap::new();
    for campaign in &book.campaigns {
        if matches!(campaign.phase, Phase::Open { .. }) {
            let victims = behind_gate(campaign, facts);
            gates.entry(campaign.urgent).or_default().extend(victims);
        }
    }
    // The tasks of an array have a gate in common; one of them may have been served.
    actions.retain(|action| !matches!(action, Action::ShutGate { urgent } if gates.contains_key(urgent)));
    let open = gates
        .into_iter()
        .map(|(urgent, victims)| Action::OpenGate { urgent, victims });
    actions.splice(0..0, open);
}

/// For each task of an array that waits there is one campaign at most; of more, those are wound up whose victims are
/// gone, as a task runs in their place.
fn wind_up_served(book: &mut Book, facts: &Facts, actions: &mut Vec<Action>) {
    for job in &facts.waiting {
        let mut in_progress: Vec<usize> = (0..book.campaigns.len())
            .filter(|at| book.campaigns[*at].urgent == job.id && book.campaigns[*at].claims())
            .collect();
        in_progress.sort_by_key(|at| behind_gate(&book.campaigns[*at], facts).len());
        let surplus = in_progress.len().saturating_sub(job.tasks.max(1) as usize);
        for at in in_progress.into_iter().take(surplus) {
            say(&mut book.said, actions, job.id, notes::task_started(job.id));
            release(&mut book.campaigns[at], facts.now, actions);
        }
    }
}

/// Whether nothing is left to do or to wait for, so that no other step is needed soon. Who made way a moment ago may still be
/// watched.
pub fn is_idle(book: &Book, facts: &Facts) -> bool {
    book.campaigns.is_empty() && Party::all(facts).iter().all(Party::is_blocked)
}

fn reclass(facts: &Facts) -> impl Iterator<Item = Action> {
    facts.parked.iter().filter_map(|job| {
        let class = job.record.as_ref().map(|record| record.class);
        let asked = job.record.as_ref().and_then(|record| record.ask);
        let wanted = job.wanted?;
        (asked.is_none() && class != Some(wanted)).then_some(Action::Reclass {
            job: job.id,
            class: wanted,
            held: job.held,
            place: urgent_priority(job.het),
        })
    })
}

/// Urgent jobs that are about to start: others make way for them, or they fit and Slurm has the word.
fn being_served(book: &Book, parties: &[Party<'_>], now: UnixTime, settings: &Settings) -> BTreeSet<JobId> {
    let campaigns = book.campaigns.iter().filter(|campaign| campaign.claims());
    let fits = |party: &&Party<'_>| {
        let fitting = book.fitting.get(&party.id());
        fitting.is_some_and(|fitting| now - fitting.since <= start_max_s(party, settings))
    };
    let fitting = parties.iter().filter(fits).map(Party::id);
    campaigns.map(|campaign| campaign.urgent).chain(fitting).collect()
}

/// Who does not wait any more comes last.
fn queue_position(facts: &Facts, urgent: JobId) -> PlaceInQueue {
    let waiting = facts.waiting.iter().find(|job| job.id == urgent);
    waiting.map_or((Reverse(0), urgent), WaitingJob::place_in_queue)
}

/// The jobs that make way in campaigns other than number `except`.
fn claimed(campaigns: &[Campaign], except: Option<usize>) -> BTreeMap<JobId, Refusal> {
    campaigns
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != except)
        // Who is let off counts until it has been told: two commands about one job must not overtake each other.
        .flat_map(|(_, campaign)| &campaign.victims)
        .map(|asked| (asked.job, Refusal::Claimed))
        .collect()
}

fn is_over(campaign: &Campaign, parties: &[Party<'_>], now: UnixTime) -> bool {
    match campaign.phase {
        Phase::Saving | Phase::Open { .. } | Phase::Requeued { .. } => false,
        Phase::GivenUp { .. } if is_as_it_was(campaign, parties) => false,
        Phase::Releasing { since } => campaign.victims.is_empty() || now - since > RELEASING_MAX_S,
        Phase::GivenUp { since } => {
            let in_vain_s = now - since;
            in_vain_s > GIVEN_UP_S && campaign.victims.is_empty() || in_vain_s > GIVEN_UP_S + RELEASING_MAX_S
        }
    }
}

/// Looks after the urgent jobs for which nobody makes way yet: as many as there are looks for, but always the first one, and one
/// more than in the step before.
fn begin(
    book: &mut Book,
    outlook: &Outlook<'_>,
    parties: &[Party<'_>],
    mut free: FreePlaces,
    ledger: &mut Ledger,
    actions: &mut Vec<Action>,
    listener: &mut Listener<'_>,
) {
    let Outlook { facts, settings, .. } = *outlook;
    for party in parties {
        let id = party.id();
        let in_campaign = book.campaigns_of(id).next().is_some();
        if let Some(hindrance) = party.hindrance().filter(|_| !in_campaign) {
            say(&mut book.said, actions, id, notes::blocked(id, hindrance));
        }
    }
    let mut waiting: Vec<&Party<'_>> = parties
        .iter()
        .filter(|party| !party.is_blocked())
        .flat_map(|party| std::iter::repeat_n(party, unserved(book, party)))
        .collect();
    waiting.sort_by_key(|party| party.place_in_queue());
    // Who makes way for others, or whose own end is waited for. Each plan adds to these.
    let mut barred = claimed(&book.campaigns, None);
    let mut hopeless = None;
    let mut previous = None;
    let mut tried = std::mem::take(&mut book.round);
    let (mut is_first, mut has_gone_on, mut left_over) = (true, false, false);
    for urgent in waiting {
        let id = urgent.id();
        // One task of an array is like the other.
        if hopeless == Some(id) {
            continue;
        }
        if is_untested(urgent, facts.now) {
            hurry(book, urgent, facts, settings, actions);
            continue;
        }
        let set_aside_before = free.take(id);
        let mut is_new = false;
        if set_aside_before.is_none() {
            let head = std::mem::take(&mut is_first);
            let known = tried.next_of(id);
            is_new = known.is_none();
            // Whoever fits meanwhile is not to wait for the next round.
            if let Some(known) = known.filter(|_| !head && urgent.place(ledger).is_none()) {
                hopeless = known.is_hopeless().then_some(id);
                barred.extend(known.for_jobs.iter().map(|job| (*job, Refusal::Claimed)));
                set_aside(ledger, facts, urgent, known.for_jobs.iter(), &known.places);
                book.round.note(id, known);
                continue;
            }
            // Nobody behind who is left over is planned for: he would be given what is the other's.
            left_over |= is_new && has_gone_on && outlook.is_exhausted();
            if left_over {
                continue;
            }
        }
        let constraints = Constraints {
            barred: std::mem::take(&mut barred),
            patience_over: facts.now - urgent.submit() > settings.urgent.patience_s,
            ..Constraints::default()
        };
        let outcome = match &set_aside_before {
            Some(places) => Outcome::Fits {
                nodes: places.concat(),
            },
            None => urgent.plan(outlook, ledger, &constraints),
        };
        listener(Decision {
            urgent: id,
            outcome: &outcome,
        });
        barred = constraints.barred;
        if !matches!(outcome, Outcome::Fits { .. }) {
            book.fitting.remove(&id);
            has_gone_on |= is_new;
        }
        let sentence = match &outcome {
            Outcome::Fits { .. } => None,
            Outcome::Wait(wait) => Some(notes::wait(wait)),
            Outcome::NoSet { refused } => Some(notes::no_set(id, refused)),
            Outcome::Stop(plan) => Some(notes::plan(plan, facts)),
        };
        // In shadow mode nothing becomes of a plan, so all tasks of an array are planned for in every step. What is said
        // of the first of them is enough.
        let again = previous.replace(id) == Some(id) && settings.mode == Mode::Shadow;
        if let Some(sentence) = sentence.filter(|_| !again) {
            say(&mut book.said, actions, id, sentence);
        }
        match &outcome {
            Outcome::Fits { .. } if set_aside_before.is_some() => {
                hurry(book, urgent, facts, settings, actions);
            }
            Outcome::Fits { nodes } => {
                // A heterogeneous job's are not told apart there.
                let places = match urgent.is_het() {
                    true => urgent.place(ledger).unwrap_or_default(),
                    false => vec![nodes.clone()],
                };
                urgent.reserve(ledger, &places);
                hurry(book, urgent, facts, settings, actions);
            }
            Outcome::Wait(wait) => {
                // What it waits for is not there for others, and nobody else may stop those jobs.
                barred.extend(wait.for_jobs.iter().map(|job| (*job, Refusal::Claimed)));
                let places = vec![wait.nodes.clone()];
                set_aside(ledger, facts, urgent, wait.for_jobs.iter(), &places);
                let standstill = Standstill::until(wait.for_jobs.iter().copied(), places);
                book.round.note(id, standstill);
            }
            Outcome::NoSet { .. } => {
                hopeless = Some(id);
                book.round.note(id, Standstill::hopeless());
            }
            Outcome::Stop(plan) => {
                let victims = plan.victims.iter().map(|victim| &victim.job);
                set_aside(ledger, facts, urgent, victims.clone(), &plan.places());
                if settings.mode == Mode::On {
                    let campaign = carry_out(plan, facts, actions);
                    barred.extend(campaign.victims.iter().map(|asked| (asked.job, Refusal::Claimed)));
                    book.campaigns.push(campaign);
                } else {
                    let standstill = Standstill::until(victims.copied(), plan.places());
                    book.round.note(id, standstill);
                }
            }
        }
    }
    if !left_over {
        book.round = Round::default();
    }
}

/// For how many jobs of those that `party` stands for nobody makes way yet.
fn unserved(book: &Book, party: &Party<'_>) -> usize {
    let of_it = || book.campaigns_of(party.id());
    let wanted = party.tasks_served();
    if wanted == 1 || of_it().any(|campaign| matches!(campaign.phase, Phase::GivenUp { .. })) {
        // What was begun for a job is wound up before anything else is begun for it.
        return usize::from(of_it().next().is_none());
    }
    wanted.saturating_sub(of_it().filter(|campaign| campaign.claims()).count())
}

/// Takes what `leaving` will leave, and what is free, for `urgent`.
fn set_aside<'a>(
    ledger: &mut Ledger,
    facts: &Facts,
    urgent: &Party<'_>,
    leaving: impl Iterator<Item = &'a JobId>,
    places: &[Vec<NodeIndex>],
) {
    for job in leaving.filter_map(|job| facts.job(*job)) {
        ledger.release(job);
    }
    urgent.reserve(ledger, places);
}

/// Starts a campaign: everybody in the plan is asked.
fn carry_out(plan: &Plan, facts: &Facts, actions: &mut Vec<Action>) -> Campaign {
    let victims = plan
        .victims
        .iter()
        .map(|victim| Asked::begin(victim, plan.urgent, facts, actions))
        .collect();
    Campaign {
        nodes: plan.nodes.clone(),
        ..Campaign::new(plan.urgent, victims)
    }
}

/// An urgent job that fits, or that Slurm has yet to try, need not wait for the scheduler's next round.
fn hurry(book: &mut Book, urgent: &Party<'_>, facts: &Facts, settings: &Settings, actions: &mut Vec<Action>) {
    let (now, id) = (facts.now, urgent.id());
    if settings.mode != Mode::On {
        return;
    }
    // The scheduler that can be nudged passes heterogeneous jobs by.
    let nudge = (!urgent.is_het()).then_some(Action::Nudge);
    let Some(fitting) = book.fitting.get_mut(&id) else {
        actions.extend(nudge);
        book.fitting.insert(
            id,
            Fitting {
                since: now,
                nudged: now,
            },
        );
        return;
    };
    let late = now - fitting.since > start_max_s(urgent, settings);
    let every_s = if late { NUDGE_SELDOM_EVERY_S } else { NUDGE_EVERY_S };
    if now - fitting.nudged >= every_s {
        fitting.nudged = now;
        actions.extend(nudge);
    }
    if late {
        say(&mut book.said, actions, id, notes::fits_but_waits(id));
    }
}

/// Puts urgent jobs where they belong at the head of the queue. What their victims leave would else go to whoever stands
/// before them; and where that one does not fit, Slurm's main scheduler looks at nobody behind it in its partition.
fn promote(book: &mut Book, facts: &Facts, settings: &Settings, actions: &mut Vec<Action>) {
    for job in &facts.waiting {
        let its_turn = book
            .campaigns_of(job.id)
            .any(|campaign| turn::is_on(campaign.phase, facts.now));
        let held_up = its_turn && has_somebody_before(facts, job);
        let place = queue::place(job, held_up, facts.now, settings);
        let last = book.promoted.get(&job.id);
        // What was given to it and is not its any more goes back; during its turn it needs all of it. A priority that somebody
        // else has raised stays.
        let is_above = !its_turn && last.is_some_and(|last| last.place == job.priority && last.place > place);
        if job.blocked || (job.priority >= place && !is_above) {
            continue;
        }
        let rested = last.is_none_or(|last| place > last.place || facts.now - last.at >= PROMOTE_EVERY_S);
        if rested {
            let at = facts.now;
            book.promoted.insert(job.id, Promotion { at, place });
            actions.push(Action::Reclass {
                job: job.id,
                class: Urgency::Urgent,
                held: false,
                place,
            });
        }
    }
}

/// Whether another job that may start stands before this one.
fn has_somebody_before(facts: &Facts, job: &WaitingJob) -> bool {
    let mut others = facts.waiting.iter().filter(|other| !other.blocked);
    others.any(|other| other.place_in_queue() < job.place_in_queue())
}

fn forget_gone(book: &mut Book, facts: &Facts) {
    let waits = |id: &JobId| facts.waiting.iter().any(|job| job.id == *id);
    book.fitting.retain(|id, _| waits(id));
    book.promoted.retain(|id, _| waits(id));
    let campaigns = &book.campaigns;
    book.said
        .retain(|id, _| waits(id) || campaigns.iter().any(|campaign| campaign.urgent == *id));
}

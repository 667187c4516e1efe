// SPDX-License-Identifier: GPL-2.0-or-later
//! What is under way and stands in no campaign of the book: requests in the jobs' records, where there is no book, or only an
//! older one; and runs that are over and of which Slurm does not know that any more.

use super::book::{Asked, Book, Campaign, Stance};
use super::directives::SaveSignal;
use super::facts::Facts;
use super::ids::JobId;
use super::record::Record;
use super::units::UnixTime;

/// Takes up both. What is known of a run's end goes before what its job's record says.
pub fn adopt(book: &mut Book, facts: &Facts) {
    for victim in book.stops.resurrected(facts) {
        adopt_one(book, victim);
    }
    for job in &facts.running {
        let signal = job.directives.as_ref().and_then(|directives| directives.signal);
        if let Some(victim) = recorded(job.id, job.record.as_ref(), job.start, signal) {
            adopt_one(book, victim);
        }
    }
    for job in &facts.parked {
        if let Some(victim) = recorded(job.id, job.record.as_ref(), UnixTime(0), None) {
            adopt_one(book, victim);
        }
    }
}

fn recorded(
    job: JobId,
    record: Option<&Record>,
    start: UnixTime,
    signal: Option<SaveSignal>,
) -> Option<(JobId, Asked)> {
    let record = record?;
    let asked = record.asked?;
    let victim = Asked {
        job,
        // A run that began after the request is not the one that was asked.
        start: if start > asked { UnixTime(0) } else { start },
        signal,
        asked,
        deadline: record.deadline?,
        saved: None,
        stake: None,
        gone: None,
        was_behind_gate: false,
        interrupted: false,
        known_since: None,
        delivered: false,
        tried: None,
        stance: Stance::Victim,
    };
    Some((record.ask?, victim))
}

fn adopt_one(book: &mut Book, (urgent, victim): (JobId, Asked)) {
    let known = book
        .campaigns
        .iter()
        .any(|campaign| campaign.victims.iter().any(|asked| asked.job == victim.job));
    if known {
        return;
    }
    let of_it = book
        .campaigns
        .iter_mut()
        .filter(|campaign| campaign.urgent == urgent);
    match of_it.max_by_key(|campaign| campaign.claims()) {
        Some(campaign) if campaign.claims() => campaign.victims.push(victim),
        // Nobody has to make way for that one any more.
        Some(campaign) => {
            let stance = Stance::LetOff;
            campaign.victims.push(Asked { stance, ..victim });
        }
        None => book.campaigns.push(Campaign::new(urgent, vec![victim])),
    }
}

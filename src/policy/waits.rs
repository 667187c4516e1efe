// SPDX-License-Identifier: GPL-2.0-or-later
//! Each urgent job's own record says whom it waits for, so that `scontrol show job` does.

use super::book::{Action, Book};
use super::facts::Facts;
use super::ids::JobId;
use super::record::{Record, WAITS_FOR_MAX};

/// Has the records say what the book says now.
pub fn show(book: &Book, facts: &Facts, actions: &mut Vec<Action>) {
    let waiting = facts.waiting.iter().map(|job| {
        let waits_for = whom(book, job.id);
        (job.id, job.record.as_ref(), waits_for)
    });
    // What is written into the record of an array that waits comes into those of its tasks that run, too.
    let waits = |job: JobId| facts.waiting.iter().any(|waiting| waiting.id == job);
    let running = facts.running.iter().filter(|job| !job.traits.completing);
    let running = running.filter(|job| !job.array.is_some_and(|task| waits(task.array)));
    let running = running.map(|job| (job.id, job.record.as_ref(), Vec::new()));
    let differ = |(_, record, waits_for): &(JobId, Option<&Record>, Vec<JobId>)| {
        record.is_some_and(|record| record.waits_for != *waits_for)
    };
    let shown = waiting.chain(running).filter(differ);
    actions.extend(shown.map(|(urgent, _, waits_for)| Action::ShowWait { urgent, waits_for }));
}

/// All who make way for `urgent`. The tasks of an array that wait have one record.
fn whom(book: &Book, urgent: JobId) -> Vec<JobId> {
    let campaigns = book.campaigns_of(urgent).filter(|campaign| campaign.claims());
    let mut jobs: Vec<JobId> = campaigns
        .flat_map(|campaign| campaign.active().map(|asked| asked.job))
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs.truncate(WAITS_FOR_MAX);
    jobs
}

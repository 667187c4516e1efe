// SPDX-License-Identifier: GPL-2.0-or-later
//! The second look at who may be urgent, before plans are made: jobs as Slurm has them, with all that it filled in.

use super::applicant::Application;
use super::rules::{People, Refusal, judge};
use super::settings::AdmissionSettings;
use super::usage::{Spent, Usage};
use crate::policy::directives::Urgency;
use crate::policy::facts::Facts;
use crate::policy::ids::{JobId, UserId};
use crate::policy::units::UnixTime;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What a review finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Review {
    /// All urgent jobs, whether they may be or not, and what was used.
    pub usage: Usage,
    /// Urgent jobs for which no plan may be made, and waiting ones that may not become urgent.
    pub refused: Vec<(JobId, Refusal)>,
    /// Submissions of which there is a job by now: whose, and when.
    pub seen: Vec<(UserId, UnixTime)>,
}

/// Looks at all urgent jobs and at those that are to become so. Marks those of the former that may not be planned for, and
/// takes the latter out of the facts where they may not. What others make way for already is not stopped, so that it was
/// not begun in vain: `in_progress` says for how many tasks of which job that is, and these count first. Among the others
/// those count first that stand first.
pub fn review(
    facts: &mut Facts,
    settings: &AdmissionSettings,
    people: &People,
    spent: Spent,
    in_progress: &BTreeMap<JobId, u32>,
) -> Review {
    let mut review = Review {
        usage: Usage::after(spent),
        ..Review::default()
    };
    for job in facts.running.iter().filter(|job| job.is_urgent()) {
        let account = job.labels.account.as_ref().map(|name| name.as_str());
        let gpus = facts.gres.total_of(&job.held(), "gpu");
        let nodes = job.holdings.len() as u64;
        review.usage.add_running(job.user, account, gpus, nodes);
    }
    review.seen = seen(facts);

    let mut admitted = review.usage.clone();
    let mut order: Vec<usize> = (0..facts.waiting.len()).collect();
    order.sort_by_key(|at| {
        let job = &facts.waiting[*at];
        (
            !in_progress.contains_key(&party(job)),
            Reverse(job.priority),
            job.id,
        )
    });
    for at in order {
        let job = &mut facts.waiting[at];
        let Some(application) = &job.application else {
            continue;
        };
        let applicant = application.applicant();
        review.usage.add(&applicant);
        match (
            judge(settings, people, Some(&admitted), &applicant),
            in_progress.get(&party(job)),
        ) {
            (Ok(()), _) => admitted.add(&applicant),
            (Err(refusal), begun) => {
                match begun {
                    // No other task of the array is begun with.
                    Some(tasks) => {
                        job.tasks = job.tasks.min(*tasks);
                        admitted.add(&applicant);
                    }
                    None => {
                        job.blocked = true;
                        job.hindrance.get_or_insert(refusal.kind.hindrance());
                    }
                }
                review.refused.push((job.id, refusal));
            }
        }
    }
    become_urgent(facts, settings, people, &mut admitted, &mut review);
    review
}

/// Waiting jobs that were normal and whose comments ask for more.
fn become_urgent(
    facts: &mut Facts,
    settings: &AdmissionSettings,
    people: &People,
    admitted: &mut Usage,
    review: &mut Review,
) {
    facts.parked.retain_mut(|job| {
        let class = job.record.as_ref().map(|record| record.class);
        let application = match &job.application {
            Some(application) if job.wanted == Some(Urgency::Urgent) && class != Some(Urgency::Urgent) => {
                application
            }
            _ => return true,
        };
        let applicant = application.applicant();
        match judge(settings, people, Some(&*admitted), &applicant) {
            Ok(()) => {
                admitted.add(&applicant);
                review.usage.add(&applicant);
                true
            }
            Err(refusal) => {
                review.refused.push((job.id, refusal));
                // It stays what it is; what it is owed besides it gets.
                job.wanted = class;
                job.record.as_ref().is_some_and(|record| record.ask.is_some())
            }
        }
    });
}

/// The id by which the job's plan goes.
fn party(job: &crate::policy::facts::WaitingJob) -> JobId {
    job.het.map_or(job.id, |het| het.leader)
}

/// One entry for each submission: the tasks of an array came together.
fn seen(facts: &Facts) -> Vec<(UserId, UnixTime)> {
    let running = facts.running.iter().filter(|job| job.is_urgent()).map(|job| {
        let array = job.array.map_or(job.id, |task| task.array);
        (array, job.user, job.record.as_ref())
    });
    let waiting = facts.waiting.iter().filter_map(|job| {
        let application: &Application = job.application.as_ref()?;
        let array = application.array.unwrap_or(job.id);
        Some((array, application.user, job.record.as_ref()))
    });
    let submissions: BTreeSet<(JobId, UserId, UnixTime)> = running
        .chain(waiting)
        .filter_map(|(id, user, record)| Some((id, user, record?.first?)))
        .collect();
    submissions
        .into_iter()
        .map(|(_, user, first)| (user, first))
        .collect()
}

#[cfg(test)]
mod tests;

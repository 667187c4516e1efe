// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether an urgent job may be urgent: what the planner asks before it plans.

use crate::cli::cluster::Cluster;
use crate::host::people::{Finder, System};
use crate::policy::admission::review::review as review_facts;
use crate::policy::admission::usage::Spent;
use crate::policy::ids::JobId;
use crate::policy::notes;
use std::collections::BTreeMap;

/// Marks the jobs for which no plan may be made, and says why where that is `job`.
pub(in crate::cli) fn review(cluster: &mut Cluster, job: JobId) {
    let rules = &cluster.settings.admission;
    if !rules.is_any() {
        return;
    }
    let facts = &mut cluster.seen.facts;
    let spent = match (&cluster.ledger, rules.budget.is_any()) {
        (Some(ledger), true) => ledger.spent(facts.now, rules.budget.window_h),
        (None, true) => {
            cluster.notes.push(
                "what urgent jobs have used of their budgets stands in surgent.state, which cannot be read here: taken as nothing"
                    .to_owned(),
            );
            Spent::default()
        }
        (_, false) => Spent::default(),
    };
    let mut in_progress: BTreeMap<JobId, u32> = BTreeMap::new();
    for campaign in cluster.book.campaigns.iter().filter(|campaign| campaign.claims()) {
        *in_progress.entry(campaign.urgent).or_default() += 1;
    }
    let people = Finder::<System>::default().find(&cluster.settings).people;
    let review = review_facts(facts, rules, &people, spent, &in_progress);
    for (refused, refusal) in review.refused {
        if refused == job {
            cluster.notes.push(notes::not_admitted(job, &refusal.sentence));
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The planner's part in admission: charges what urgent jobs use, tells the hooks what there is, and
//! marks the jobs for which no plan may be made.

use super::core::{Core, unix_now};
use super::logger::printable;
use crate::policy::admission::ledger::{Accountant, Ledger};
use crate::policy::admission::review::review;
use crate::policy::admission::rules::{Kind, People};
use crate::policy::admission::usage::Spent;
use crate::policy::audit::{self, Event};
use crate::policy::book::Book;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::notes;
use crate::policy::settings::Settings;
use crate::policy::units::UnixTime;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// While there are urgent jobs and limits on them: a job that has ended makes room for another.
const LOOK_FOR_LIMITS: Duration = Duration::from_secs(10);
/// While there are urgent jobs and a budget: what they use is charged.
const LOOK_FOR_BUDGET: Duration = Duration::from_secs(60);
/// While a submission is not a job yet.
const LOOK_FOR_JOBS: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub struct Admission {
    accountant: Accountant,
    people: Arc<People>,
    /// Whom the log has been told of, and what kind of rule it was.
    told: BTreeMap<JobId, Kind>,
}

impl Admission {
    /// Goes on with what the state file has.
    pub fn load(&mut self, ledger: Ledger) {
        self.accountant = Accountant::with(ledger);
    }

    /// What the state file is to have.
    pub fn ledger(&self) -> &Ledger {
        self.accountant.ledger()
    }

    /// What there is has to be looked at again then.
    pub fn settings_changed(&mut self, core: &Core, settings: &Settings) {
        if !settings.admission.counts() {
            core.desk().forget();
        }
    }

    /// Where no look at the jobs sees to it: what was used up grows old.
    pub fn age(&self, core: &Core, settings: &Settings) {
        let budget = &settings.admission.budget;
        if budget.is_any() {
            let spent = self.ledger().spent(unix_now(), budget.window_h);
            core.desk().set_spent(spent);
        }
    }

    /// Whom the settings name. Whether these are others than before.
    pub fn set_people(&mut self, core: &Core, people: People) -> bool {
        let changed = people != *self.people;
        self.people = Arc::new(people);
        core.desk().set_people(Arc::clone(&self.people));
        changed
    }

    /// The clock was stepped by `by_s` seconds, and it is `now`.
    pub fn clock_stepped(&mut self, core: &Core, by_s: i64, now: UnixTime) {
        self.accountant.clock_stepped(by_s, now);
        core.desk().clock_stepped(now);
    }

    /// Looks at the jobs, before plans are made for them. Of `book`, what is under way is not looked at. Gives what was
    /// charged to budgets.
    pub fn look(&mut self, core: &Core, facts: &mut Facts, settings: &Settings, book: &Book) -> Vec<Event> {
        let rules = &settings.admission;
        let mut spent = Spent::default();
        let mut events = Vec::new();
        if rules.budget.is_any() {
            let window_h = rules.budget.window_h;
            let charged = self.accountant.look(facts, settings.victims.cpu_weight, window_h);
            spent = self.accountant.ledger().spent(facts.now, window_h);
            let told = charged
                .iter()
                .map(|run| audit::charged(run, &rules.budget, &spent));
            events.extend(told);
        }
        if !rules.is_any() {
            self.told.clear();
            return events;
        }
        let mut in_progress: BTreeMap<JobId, u32> = BTreeMap::new();
        for campaign in book.campaigns.iter().filter(|campaign| campaign.claims()) {
            *in_progress.entry(campaign.urgent).or_default() += 1;
        }
        let review = review(facts, rules, &self.people, spent, &in_progress);
        core.desk().publish(review.usage, &review.seen, facts.now);
        let mut told = BTreeMap::new();
        for (job, refusal) in review.refused {
            if self.told.get(&job) != Some(&refusal.kind) {
                let rule = printable(refusal.sentence.as_bytes());
                log::info!("{}", notes::not_admitted(job, &rule));
            }
            told.insert(job, refusal.kind);
        }
        self.told = told;
        events
    }

    /// When to look again at the latest, though nothing is to be planned.
    pub fn look_in(&self, core: &Core, facts: &Facts, settings: &Settings) -> Option<Duration> {
        let rules = &settings.admission;
        let any_urgent = || !facts.waiting.is_empty() || facts.running.iter().any(|job| job.is_urgent());
        if !rules.counts() {
            None
        } else if core.desk().awaits_jobs() {
            Some(LOOK_FOR_JOBS)
        } else if !any_urgent() {
            None
        } else if rules.limits() {
            Some(LOOK_FOR_LIMITS)
        } else {
            Some(LOOK_FOR_BUDGET)
        }
    }
}

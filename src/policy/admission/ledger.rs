// SPDX-License-Identifier: GPL-2.0-or-later
//! What urgent jobs have used up: by hour, user and account, and for those that run, since when.

mod run;

pub use run::{Charged, Payer};

use super::usage::Spent;
use crate::policy::facts::{EndedJob, Facts};
use crate::policy::ids::JobId;
use crate::policy::units::UnixTime;
use run::Open;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const HOUR_S: i64 = 3600;
/// What a running job has used is written down this often; in between it is worked out.
const CHARGE_EVERY_S: i64 = 60;
/// So many entries are kept; of more, the oldest hours become one. The state file has about 70 bytes for each.
const ENTRIES_MAX: usize = 50_000;

/// What was used up. Kept in the state file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// By hour since 1970; each sorted by user and account.
    hours: BTreeMap<i64, Vec<Charge>>,
    /// Jobs that run.
    open: BTreeMap<JobId, Open>,
}

/// What one user used in one hour for one account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Charge {
    #[serde(flatten)]
    payer: Payer,
    gpu_s: f64,
}

impl Ledger {
    /// Writes down what a run has used until `until`. Where it is charged for that already, that is nothing.
    fn charge(&mut self, run: &mut Open, until: UnixTime) {
        let mut from_s = run.charged_until.0;
        while from_s < until.0 {
            let hour = from_s.div_euclid(HOUR_S);
            let end_s = until.0.min((hour + 1) * HOUR_S);
            let gpu_s = run.gpus * (end_s - from_s) as f64;
            self.add(hour, &run.payer, gpu_s);
            run.charged_gpu_s += gpu_s;
            from_s = end_s;
        }
        run.charged_until.0 = from_s;
    }

    fn add(&mut self, hour: i64, payer: &Payer, gpu_s: f64) {
        if gpu_s <= 0.0 {
            return;
        }
        let charges = self.hours.entry(hour).or_default();
        match charges.binary_search_by(|charge| charge.payer.cmp(payer)) {
            Ok(at) => charges[at].gpu_s += gpu_s,
            Err(at) => charges.insert(
                at,
                Charge {
                    payer: payer.clone(),
                    gpu_s,
                },
            ),
        }
    }

    /// What was used within the last `window_h` hours before `now`. What an hour at the window's edge has counts by the
    /// part of the hour that is within.
    pub fn spent(&self, now: UnixTime, window_h: u32) -> Spent {
        let begin_s = window_begin_s(now, window_h);
        let mut spent = Spent::default();
        for (hour, charges) in &self.hours {
            let within_s = ((hour + 1) * HOUR_S - begin_s).clamp(0, HOUR_S);
            let part = within_s as f64 / HOUR_S as f64;
            for charge in charges {
                add(&mut spent, &charge.payer, charge.gpu_s * part);
            }
        }
        for open in self.open.values() {
            let since_s = open.charged_until.0.max(begin_s);
            let open_s = (now.0 - since_s).max(0);
            add(&mut spent, &open.payer, open.gpus * open_s as f64);
        }
        spent
    }

    /// Forgets what is beyond the window, and keeps the rest within bounds.
    fn prune(&mut self, now: UnixTime, window_h: u32) {
        let begin_s = window_begin_s(now, window_h);
        self.hours.retain(|hour, _| (hour + 1) * HOUR_S > begin_s);
        while self.entries() > ENTRIES_MAX {
            let Some((hour, oldest)) = self.hours.pop_first() else {
                return;
            };
            match self.hours.keys().next().copied() {
                // An hour younger than it is: it counts a little longer.
                Some(next) => {
                    for charge in oldest {
                        self.add(next, &charge.payer, charge.gpu_s);
                    }
                }
                None => {
                    let kept = oldest.into_iter().take(ENTRIES_MAX);
                    self.hours.insert(hour, kept.collect());
                    return;
                }
            }
        }
    }

    /// The clock was stepped by `by_s` seconds. All that was used is as long ago as before, to the hour: a clock that is wrong
    /// for a minute has nothing forgotten. What a run is charged for already, it is not charged for once more.
    fn clock_stepped(&mut self, by_s: i64) {
        // To the nearest hour either way, so that there and back again is nothing.
        let by_h = by_s.signum() * (by_s.saturating_abs().saturating_add(HOUR_S / 2) / HOUR_S);
        let hours = std::mem::take(&mut self.hours).into_iter();
        self.hours = hours
            .map(|(hour, charges)| (hour.saturating_add(by_h), charges))
            .collect();
        for run in self.open.values_mut() {
            shift(&mut run.charged_until, by_s);
        }
    }

    /// What a clock that was ahead had written down for hours that are still to come counts as used in the present hour, and so
    /// for one window at most. A run is charged from now on, and not from when that clock comes to be right.
    fn nothing_to_come(&mut self, now: UnixTime) {
        let present = now.0.div_euclid(HOUR_S);
        for charge in self.hours.split_off(&(present + 1)).into_values().flatten() {
            self.add(present, &charge.payer, charge.gpu_s);
        }
        for run in self.open.values_mut() {
            run.charged_until = run.charged_until.min(now);
        }
    }

    fn entries(&self) -> usize {
        self.hours.values().map(Vec::len).sum()
    }
}

fn window_begin_s(now: UnixTime, window_h: u32) -> i64 {
    now.0.saturating_sub(i64::from(window_h) * HOUR_S)
}

fn shift(time: &mut UnixTime, by_s: i64) {
    time.0 = time.0.saturating_add(by_s);
}

fn add(spent: &mut Spent, payer: &Payer, gpu_s: f64) {
    let account = payer.account.as_ref().map(|name| name.as_str());
    spent.add(payer.user, account, gpu_s / HOUR_S as f64);
}

/// Keeps a ledger by what is seen of the jobs, look by look.
#[derive(Clone, Debug, Default)]
pub struct Accountant {
    ledger: Ledger,
    last_look: Option<UnixTime>,
    /// Urgent jobs that waited at the last look: one of these may have run and ended since.
    expected: BTreeMap<JobId, (Payer, f64)>,
    /// Ended jobs that are dealt with. Slurm shows them for some minutes.
    done: BTreeSet<JobId>,
}

impl Accountant {
    /// Goes on with a ledger from the state file.
    pub fn with(ledger: Ledger) -> Self {
        Self {
            ledger,
            ..Self::default()
        }
    }

    /// What is kept in the state file.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The clock was stepped by `by_s` seconds, and it is `now`.
    pub fn clock_stepped(&mut self, by_s: i64, now: UnixTime) {
        self.ledger.clock_stepped(by_s);
        self.ledger.nothing_to_come(now);
        self.last_look.iter_mut().for_each(|look| shift(look, by_s));
    }

    /// Charges what the urgent jobs have used since the last look. A CPU of a job without GPUs counts as `cpu_weight` GPUs.
    /// Gives the runs that are over, and those that have run for another hour.
    pub fn look(&mut self, facts: &Facts, cpu_weight: f64, window_h: u32) -> Vec<Charged> {
        let now = facts.now;
        let window_begin = UnixTime(window_begin_s(now, window_h));
        if self.last_look.is_none() {
            // The state file may be of a clock that was ahead.
            self.ledger.nothing_to_come(now);
        }
        let mut charged = self.close(facts);
        charged.extend(self.charge_short_ones(facts, window_begin));
        for job in facts.running.iter().filter(|job| job.is_urgent()) {
            let gpus = job.gpus(&facts.gres, cpu_weight);
            let mut open = self.ledger.open.remove(&job.id).unwrap_or_else(|| {
                let payer = Payer {
                    user: job.user,
                    account: job.labels.account.clone(),
                };
                // A start that is to come was written by a clock that was ahead.
                Open::new(payer, job.start, gpus, job.start.clamp(window_begin, now))
            });
            if open.gpus != gpus || now.0 - open.charged_until.0 >= CHARGE_EVERY_S {
                let hours = open.hours();
                self.ledger.charge(&mut open, now);
                open.gpus = gpus;
                if open.hours() > hours {
                    charged.push(open.clone().charged(job.id, false));
                }
            }
            self.ledger.open.insert(job.id, open);
        }
        self.ledger.prune(now, window_h);
        let waiting = facts.waiting.iter().filter_map(|job| {
            let application = job.application.as_ref()?;
            let need = &application.need;
            let gpus = match need.gpus {
                0 => need.cpus as f64 * cpu_weight,
                gpus => gpus as f64,
            };
            let payer = Payer {
                user: application.user,
                account: application.labels.account.clone(),
            };
            Some((application.array.unwrap_or(job.id), (payer, gpus)))
        });
        self.expected = waiting.collect();
        self.last_look = Some(now);
        charged
    }

    /// Jobs that run no more: up to their end where Slurm still knows it, else up to when they were last seen.
    fn close(&mut self, facts: &Facts) -> Vec<Charged> {
        let runs = |id: &JobId, open: &Open| {
            let job = facts.job(*id).filter(|job| job.is_urgent());
            job.is_some_and(|job| job.start == open.start)
        };
        let gone = self.ledger.open.iter().filter(|(id, open)| !runs(id, open));
        let gone: Vec<(JobId, Open)> = gone.map(|(id, open)| (*id, open.clone())).collect();
        let mut charged = Vec::new();
        for (id, mut open) in gone {
            let ended = facts
                .ended
                .iter()
                .find(|job| job.id == id && job.start == open.start);
            let until = match (ended, self.last_look) {
                (Some(job), _) => job.end.min(facts.now),
                (None, Some(look)) => look,
                (None, None) => open.charged_until,
            };
            self.ledger.open.remove(&id);
            self.ledger.charge(&mut open, until);
            self.done.insert(id);
            charged.push(open.charged(id, true));
        }
        charged
    }

    /// Jobs that began and ended since the last look.
    fn charge_short_ones(&mut self, facts: &Facts, window_begin: UnixTime) -> Vec<Charged> {
        let mut charged = Vec::new();
        let is_new =
            |job: &&EndedJob| !self.done.contains(&job.id) && self.last_look.is_some_and(|at| job.end >= at);
        for job in facts.ended.iter().filter(is_new) {
            let expected = [Some(job.id), job.array].into_iter().flatten();
            let found = expected.filter_map(|id| self.expected.get(&id)).next();
            if let Some((payer, gpus)) = found.cloned() {
                let mut run = Open::new(payer, job.start, gpus, job.start.max(window_begin));
                self.ledger.charge(&mut run, job.end.min(facts.now));
                charged.push(run.charged(job.id, true));
            }
        }
        self.done = facts.ended.iter().map(|job| job.id).collect();
        charged
    }
}

#[cfg(test)]
mod tests;

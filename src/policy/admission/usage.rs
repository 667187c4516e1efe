// SPDX-License-Identifier: GPL-2.0-or-later
//! What urgent jobs there are, and what they have used.

use super::applicant::{Applicant, Need};
use crate::policy::ids::UserId;
use std::collections::BTreeMap;

/// Urgent jobs of one user, one account, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Jobs that run, and those that wait and may start at any moment.
    pub running: u64,
    /// Jobs that wait.
    pub waiting: u64,
    /// GPUs of those that `running` counts.
    pub gpus: u64,
    /// Nodes of those that `running` counts.
    pub nodes: u64,
}

impl Tally {
    /// Of a job that waits.
    fn waiting(need: &Need) -> Self {
        Self {
            running: need.at_once,
            waiting: need.waiting,
            gpus: need.gpus_at_once(),
            nodes: need.nodes_at_once(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.running = self.running.saturating_add(other.running);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.gpus = self.gpus.saturating_add(other.gpus);
        self.nodes = self.nodes.saturating_add(other.nodes);
    }

    fn take(&mut self, other: &Self) {
        self.running = self.running.saturating_sub(other.running);
        self.waiting = self.waiting.saturating_sub(other.waiting);
        self.gpus = self.gpus.saturating_sub(other.gpus);
        self.nodes = self.nodes.saturating_sub(other.nodes);
    }
}

/// GPU-hours that urgent jobs have used within the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// By user.
    pub users: BTreeMap<UserId, f64>,
    /// By account, in small letters.
    pub accounts: BTreeMap<String, f64>,
    /// By all together.
    pub all: f64,
}

impl Spent {
    /// Adds what one user used for one account.
    pub fn add(&mut self, user: UserId, account: Option<&str>, gpu_h: f64) {
        *self.users.entry(user).or_default() += gpu_h;
        if let Some(account) = account {
            *self.accounts.entry(account_key(account)).or_default() += gpu_h;
        }
        self.all += gpu_h;
    }

    /// What one user has used up.
    pub fn by_user(&self, user: UserId) -> f64 {
        self.users.get(&user).copied().unwrap_or_default()
    }

    /// What one account has used up.
    pub fn by_account(&self, account: &str) -> f64 {
        let spent = self.accounts.get(&account_key(account));
        spent.copied().unwrap_or_default()
    }
}

/// What there is, and what was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    users: BTreeMap<UserId, Tally>,
    accounts: BTreeMap<String, Tally>,
    all: Tally,
    /// What was used up.
    pub spent: Spent,
}

impl Usage {
    /// No jobs; `spent` was used up before.
    pub fn after(spent: Spent) -> Self {
        Self {
            spent,
            ..Self::default()
        }
    }

    /// Adds a job that runs.
    pub fn add_running(&mut self, user: UserId, account: Option<&str>, gpus: u64, nodes: u64) {
        let tally = Tally {
            running: 1,
            waiting: 0,
            gpus,
            nodes,
        };
        self.each(user, account, |sum| sum.add(&tally));
    }

    /// Adds a job that waits.
    pub fn add(&mut self, applicant: &Applicant<'_>) {
        let tally = Tally::waiting(&applicant.need);
        self.each(applicant.user, applicant.account.name(), |sum| sum.add(&tally));
    }

    /// Takes a job that waits away, down to nothing.
    pub fn take(&mut self, applicant: &Applicant<'_>) {
        let tally = Tally::waiting(&applicant.need);
        self.each(applicant.user, applicant.account.name(), |sum| sum.take(&tally));
    }

    fn each(&mut self, user: UserId, account: Option<&str>, change: impl Fn(&mut Tally)) {
        change(self.users.entry(user).or_default());
        if let Some(account) = account {
            change(self.accounts.entry(account_key(account)).or_default());
        }
        change(&mut self.all);
    }

    /// The jobs of one user.
    pub fn of_user(&self, user: UserId) -> Tally {
        self.users.get(&user).copied().unwrap_or_default()
    }

    /// The jobs of one account.
    pub fn of_account(&self, account: &str) -> Tally {
        let tally = self.accounts.get(&account_key(account));
        tally.copied().unwrap_or_default()
    }

    /// All jobs.
    pub fn of_all(&self) -> Tally {
        self.all
    }
}

/// Slurm's accounts have small letters, however they are written.
fn account_key(account: &str) -> String {
    account.to_ascii_lowercase()
}

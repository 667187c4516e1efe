// SPDX-License-Identifier: GPL-2.0-or-later
//! Which jobs are shown, and in which order.

use super::report::{Report, State, Training};
use crate::cli::who::Who;
use crate::cli::words::visible;
use std::cmp::Ordering;
use std::str::FromStr;

/// Which jobs are wanted; what is empty leaves all of them.
#[derive(Debug, Default)]
pub(super) struct Filter {
    /// Login names or numbers.
    pub users: Vec<String>,
    pub partitions: Vec<String>,
    pub states: Vec<State>,
}

impl Filter {
    /// Leaves in `report` only what is wanted. Of a plan all is left if any job in it is wanted: who must save for whom
    /// is of no use by halves.
    pub(super) fn apply(&self, report: &mut Report) {
        let named: Vec<u32> = report
            .urgent
            .iter()
            .filter(|row| self.wants_who(&row.who))
            .map(|row| row.who.job.0)
            .collect();
        report.plans.retain(|plan| {
            let mut victims = plan.victims.iter();
            named.contains(&plan.urgent.0) || victims.any(|victim| self.wants_who(&victim.who))
        });
        let wants = |who: &Who, state| self.wants_who(who) && self.wants_state(state);
        report.urgent.retain(|row| wants(&row.who, row.state));
        report.training.retain(|row| wants(&row.who, row.state));
    }

    /// A sentence for each name that no job in `report` has: a typing error shows an empty table otherwise.
    pub(super) fn unmet(&self, report: &Report) -> Vec<String> {
        let rows = || {
            let urgent = report.urgent.iter().map(|row| &row.who);
            urgent.chain(report.training.iter().map(|row| &row.who))
        };
        let users = self
            .users
            .iter()
            .filter(|user| !rows().any(|who| who.is_of(user)));
        let users =
            users.map(|user| format!("no urgent job and no training here is of user {}", visible(user)));
        let partitions = self
            .partitions
            .iter()
            .filter(|name| !rows().any(|who| who.is_in(name)));
        let partitions = partitions.map(|name| {
            format!(
                "no urgent job and no training here is in partition {}",
                visible(name)
            )
        });
        users.chain(partitions).collect()
    }

    fn wants_who(&self, who: &Who) -> bool {
        let user = self.users.is_empty() || self.users.iter().any(|user| who.is_of(user));
        let mut partitions = self.partitions.iter();
        user && (self.partitions.is_empty() || partitions.any(|name| who.is_in(name)))
    }

    fn wants_state(&self, state: State) -> bool {
        self.states.is_empty() || self.states.contains(&state)
    }
}

/// By what trainings are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Id,
    User,
    Name,
    Nodes,
    Gpus,
    Epoch,
    EpochS,
    Left,
    Age,
    Saved,
    Cost,
}

/// All keys, as they are typed.
const KEYS: [(&str, Key); 11] = [
    ("id", Key::Id),
    ("user", Key::User),
    ("name", Key::Name),
    ("nodes", Key::Nodes),
    ("gpus", Key::Gpus),
    ("epoch", Key::Epoch),
    ("epoch_s", Key::EpochS),
    ("left", Key::Left),
    ("age", Key::Age),
    ("saved", Key::Saved),
    ("cost", Key::Cost),
];

/// A key, and whether the largest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    key: Key,
    falls: bool,
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, falls) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        match KEYS.iter().find(|(known, _)| *known == name) {
            Some((_, key)) => Ok(Self { key: *key, falls }),
            None => {
                let known: Vec<&str> = KEYS.iter().map(|(known, _)| *known).collect();
                Err(format!(
                    "sort by {}; with - before it the other way round",
                    known.join(", ")
                ))
            }
        }
    }
}

impl Order {
    /// Sorts; of whom the key is not known come last, and equals by their ids.
    pub(super) fn sort(self, rows: &mut [Training]) {
        rows.sort_by(|a, b| self.compare(a, b).then(a.who.job.cmp(&b.who.job)));
    }

    fn compare(self, a: &Training, b: &Training) -> Ordering {
        let by =
            |value: &dyn Fn(&Training) -> Option<f64>| self.known(value(a), value(b), |a, b| a.total_cmp(b));
        match self.key {
            Key::Id => by(&|row| Some(f64::from(row.who.job.0))),
            Key::User => self.known(Some(a.who.user()), Some(b.who.user()), Ord::cmp),
            Key::Name => self.known(a.who.name.as_ref(), b.who.name.as_ref(), |a, b| a.cmp(b)),
            Key::Nodes => by(&|row| Some(f64::from(row.node_count))),
            // Exact: nobody has 2^53 GPUs.
            Key::Gpus => by(&|row| Some(row.gpus as f64)),
            Key::Epoch => by(&|row| row.epoch),
            Key::EpochS => by(&|row| row.epoch_s.map(|time_s| time_s.0)),
            Key::Left => by(&|row| row.left_s.map(|time_s| time_s.0)),
            Key::Age => by(&|row| row.report_age_s.map(|time_s| time_s.0)),
            // By age, as it is shown.
            Key::Saved => by(&|row| row.saved.map(|saved| -(saved.0 as f64))),
            Key::Cost => by(&|row| row.cost_gpu_s),
        }
    }

    fn known<T>(self, a: Option<T>, b: Option<T>, compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.falls => compare(&b, &a),
            (Some(a), Some(b)) => compare(&a, &b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    }
}

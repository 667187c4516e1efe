// SPDX-License-Identifier: GPL-2.0-or-later
//! Which waiting jobs have to be looked at for a change of class, since a hook has seen one.

use crate::policy::ids::JobId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

/// So many changes wait for the planner at most; more are forgotten, and show at the next change.
const CHANGES_MAX: usize = 10_000;

/// The changes that hooks have seen and the planner has not settled.
#[derive(Debug, Default)]
pub struct Reclass {
    noted: Mutex<Noted>,
}

/// The changes that there were at one look.
#[derive(Clone, Debug, Default)]
pub struct Changes(BTreeMap<JobId, u64>);

#[derive(Debug, Default)]
struct Noted {
    /// Counts all changes.
    count: u64,
    /// Which was the last one of each job.
    last: BTreeMap<JobId, u64>,
}

impl Reclass {
    /// Notes that the class of a waiting job may have changed. For hooks: it does not wait for the planner.
    pub fn note(&self, job: JobId) {
        let mut noted = self.lock();
        if noted.last.len() < CHANGES_MAX || noted.last.contains_key(&job) {
            noted.count += 1;
            let count = noted.count;
            noted.last.insert(job, count);
        }
    }

    /// What is noted now.
    pub fn changes(&self) -> Changes {
        Changes(self.lock().last.clone())
    }

    /// Forgets `seen`, except for jobs in `still_changing`. A job that has changed again meanwhile stays noted: what was
    /// seen of it is not what it is now.
    pub fn settle(&self, seen: &Changes, still_changing: &BTreeSet<JobId>) {
        let mut noted = self.lock();
        for (job, change) in seen.0.iter().filter(|(job, _)| !still_changing.contains(job)) {
            if noted.last.get(job) == Some(change) {
                noted.last.remove(job);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Changes {
    /// The jobs.
    pub fn jobs(&self) -> BTreeSet<JobId> {
        self.0.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId(7);

    fn settle_all(reclass: &Reclass) {
        reclass.settle(&reclass.changes(), &BTreeSet::new());
    }

    #[test]
    fn a_change_is_noted_until_it_is_settled() {
        let reclass = Reclass::default();
        reclass.note(JOB);
        reclass.settle(&reclass.changes(), &BTreeSet::from([JOB]));
        assert_eq!(
            reclass.changes().jobs(),
            BTreeSet::from([JOB]),
            "the planner is still at it"
        );
        settle_all(&reclass);
        assert!(reclass.changes().jobs().is_empty());
    }

    #[test]
    fn a_change_that_comes_while_an_earlier_one_is_settled_stays() {
        let reclass = Reclass::default();
        reclass.note(JOB);
        let seen = reclass.changes();
        reclass.note(JOB);
        reclass.settle(&seen, &BTreeSet::new());
        assert_eq!(reclass.changes().jobs(), BTreeSet::from([JOB]));
        settle_all(&reclass);
        assert!(reclass.changes().jobs().is_empty());
    }

    #[test]
    fn there_is_a_bound_which_keeps_no_known_job_from_changing_again() {
        let reclass = Reclass::default();
        let most = u32::try_from(CHANGES_MAX).expect("a small number");
        (1..=most + 1).for_each(|job| reclass.note(JobId(job)));
        assert_eq!(reclass.changes().jobs().len(), CHANGES_MAX);
        let seen = reclass.changes();
        reclass.note(JobId(1));
        reclass.settle(&seen, &BTreeSet::new());
        assert_eq!(reclass.changes().jobs(), BTreeSet::from([JobId(1)]));
    }
}

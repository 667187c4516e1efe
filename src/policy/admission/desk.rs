// SPDX-License-Identifier: GPL-2.0-or-later
//! Where submissions are judged, by what the last look at the cluster showed and by what was admitted since: many may come
//! in one instant, and none of them is a job yet.

use super::applicant::{Applicant, Label, Need};
use super::rules::{Kind, People, Refusal, judge};
use super::settings::AdmissionSettings;
use super::usage::{Spent, Usage};
use crate::policy::ids::UserId;
use crate::policy::units::UnixTime;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many submissions are remembered between two looks; more than that are sent away.
const ADMITTED_MAX: usize = 10_000;
/// A submission of which there is no job after so long was refused by Slurm.
const JOB_WITHIN_S: i64 = 6;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    people: Arc<People>,
    /// What the last look showed and what was admitted since; `None` before the first look.
    usage: Option<Usage>,
    /// What was admitted and has not been seen.
    admitted: Vec<Admitted>,
    /// When that look was.
    looked: Option<UnixTime>,
}

#[derive(Clone, Debug)]
struct Admitted {
    user: UserId,
    account: Option<Box<str>>,
    need: Need,
    /// When, as the job's record says, too.
    at: UnixTime,
    /// From now on there is a job or there will be none.
    until: UnixTime,
}

/// Until when a submission is remembered of which there is no job at `now`.
fn job_until(now: UnixTime) -> UnixTime {
    UnixTime(now.0.saturating_add(JOB_WITHIN_S))
}

impl Admitted {
    fn applicant(&self) -> Applicant<'_> {
        let account = self.account.as_deref();
        Applicant {
            user: self.user,
            group: None,
            account: account.map_or(Label::Absent, Label::Is),
            qos: Label::Absent,
            partition: Label::Absent,
            need: self.need,
        }
    }
}

impl Desk {
    /// Whom the settings name, by number.
    pub fn set_people(&mut self, people: Arc<People>) {
        self.people = people;
    }

    /// Admits a submission that comes at `now`, and remembers it.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn admit(
        &mut self,
        settings: &AdmissionSettings,
        applicant: &Applicant<'_>,
        now: UnixTime,
    ) -> Result<(), Refusal> {
        judge(settings, &self.people, self.usage.as_ref(), applicant)?;
        if !settings.counts() {
            return Ok(());
        }
        if self.admitted.len() >= ADMITTED_MAX {
            return Err(Refusal {
                kind: Kind::Limit,
                sentence: format!(
                    "{ADMITTED_MAX} urgent jobs were submitted within a few seconds, more than can be counted; try again in a moment"
                ),
            });
        }
        self.admitted.push(Admitted {
            user: applicant.user,
            account: applicant.account.name().map(Box::from),
            need: applicant.need,
            at: now,
            until: job_until(now),
        });
        if let Some(usage) = &mut self.usage {
            usage.add(applicant);
        }
        Ok(())
    }

    /// Whether a job may become urgent, or as an urgent one may be changed to be like `applicant`; `before` is what it is
    /// now if it is urgent, which counts already. Remembers nothing, as Slurm may refuse the change.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(
        &self,
        settings: &AdmissionSettings,
        applicant: &Applicant<'_>,
        before: Option<&Applicant<'_>>,
    ) -> Result<(), Refusal> {
        let without = match (&self.usage, before) {
            (Some(usage), Some(before)) => {
                let mut usage = usage.clone();
                usage.take(before);
                Some(usage)
            }
            _ => None,
        };
        judge(
            settings,
            &self.people,
            without.as_ref().or(self.usage.as_ref()),
            applicant,
        )
    }

    /// What a look at `now` showed: the jobs there are, and the submissions that became jobs.
    pub fn publish(&mut self, mut usage: Usage, seen: &[(UserId, UnixTime)], now: UnixTime) {
        let mut jobs: BTreeMap<(UserId, UnixTime), usize> = BTreeMap::new();
        for job in seen {
            *jobs.entry(*job).or_default() += 1;
        }
        self.admitted.retain(|admitted| now < admitted.until);
        for admitted in &self.admitted {
            match jobs.get_mut(&(admitted.user, admitted.at)) {
                // A job stands for one submission. It is remembered all the same: the next look shows it again, and it
                // must not stand for another submission of the same second then.
                Some(left) if *left > 0 => *left -= 1,
                _ => usage.add(&admitted.applicant()),
            }
        }
        self.usage = Some(usage);
        self.looked = Some(now);
    }

    /// What was used up, by now.
    pub fn set_spent(&mut self, spent: Spent) {
        if let Some(usage) = &mut self.usage {
            usage.spent = spent;
        }
    }

    /// What there was before the settings changed is not known in their terms.
    pub fn forget(&mut self) {
        self.usage = None;
    }

    /// The clock was stepped, and it is `now`. It is not known which submissions came before that: all that are remembered
    /// have as long to become jobs as one that comes now.
    pub fn clock_stepped(&mut self, now: UnixTime) {
        for admitted in &mut self.admitted {
            admitted.until = job_until(now);
        }
    }

    /// Whether what is known is not of this second: whoever was refused by it may be right to come again. Of a later second
    /// it is where the clock was put back.
    pub fn is_stale(&self, now: UnixTime) -> bool {
        self.looked != Some(now)
    }

    /// Whether a submission is remembered, so that another look is needed soon.
    pub fn awaits_jobs(&self) -> bool {
        !self.admitted.is_empty()
    }
}

#[cfg(test)]
mod tests;

// SPDX-License-Identifier: GPL-2.0-or-later
//! The site factor: what is added to Slurm's priority of a waiting job.
//!
//! Of two jobs only the difference matters, and that changes when one of them changes, never as time goes by: the wait
//! of both is counted up to the same moment, which moves on for all jobs at once. So a job does not gain by being
//! looked at, and where the moment stands still the order is right all the same.

use crate::policy::directives::{self, Urgency};
use crate::policy::record::Record;
use crate::policy::settings::Settings;
use crate::policy::units::{Seconds, UnixTime};

/// The site factor of an urgent job: near the largest that there is, and none of Slurm's special values.
pub const URGENT_FACTOR: i64 = 0x7fff_0000;

/// No normal job's site factor is larger, or smaller than its negative. This is reached by waiting for 12 years or more.
pub const NORMAL_MAX: i64 = (1 << 30) - 1;

/// How far ahead of the present the moment is set up to which waiting is counted; so a job that comes before it is set
/// again has not waited for less than no time.
pub const AHEAD_S: i64 = 900;

/// When it has not been set for this long it is to be set again, in seconds.
pub const REFRESH_S: i64 = 600;

const HOUR_S: i64 = 3600;

/// A waiting job: all that its place depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applicant {
    /// Its class.
    pub class: Urgency,
    /// When it was first submitted.
    pub first: UnixTime,
    /// It was preempted.
    pub preempted: bool,
    /// What it asks for, in GPUs.
    pub gpus: f64,
    /// How long it has yet to run; `None` where nobody has said.
    pub remaining_s: Option<Seconds>,
}

impl Applicant {
    /// A job with these comments, last submitted or requeued at `submit`, that asks for so much. A time limit is in
    /// seconds.
    pub fn read(
        comment: &[u8],
        admin_comment: &[u8],
        submit: UnixTime,
        (gpus, cpus): (u64, u32),
        time_limit_s: Option<Seconds>,
        settings: &Settings,
    ) -> Self {
        let record = Record::read(admin_comment);
        let record = record.as_ref();
        let reported_s = directives::parse(comment).ok().and_then(|told| {
            let left = f64::from(told.epochs?) - told.epoch.unwrap_or(0.0);
            Some(Seconds(left.max(0.0) * told.epoch_s?.0))
        });
        Self {
            class: record.map_or(Urgency::Normal, |record| record.class),
            first: record.and_then(|record| record.first).unwrap_or(submit),
            preempted: record.is_some_and(|record| record.preempted > 0),
            gpus: match gpus {
                0 => f64::from(cpus) * settings.victims.cpu_weight,
                // Exact: nobody has 2^53 GPUs.
                gpus => gpus as f64,
            },
            remaining_s: match (reported_s, time_limit_s) {
                (Some(reported_s), Some(limit_s)) if limit_s < reported_s => Some(limit_s),
                (reported_s, limit_s) => reported_s.or(limit_s),
            },
        }
    }
}

/// The site factor of `job`, with waiting counted up to `until`, in points.
///
/// A preempted job counts as small and short, so that nobody who came after it goes before it.
pub fn factor(job: &Applicant, until: UnixTime, settings: &Settings) -> i64 {
    if job.class == Urgency::Urgent {
        return URGENT_FACTOR;
    }
    let queue = &settings.queue;
    let advantage_max = i64::try_from(queue.advantage_max()).unwrap_or(NORMAL_MAX);
    let advantage = match job.preempted {
        // One more: of two equals Slurm takes the one that was submitted first, and it was just submitted again.
        true => advantage_max + 1,
        false => {
            let size = share(job.gpus, queue.size_half_gpus);
            let remaining = job
                .remaining_s
                .map_or(0.0, |left_s| share(left_s.0, queue.remaining_half_s.0));
            points(queue.size_weight, size) + points(queue.remaining_weight, remaining)
        }
    };
    let waited_s = until.0.saturating_sub(job.first.0);
    let wait = waited_s
        .saturating_mul(i64::from(queue.wait_weight))
        .div_euclid(HOUR_S);
    // So that a wait of many years still leaves room for the rest.
    let wait_max = NORMAL_MAX - advantage_max - 1;
    wait.clamp(-wait_max, wait_max) + advantage
}

/// 1 at 0, 1/2 at `half`, and ever less beyond.
fn share(amount: f64, half: f64) -> f64 {
    half / (half + amount.max(0.0))
}

/// `share`, from 0 to 1, of `weight`.
fn points(weight: u32, share: f64) -> i64 {
    (f64::from(weight) * share) as i64
}

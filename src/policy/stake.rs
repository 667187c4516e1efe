// SPDX-License-Identifier: GPL-2.0-or-later
//! What a job that is asked to save stands to lose, and what has become of that once it was stopped.

use super::facts::RunningJob;
use super::resources::GresTable;
use super::units::UnixTime;
use serde::{Deserialize, Serialize};

/// What is at stake for a job when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stake {
    /// GPUs that it holds.
    pub gpus: f64,
    /// Its training until then is safe without a further save: the last save that it reported, or where there is none of
    /// this run, the run's beginning.
    pub safe_until: UnixTime,
}

/// What has become of a stake. Time in which the job trained, whether or not it was told how far it came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Toll {
    /// Training after the last save, which is done again.
    pub lost_gpu_s: f64,
    /// Training that a stop without the requested save would have lost.
    pub kept_gpu_s: f64,
}

impl Stake {
    /// That of a running job, `now`.
    pub fn of(job: &RunningJob, gres: &GresTable, now: UnixTime) -> Self {
        let saved = job.directives.as_ref().and_then(|directives| directives.saved);
        Self {
            gpus: job.gpus(gres, 0.0),
            // A save that is yet to come is none.
            safe_until: saved
                .filter(|saved| *saved <= now)
                .unwrap_or(job.start)
                .max(job.start),
        }
    }

    /// After the job was stopped at `end`, and had saved at `saved` as it was asked to, or not.
    pub fn toll(&self, saved: Option<UnixTime>, end: UnixTime) -> Toll {
        let gpu_s = |from: UnixTime, to: UnixTime| self.gpus * (to - from).0.max(0.0);
        let safe_until = saved.map_or(self.safe_until, |saved| saved.min(end));
        Toll {
            lost_gpu_s: gpu_s(safe_until, end),
            kept_gpu_s: gpu_s(self.safe_until, safe_until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_requested_save_kept_and_what_was_trained_since() {
        let stake = Stake {
            gpus: 4.0,
            safe_until: UnixTime(100),
        };
        for (saved, lost_gpu_s, kept_gpu_s) in [
            (None, 800.0, 0.0),
            (Some(280), 80.0, 720.0),
            (Some(300), 0.0, 800.0),
            // Clocks differ by a second.
            (Some(301), 0.0, 800.0),
            (Some(99), 804.0, 0.0),
        ] {
            let toll = Toll {
                lost_gpu_s,
                kept_gpu_s,
            };
            assert_eq!(stake.toll(saved.map(UnixTime), UnixTime(300)), toll, "{saved:?}");
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! How a job is named on the command line: `17`, `17_4` for a task of an array, `17+1` for a component of a heterogeneous
//! job.

use crate::policy::ids::{ArrayTask, JobId};
use crate::slurm::show::{Seen, SeenJob};
use std::fmt;
use std::str::FromStr;

/// A job, as it was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobName {
    /// By its number.
    Number(JobId),
    /// A task of an array.
    Task(ArrayTask),
    /// A component of a heterogeneous job.
    Component { leader: JobId, offset: u32 },
}

impl JobName {
    /// The number in it.
    pub(super) fn number(self) -> JobId {
        match self {
            Self::Number(job) | Self::Component { leader: job, .. } => job,
            Self::Task(task) => task.array,
        }
    }

    /// The job of this name. Of an array that waits, its tasks are one job; a running task that has the array's own number
    /// comes second to that.
    pub(super) fn find(self, seen: &Seen) -> Option<&SeenJob> {
        let mut jobs = seen.jobs.iter();
        match self {
            Self::Number(job) => seen.job(job),
            Self::Task(task) => jobs.find(|job| job.array == Some(task)).or_else(|| {
                let together = seen.job(task.array)?;
                together.array.is_none().then_some(together)
            }),
            Self::Component { leader, offset } => jobs.find(|job| {
                let het = job.het;
                het.is_some_and(|het| het.leader == leader && het.offset == offset)
            }),
        }
    }

    /// Whether `job` is the one of this name, or starts together with it.
    pub(super) fn is_of(self, job: &SeenJob) -> bool {
        match self {
            Self::Task(task) => job.array == Some(task) || (job.id == task.array && job.array.is_none()),
            Self::Number(number) | Self::Component { leader: number, .. } => {
                job.id == number || job.het.is_some_and(|het| het.leader == number)
            }
        }
    }
}

impl FromStr for JobName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok();
        let job = |text: &str| number(text).filter(|id| *id > 0).map(JobId);
        let name = if let Some((array, task)) = text.split_once('_') {
            job(array)
                .zip(number(task))
                .map(|(array, task)| Self::Task(ArrayTask { array, task }))
        } else if let Some((leader, offset)) = text.split_once('+') {
            job(leader)
                .zip(number(offset))
                .map(|(leader, offset)| Self::Component { leader, offset })
        } else {
            job(text).map(Self::Number)
        };
        name.ok_or_else(|| {
            format!(
                "{text:?} names no job; write its number as squeue shows it, such as 17, 17_4 for a task of an array, or \
                 17+1 for a component of a heterogeneous job"
            )
        })
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(job) => job.fmt(f),
            Self::Task(task) => task.fmt(f),
            Self::Component { leader, offset } => write!(f, "{leader}+{offset}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_rubbish_gets_a_sentence() {
        for text in ["17", "17_4", "17+1", "4294967295_0"] {
            assert_eq!(text.parse::<JobName>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "0",
            "a",
            "17_",
            "_4",
            "17_4_5",
            "17+",
            "-1",
            "17 ",
            "4294967296",
            "17_[1-3]",
        ] {
            assert!(
                text.parse::<JobName>().unwrap_err().contains("names no job"),
                "{text}"
            );
        }
    }
}

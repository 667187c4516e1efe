// SPDX-License-Identifier: GPL-2.0-or-later
//! What the environment says of the job.

use super::place::is_in_step;
use super::say::say;
use crate::policy::ids::{ArrayTask, JobId};
use rustix::process::Pid;
use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

/// A file for lines of JSON, in the environment of the program that `surgent run` starts.
pub const REPORT: &str = "SURGENT_REPORT";
/// A file that counts the requests to save, for a program that looks there; there is none before the first of them.
pub const SAVE_REQUEST: &str = "SURGENT_SAVE_REQUEST";
/// `1` for a program that is to go on from its save.
pub const RESUME: &str = "SURGENT_RESUME";
/// How often Slurm has started the job again.
pub const RESTART_COUNT: &str = "SURGENT_RESTART_COUNT";
/// Seconds that lie at least between two updates of the job's comment, saves aside.
const MIN_INTERVAL_S: &str = "SURGENT_MIN_INTERVAL_S";

const MIN_INTERVAL_DEFAULT: Duration = Duration::from_secs(30);

/// The job around this process.
#[derive(Clone, Debug, PartialEq)]
pub struct JobEnvironment {
    /// The job; `None` outside Slurm.
    pub job: Option<JobId>,
    /// Which task of which array it is.
    pub array: Option<ArrayTask>,
    /// Whether this is a step of the job, as opposed to its batch script.
    pub is_step: bool,
    /// Which of the step's processes this is; 0 in a batch script.
    pub rank: u32,
    /// How many processes the step has; 1 in a batch script.
    pub ranks: u32,
    /// How often Slurm has started the job again.
    pub restarts: u32,
    /// The process that Slurm has started, around this one: the batch script, or one of the step's processes.
    pub task: Option<Pid>,
    /// The least time between two updates of the job's comment, saves aside.
    pub min_interval: Duration,
}

impl JobEnvironment {
    /// Reads this process's environment.
    pub fn read() -> Self {
        Self::from_lookup(|name| std::env::var_os(name), is_in_step)
    }

    /// Whether this process speaks to Slurm for its job: the first of a step's processes, or the batch script.
    pub fn speaks(&self) -> bool {
        self.job.is_some() && self.rank == 0
    }

    fn from_lookup(
        lookup: impl Fn(&str) -> Option<OsString>,
        is_in_step: impl Fn(JobId, bool) -> bool,
    ) -> Self {
        let job = number(&lookup, "SLURM_JOB_ID").map(JobId);
        let has_step_id = lookup("SLURM_STEP_ID").is_some();
        let is_step = job.is_some_and(|job| is_in_step(job, has_step_id));
        // A batch script has variables of this name too; they describe steps to come.
        let of_step = |name| number(&lookup, name).filter(|_| is_step);
        let array = number(&lookup, "SLURM_ARRAY_JOB_ID").map(JobId);
        let task = number(&lookup, "SLURM_ARRAY_TASK_ID");
        Self {
            job,
            array: array.zip(task).map(|(array, task)| ArrayTask { array, task }),
            is_step,
            rank: of_step("SLURM_PROCID").unwrap_or(0),
            ranks: of_step("SLURM_STEP_NUM_TASKS").unwrap_or(1),
            restarts: job
                .and_then(|_| number(&lookup, "SLURM_RESTART_COUNT"))
                .unwrap_or(0),
            task: number(&lookup, "SLURM_TASK_PID").and_then(Pid::from_raw),
            min_interval: min_interval(lookup(MIN_INTERVAL_S)),
        }
    }
}

fn number<T: FromStr>(lookup: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<T> {
    lookup(name)?.to_str()?.parse().ok()
}

fn min_interval(value: Option<OsString>) -> Duration {
    let Some(value) = value else {
        return MIN_INTERVAL_DEFAULT;
    };
    let seconds = value.to_str().and_then(|text| text.parse().ok());
    let interval = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    interval.unwrap_or_else(|| {
        let default_s = MIN_INTERVAL_DEFAULT.as_secs();
        say(&format!(
            "{MIN_INTERVAL_S} is not a number of seconds, so {default_s} is used"
        ));
        MIN_INTERVAL_DEFAULT
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> JobEnvironment {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        JobEnvironment::from_lookup(lookup, |_, has_step_id| has_step_id)
    }

    #[test]
    fn outside_slurm_there_is_no_job_and_nobody_speaks() {
        let outside = environment(&[("SLURM_RESTART_COUNT", "3")]);
        assert_eq!(
            (outside.job, outside.restarts, outside.speaks()),
            (None, 0, false)
        );
        assert_eq!(outside.min_interval, MIN_INTERVAL_DEFAULT);
    }

    #[test]
    fn a_batch_script_speaks_whatever_its_steps_will_be() {
        let batch = environment(&[
            ("SLURM_JOB_ID", "17"),
            ("SLURM_PROCID", "3"),
            ("SLURM_RESTART_COUNT", "2"),
            (MIN_INTERVAL_S, "0.5"),
        ]);
        assert!(batch.speaks() && !batch.is_step);
        assert_eq!((batch.ranks, batch.restarts), (1, 2));
        assert_eq!(batch.min_interval, Duration::from_millis(500));
    }

    #[test]
    fn a_task_of_an_array_knows_which_it_is() {
        let task = environment(&[
            ("SLURM_JOB_ID", "17"),
            ("SLURM_ARRAY_JOB_ID", "17"),
            ("SLURM_ARRAY_TASK_ID", "4"),
        ]);
        assert_eq!(task.array.map(|task| task.to_string()).as_deref(), Some("17_4"));
        assert_eq!(environment(&[("SLURM_JOB_ID", "17")]).array, None);
    }

    #[test]
    fn of_a_step_only_the_first_process_speaks() {
        let rank = |rank| {
            environment(&[
                ("SLURM_JOB_ID", "17"),
                ("SLURM_STEP_ID", "0"),
                ("SLURM_PROCID", rank),
                ("SLURM_STEP_NUM_TASKS", "8"),
            ])
        };
        assert!(rank("0").speaks());
        assert!(!rank("5").speaks());
        assert_eq!(rank("5").ranks, 8);
    }
}

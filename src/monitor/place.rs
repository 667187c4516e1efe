// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether this process runs in a job's batch script or in one of its steps.

use crate::policy::ids::JobId;
use std::fs;

/// Deeper than any tree of processes in a job.
const ANCESTORS_MAX: usize = 64;

/// A step, as opposed to the batch script, of which job.
///
/// `SLURM_STEP_ID` alone does not tell: it leaks into the batch script of a job that was submitted from within a step,
/// as out of `srun --pty bash`. Slurm's own keeper of the process carries the truth in its title, `slurmstepd:
/// [17.batch]`; only where it cannot be seen (in a container) does the variable count.
pub fn is_in_step(job: JobId, has_step_id: bool) -> bool {
    keeper_title()
        .and_then(|title| is_step_title(&title, job))
        .unwrap_or(has_step_id)
}

/// The title of the closest slurmstepd among this process's ancestors.
fn keeper_title() -> Option<String> {
    let mut pid = std::process::id();
    for _ in 0..ANCESTORS_MAX {
        let title = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let title = String::from_utf8_lossy(&title).into_owned();
        if title.starts_with("slurmstepd: ") {
            return Some(title);
        }
        pid = parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    }
    None
}

/// The parent in the text of `/proc/PID/stat`: `PID (name) state parent …`, where the name may hold anything.
fn parent(stat: &str) -> Option<u32> {
    let (_, behind_name) = stat.rsplit_once(") ")?;
    behind_name.split(' ').nth(1)?.parse().ok().filter(|&pid| pid > 0)
}

/// What `slurmstepd: [17.batch]` or `slurmstepd: [17.0]` says; `None` if it speaks of another job.
fn is_step_title(title: &str, job: JobId) -> Option<bool> {
    let inside = title.split_once('[')?.1.split_once(']')?.0;
    let (of_job, step) = inside.split_once('.')?;
    (of_job == job.to_string()).then_some(step != "batch")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_tells_a_step_from_a_batch_script() {
        assert_eq!(
            is_step_title("slurmstepd: [17.batch]\0\0", JobId(17)),
            Some(false)
        );
        assert_eq!(is_step_title("slurmstepd: [17.0]", JobId(17)), Some(true));
        assert_eq!(
            is_step_title("slurmstepd: [17.interactive]", JobId(17)),
            Some(true)
        );
        assert_eq!(is_step_title("slurmstepd: [16.batch]", JobId(17)), None);
        assert_eq!(is_step_title("slurmstepd: what", JobId(17)), None);
    }

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("12 (a) b) S 7 12 12 0"), Some(7));
        assert_eq!(parent("1 (init) S 0 1 1 0"), None);
        assert_eq!(parent(""), None);
    }
}

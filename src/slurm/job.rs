// SPDX-License-Identifier: GPL-2.0-or-later
//! One's own job, as a user may see and change it.

use super::command::{Bounds, CommandError, Environment, run};
use crate::policy::directives::SignalTarget;
use crate::policy::ids::{ArrayTask, JobId};
use bstr::ByteSlice;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

/// A look at the job; it stands between a request and the save.
const READ_LIMIT: Duration = Duration::from_secs(2);

/// scontrol itself gives up after about 9 s without slurmctld.
const UPDATE_LIMIT: Duration = Duration::from_secs(10);

/// Between the fields that squeue is asked for: characters that hardly anybody has in a comment, which may hold
/// anything else, newlines included. They only matter where the user of one array writes them into the comments of its
/// tasks.
const BEFORE_ID: char = '\x1e';
const BEFORE_COMMENT: char = '\x1f';
const BEHIND_COMMENT: char = '\x1d';

/// Width of the columns of the second kind of squeue's output, which cuts at the width and pads with blanks. The record
/// stands at the front of AdminComment, and that of a job that can be asked to save is shorter than this.
const ID_WIDTH: usize = 12;
const ADMIN_COMMENT_WIDTH: usize = 4096;

/// Why a job could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Slurm's command gave no answer, or refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// squeue knows no such job.
    #[error("squeue does not list job {0}")]
    NotListed(JobId),
    /// An array, or a het job.
    #[error("{name} is several jobs; name one of them, such as {first}")]
    Several {
        /// As it was named.
        name: String,
        /// One of them.
        first: String,
    },
    /// There is no such job.
    #[error("there is no job {0}")]
    NoSuchJob(String),
    /// No job is named so.
    #[error(
        "{0:?} names no job; write its number as squeue shows it, such as 17, or 17_4 for a task of an array"
    )]
    NotAName(String),
}

/// A job at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Slurm's word, such as `RUNNING`.
    pub state: String,
    /// When this run was started, as squeue prints it; another text means another run.
    pub start: String,
    /// The comment, byte for byte.
    pub comment: Vec<u8>,
}

/// How scancel is told whom a signal goes to.
pub fn target_options(target: SignalTarget) -> &'static [&'static str] {
    match target {
        SignalTarget::Batch => &["--batch"],
        SignalTarget::Steps => &[],
        SignalTarget::Full => &["--full"],
    }
}

/// One job, through Slurm's commands on the search path.
#[derive(Clone, Debug)]
pub struct Job {
    id: JobId,
    array: Option<ArrayTask>,
    environment: Environment,
}

impl Job {
    /// The job `id`, asked about with the environment of its user; `array` says which task of an array it is, if it is
    /// one.
    pub fn new(id: JobId, array: Option<ArrayTask>, environment: Environment) -> Self {
        Self {
            id,
            array,
            environment,
        }
    }

    /// The job that a user names: `17`, or `17_4` for a task of an array.
    ///
    /// # Errors
    ///
    /// Where Slurm does not answer, or the name is that of no job or of several.
    pub fn find(name: &str, environment: Environment) -> Result<Self, JobError> {
        let is_name = |byte: u8| byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(JobError::NotAName(name.to_owned()));
        }
        let listed = match squeue(name, "--format", "%A %F %K", &environment) {
            Ok(listed) => listed,
            Err(JobError::Command(error)) if error.to_string().contains("Invalid job id") => {
                return Err(JobError::NoSuchJob(name.to_owned()));
            }
            Err(error) => return Err(error),
        };
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let mut jobs = listed.lines().filter_map(job_in);
        let first = jobs.next().ok_or_else(|| JobError::NoSuchJob(name.to_owned()))?;
        let found = Self::new(first.0, first.1, environment);
        match jobs.next() {
            None => Ok(found),
            Some(_) => Err(JobError::Several {
                name: name.to_owned(),
                first: found.address(),
            }),
        }
    }

    /// Its number.
    pub fn id(&self) -> JobId {
        self.id
    }

    /// State, start and comment.
    ///
    /// # Errors
    ///
    /// As [`Job::comment`].
    pub fn look(&self) -> Result<Look, JobError> {
        let format = format!("{BEFORE_ID}%A{BEFORE_COMMENT}%T %S %k{BEHIND_COMMENT}");
        let listed = self.squeue("--format", &format)?;
        let text = comment_in(&listed, self.id).ok_or(JobError::NotListed(self.id))?;
        let mut words = text.splitn(3, |&byte| byte == b' ');
        let mut word = || words.next().unwrap_or_default();
        let (state, start) = (word(), word());
        let shown = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        Ok(Look {
            state: shown(state),
            start: shown(start),
            comment: known(word()).to_vec(),
        })
    }

    /// Signals the job, by a signal's name or number.
    ///
    /// # Errors
    ///
    /// As [`Job::set_comment`]; also for somebody else's job.
    pub fn signal(&self, signal: &str, target: SignalTarget) -> Result<(), JobError> {
        let mut args: Vec<OsString> = target_options(target).iter().map(OsString::from).collect();
        args.push(format!("--signal={signal}").into());
        args.push(self.address().into());
        self.command("scancel", &args, UPDATE_LIMIT)?;
        Ok(())
    }

    /// How Slurm's commands are told which job is meant. By its own number, the task that was the last to start would stand for
    /// its whole array, of which a look may be longer than any output that is read.
    fn address(&self) -> String {
        self.array
            .map_or_else(|| self.id.to_string(), |task| task.to_string())
    }

    /// The job's comment, byte for byte; empty where there is none.
    ///
    /// # Errors
    ///
    /// Within 2 s, where squeue does not answer or does not list the job.
    pub fn comment(&self) -> Result<Vec<u8>, JobError> {
        let format = format!("{BEFORE_ID}%A{BEFORE_COMMENT}%k{BEHIND_COMMENT}");
        let listed = self.squeue("--format", &format)?;
        comment_in(&listed, self.id).ok_or(JobError::NotListed(self.id))
    }

    /// The beginning of the job's AdminComment, enough for Surgent's record; empty where there is none.
    ///
    /// # Errors
    ///
    /// As [`Job::comment`].
    pub fn admin_comment(&self) -> Result<Vec<u8>, JobError> {
        let format = format!("JobID:{ID_WIDTH},admin_comment:{ADMIN_COMMENT_WIDTH}");
        let listed = self.squeue("--Format", &format)?;
        admin_comment_in(&listed, self.id).ok_or(JobError::NotListed(self.id))
    }

    /// Replaces the job's comment.
    ///
    /// # Errors
    ///
    /// Within 10 s, where slurmctld does not answer or refuses the comment.
    pub fn set_comment(&self, comment: Vec<u8>) -> Result<(), JobError> {
        let mut assignment = b"Comment=".to_vec();
        assignment.extend(comment);
        let job = format!("JobId={}", self.address());
        let args = ["update".into(), job.into(), OsString::from_vec(assignment)];
        self.command("scontrol", &args, UPDATE_LIMIT)?;
        Ok(())
    }

    /// Puts the job back into the queue, to be started again from its save.
    ///
    /// # Errors
    ///
    /// As [`Job::set_comment`]; also for a job that is not to be requeued.
    pub fn requeue(&self) -> Result<(), JobError> {
        self.command(
            "scontrol",
            &["requeue".into(), self.address().into()],
            UPDATE_LIMIT,
        )?;
        Ok(())
    }

    fn squeue(&self, option: &str, format: &str) -> Result<Vec<u8>, JobError> {
        squeue(&self.address(), option, format, &self.environment)
    }

    fn command(&self, name: &str, args: &[OsString], limit: Duration) -> Result<Vec<u8>, JobError> {
        command(name, args, limit, &self.environment)
    }
}

/// What squeue prints of the jobs of this name, in whatever state, in this format.
fn squeue(name: &str, option: &str, format: &str, environment: &Environment) -> Result<Vec<u8>, JobError> {
    let args = ["--noheader", "--states=all", "--jobs", name, option, format];
    command("squeue", &args.map(OsString::from), READ_LIMIT, environment)
}

fn command(
    name: &str,
    args: &[OsString],
    limit: Duration,
    environment: &Environment,
) -> Result<Vec<u8>, JobError> {
    let bounds = Bounds {
        limit,
        stop: &|| false,
    };
    Ok(run(name.as_ref(), args, environment, &bounds)?)
}

/// The job in one line of `%A %F %K`: its number, and array and task where it is of one.
pub fn job_in(line: &str) -> Option<(JobId, Option<ArrayTask>)> {
    let mut words = line.split_whitespace();
    let job = words.next()?.parse().ok().map(JobId)?;
    let array = words.next().and_then(|word| word.parse().ok()).map(JobId);
    let task = words.next().and_then(|word| word.parse().ok());
    Some((
        job,
        array.zip(task).map(|(array, task)| ArrayTask { array, task }),
    ))
}

/// The comment of `job` in what squeue printed: of an array's or a het job's first component it lists all.
pub fn comment_in(listed: &[u8], job: JobId) -> Option<Vec<u8>> {
    let before = format!("{BEFORE_ID}{job}{BEFORE_COMMENT}");
    let start = listed.find(&before)? + before.len();
    let rest = &listed[start..];
    // The first end that is followed by another record or by nothing: the comment itself may hold the mark.
    let next = format!("{BEHIND_COMMENT}\n{BEFORE_ID}");
    let end = rest
        .find(&next)
        .or_else(|| rest.rfind(format!("{BEHIND_COMMENT}\n")))?;
    Some(known(&rest[..end]).to_vec())
}

/// The beginning of the AdminComment of `job` in what squeue printed, up to its first newline.
pub fn admin_comment_in(listed: &[u8], job: JobId) -> Option<Vec<u8>> {
    let before = format!("{job:<ID_WIDTH$}", job = job.0);
    let admin_comment = listed
        .lines()
        .find_map(|line| line.strip_prefix(before.as_bytes()))?;
    Some(known(admin_comment.trim_end()).to_vec())
}

/// squeue prints "(null)" for nothing.
fn known(printed: &[u8]) -> &[u8] {
    match printed {
        b"(null)" => b"",
        printed => printed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_comment_is_found_among_those_of_an_array_and_kept_byte_for_byte() {
        let listed =
            b"\x1e17\x1fother\x1d\n\x1e18\x1f two\n lines \xff\x1d of \x1f it  \x1d\n\x1e19\x1f(null)\x1d\n";
        assert_eq!(comment_in(listed, JobId(17)).expect("listed"), b"other");
        assert_eq!(
            comment_in(listed, JobId(18)).expect("listed"),
            b" two\n lines \xff\x1d of \x1f it  "
        );
        assert_eq!(comment_in(listed, JobId(19)).expect("listed"), b"");
        assert_eq!(comment_in(listed, JobId(1)), None);
        assert_eq!(comment_in(b"", JobId(17)), None);
    }

    #[test]
    fn a_job_is_known_by_its_number_and_a_task_by_its_array() {
        assert_eq!(job_in("17 17 N/A"), Some((JobId(17), None)));
        let (job, array) = job_in("18 17 4").expect("a job");
        assert_eq!(
            (job, array.expect("a task").to_string()),
            (JobId(18), "17_4".to_owned())
        );
        assert_eq!(job_in("slurm_load_jobs error"), None);
    }

    #[test]
    fn an_admin_comment_is_found_without_its_padding() {
        let listed =
            b"17          surgent{class=normal ask=3} by hand   \n18          (null)   \n118         no\n";
        let found = admin_comment_in(listed, JobId(17)).expect("listed");
        assert_eq!(found, b"surgent{class=normal ask=3} by hand");
        assert_eq!(admin_comment_in(listed, JobId(18)).expect("listed"), b"");
        assert_eq!(admin_comment_in(listed, JobId(1)), None);
    }

    /// As squeue does, this one lists all tasks for the number that the last of them has, too.
    const SQUEUE: &str = r#"#!/bin/sh
case "$4 $5" in
"17_4 --format") case "$6" in
    *%T*) printf '\03617\037RUNNING 2026-12-01T10:00:00 mine\035\n' ;;
    *) printf '\03617\037mine\035\n' ;;
    esac ;;
"17_4 --Format") printf '%-12s%s\n' 17 'surgent{class=normal}' ;;
*) head -c 2000000 /dev/zero ;;
esac
"#;

    #[test]
    fn of_an_array_only_the_one_task_is_asked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let squeue = folder.path().join("squeue");
        std::fs::write(&squeue, SQUEUE).expect("its own file");
        std::fs::set_permissions(&squeue, std::fs::Permissions::from_mode(0o755)).expect("its own file");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let environment = Environment::bare(None).with("PATH", &path);
        let task = ArrayTask {
            array: JobId(17),
            task: 4,
        };
        let job = Job::new(JobId(17), Some(task), environment);
        let look = job.look().expect("a look");
        assert_eq!(
            (look.state.as_str(), &look.comment[..]),
            ("RUNNING", &b"mine"[..])
        );
        assert_eq!(job.comment().expect("a comment"), b"mine");
        let admin_comment = job.admin_comment().expect("a record");
        assert_eq!(admin_comment, b"surgent{class=normal}");
    }
}

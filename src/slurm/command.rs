// SPDX-License-Identifier: GPL-2.0-or-later
//! Running one of Slurm's commands without being harmed by it.
//!
//! An argument vector and no shell, nothing on its standard input, a limit on its time and on its output, and the
//! whole process group killed when a limit is reached. Also used inside slurmctld: nothing here panics, waits without
//! end, starts a thread or reads this process's environment.

mod room;

pub use room::COMMANDS_MAX;
use room::{NoPlace, Place, Room};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The most that is read from each of the command's outputs, where nothing else is said.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// How often `stop` is asked while the command runs.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// How often it is looked whether the command has exited, once it has closed its outputs.
const EXIT_CHECK: Duration = Duration::from_millis(5);

/// How long a killed command may take to vanish before it is left to end by itself (it can be stuck on a dead file system).
const REAP_LIMIT: Duration = Duration::from_secs(1);

/// How much of what a failed command said goes into the error.
const COMPLAINT_CHARS_MAX: usize = 300;

/// What bounds one run of a command.
pub struct Bounds<'a> {
    /// The command is killed when it has run for this long.
    pub limit: Duration,
    /// The command is killed within 50 ms once this says so.
    pub stop: &'a dyn Fn() -> bool,
}

/// The environment that a command gets: this, and nothing else.
#[derive(Clone, Debug)]
pub struct Environment(Vec<(OsString, OsString)>);

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The command's name or path.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ran out of time and was killed.
    #[error("{program} had not finished after {} s and was ended", .limit.as_secs_f64())]
    TimedOut {
        /// The command's name or path.
        program: String,
        /// The time it had.
        limit: Duration,
    },
    /// It was killed because the caller asked for it.
    #[error("{program} was ended early")]
    Stopped {
        /// The command's name or path.
        program: String,
    },
    /// It wrote more than it may and was killed.
    #[error("{program} wrote more than {max_bytes} bytes and was ended")]
    TooMuch {
        /// The command's name or path.
        program: String,
        /// The most that it may write.
        max_bytes: usize,
    },
    /// It ended with an exit code other than 0, or by a signal.
    #[error("{program} failed: {complaint}")]
    Failed {
        /// The command's name or path.
        program: String,
        /// What it wrote to its standard error, in one bounded line; else how it ended.
        complaint: String,
    },
}

impl CommandError {
    /// Whether the same command may succeed later: slurmctld did not answer, as opposed to "answered no".
    pub fn is_transient(&self) -> bool {
        // What scontrol and squeue of 22.05 to 26.05 say when there is no slurmctld, or a busy or a standby one. They
        // exit 1 for these as for a refusal.
        const NO_ANSWER: [&str; 9] = [
            "contact slurm controller",
            "timed out",
            "Zero Bytes",
            "standby mode",
            "Unexpected message received",
            "Connection refused",
            "Connection reset",
            "temporarily",
            "try again",
        ];
        match self {
            Self::TimedOut { .. } => true,
            Self::Failed { complaint, .. } => NO_ANSWER.iter().any(|sign| complaint.contains(sign)),
            Self::Start { .. } | Self::Stopped { .. } | Self::TooMuch { .. } => false,
        }
    }

    /// Whether the job that the command is about had ended before, so that nothing is left to be done: what Slurm's commands
    /// say of `ESLURM_JOB_FINISHED` and `ESLURM_ALREADY_DONE` in 22.05 to 26.05.
    pub fn is_too_late(&self) -> bool {
        const ENDED: [&str; 2] = ["already finished", "already completing or completed"];
        match self {
            Self::Failed { complaint, .. } => ENDED.iter().any(|sign| complaint.contains(sign)),
            Self::Start { .. } | Self::TimedOut { .. } | Self::Stopped { .. } | Self::TooMuch { .. } => false,
        }
    }
}

impl Environment {
    /// The standard search path, and `SLURM_CONF` where it is given: for use inside slurmctld, whose own environment
    /// must not be read while C code may change it.
    pub fn bare(slurm_conf: Option<&Path>) -> Self {
        const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let conf = slurm_conf.map(|path| ("SLURM_CONF".into(), path.into()));
        Self([("PATH".into(), PATH.into())].into_iter().chain(conf).collect())
    }

    /// The same with `name` set to `value`.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let others = self.0.iter().filter(|(known, _)| known != name).cloned();
        Self(others.chain([(name.into(), value.into())]).collect())
    }

    /// `all` without the variables by which a user changes what Slurm's commands print, or which cluster they ask.
    pub fn of_user(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let changes_answers = |name: &OsStr| {
            let name = name.as_encoded_bytes();
            name.starts_with(b"SQUEUE_") || name.starts_with(b"SCONTROL_") || name == b"SLURM_CLUSTERS"
        };
        Self(
            all.into_iter()
                .filter(|(name, _)| !changes_answers(name))
                .collect(),
        )
    }
}

/// Runs `program` (a path, or a name looked up in the environment's `PATH`) and returns what it wrote to its standard
/// output. Takes at most `bounds.limit` + 1 s.
///
/// # Errors
///
/// Where the command cannot be started, reaches a limit, or does not end with exit code 0.
pub fn run<A: AsRef<OsStr>>(
    program: &OsStr,
    args: &[A],
    environment: &Environment,
    bounds: &Bounds<'_>,
) -> Result<Vec<u8>, CommandError> {
    run_up_to(program, args, environment, bounds, OUTPUT_BYTES_MAX)
}

/// [`run`], for a command that may write up to `max_bytes` to each of its outputs.
///
/// # Errors
///
/// As [`run`].
pub fn run_up_to<A: AsRef<OsStr>>(
    program: &OsStr,
    args: &[A],
    environment: &Environment,
    bounds: &Bounds<'_>,
    max_bytes: usize,
) -> Result<Vec<u8>, CommandError> {
    /// All of this process.
    static ROOM: Room = Room::new();
    run_in(&ROOM, program, args, environment, bounds, max_bytes)
}

fn run_in<A: AsRef<OsStr>>(
    room: &Room,
    program: &OsStr,
    args: &[A],
    environment: &Environment,
    bounds: &Bounds<'_>,
    max_bytes: usize,
) -> Result<Vec<u8>, CommandError> {
    let end = Instant::now() + bounds.limit;
    let name = || program.to_string_lossy().into_owned();
    let failed = |source| CommandError::Start {
        program: name(),
        source,
    };
    let reached = |bound| match bound {
        Bound::Time => CommandError::TimedOut {
            program: name(),
            limit: bounds.limit,
        },
        Bound::Stop => CommandError::Stopped { program: name() },
        Bound::Output => CommandError::TooMuch {
            program: name(),
            max_bytes,
        },
    };
    let place = room.take(end, bounds).map_err(|why| match why {
        NoPlace::Full => failed(io::Error::other(format!(
            "{COMMANDS_MAX} commands that were killed have not ended, of a file system that does not answer perhaps"
        ))),
        NoPlace::Time => reached(Bound::Time),
        NoPlace::Stop => reached(Bound::Stop),
    })?;
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(environment.0.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group, so that a wrapper script is killed together with what it started.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut outputs = [
        Output::of(child.stdout.take().map(OwnedFd::from)),
        Output::of(child.stderr.take().map(OwnedFd::from)),
    ];
    let ended = follow(&mut child, &mut outputs, end, bounds, max_bytes);
    if !matches!(ended, Ok(Ok(_))) {
        end_group(child, place);
    }
    let [stdout, stderr] = outputs;
    let status = ended.map_err(failed)?.map_err(reached)?;
    if status.success() {
        return Ok(stdout.bytes);
    }
    let complaint = match one_line(&stderr.bytes) {
        said if said.is_empty() => format!("it said nothing and ended with {status}"),
        said => said,
    };
    Err(CommandError::Failed {
        program: name(),
        complaint,
    })
}

/// What a command has reached that did not end by itself.
enum Bound {
    Time,
    Stop,
    Output,
}

/// One of the command's outputs; `pipe` is `None` from its end on.
struct Output {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Output {
    fn of(pipe: Option<OwnedFd>) -> Self {
        Self {
            pipe,
            bytes: Vec::new(),
        }
    }

    /// Reads once. To be called only when the pipe has something or is at its end.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.bytes.extend_from_slice(&buffer[..count]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Reads both outputs until the command has exited or a bound is reached.
fn follow(
    child: &mut Child,
    outputs: &mut [Output; 2],
    end: Instant,
    bounds: &Bounds<'_>,
    max_bytes: usize,
) -> io::Result<Result<ExitStatus, Bound>> {
    loop {
        if (bounds.stop)() {
            return Ok(Err(Bound::Stop));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Err(Bound::Time));
        }
        let slice = left.min(STOP_CHECK);
        if outputs.iter().all(|output| output.pipe.is_none()) {
            if let Some(status) = exit_within(child, slice)? {
                return Ok(Ok(status));
            }
            continue;
        }
        // Asked before the poll: what an exited command wrote is in the pipe already. The pipe itself may stay open in
        // something that it started and left behind.
        let exited = child.try_wait()?;
        let has_read = read_ready(outputs, if exited.is_some() { Duration::ZERO } else { slice })?;
        if outputs.iter().any(|output| output.bytes.len() > max_bytes) {
            return Ok(Err(Bound::Output));
        }
        if let Some(status) = exited.filter(|_| !has_read) {
            return Ok(Ok(status));
        }
    }
}

/// Waits for up to `limit` until one of the outputs has something, and reads it; whether there was anything.
fn read_ready(outputs: &mut [Output; 2], limit: Duration) -> io::Result<bool> {
    // At most STOP_CHECK, far from overflowing.
    let limit = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    let mut ready = [false; 2];
    {
        let (places, mut polled): (Vec<usize>, Vec<PollFd<'_>>) = (0..)
            .zip(outputs.iter())
            .filter_map(|(place, output)| Some((place, PollFd::new(output.pipe.as_ref()?, PollFlags::IN))))
            .unzip();
        match poll(&mut polled, Some(&limit)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        for (place, fd) in places.into_iter().zip(&polled) {
            ready[place] = !fd.revents().is_empty();
        }
    }
    for (output, _) in outputs.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
        output.read()?;
    }
    Ok(ready.contains(&true))
}

/// Asks again and again: slurmctld blocks SIGCHLD, and its handlers are not ours to set.
fn exit_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let exited = child.try_wait()?;
        let left = limit.saturating_sub(begun.elapsed());
        if exited.is_some() || left.is_zero() {
            return Ok(exited);
        }
        std::thread::sleep(left.min(EXIT_CHECK));
    }
}

/// A child that nobody has waited for stays in the table of processes for as long as its parent, slurmctld, runs.
fn end_group(mut child: Child, place: Place<'_>) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Nothing to be done where it is gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
    if let Ok(None) = exit_within(&mut child, REAP_LIMIT) {
        place.keep_for(child);
    }
}

/// `text` as one line fit for a message: no control character, bounded.
fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words
        .chars()
        .filter(|c| !c.is_control())
        .take(COMPLAINT_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn sh(script: &str, limit: Duration, stop: &dyn Fn() -> bool) -> Result<Vec<u8>, CommandError> {
        run(
            "sh".as_ref(),
            &["-c", script],
            &Environment::bare(None),
            &Bounds { limit, stop },
        )
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_is_returned_whole() {
        let output = sh("printf 'a\\nb'; head -c 300000 /dev/zero", LONG, &|| false).expect("it succeeds");
        assert_eq!(output.len(), 300_003);
        assert!(output.starts_with(b"a\nb\0"));
    }

    #[test]
    fn a_job_that_has_ended_is_no_failure_to_be_tried_again() {
        let refused = |words: &str| {
            let script = format!("echo 'slurm_update error: {words}' >&2; exit 1");
            sh(&script, LONG, &|| false).expect_err("exit 1")
        };
        let late = refused("Job has already finished");
        assert!(late.is_too_late() && !late.is_transient());
        assert!(refused("Job/step already completing or completed").is_too_late());
        assert!(!refused("Invalid job id specified").is_too_late());
    }

    #[test]
    fn a_failure_carries_what_the_command_said_in_one_line() {
        let error = sh(
            "echo out; printf 'no\\n\\033such  job\\n' >&2; exit 1",
            LONG,
            &|| false,
        );
        assert_eq!(error.expect_err("exit 1").to_string(), "sh failed: no such job");
        let error = sh("kill -9 $$", LONG, &|| false).expect_err("killed");
        assert!(error.to_string().contains("signal: 9"), "{error}");
    }

    #[test]
    fn a_missing_command_is_an_error() {
        let bounds = Bounds {
            limit: LONG,
            stop: &|| false,
        };
        let error = run::<&str>("surgent-no-such".as_ref(), &[], &Environment::bare(None), &bounds);
        assert!(matches!(error, Err(CommandError::Start { .. })));
    }

    #[test]
    fn at_the_limit_the_command_and_what_it_started_are_killed() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let error =
            sh(&script, Duration::from_millis(500), &|| false).expect_err("it does not end by itself");
        assert!(error.is_transient(), "{error}");
        let pid = std::fs::read_to_string(pid).expect("the script got that far");
        assert_gone(pid.trim());
    }

    #[test]
    fn the_caller_can_stop_it() {
        let stop = AtomicBool::new(false);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| stop.store(true, Ordering::Relaxed));
            sh("sleep 1000", LONG, &|| stop.load(Ordering::Relaxed))
        });
        assert!(matches!(error, Err(CommandError::Stopped { .. })));
    }

    #[test]
    fn endless_output_is_cut_off() {
        let error = sh("yes", LONG, &|| false).expect_err("it writes without end");
        assert!(matches!(error, CommandError::TooMuch { .. }), "{error}");
    }

    #[test]
    fn what_it_leaves_behind_does_not_hold_it_up() {
        // The sleep keeps both pipes open.
        let output = sh("sleep 5 & echo done", LONG, &|| false).expect("it succeeds");
        assert_eq!(output, b"done\n");
    }

    #[test]
    fn standard_input_is_empty_and_the_environment_is_the_one_given() {
        let environment = Environment::bare(Some(Path::new("/a b/slurm.conf")));
        let bounds = Bounds {
            limit: LONG,
            stop: &|| false,
        };
        let output = run(
            "sh".as_ref(),
            &["-c", "cat; echo $SLURM_CONF$HOME"],
            &environment,
            &bounds,
        );
        assert_eq!(output.expect("it succeeds"), b"/a b/slurm.conf\n");
    }

    #[test]
    fn a_users_squeue_settings_are_left_out() {
        let all = ["SQUEUE_FORMAT", "SQUEUE_STATES", "SLURM_CLUSTERS", "SLURM_CONF"];
        let kept = Environment::of_user(all.map(|name| (name.into(), "x".into())));
        assert_eq!(kept.0, [("SLURM_CONF".into(), "x".into())]);
    }

    fn assert_gone(pid: &str) {
        let stat = Path::new("/proc").join(pid).join("stat");
        for _ in 0..1000 {
            match std::fs::read_to_string(&stat) {
                Ok(text) if !text.contains(") Z ") => std::thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
        panic!("process {pid} is still there");
    }
}

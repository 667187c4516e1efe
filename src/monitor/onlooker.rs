// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent follow`: says how far a training is whose script knows nothing of Surgent, by the files that its job writes.
//!
//! The task is left alone: it is only looked at through /proc, and it is never waited for. Nothing is known of how the
//! program could be asked to save, so nothing is said of that.

use super::direct::{is_own, own_job};
use super::environment::JobEnvironment;
use super::follow::Follower;
use super::others::runs_in;
use super::progress::Progress;
use super::publisher::Publisher;
use super::signals;
use super::task::{FileId, Sink, Task, exists};
use super::time::{Clock, unix_now};
use super::told::Told;
use crate::policy::directives;
use crate::policy::units::UnixTime;
use crate::progress::{Reader, Stream};
use crate::slurm::command::CommandError;
use crate::slurm::job::{Job, JobError};
use rustix::process::Pid;
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// How often the task is looked at: at first, while its outputs may not be seen yet, with pauses that grow; later.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LATER: Duration = Duration::from_secs(1);

/// The clock of the node on which the job ran before may be ahead by so much.
const CLOCK_SKEW_S: i64 = 30;

/// Standard error first: what a bar there showed last belongs in front of a line that begins the next epoch.
const STREAMS: [Stream; 2] = [Stream::Err, Stream::Out];

/// Follows the task around this process, which need not be its parent, until it ends, none of its outputs goes to a file,
/// or somebody else speaks for its job. Returns at once where there is nothing to follow.
pub fn follow(environment: &JobEnvironment) {
    let job = own_job(environment).filter(|_| environment.speaks());
    let (Some(job), Some(pid)) = (job, environment.task) else {
        return;
    };
    // Slurm signals all processes of a job. Where they cannot be caught this one ends, and nothing else.
    let _ = signals::catch(|_| {});
    let Some(task) = find(pid) else {
        return;
    };
    Onlooker {
        task,
        outputs: Vec::new(),
        reader: Reader::new(None),
        told: Told::new(None),
        progress: Progress::new(None, environment.min_interval),
        clock: Clock::start(),
        publisher: Publisher::start(job.clone(), || {}),
        job,
        spoken: UnixTime(unix_now().0 + CLOCK_SKEW_S),
    }
    .look_on();
}

/// Waits until the process is to be seen; `None` once there is none.
fn find(pid: Pid) -> Option<Task> {
    loop {
        match Task::find(pid) {
            Ok(task) => return Some(task),
            Err(_) if exists(pid) => sleep(LOOK_FIRST),
            Err(_) => return None,
        }
    }
}

struct Onlooker {
    task: Task,
    outputs: Vec<Output>,
    reader: Reader,
    told: Told,
    progress: Progress,
    clock: Clock,
    publisher: Publisher,
    job: Job,
    /// When this was started, or something was last published here. A report that is younger is somebody else's.
    spoken: UnixTime,
}

/// A file that is read.
struct Output {
    stream: Stream,
    file: FileId,
    follower: Follower,
}

impl Onlooker {
    fn look_on(mut self) {
        let mut pause = LOOK_FIRST;
        while self.task.runs() && self.attach() {
            if self.read() {
                self.take_in();
            }
            let now = self.clock.now().monotonic;
            if self.progress.due().is_some_and(|due| due <= now) && !self.publish() {
                return;
            }
            if !self.outputs.is_empty() {
                pause = LOOK_LATER;
            }
            sleep(pause);
            pause = (pause * 2).min(LOOK_LATER);
        }
    }

    /// Turns to the files that the outputs go to by now; whether there are any, or may be.
    fn attach(&mut self) -> bool {
        let sinks = STREAMS.map(|stream| (stream, self.task.sink(stream)));
        let mut wanted = Vec::new();
        for (stream, sink) in sinks {
            // Both may go to one file, which counts as standard output.
            let is_both = stream == Stream::Err && sinks.contains(&(Stream::Out, sink));
            if let Sink::File(file) = sink
                && !is_both
            {
                wanted.push((stream, file));
            }
        }
        self.outputs
            .retain(|output| wanted.contains(&(output.stream, output.file)));
        for (stream, file) in wanted {
            let is_read = |output: &Output| (output.stream, output.file) == (stream, file);
            if !self.outputs.iter().any(is_read) {
                // One that cannot be opened now may be at the next look.
                let output = self.open(stream, file);
                self.outputs.extend(output);
            }
        }
        sinks.iter().any(|(_, sink)| *sink != Sink::Other)
    }

    fn open(&mut self, stream: Stream, id: FileId) -> io::Result<Output> {
        let file = self.task.open(stream)?;
        let begin = match self.task.appends(stream) {
            // What is there is from before: of an earlier run of the job, say.
            true => file.metadata()?.len(),
            false => 0,
        };
        self.reader.begin(stream);
        Ok(Output {
            stream,
            file: id,
            follower: Follower::of(stream, file, begin),
        })
    }

    /// Reads what has come; whether there was anything.
    fn read(&mut self) -> bool {
        let reader = &mut self.reader;
        let read = self.outputs.iter_mut().map(|output| output.follower.read(reader));
        // A file that cannot be read for a moment is looked at again.
        read.fold(false, |any, read| any | read.unwrap_or(false))
    }

    fn take_in(&mut self) {
        let reading = self.reader.reading();
        if !reading.is_of_training {
            return;
        }
        if let Some(stand) = self.told.read(&reading, false) {
            self.progress.stand(&stand, self.clock.now().monotonic);
        }
    }

    /// Publishes what is due; false where nothing is to be published here any more.
    fn publish(&mut self) -> bool {
        if runs_in(self.job.id()) || self.is_spoken_for() {
            return false;
        }
        // That may have taken its time, and the job may have been started again somewhere.
        if self.task.runs() {
            let now = self.clock.now();
            self.spoken = self.spoken.max(now.unix);
            self.publisher.set(self.progress.publish(now));
        }
        true
    }

    /// Whether the job's comment shows that somebody else speaks for it, or there is no way to look at it.
    fn is_spoken_for(&self) -> bool {
        match self.job.comment() {
            Ok(comment) => directives::parse(&comment).is_ok_and(|there| {
                there.signal.is_some_and(is_own) || there.at.is_some_and(|at| at > self.spoken)
            }),
            Err(JobError::Command(CommandError::Start { .. })) => true,
            // Slurm does not answer, and will at a later attempt.
            Err(_) => false,
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading along in the program's output.
//!
//! A file is read beside the program that writes it ([`follow`](super::follow)). In front of a pipe stands a small process
//! of its own that hands everything on ([`relay`](super::relay)). A terminal, or anything else, stays the program's alone.

use super::follow::Follower;
use super::relay::{self, Relay};
use crate::progress::pattern::Pattern;
use crate::progress::{Reader, Reading, Stream};
use regex::bytes::Regex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FileType, fstat};
use std::io::{self, PipeReader, Read};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often a file is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Without waiting.
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// So much output is read at once, at most; what comes faster over a longer time is passed over in part.
const BURST_BYTES: u64 = 1024 * 1024;
const BYTES_PER_S: f64 = 512.0 * 1024.0;

/// How long the output of a program that has ended is waited for. Processes that it left behind may hold it open.
const END_LIMIT: Duration = Duration::from_secs(2);

/// How much is read of an output: all of what a person could read, and a part of what comes faster.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    /// All of it.
    pub fn new(now: Instant) -> Self {
        Self {
            left: BURST_BYTES as f64,
            at: now,
        }
    }

    /// Whether so many bytes may be read now.
    pub fn take(&mut self, bytes: u64, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + since * BYTES_PER_S).min(BURST_BYTES as f64);
        let is_enough = self.left >= bytes as f64;
        if is_enough {
            self.left -= bytes as f64;
        }
        is_enough
    }
}

/// What was heard of the program.
#[derive(Clone, Debug)]
pub struct Heard {
    /// How far it is.
    pub reading: Reading,
    /// A line that tells of a save has come since the last time.
    pub has_saved: bool,
}

fn heard(reader: &mut Reader) -> Heard {
    Heard {
        reading: reader.reading(),
        has_saved: reader.take_awaited(),
    }
}

/// The outputs of the program, as they are read.
pub struct Output {
    reader: Arc<Mutex<Reader>>,
    followers: Arc<Mutex<Vec<Follower>>>,
    changed: Arc<dyn Fn(Heard) + Send + Sync>,
    /// Closed once all relays are done.
    relays_end: Option<Receiver<()>>,
    /// For the thread that reads from relays; closed when the program has ended.
    wake: Option<Sender<()>>,
}

/// What the program gets for its standard output and standard error; `None` for this process's own.
#[derive(Debug, Default)]
pub struct Streams {
    /// Standard output.
    pub out: Option<Stdio>,
    /// Standard error.
    pub err: Option<Stdio>,
}

impl Output {
    /// Reads the formats of the common frameworks, or what `pattern` finds, and looks for a `saved_line`. Calls `changed`,
    /// on threads of its own, when something new was read.
    pub fn new(
        pattern: Option<Pattern>,
        saved_line: Option<Regex>,
        changed: impl Fn(Heard) + Send + Sync + 'static,
    ) -> Self {
        let mut reader = Reader::new(pattern);
        reader.look_for(saved_line);
        let output = Self {
            reader: Arc::new(Mutex::new(reader)),
            followers: Arc::default(),
            changed: Arc::new(changed),
            relays_end: None,
            wake: None,
        };
        let mut followers = Vec::new();
        let (out, err) = (io::stdout(), io::stderr());
        if is_kind(err.as_fd(), FileType::RegularFile) && !is_same(out.as_fd(), err.as_fd()) {
            followers.extend(Follower::new(Stream::Err, &err, "/proc/self/fd/2"));
        }
        if is_kind(out.as_fd(), FileType::RegularFile) {
            followers.extend(Follower::new(Stream::Out, &out, "/proc/self/fd/1"));
        }
        if !followers.is_empty() {
            output.follow(followers);
        }
        output
    }

    /// Prepares for a program that is about to be started.
    pub fn connect(&mut self) -> io::Result<Streams> {
        let (out, err) = (io::stdout(), io::stderr());
        let mut streams = Streams::default();
        let mut relays = Vec::new();
        let is_one = is_same(out.as_fd(), err.as_fd());
        // Standard error first, also where it is read: what a bar there showed last belongs in front of a line that
        // begins the next epoch.
        if is_kind(err.as_fd(), FileType::Fifo) && !is_one {
            let (input, relay) = relay::start(err.as_fd())?;
            streams.err = Some(input.into());
            relays.push((Stream::Err, relay));
        }
        if is_kind(out.as_fd(), FileType::Fifo) {
            let (input, relay) = relay::start(out.as_fd())?;
            if is_one {
                streams.err = Some(input.try_clone()?.into());
            }
            streams.out = Some(input.into());
            relays.push((Stream::Out, relay));
        }
        self.read_copies(relays);
        Ok(streams)
    }

    /// The program is started again.
    pub fn restart(&self) {
        lock(&self.reader).restart();
    }

    /// The program has ended: what its output said last.
    pub fn finish(&mut self) -> Heard {
        // The thread goes on at once where it pauses.
        self.wake = None;
        if let Some(relays_end) = self.relays_end.take() {
            // Nothing is ever sent: it is over when the sender is gone.
            let _ = relays_end.recv_timeout(END_LIMIT);
        }
        let mut reader = lock(&self.reader);
        for follower in lock(&self.followers).iter_mut() {
            // It was readable at the start; if it no longer is, what was read counts.
            let _ = follower.read(&mut reader);
        }
        let mut ended = reader.ended();
        // Told with the end, and not again.
        reader.take_awaited();
        heard(&mut ended)
    }

    fn follow(&self, followers: Vec<Follower>) {
        *lock(&self.followers) = followers;
        let (followers, reader) = (Arc::downgrade(&self.followers), Arc::clone(&self.reader));
        let changed = Arc::clone(&self.changed);
        thread::spawn(move || {
            while let Some(followers) = followers.upgrade() {
                let news = {
                    // In the same order as in `finish`.
                    let mut reader = lock(&reader);
                    let mut followers = lock(&followers);
                    let read = followers.iter_mut().map(|follower| follower.read(&mut reader));
                    // A file that cannot be read for a moment is looked at again.
                    let has_new = read.fold(false, |any, read| any | read.unwrap_or(false));
                    has_new.then(|| heard(&mut reader))
                };
                drop(followers);
                if let Some(news) = news {
                    changed(news);
                }
                thread::sleep(LOOK_INTERVAL);
            }
        });
    }

    /// Reads what the relays hand over, until they are done.
    fn read_copies(&mut self, mut relays: Vec<(Stream, Relay)>) {
        if relays.is_empty() {
            return;
        }
        let (reader, changed) = (Arc::clone(&self.reader), Arc::clone(&self.changed));
        let (wake, is_ending) = channel();
        let (done, relays_end) = channel::<()>();
        (self.wake, self.relays_end) = (Some(wake), Some(relays_end));
        thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while !relays.is_empty() {
                wait_for_any(&relays);
                relays.retain_mut(|(stream, relay)| {
                    let take = |bytes: &[u8]| lock(&reader).feed_stream(*stream, bytes);
                    let goes_on = read_burst(&mut relay.copy, &mut buffer, take);
                    if !goes_on {
                        // It has ended, or has closed what it hands over and ends.
                        let _ = relay.process.wait();
                    }
                    goes_on
                });
                let news = heard(&mut lock(&reader));
                changed(news);
                // So, many small writes wake this thread only now and then, and a fast output is read only in part.
                let _ = is_ending.recv_timeout(LOOK_INTERVAL);
            }
            drop(done);
        });
    }
}

/// Returns when one of the relays has handed something over.
fn wait_for_any(relays: &[(Stream, Relay)]) {
    let mut polled: Vec<_> = relays
        .iter()
        .map(|(_, relay)| PollFd::new(&relay.copy, PollFlags::IN))
        .collect();
    // Interrupted by a signal, at most.
    let _ = poll(&mut polled, None);
}

/// Reads what is there, at most a burst; false at the end.
fn read_burst(copy: &mut PipeReader, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> bool {
    let mut left = BURST_BYTES;
    while left > 0 && poll(&mut [PollFd::new(copy, PollFlags::IN)], Some(&AT_ONCE)) == Ok(1) {
        match copy.read(buffer) {
            Ok(0) => return false,
            Ok(count) => {
                take(&buffer[..count]);
                left = left.saturating_sub(count as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

fn is_kind(output: BorrowedFd<'_>, kind: FileType) -> bool {
    fstat(output).is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == kind)
}

fn is_same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let identity = |output| fstat(output).map(|status| (status.st_dev, status.st_ino));
    identity(one).is_ok_and(|one| identity(other) == Ok(one))
}

/// A lock that a panicking thread held is as good as any: a reading is at most incomplete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading along in a file that the program writes its output to.
//!
//! The program writes straight into the file, as without Surgent: nothing is delayed or changed, and nothing happens to it
//! if the monitor dies.

use super::output::Allowance;
use crate::progress::{Reader, Stream};
use rustix::fd::AsFd;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, seek};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// How much of what was missed is read all the same: a bar, or a few lines.
const CAUGHT_UP_BYTES: u64 = 64 * 1024;

/// One file, read from where the program begins to write.
#[derive(Debug)]
pub struct Follower {
    stream: Stream,
    file: File,
    read_bytes: u64,
    allowance: Allowance,
    buffer: Vec<u8>,
}

impl Follower {
    /// Follows the file behind `output`, which is one of this process's own.
    pub fn new(stream: Stream, output: impl AsFd, path: &str) -> io::Result<Self> {
        let output = output.as_fd();
        // Opened anew: the output itself can often only be written, and its place in the file is the program's.
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let appends = fcntl_getfl(output).is_ok_and(|flags| flags.contains(OFlags::APPEND));
        let place = seek(output, SeekFrom::Current(0)).unwrap_or(length);
        let begin = if appends { length } else { place.min(length) };
        Ok(Self::of(stream, file, begin))
    }

    /// Follows `file` from its byte `begin` on.
    pub fn of(stream: Stream, file: File, begin: u64) -> Self {
        Self {
            stream,
            file,
            read_bytes: begin,
            allowance: Allowance::new(Instant::now()),
            buffer: vec![0; 64 * 1024],
        }
    }

    /// Reads what has come since; whether there was something. Where too much has come only its end is read.
    pub fn read(&mut self, reader: &mut Reader) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < self.read_bytes {
            // Somebody has cut it off and begun anew.
            self.read_bytes = 0;
            reader.pass_over(self.stream);
        }
        let waiting = length - self.read_bytes;
        if waiting == 0 {
            return Ok(false);
        }
        if !self.allowance.take(waiting, Instant::now()) {
            let kept = waiting.min(CAUGHT_UP_BYTES);
            if kept < waiting {
                self.read_bytes = length - kept;
                reader.pass_over(self.stream);
            }
        }
        while self.read_bytes < length {
            let count = match self.file.read_at(&mut self.buffer, self.read_bytes) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.read_bytes += count as u64;
            reader.feed_stream(self.stream, &self.buffer[..count]);
        }
        Ok(true)
    }
}

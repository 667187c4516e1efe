// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines of a file that may hold anything.

use super::TraceError;
use std::io::{BufRead, Read};

/// No line of a trace is longer.
const LINE_MAX_BYTES: u64 = 64 * 1024;

/// Some editors begin a file with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// What a file is compressed by that begins so.
fn compression(bytes: &[u8]) -> Option<&'static str> {
    let begins: [(&[u8], _); 4] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ", "xz"),
        (b"BZh", "bzip2"),
    ];
    let found = begins.iter().find(|(magic, _)| bytes.starts_with(magic));
    found.map(|(_, name)| *name)
}

/// The lines of `input` that are not blank, each with its number.
pub struct Lines<R> {
    input: R,
    number: u64,
    bytes: Vec<u8>,
    text: String,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            number: 0,
            bytes: Vec::new(),
            text: String::new(),
        }
    }

    /// The next one, without its end. Bytes that are no UTF-8 are replaced: names may hold any.
    ///
    /// # Errors
    ///
    /// It cannot be read, is too long, or has no end: a number there may be cut off, and nobody would see that.
    pub fn next_line(&mut self) -> Result<Option<(u64, &str)>, TraceError> {
        loop {
            self.bytes.clear();
            self.number += 1;
            let mut limited = (&mut self.input).take(LINE_MAX_BYTES);
            let read = limited.read_until(b'\n', &mut self.bytes);
            let read = read.map_err(|error| TraceError::at(self.number, error.to_string()))?;
            if read as u64 == LINE_MAX_BYTES && self.bytes.last() != Some(&b'\n') {
                let what = format!("the line is longer than {LINE_MAX_BYTES} bytes, as none of a trace is");
                return Err(TraceError::at(self.number, what));
            }
            if read == 0 {
                return Ok(None);
            }
            if let Some(compression) = compression(&self.bytes).filter(|_| self.number == 1) {
                let what = format!("the trace is compressed by {compression}; uncompress it first");
                return Err(TraceError::at(self.number, what));
            }
            if self.bytes.last() != Some(&b'\n') {
                let what = "the last line has no end; is the trace cut off here? If it is whole, end it with a newline";
                return Err(TraceError::at(self.number, what));
            }
            self.text.clear();
            self.text.push_str(&String::from_utf8_lossy(&self.bytes));
            if self.number == 1 && self.text.starts_with(BYTE_ORDER_MARK) {
                self.text.remove(0);
            }
            if !self.text.trim().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, self.text.trim_end_matches(['\n', '\r']))))
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines of a file that may hold anything.

use super::TraceError;
use std::io::{BufRead, Read};

/// No line of a trace is longer.
const LINE_MAX_BYTES: u64 = 64 * 1024;

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
            self.text.clear();
            self.text.push_str(&String::from_utf8_lossy(&self.bytes));
            if !self.text.trim().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, self.text.trim_end_matches(['\n', '\r']))))
    }
}

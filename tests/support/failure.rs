// SPDX-License-Identifier: GPL-2.0-or-later
//! What went wrong, in words for the person who reads a failed test.

use std::fmt;

/// A sentence, perhaps with lines of logs below it. Shown as it is, also where Rust would print a `Debug` form.
pub struct Failure(String);

/// The outcome of anything that works on a cluster.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Adds what was being done, in front.
    pub fn during(self, doing: &str) -> Self {
        Self(format!("{doing}: {}", self.0))
    }
}

impl<T: Into<String>> From<T> for Failure {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

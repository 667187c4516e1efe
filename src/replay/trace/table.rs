// SPDX-License-Identifier: GPL-2.0-or-later
//! Rows of named columns.

use super::TraceError;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// The column that people write into what they like.
pub const COMMENT: &str = "Comment";

/// Where the columns are.
pub struct Header {
    separator: char,
    names: Vec<String>,
}

/// One row below a [`Header`].
pub struct Row<'a> {
    header: &'a Header,
    line: u64,
    cells: Vec<&'a str>,
}

impl Header {
    /// The columns that `line` names.
    pub fn new(line: &str, separator: char) -> Self {
        let names = line.split(separator).map(|name| name.trim().to_owned());
        Self {
            separator,
            names: names.collect(),
        }
    }

    /// Whether all of these are there.
    pub fn has_all(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.at(name).is_some())
    }

    fn at(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// How many of these are there.
    pub fn count(&self, names: &[&str]) -> usize {
        names.iter().filter(|name| self.at(name).is_some()).count()
    }

    /// Whether `name` is there, and not the last one.
    pub fn has_before_others(&self, name: &str) -> bool {
        self.at(name).is_some_and(|at| at + 1 < self.names.len())
    }

    /// The cells of a row. What is too much belongs to a comment at the end, which may hold the separator.
    ///
    /// # Errors
    ///
    /// Too few cells, or too many.
    pub fn row<'a>(&'a self, (line, text): (u64, &'a str)) -> Result<Row<'a>, TraceError> {
        let wanted = self.names.len();
        let most = match self.names.last().is_some_and(|last| last == COMMENT) {
            true => wanted,
            false => wanted + 1,
        };
        let cells: Vec<&str> = text.splitn(most, self.separator).collect();
        if cells.len() != wanted {
            let what = match cells.len() > wanted {
                true => format!("more fields than the {wanted} that the first line names"),
                false => format!(
                    "{} fields, where the first line names {wanted}; is the trace cut off here?",
                    cells.len()
                ),
            };
            return Err(TraceError::at(line, what));
        }
        Ok(Row {
            header: self,
            line,
            cells,
        })
    }
}

impl Row<'_> {
    /// The number of its line.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// What stands under `name`; `None` without such a column.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.header.at(name).map(|at| self.cells[at].trim())
    }

    /// The same; nothing, without such a column. For columns that the header was found to have.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A whole number within `range`.
    ///
    /// # Errors
    ///
    /// Anything else; the sentence names the column and what stands there.
    pub fn whole(&self, name: &str, range: RangeInclusive<i64>) -> Result<i64, TraceError> {
        let text = self.text(name);
        match text.parse::<i64>() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(self.fault(
                name,
                format!("a whole number from {} to {}", range.start(), range.end()),
            )),
        }
    }

    /// A number within `range`, also with a fraction.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn number(&self, name: &str, range: RangeInclusive<f64>) -> Result<f64, TraceError> {
        match self.text(name).parse::<f64>() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(self.fault(
                name,
                format!("a number from {} to {}", range.start(), range.end()),
            )),
        }
    }

    /// The sentence that something else than `wanted` stands under `name`.
    pub fn fault(&self, name: &str, wanted: impl Display) -> TraceError {
        const SHOWN_MAX_CHARS: usize = 40;
        let shown: String = self.text(name).chars().take(SHOWN_MAX_CHARS).collect();
        TraceError::at(self.line, format!("{name} is {shown:?}, not {wanted}"))
    }
}

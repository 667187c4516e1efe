// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of fixed width: the one form of squeue's output in which a text can hold anything at all.
//!
//! `squeue --Format` cuts each of these columns at its width, in bytes, and fills it up with blanks. So a row is found by
//! counting, and nothing that a user writes, newlines included, can reach another column or another job.

use super::fields::number;
use crate::policy::ids::JobId;

/// The number of a job has up to ten digits.
const ID_WIDTH: usize = 12;

/// A text that comes this near to the width of its column may have been cut behind blanks of its own.
const MARGIN: usize = 16;

/// Columns behind the job's number: squeue's name for each, and its width in bytes, more than twice the margin.
#[derive(Clone, Copy, Debug)]
pub struct Table<const N: usize>(pub [(&'static str, usize); N]);

impl<const N: usize> Table<N> {
    /// What `squeue --Format` is given.
    pub fn format(&self) -> String {
        let columns = self.0.map(|(name, width)| format!(",{name}:{width}"));
        format!("JobID:{ID_WIDTH}{}", columns.concat())
    }

    /// Bytes of a row, with its newline.
    pub fn row_bytes(&self) -> usize {
        ID_WIDTH + self.0.map(|(_, width)| width).iter().sum::<usize>() + 1
    }

    /// The rows of what squeue printed; `None` where it did not print this table.
    pub fn rows<'a>(&self, printed: &'a [u8]) -> Option<Vec<(JobId, [Cell<'a>; N])>> {
        let row_bytes = self.row_bytes();
        let row = move |row: &'a [u8]| {
            let (id, mut rest) = row.split_at_checked(ID_WIDTH)?;
            let id = JobId(number(without_filling(id))?);
            let mut cells = [Cell::default(); N];
            for (cell, (_, width)) in cells.iter_mut().zip(self.0) {
                let (text, behind) = rest.split_at_checked(width)?;
                *cell = Cell::of(text);
                rest = behind;
            }
            (rest == b"\n").then_some((id, cells))
        };
        printed.chunks(row_bytes).map(row).collect()
    }
}

/// One text of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The text, without blanks at its end; empty where Slurm has none.
    pub text: &'a [u8],
    /// It fills its column: there may be more of it.
    pub is_cut: bool,
}

impl<'a> Cell<'a> {
    fn of(column: &'a [u8]) -> Self {
        let text = without_filling(column);
        Self {
            is_cut: text.len() + MARGIN > column.len(),
            text: if text == b"(null)" { b"" } else { text },
        }
    }
}

/// All before the blanks at the end; there are many, and they are bytes, not characters.
fn without_filling(column: &[u8]) -> &[u8] {
    let end = column
        .iter()
        .rposition(|byte| *byte != b' ')
        .map_or(0, |last| last + 1);
    &column[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table<2> = Table([("Name", 40), ("Comment", 50)]);

    fn row(id: u32, name: &[u8], comment: &[u8]) -> Vec<u8> {
        let mut row = format!("{id:<ID_WIDTH$}").into_bytes();
        for (text, width) in [(name, 40), (comment, 50)] {
            let start = row.len();
            row.extend(&text[..text.len().min(width)]);
            row.resize(start + width, b' ');
        }
        row.push(b'\n');
        row
    }

    #[test]
    fn a_text_stays_in_its_column_whatever_it_is() {
        let hostile = b"\n18          x";
        let printed = [row(17, hostile, b"(null)"), row(18, b"b", &[b'x'; 60])].concat();
        let rows = TABLE.rows(&printed).expect("a table");
        assert_eq!(rows[0].0, JobId(17));
        assert_eq!(rows[0].1[0].text, hostile);
        assert_eq!(rows[0].1[1], Cell::default());
        assert_eq!((rows[1].0, rows[1].1[0].text), (JobId(18), &b"b"[..]));
        assert!(rows[1].1[1].is_cut && !rows[1].1[0].is_cut);
        assert_eq!(TABLE.format(), "JobID:12,Name:40,Comment:50");
    }

    #[test]
    fn another_output_is_no_table() {
        let whole = row(17, b"a", b"b");
        assert!(TABLE.rows(&whole[1..]).is_none());
        assert!(TABLE.rows(&whole[..whole.len() - 1]).is_none());
        assert!(TABLE.rows(b"slurm_load_jobs error: no\n").is_none());
        assert_eq!(TABLE.rows(b"").expect("no rows").len(), 0);
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A table that fits: columns as wide as what stands in them, and where that is too much, names are cut.

use super::words::visible;
use console::{Alignment, Style, measure_text_width, pad_str};

/// What stands where a text was cut.
const CUT: &str = "…";
/// Between columns, and where there is no room for that.
const WIDE_GAP: &str = "  ";
const GAP: &str = " ";
/// A name is cut to this before columns move closer, and to that before anything else is cut.
const NAME_COLUMNS: usize = 12;
const NAME_COLUMNS_MIN: usize = 6;

/// How a column is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Kind {
    /// To the right, never cut as long as anything else can be.
    Number,
    /// To the left, and not cut either.
    Word,
    /// To the left; cut where there is no room.
    Name,
}

/// Rows of text under heads.
pub(in crate::cli) struct Table {
    heads: Vec<(&'static str, Kind)>,
    rows: Vec<(Vec<String>, Style)>,
}

impl Table {
    /// Without rows.
    pub(in crate::cli) fn new(heads: &[(&'static str, Kind)]) -> Self {
        Self {
            heads: heads.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, with one text for each head. Whatever a terminal would obey in them is made visible.
    pub(in crate::cli) fn push(&mut self, cells: &[&str], style: Style) {
        let cells = cells.iter().map(|cell| visible(cell)).collect();
        self.rows.push((cells, style));
    }

    /// In lines of at most `columns`, each behind `indent` blanks.
    pub(in crate::cli) fn text(
        &self,
        indent: usize,
        columns: usize,
        paint: &dyn Fn(Style, String) -> String,
    ) -> String {
        let gaps = self.heads.len().saturating_sub(1);
        let room = |gap: &str| columns.saturating_sub(indent + gaps * gap.len());
        let (gap, widths) = match self.widths(room(WIDE_GAP), NAME_COLUMNS) {
            Some(widths) => (WIDE_GAP, widths),
            None => (GAP, self.cut_widths(room(GAP))),
        };
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&self.heads).zip(&widths);
            let padded = cells.map(|((cell, (_, kind)), width)| {
                let side = match kind {
                    Kind::Number => Alignment::Right,
                    Kind::Word | Kind::Name => Alignment::Left,
                };
                pad_str(cell, *width, side, Some(CUT)).into_owned()
            });
            let line = padded.collect::<Vec<_>>().join(gap);
            format!("{}{}", " ".repeat(indent), line.trim_end())
        };
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| (*head).to_owned()).collect();
        let mut text = paint(Style::new().bold(), line(&heads)) + "\n";
        for (cells, style) in &self.rows {
            text += &paint(style.clone(), line(cells));
            text.push('\n');
        }
        text
    }

    /// As wide as needed, but for names, which are left `least` columns where that helps; `None` where it does not.
    fn widths(&self, room: usize, least: usize) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> = (0..self.heads.len())
            .map(|at| {
                let cells = self.rows.iter().map(|(cells, _)| cells[at].as_str());
                let texts = cells.chain([self.heads[at].0]);
                texts.map(measure_text_width).max().unwrap_or(0)
            })
            .collect();
        while widths.iter().sum::<usize>() > room {
            let names = (0..widths.len()).filter(|at| self.heads[*at].1 == Kind::Name && widths[*at] > least);
            let widest = names.max_by_key(|at| widths[*at])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }

    /// The same where all has to be cut if nothing else helps.
    fn cut_widths(&self, room: usize) -> Vec<usize> {
        if let Some(widths) = self.widths(room, NAME_COLUMNS_MIN) {
            return widths;
        }
        let mut widths = self.widths(usize::MAX, 0).unwrap_or_default();
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > 1) else {
                break;
            };
            *widest -= 1;
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(table: &Table, columns: usize) -> String {
        table.text(2, columns, &|_, line| line)
    }

    #[test]
    fn names_are_cut_and_numbers_are_not() {
        let mut table = Table::new(&[("job", Kind::Number), ("name", Kind::Name), ("why", Kind::Word)]);
        table.push(&["4711", "a-rather-long-name", "max_preemptions"], Style::new());
        table.push(&["12", "训练训练训练", "cannot_save"], Style::new());
        let roomy = "   job  name                why\n  4711  a-rather-long-name  max_preemptions\n    12  训练训练训练        cannot_save\n";
        assert_eq!(plain(&table, 100), roomy);
        let tight = "   job name     why\n  4711 a-rathe… max_preemptions\n    12 训练训… cannot_save\n";
        assert_eq!(plain(&table, 31), tight);
    }

    #[test]
    fn where_nothing_else_helps_all_is_cut() {
        let mut table = Table::new(&[("number", Kind::Number), ("name", Kind::Name)]);
        table.push(&["4294967295", "somebody"], Style::new());
        assert!(
            plain(&table, 14)
                .lines()
                .all(|line| measure_text_width(line) <= 14)
        );
    }
}

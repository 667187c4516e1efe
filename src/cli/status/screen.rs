// SPDX-License-Identifier: GPL-2.0-or-later
//! For whom text is laid out: so many columns, with colours or without.

use super::table::Table;
use super::words::visible;
use crate::policy::units::UnixTime;
use console::Style;

/// Of a terminal that is wider no more is used.
const COLUMNS_MAX: usize = 100;
/// In a narrower one, tables would be of no use.
const COLUMNS_MIN: usize = 60;
/// Before the rows of a section.
const INDENT: usize = 2;

/// For whom it is drawn.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Screen {
    columns: usize,
    colours: bool,
}

impl Screen {
    /// A screen of so many columns; what is not a terminal has as many as anybody may want.
    pub(in crate::cli) fn new(columns: Option<u16>, colours: bool) -> Self {
        let columns = columns.map_or(COLUMNS_MAX, usize::from);
        Self {
            columns: columns.clamp(COLUMNS_MIN, COLUMNS_MAX),
            colours,
        }
    }

    pub(in crate::cli) fn paint(&self, style: Style, text: String) -> String {
        match self.colours {
            true => style.force_styling(true).apply_to(text).to_string(),
            false => text,
        }
    }

    /// A line, or several.
    pub(in crate::cli) fn fill(&self, text: &str, indent: &str) -> String {
        let options = textwrap::Options::new(self.columns)
            .initial_indent(indent)
            .subsequent_indent(indent);
        textwrap::fill(&visible(text), options) + "\n"
    }

    pub(in crate::cli) fn table(&self, table: &Table) -> String {
        table.text(INDENT, self.columns, &|style, line| self.paint(style, line))
    }

    pub(in crate::cli) fn title(&self, text: &str) -> String {
        self.paint(Style::new().bold(), text.to_owned()) + "\n"
    }
}

/// In this machine's time zone.
pub(in crate::cli) fn local(at: UnixTime) -> String {
    let zoned = jiff::Timestamp::from_second(at.0).map(|at| at.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(
        |_| at.to_string(),
        |at| at.strftime("%Y-%m-%d %H:%M:%S %Z").to_string(),
    )
}

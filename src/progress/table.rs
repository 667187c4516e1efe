// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables with a heading: a CSV file as Keras, Lightning, Ultralytics and timm write it. All text is in lower case.

use super::cursor::Cursor;
use super::duration;
use super::format::Format;
use super::sight::{Base, Epoch, Means, Scope, Sight, Steps, Times};
use bstr::ByteSlice;

/// Tables of more columns are none.
const COLUMNS_MAX: usize = 256;

/// The heading that was seen last.
#[derive(Clone, Debug, Default)]
pub struct Table {
    heading: Option<Heading>,
}

#[derive(Clone, Copy, Debug)]
struct Heading {
    separator: u8,
    epoch: usize,
    step: Option<usize>,
    /// A column of the time that each epoch took.
    time: Option<usize>,
    columns: usize,
}

impl Table {
    /// Whether there may be rows.
    pub fn is_open(&self) -> bool {
        self.heading.is_some()
    }

    /// What a line says, if it is a row of a table with a column `epoch`.
    pub fn read(&mut self, text: &[u8]) -> Option<Sight> {
        if let Some(heading) = heading(text) {
            self.heading = Some(heading);
            return None;
        }
        let heading = self.heading?;
        let cells = || cells(text, heading.separator);
        if cells().take(COLUMNS_MAX).count() != heading.columns {
            return None;
        }
        let cell = |column: usize| {
            let cell = cells().nth(column)?;
            let mut cursor = Cursor::new(cell, 0);
            cursor.number().filter(|_| cursor.rest().is_empty())
        };
        let number = cell(heading.epoch)?;
        let step = heading.step.and_then(cell);
        let is_float = number.fract() != 0.0;
        let time_cell = heading.time.and_then(|time| cells().nth(time));
        Some(Sight {
            format: match heading.separator {
                b' ' => Format::named("fastai"),
                _ => Format::named("table of comma-separated values"),
            },
            epoch: Some(Epoch {
                number,
                means: match (is_float, step) {
                    (true, _) => Means::Completed,
                    (false, Some(_)) => Means::Inside,
                    (false, None) => Means::Over,
                },
                base: match heading.separator {
                    b' ' => Base::Zero,
                    _ => Base::LikelyZero,
                },
            }),
            steps: step.map(|done| Steps {
                done,
                total: None,
                scope: Scope::Run,
            }),
            times: Times {
                epoch_s: time_cell.and_then(duration::seconds),
                ..Times::default()
            },
            ..Sight::default()
        })
    }
}

/// The cells of a row. Blanks separate in any number.
fn cells(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let cells = text.split(move |byte| *byte == separator).map(<[u8]>::trim_ascii);
    cells.filter(move |cell| separator != b' ' || !cell.is_empty())
}

/// A line of names, one of which is `epoch`.
fn heading(text: &[u8]) -> Option<Heading> {
    text.find("epoch")?;
    [b',', b';', b'\t', b' '].into_iter().find_map(|separator| {
        let names = || cells(text, separator);
        let columns = names().take(COLUMNS_MAX).count();
        let is_name = |name: &[u8]| {
            let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-/()@.: ".contains(byte);
            name.len() < 64 && name.iter().all(is_sign) && !name.first().is_some_and(u8::is_ascii_digit)
        };
        let epoch = names().position(|name| name == b"epoch")?;
        // fastai's is the one with blanks.
        let time = names()
            .position(|name| name == b"time")
            .filter(|_| separator == b' ');
        let is_known = separator != b' ' || epoch == 0 && time == Some(columns - 1);
        let is_heading = (2..COLUMNS_MAX).contains(&columns) && names().all(is_name) && is_known;
        is_heading.then(|| Heading {
            separator,
            epoch,
            step: names().position(|name| name == b"step" || name == b"global_step"),
            time,
            columns,
        })
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of somebody else's within a sentence of ours.

/// `text` on one line, without what would do something to a terminal or look like another line of a log.
pub fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

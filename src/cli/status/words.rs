// SPDX-License-Identifier: GPL-2.0-or-later
//! Times, costs and other people's words, as they stand in a table.

use crate::policy::units::Seconds;

const MINUTE_S: f64 = 60.0;
const HOUR_S: f64 = 3600.0;
const DAY_S: f64 = 86_400.0;

/// Text that a user may have written, on one line, with nothing in it that a terminal would obey or hide.
pub(in crate::cli) fn visible(text: &str) -> String {
    // This escapes all that is not printable, and quotation marks, which are.
    let escaped = text.escape_debug().to_string();
    escaped.replace("\\'", "'").replace("\\\"", "\"")
}

/// A length of time, cut to what matters of it: `45s`, `12m`, `3h05m`, `2d04h`.
pub(in crate::cli) fn span(time_s: Seconds) -> String {
    let time_s = time_s.0.max(0.0);
    let whole = |unit: f64| (time_s / unit).floor();
    if time_s < 2.0 * MINUTE_S {
        format!("{time_s:.0}s")
    } else if time_s < HOUR_S {
        format!("{}m", whole(MINUTE_S))
    } else if time_s < 2.0 * DAY_S {
        format!("{}h{:02}m", whole(HOUR_S), whole(MINUTE_S) % 60.0)
    } else if time_s < 100.0 * DAY_S {
        format!("{}d{:02}h", whole(DAY_S), whole(HOUR_S) % 24.0)
    } else {
        format!("{}d", whole(DAY_S))
    }
}

/// GPU-seconds in the unit that suits them.
pub(in crate::cli) fn gpu_time(gpu_s: f64) -> String {
    if gpu_s < MINUTE_S {
        format!("{gpu_s:.1} GPU-s")
    } else if gpu_s < HOUR_S {
        format!("{:.1} GPU-min", gpu_s / MINUTE_S)
    } else {
        format!("{:.1} GPU-h", gpu_s / HOUR_S)
    }
}

/// The first few of these names, and how many more there are.
pub(in crate::cli) fn names(names: &[String]) -> String {
    const SHOWN_MAX: usize = 6;
    let shown = names[..names.len().min(SHOWN_MAX)].join(",");
    match names.len().saturating_sub(SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        let shown = visible("a\u{1b}[31m\r\n\t\u{9b}\u{202e}\u{200b}b");
        assert_eq!(shown, r"a\u{1b}[31m\r\n\t\u{9b}\u{202e}\u{200b}b");
        assert_eq!(visible("it's \"ä\" 训练 e\u{301}"), "it's \"ä\" 训练 e\u{301}");
    }

    #[test]
    fn times_are_short() {
        let shown =
            [0.4, 119.4, 120.0, 3599.0, 3600.0, 11_100.0, 187_200.0, 1e9, -5.0].map(|s| span(Seconds(s)));
        let expected = [
            "0s", "119s", "2m", "59m", "1h00m", "3h05m", "2d04h", "11574d", "0s",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn costs_are_in_the_unit_that_suits_them() {
        let shown = [9.1, 60.0, 3599.0, 36_000.0].map(gpu_time);
        assert_eq!(shown, ["9.1 GPU-s", "1.0 GPU-min", "60.0 GPU-min", "10.0 GPU-h"]);
    }

    #[test]
    fn of_many_names_the_first_are_shown() {
        let many: Vec<String> = (0..8).map(|number| format!("n{number}")).collect();
        assert_eq!(names(&many), "n0,n1,n2,n3,n4,n5 and 2 more");
        assert_eq!(names(&many[..2]), "n0,n1");
    }
}

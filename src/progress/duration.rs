// SPDX-License-Identifier: GPL-2.0-or-later
//! Durations as programs write them. All text is in lower case.

use super::cursor::Cursor;

/// Longer durations are not believed.
const SECONDS_MAX: f64 = 1e10;

/// The duration that stands at the beginning of `text`, in seconds: `38s`, `1:18`, `878:01:48`, `6 days, 3:30:53`,
/// `1 hour, 31 minutes and 58.52 seconds`, `497ms`, `2h 3m 4s`, or a bare number of seconds.
pub fn seconds(text: &[u8]) -> Option<f64> {
    let mut cursor = Cursor::new(text, 0);
    cursor.skip(b" ", 4);
    let mut total_s = 0.0;
    let mut is_any = false;
    // Each part is smaller than the one before.
    let mut smallest_s = f64::INFINITY;
    loop {
        let start = cursor;
        let Some(number) = cursor.number() else { break };
        if cursor.peek() == Some(b':') {
            return match clock(start) {
                Some(clock_s) if !is_any || smallest_s >= 86400.0 => believed(total_s + clock_s),
                _ => None,
            };
        }
        let unit_start = cursor;
        cursor.skip(b" ", 1);
        let Some(unit_s) = unit(&mut cursor) else {
            return match is_any {
                true => believed(total_s),
                false if unit_start.peek().is_none_or(|byte| !byte.is_ascii_alphabetic()) => believed(number),
                false => None,
            };
        };
        if unit_s >= smallest_s {
            break;
        }
        smallest_s = unit_s;
        total_s += number * unit_s;
        is_any = true;
        cursor.skip(b", ", 2);
        cursor.take(b"and ");
    }
    match is_any {
        true => believed(total_s),
        false => None,
    }
}

/// The same, but only with a unit, and not as part of a rate: `93s` and `1m 30s`, not `93` or `93s/it`.
pub fn with_unit(text: &[u8]) -> Option<f64> {
    let mut cursor = Cursor::new(text, 0);
    cursor.number()?;
    cursor.skip(b" ", 1);
    unit(&mut cursor).filter(|_| cursor.peek() != Some(b'/'))?;
    seconds(text)
}

fn believed(seconds: f64) -> Option<f64> {
    (seconds <= SECONDS_MAX).then_some(seconds)
}

/// `1:18` or `878:01:48.5`.
fn clock(mut cursor: Cursor<'_>) -> Option<f64> {
    let mut parts = [0.0; 3];
    let mut count = 0;
    loop {
        *parts.get_mut(count)? = cursor.number()?;
        count += 1;
        let is_more = cursor.peek() == Some(b':') && cursor.rest().get(1).is_some_and(u8::is_ascii_digit);
        if !is_more {
            break;
        }
        cursor.take(b":");
    }
    match parts.get(..count)? {
        [minutes, seconds] => Some(minutes * 60.0 + seconds),
        [hours, minutes, seconds] => Some(hours * 3600.0 + minutes * 60.0 + seconds),
        _ => None,
    }
}

fn unit(cursor: &mut Cursor<'_>) -> Option<f64> {
    const UNITS: [(&[u8], f64); 17] = [
        (b"days", 86400.0),
        (b"day", 86400.0),
        (b"d", 86400.0),
        (b"hours", 3600.0),
        (b"hour", 3600.0),
        (b"hrs", 3600.0),
        (b"h", 3600.0),
        (b"minutes", 60.0),
        (b"minute", 60.0),
        (b"mins", 60.0),
        (b"min", 60.0),
        (b"ms", 1e-3),
        (b"us", 1e-6),
        (b"m", 60.0),
        (b"seconds", 1.0),
        (b"secs", 1.0),
        (b"sec", 1.0),
    ];
    for (name, unit_s) in UNITS.into_iter().chain([(&b"second"[..], 1.0), (b"s", 1.0)]) {
        let mut ahead = *cursor;
        if ahead.take(name) && ahead.peek().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
            *cursor = ahead;
            return Some(unit_s);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_durations() {
        let table = [
            ("38s - loss", Some(38.0)),
            ("1:18 - loss", Some(78.0)),
            ("1:02:03", Some(3723.0)),
            ("878:01:48, 41.36s/it", Some(3_160_908.0)),
            ("6 days, 3:30:53", Some(531_053.0)),
            ("1 day, 2:03:04", Some(93_784.0)),
            ("1 hour, 31 minutes and 58.52 seconds", Some(5518.52)),
            ("497ms/step", Some(0.497)),
            ("2h 3m 4s", Some(7384.0)),
            ("1h12m", Some(4320.0)),
            ("240.356", Some(240.356)),
            ("0:00:12.5", Some(12.5)),
            ("-:--:--", None),
            ("?", None),
            ("12apples", None),
            ("0.5916  data_time", Some(0.5916)),
            ("", None),
        ];
        for (text, expected) in table {
            let found = seconds(text.as_bytes());
            assert_eq!(
                found.map(|s| (s * 1000.0).round()),
                expected.map(|s: f64| (s * 1000.0).round()),
                "{text}"
            );
        }
    }
}

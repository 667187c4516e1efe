// SPDX-License-Identifier: GPL-2.0-or-later
//! The time of day at the beginning of a line. All text is in lower case.

use super::cursor::Cursor;
use super::duration;
use bstr::ByteSlice;

/// A stamp begins within so many bytes.
const HEAD_BYTES: usize = 48;

/// The moment that a line states, in seconds on some clock of its own: `2020-07-17 07:12:27,123`, `2024/01/24 02:47:35`,
/// `[08/21 12:00:00`, `i1002 21:38:13.425730`, `[12:00:00]`.
pub fn seconds(text: &[u8]) -> Option<f64> {
    let head = text.get(..text.len().min(HEAD_BYTES + 32))?;
    head.find_iter(":")
        .take(6)
        .filter(|at| *at <= HEAD_BYTES)
        .find_map(|at| {
            let hour_from = at.checked_sub(2)?;
            let mut cursor = Cursor::new(head, hour_from);
            let hour = two(&mut cursor).filter(|hour| *hour < 24.0)?;
            let minute = cursor.take(b":").then(|| two(&mut cursor)).flatten()?;
            let second = cursor.take(b":").then(|| two(&mut cursor)).flatten()?;
            let fraction = cursor.skip(b",.", 1).rest();
            let digits = fraction
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count()
                .min(6);
            let fraction = match head.get(cursor.at().wrapping_sub(1)) {
                Some(b',' | b'.') if digits > 0 => {
                    let number = Cursor::new(&fraction[..digits], 0).number()?;
                    number / 10_f64.powi(i32::try_from(digits).ok()?)
                }
                _ => 0.0,
            };
            let before = &head[..hour_from];
            let day = match before.last() {
                None => Some(0.0),
                Some(b'[') if before.trim_ascii().len() == 1 => Some(0.0),
                Some(b' ' | b't' | b'_' | b'-') => day(&before[..before.len() - 1]),
                _ => None,
            }?;
            Some(day * 86400.0 + hour * 3600.0 + minute * 60.0 + second + fraction)
        })
}

fn two(cursor: &mut Cursor<'_>) -> Option<f64> {
    let from = cursor.at();
    let digits = cursor
        .rest()
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number = Cursor::new(cursor.rest().get(..2)?, 0)
        .whole()
        .filter(|_| digits >= 2)?;
    cursor.skip(b"0123456789", 2);
    (cursor.at() == from + 2).then_some(number)
}

/// The days of a date at the end of `head`: year, month and day; or month and day.
fn day(head: &[u8]) -> Option<f64> {
    let is_date = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'/' | b'.');
    let length = head.iter().rev().take_while(|byte| is_date(byte)).count();
    let date = &head[head.len() - length..];
    let mut parts = date
        .split(|byte| !byte.is_ascii_digit())
        .map(|part| std::str::from_utf8(part).ok()?.parse::<i64>().ok());
    let parts = [parts.next(), parts.next(), parts.next(), parts.next()];
    let (year, month, day) = match parts {
        [Some(Some(a)), Some(Some(b)), Some(Some(c)), None] if a > 31 => (a, b, c),
        // The day or the month first: it does not matter for differences within a month.
        [Some(Some(a)), Some(Some(b)), Some(Some(c)), None] if c > 31 => (c, b, a),
        [Some(Some(month)), Some(Some(day)), None, None] => (2000, month, day),
        // glog: i1002
        [Some(Some(number)), None, None, None] if date.len() == 4 => (2000, number / 100, number % 100),
        [Some(Some(number)), None, None, None] if date.len() == 8 => {
            (number / 10000, number / 100 % 100, number % 100)
        }
        _ => return None,
    };
    ((1970..2200).contains(&year) && (1..=31).contains(&month) && (1..=31).contains(&day))
        .then(|| civil(year, month, day))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn civil(year: i64, month: i64, day: i64) -> f64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) as f64
}

/// Seconds since the program began, in a line that says no more than that: `Time elapsed: 240.35`.
pub fn elapsed_s(text: &[u8]) -> Option<f64> {
    let words = ["time elapsed", "time elasped", "elapsed time", "elapsed"];
    let (at, word) = words
        .iter()
        .find_map(|word| text.find(word).map(|at| (at, word)))?;
    // Lines with more in them mean the time of a step, an epoch or a test.
    if !text[..at].trim_ascii().is_empty() {
        return None;
    }
    let mut cursor = Cursor::new(text, at + word.len());
    cursor.skip(b" :=", 4);
    let seconds = duration::seconds(cursor.rest())?;
    let rest = cursor.rest().trim_ascii();
    let is_number = |byte: &u8| byte.is_ascii_digit() || b".:s hmecond".contains(byte);
    rest.iter().all(is_number).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_stamps() {
        let table = [
            ("1970-01-02 00:00:01 | info", Some(86401.0)),
            ("2000-03-01t00:00:00.5z x", Some(951_868_800.5)),
            ("[host] 1970-01-01 01:00:00,250 (trainer:192)", Some(3600.25)),
            ("1970/01/01 00:00:07 - mmengine", Some(7.0)),
            ("[03/01 00:00:00 d2.utils", Some(951_868_800.0)),
            ("i0301 00:00:00.500000 1 x.py:3]", Some(951_868_800.5)),
            ("[12:00:00] [3]\ttrain", Some(43200.0)),
            ("epoch: [0] [ 1/5] eta: 4:40:12", None),
            ("eta: 12:40:12", None),
            ("25:61:99", None),
        ];
        for (text, expected) in table {
            assert_eq!(seconds(text.as_bytes()), expected, "{text}");
        }
    }
}

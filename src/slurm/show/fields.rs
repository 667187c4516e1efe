// SPDX-License-Identifier: GPL-2.0-or-later
//! The small forms in which Slurm's commands print values.

use crate::policy::units::UnixTime;
use bstr::ByteSlice;
use std::str::FromStr;

/// The fields of a line of `Key=value` in the order in which Slurm prints them.
///
/// Each is looked for behind the one before, so that what a user wrote further on cannot stand for it. A field that is not
/// there leaves the place where it is.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of `line`.
    pub fn of(line: &'a [u8]) -> Self {
        Self(line)
    }

    /// The value of the next field with this key, which ends at a blank.
    pub fn next(&mut self, key: &str) -> Option<&'a [u8]> {
        let start = start_of(self.0, key)? + key.len() + 1;
        let rest = &self.0[start..];
        let end = rest.find_byteset(b" \n").unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }

    /// All from the next field with this key on.
    pub fn from(&self, key: &str) -> Option<Self> {
        start_of(self.0, key).map(|start| Self(&self.0[start..]))
    }

    /// All up to the next field with this key.
    pub fn up_to(&self, key: &str) -> Self {
        Self(start_of(self.0, key).map_or(self.0, |end| &self.0[..end]))
    }
}

/// Where `key=` stands in `line`, at its start or behind a blank.
fn start_of(line: &[u8], key: &str) -> Option<usize> {
    line.find_iter(key).find(|&at| {
        let before = at.checked_sub(1).map(|before| line[before]);
        before.is_none_or(|before| before == b' ') && line.get(at + key.len()) == Some(&b'=')
    })
}

/// The value, where it is one: Slurm has many words for "none".
pub fn given(value: &[u8]) -> Option<&[u8]> {
    let none = [&b""[..], b"(null)", b"N/A", b"None", b"none", b"Unknown", b"NONE"];
    (!none.contains(&value)).then_some(value)
}

/// The same as text.
pub fn word(value: &[u8]) -> Option<String> {
    given(value).map(|value| value.to_str_lossy().into_owned())
}

/// A number.
pub fn number<T: FromStr>(value: &[u8]) -> Option<T> {
    value.to_str().ok()?.parse().ok()
}

/// A moment, printed as seconds since 1970.
pub fn time(value: &[u8]) -> Option<UnixTime> {
    number(value).filter(|time| *time > 0).map(UnixTime)
}

/// The ends of `2-4`, or of `2`, which has no second one. Large numbers are printed as `1.50K`.
pub fn range(value: &[u8]) -> Option<(u32, Option<u32>)> {
    let mut ends = value.splitn_str(2, "-").map(|end| {
        let count = scaled(end, 1000)?;
        u32::try_from(count).ok()
    });
    Some((ends.next()??, ends.next().flatten()))
}

/// A count with a suffix such as `K`, each step of which is `step` times the one before.
pub fn scaled(value: &[u8], step: u64) -> Option<u64> {
    let digits = value
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
    let (digits, suffix) = value.split_at(digits.count());
    let power = match suffix {
        b"" => 0,
        [one] => b"KMGTP".find_byte(one.to_ascii_uppercase())? + 1,
        _ => return None,
    };
    let factor = step.checked_pow(u32::try_from(power).ok()?)?;
    if let Some(whole) = number::<u64>(digits) {
        return whole.checked_mul(factor);
    }
    let count = number::<f64>(digits)? * factor as f64;
    // Within what u64 can hold, or it is the largest; never negative.
    Some(count as u64)
}

/// Memory in MiB, printed as `4G`, `500M`, or bare.
pub fn mib(value: &[u8]) -> Option<u64> {
    match value.last()? {
        b'M' | b'm' => scaled(&value[..value.len() - 1], 1024),
        b'K' | b'k' => scaled(&value[..value.len() - 1], 1024).map(|kib| kib / 1024),
        b'G' | b'g' | b'T' | b't' | b'P' | b'p' => {
            // As KiB, MiB … of MiB: one step less.
            let steps = b"GTP".find_byte(value[value.len() - 1].to_ascii_uppercase())?;
            let base = number::<f64>(&value[..value.len() - 1]).filter(|base| *base >= 0.0)?;
            Some((base * 1024f64.powi(i32::try_from(steps).ok()? + 1)) as u64)
        }
        _ => number(value),
    }
}

/// Seconds, printed as `1-02:03:04`, `2:03:04` or `3:04`; `None` for `UNLIMITED` and the like.
pub fn duration_s(value: &[u8]) -> Option<u64> {
    let (days, clock) = match value.split_once_str("-") {
        Some((days, clock)) => (number::<u64>(days)?, clock),
        None => (0, value),
    };
    let mut seconds = 0u64;
    for part in clock.split_str(":") {
        seconds = seconds.checked_mul(60)?.checked_add(number(part)?)?;
    }
    days.checked_mul(86_400)?.checked_add(seconds)
}

/// How many numbers `0-3,8,10-14:2` stands for; 0 where it is none such.
pub fn count_of(list: &[u8]) -> u64 {
    let count = |one: &[u8]| -> Option<u64> {
        let (range, step) = one.split_once_str(":").unwrap_or((one, b"1"));
        let step = number::<u64>(step).filter(|step| *step > 0)?;
        let (first, last) = range.split_once_str("-").unwrap_or((range, range));
        let (first, last) = (number::<u64>(first)?, number::<u64>(last)?);
        Some(last.checked_sub(first)? / step + 1)
    };
    list.split_str(",")
        .map(|one| count(one).unwrap_or(0))
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_behind_the_one_before_and_only_as_a_whole() {
        let mut fields = Fields::of(b"JobId=7 MaxNodes=3 Nodes=n1 Odd=Nodes=n2 Nodes=n3");
        assert_eq!(fields.next("JobId"), Some(&b"7"[..]));
        assert_eq!(fields.next("Nodes"), Some(&b"n1"[..]));
        assert_eq!(fields.next("JobId"), None);
        assert_eq!(fields.next("Nodes"), Some(&b"n3"[..]));
    }

    #[test]
    fn numbers_are_read_in_all_their_forms() {
        assert_eq!(mib(b"4G"), Some(4096));
        assert_eq!(mib(b"1.50G"), Some(1536));
        assert_eq!(mib(b"500M"), Some(500));
        assert_eq!(mib(b"2T"), Some(2 << 20));
        assert_eq!(mib(b"0"), Some(0));
        assert_eq!(mib(b"-1G"), None);
        assert_eq!(scaled(b"2K", 1024), Some(2048));
        assert_eq!(range(b"2-4"), Some((2, Some(4))));
        assert_eq!(range(b"2"), Some((2, None)));
        assert_eq!(range(b"1.50K"), Some((1500, None)));
        assert_eq!(duration_s(b"1-02:03:04"), Some(93_784));
        assert_eq!(duration_s(b"3:04"), Some(184));
        assert_eq!(duration_s(b"UNLIMITED"), None);
        assert_eq!(count_of(b"0-3,8"), 5);
        assert_eq!(count_of(b"0-8:2"), 5);
        assert_eq!(count_of(b"x,3-1"), 0);
    }
}

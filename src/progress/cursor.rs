// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading numbers and signs out of a line, byte by byte. Nothing here can fail but by finding nothing.

/// A place in a text that is read from left to right.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// `n/m` as it is written, where `m` may be missing (`12/?`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// In front of the stroke.
    pub done: f64,
    /// Behind it.
    pub total: Option<f64>,
}

impl<'a> Cursor<'a> {
    /// In `text`, in front of the byte `at`.
    pub fn new(text: &'a [u8], at: usize) -> Self {
        Self {
            text,
            at: at.min(text.len()),
        }
    }

    /// Where it is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What stands behind it.
    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next byte, without going on.
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Goes on by as many bytes of `set` as come, at most `max`.
    pub fn skip(&mut self, set: &[u8], max: usize) -> &mut Self {
        let mut left = max;
        while left > 0 && self.peek().is_some_and(|byte| set.contains(&byte)) {
            self.at += 1;
            left -= 1;
        }
        self
    }

    /// Goes on behind `word` if that comes next.
    pub fn take(&mut self, word: &[u8]) -> bool {
        let comes = self.rest().starts_with(word);
        if comes {
            self.at += word.len();
        }
        comes
    }

    /// A number without a sign: `12`, `012`, `12.5`, `1e-3` not.
    pub fn number(&mut self) -> Option<f64> {
        let start = self.at;
        let digits = |cursor: &mut Self| {
            let from = cursor.at;
            while cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                cursor.at += 1;
            }
            cursor.at > from
        };
        if !digits(self) {
            return None;
        }
        let whole = self.at;
        if self.take(b".") && !digits(self) {
            self.at = whole;
        }
        let written = std::str::from_utf8(self.text.get(start..self.at)?).ok()?;
        written.parse().ok().filter(|number: &f64| *number < 1e15)
    }

    /// A whole number.
    pub fn whole(&mut self) -> Option<f64> {
        let start = self.at;
        let number = self.number().filter(|number| number.fract() == 0.0);
        if number.is_none() {
            self.at = start;
        }
        number
    }

    /// A number that may be counted in thousands, millions or more, as tqdm does it: `1.20k`. In lower case.
    pub fn scaled(&mut self) -> Option<f64> {
        let number = self.number()?;
        let factor = match self.peek() {
            Some(b'k') => 1e3,
            Some(b'm') => 1e6,
            Some(b'g') => 1e9,
            _ => return Some(number),
        };
        let next = self.text.get(self.at + 1).copied();
        if next.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            return Some(number);
        }
        self.at += 1;
        Some(number * factor)
    }

    /// `n/m`, `n / m`, `n of m`, `n/?`, `n/unknown`.
    pub fn ratio(&mut self) -> Option<Ratio> {
        let start = *self;
        let found = self.try_ratio();
        if found.is_none() {
            *self = start;
        }
        found
    }

    fn try_ratio(&mut self) -> Option<Ratio> {
        let done = self.scaled()?;
        self.skip(b" ", 12);
        if !self.take(b"/") && !self.take(b"of ") {
            return None;
        }
        self.skip(b" ", 12);
        if self.take(b"?") || self.take(b"unknown") {
            return Some(Ratio { done, total: None });
        }
        let total = self.scaled().filter(|total| *total > 0.0)?;
        // A third part makes it a date or a path.
        match self.peek() {
            Some(b'/') => None,
            _ => Some(Ratio {
                done,
                total: Some(total),
            }),
        }
    }
}

/// Whether `byte` can be part of a word or a name.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether the byte in front of `at` ends another word.
pub fn begins_word(text: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| text.get(before))
        .is_none_or(|byte| !is_word(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_ratios() {
        let ratio = |done, total| Some(Ratio { done, total });
        let table = [
            ("12/90", ratio(12.0, Some(90.0))),
            ("  3200 / 160368 loss", None),
            ("3200 / 160368 loss", ratio(3200.0, Some(160_368.0))),
            ("1.20k/5.00k [", ratio(1200.0, Some(5000.0))),
            ("7/? [", ratio(7.0, None)),
            ("7/unknown ", ratio(7.0, None)),
            ("12 of 90", ratio(12.0, Some(90.0))),
            ("2024/01/24", None),
            ("5/0", None),
            ("12", None),
            ("x", None),
        ];
        for (text, expected) in table {
            assert_eq!(Cursor::new(text.as_bytes(), 0).ratio(), expected, "{text}");
        }
    }
}

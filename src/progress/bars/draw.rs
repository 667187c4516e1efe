// SPDX-License-Identifier: GPL-2.0-or-later
//! Finding a bar in a line and taking it to pieces. All text is in lower case.

use crate::progress::cursor::{Cursor, Ratio, begins_word};
use crate::progress::sight::Times;
use crate::progress::words::has;
use crate::progress::{duration, rates};
use bstr::ByteSlice;

/// So many bars of one line are tried, from its end.
const TRIES: usize = 4;

/// A bar as drawn, before it is known what it counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn<'a> {
    /// What stands in front of it.
    pub label: &'a [u8],
    /// Steps done, of how many.
    pub ratio: Option<Ratio>,
    /// The percentage, as a part of 1.
    pub percent: Option<f64>,
    /// Its times.
    pub times: Times,
    /// One step is one epoch.
    pub counts_epochs: bool,
    /// Who draws so.
    pub kind: Kind,
}

/// The ways to draw a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Kind {
    /// tqdm and what is built on it.
    #[default]
    Tqdm,
    /// Keras, Paddle, pkbar.
    Keras,
    /// Rich, and Ultralytics of late.
    Rich,
    /// fastprogress.
    Fastprogress,
}

/// The last bar in `text`.
pub fn find(text: &[u8]) -> Option<Drawn<'_>> {
    tqdm(text)
        .or_else(|| fastprogress(text))
        .or_else(|| keras(text))
        .or_else(|| blocks(text))
        .or_else(|| counter(text))
}

/// `label:  45%|####      | 45/100 [00:10<00:12,  4.50it/s, loss=0.1]`
fn tqdm(text: &[u8]) -> Option<Drawn<'_>> {
    let mut tries = text.rfind_iter("%|").take(TRIES);
    tries.find_map(|at| {
        let length = text[..at]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        let percent = Cursor::new(text, at - length)
            .number()
            .filter(|percent| *percent <= 101.0)?;
        // The bar before this one on the same line ends with a bracket.
        let earlier = text[..at]
            .rfind("%|")
            .and_then(|bar| text[bar..at].find_byte(b']').map(|end| bar + end + 1));
        let label = text.get(earlier.unwrap_or(0)..at - length)?;
        let end = at + 2 + text.get(at + 2..)?.find_byte(b'|')?;
        let mut cursor = Cursor::new(text, end + 1);
        let ratio = cursor.skip(b" ", 16).ratio();
        cursor.skip(b" ", 4);
        let mut drawn = Drawn {
            label,
            ratio,
            percent: Some(percent / 100.0),
            ..Drawn::default()
        };
        if cursor.take(b"[") {
            brackets(cursor.rest(), &mut drawn);
        }
        Some(drawn)
    })
}

/// What stands in tqdm's brackets: `00:10<00:12,  4.50it/s, loss=0.1]`.
fn brackets(inner: &[u8], drawn: &mut Drawn<'_>) {
    let inner = inner.find_byte(b']').map_or(inner, |end| &inner[..end]);
    let (clock, rest) = inner.split_once_str(",").unwrap_or((inner, b""));
    if let Some((elapsed, left)) = clock.split_once_str("<") {
        drawn.times.elapsed_s = duration::seconds(elapsed);
        // "1 day, 2:03:04" has the comma in it.
        let from = clock.len() - left.len();
        drawn.times.left_s = duration::seconds(&inner[from..]);
    }
    let rate = rest.split_str(",").next().unwrap_or_default().trim_ascii();
    drawn.times.step_s = rates::bar_rate(rate).or_else(|| rates::any_unit(rate));
    drawn.counts_epochs = has(rate, "epoch");
}

/// `epoch 1/3 : |###---| 85.00% [17/20 00:10<00:02... 16.8772]`
fn fastprogress(text: &[u8]) -> Option<Drawn<'_>> {
    text.rfind_iter("% [").take(TRIES).find_map(|at| {
        let mut cursor = Cursor::new(text, at + 3);
        let ratio = cursor.ratio()?;
        let clock = cursor.skip(b" ", 2).rest();
        let (elapsed, left) = clock
            .find_byte(b'<')
            .map(|sign| (&clock[..sign], &clock[sign + 1..]))?;
        let end = text[..at].find_byte(b'|').unwrap_or(at);
        Some(Drawn {
            label: &text[..end],
            ratio: Some(ratio),
            times: Times {
                elapsed_s: duration::seconds(elapsed),
                left_s: left
                    .find("...")
                    .map_or(left, |end| &left[..end])
                    .split_str("]")
                    .next()
                    .and_then(duration::seconds),
                ..Times::default()
            },
            kind: Kind::Fastprogress,
            ..Drawn::default()
        })
    })
}

/// ` 33/500 [>....] - ETA: 1:18 - loss: 0.2`, `16/16 - 0s - 31ms/step - loss: 0.2`, ` 3/16 ━━━━ 7s 497ms/step - loss: 0.2`.
fn keras(text: &[u8]) -> Option<Drawn<'_>> {
    let starts = std::iter::once(0).chain(text.find_iter("/").map(|stroke| {
        let head = &text[..stroke];
        stroke - head.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()
    }));
    let mut last = None;
    for start in starts.take(64) {
        let mut cursor = Cursor::new(text, start);
        let ratio = match cursor.skip(b" ", 16).ratio() {
            // Epoch 3/90 - 93s is no bar.
            Some(ratio)
                if begins_word(text, start) && !text[..start].trim_ascii_end().ends_with(b"epoch") =>
            {
                ratio
            }
            _ => continue,
        };
        let rest = cursor.skip(b" ", 12).rest();
        let is_bar = rest.starts_with(b"[=") || rest.starts_with(b"[>") || rest.starts_with(b"[.");
        let is_line = rest.starts_with(b"- ") && duration::seconds(&rest[2..]).is_some();
        let is_drawn = rest.starts_with("━".as_bytes()) && has(rest, "/step");
        let is_counted = ratio.total.is_none() && has(rest, "/step");
        if is_bar || is_line || is_drawn || is_counted {
            last = Some((ratio, rest, start));
        }
    }
    let (ratio, rest, start) = last?;
    let is_full = ratio.total.is_some_and(|total| ratio.done >= total);
    let stated = match rest.find("eta:") {
        Some(at) => duration::seconds(&rest[at + 4..]),
        None => rest.find("s ").and_then(|at| {
            let head = &rest[..at];
            let length = head
                .iter()
                .rev()
                .take_while(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'm' | b'h'))
                .count();
            duration::seconds(&rest[at - length..=at])
        }),
    };
    let times = Times {
        step_s: rates::bar_rate(rest),
        left_s: stated.filter(|_| !is_full),
        epoch_s: stated.filter(|stated| is_full && *stated > 0.0),
        ..Times::default()
    };
    Some(Drawn {
        label: &text[..start],
        ratio: Some(ratio),
        times,
        kind: Kind::Keras,
        ..Drawn::default()
    })
}

/// A bar of blocks or lines, as Rich and Ultralytics draw it, with `n/m` or a percentage near it.
fn blocks(text: &[u8]) -> Option<Drawn<'_>> {
    let is_block = |place: usize| {
        text.get(place..place + 3)
            .is_some_and(|sign| matches!(sign, [0xe2, 0x94..=0x96, _]))
    };
    let mut at = text
        .rfind("━")
        .or_else(|| text.rfind("╸"))
        .or_else(|| text.rfind("█"))?;
    let end = {
        let mut end = at;
        while is_block(end) {
            end += 3;
        }
        end
    };
    while at >= 3 && is_block(at - 3) {
        at -= 3;
    }
    if end - at < 9 {
        return None;
    }
    let label = text[..at].trim_ascii_end();
    let mut cursor = Cursor::new(text, end);
    let start = *cursor.skip(b" ", 4);
    let ratio = cursor.ratio();
    let rest = cursor.rest();
    let is_bytes = [" mb", " kb", " gb", " mib", " gib"]
        .iter()
        .any(|unit| rest.starts_with(unit.as_bytes()));
    let number_before = |head: &[u8]| {
        let head = head.strip_suffix(b"%")?;
        let length = head
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        Cursor::new(head, head.len() - length).number()
    };
    let percent = number_before(label).or_else(|| {
        let mut cursor = start;
        cursor.number().filter(|_| cursor.peek() == Some(b'%'))
    });
    if is_bytes || ratio.is_none() && percent.is_none() {
        return None;
    }
    let mut times = Times {
        step_s: rates::bar_rate(rest),
        ..Times::default()
    };
    // elapsed • remaining, elapsed<remaining
    if let Some((elapsed, left)) = rest.split_once_str(" • ").or_else(|| rest.split_once_str("<")) {
        let word = elapsed
            .rfind_byte(b' ')
            .map_or(elapsed, |space| &elapsed[space + 1..]);
        times.elapsed_s = duration::seconds(word);
        times.left_s = duration::seconds(left);
    }
    Some(Drawn {
        label,
        ratio,
        percent: percent
            .filter(|percent| *percent <= 100.0)
            .map(|percent| percent / 100.0),
        times,
        kind: Kind::Rich,
        ..Drawn::default()
    })
}

/// tqdm without a total: `label: 40 samples [00:01, 33.10 samples/s]`.
fn counter(text: &[u8]) -> Option<Drawn<'_>> {
    text.rfind_iter(" [").take(TRIES).find_map(|at| {
        let mut cursor = Cursor::new(text, at + 2);
        let clock = cursor.rest().split_str(",").next()?;
        let elapsed_s = duration::seconds(clock).filter(|_| has(clock, ":") && !has(clock, "<"))?;
        let head = &text[..at];
        // 40samples, 40 samples or 40it
        let unit = head
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let head = head[..head.len() - unit].trim_ascii_end();
        let length = head
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        let start = head.len() - length;
        let done = Cursor::new(text, start)
            .scaled()
            .filter(|_| unit > 0 && begins_word(text, start))?;
        cursor.skip(b"0123456789:", 16);
        let rate = cursor.skip(b", ", 3).rest();
        let rate = rate.find_byteset(b",]").map_or(rate, |end| &rate[..end]);
        if !has(rate, "/") {
            return None;
        }
        Some(Drawn {
            label: &text[..start],
            ratio: Some(Ratio { done, total: None }),
            times: Times {
                elapsed_s: Some(elapsed_s),
                step_s: rates::any_unit(rate),
                ..Times::default()
            },
            ..Drawn::default()
        })
    })
}

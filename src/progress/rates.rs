// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast a line says that it goes. All text is in lower case.

use super::cursor::{Cursor, begins_word};
use super::duration;
use bstr::ByteSlice;

/// Seconds per step, from the first of the known spellings.
pub fn step_s(text: &[u8]) -> Option<f64> {
    let inverse = |number: f64| (number > 0.0).then(|| 1.0 / number);
    milliseconds(text)
        .or_else(|| {
            behind(
                text,
                &[
                    "steps_per_second=",
                    "steps_per_sec=",
                    "steps/sec:",
                    "global_step/sec:",
                ],
            )
            .and_then(inverse)
        })
        .or_else(|| {
            behind(
                text,
                &[
                    "sec_per_step",
                    "sec/step",
                    "s/step",
                    "batch_cost",
                    "time/batch",
                    "seconds per step",
                    "iter_time",
                    "iter time",
                ],
            )
        })
        .or_else(|| bar_rate(text))
        .or_else(|| time_of_batch(text))
        .filter(|seconds| *seconds > 0.0 && *seconds < 1e7)
}

/// `13.47it/s`, `1.20s/it`, `31ms/step`, `19.9batch/s`.
pub fn bar_rate(text: &[u8]) -> Option<f64> {
    for (unit, is_inverse) in [
        ("it/s", true),
        ("batch/s", true),
        ("batches/s", true),
        ("step/s", true),
        ("steps/s", true),
        ("ms/step", false),
        ("s/it", false),
        ("s/step", false),
        ("s/batch", false),
        ("s/epoch", false),
        ("us/step", false),
    ] {
        let Some(at) = text.rfind(unit) else { continue };
        let Some(number) = number_before(text, at) else {
            continue;
        };
        let scale = match unit {
            "ms/step" => 1e-3,
            "us/step" => 1e-6,
            _ => 1.0,
        };
        return match is_inverse {
            true => (number > 0.0).then(|| 1.0 / number),
            false => Some(number * scale),
        };
    }
    None
}

/// The rate of a bar of any unit: what stands behind the times in its brackets, `33.10 samples/s` or `2.00s/file`.
pub fn any_unit(text: &[u8]) -> Option<f64> {
    let mut cursor = Cursor::new(text, 0);
    let number = cursor.skip(b" ", 4).scaled()?;
    let unit = cursor.rest();
    let seconds = match (unit.starts_with(b"s/"), unit.ends_with(b"/s")) {
        (true, _) => number,
        (false, true) if number > 0.0 => 1.0 / number,
        _ => return None,
    };
    Some(seconds).filter(|seconds| seconds.is_finite() && *seconds > 0.0)
}

fn number_before(text: &[u8], at: usize) -> Option<f64> {
    let head = text.get(..at)?.trim_ascii_end();
    let length = head
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    Cursor::new(head, head.len() - length).number()
}

/// `elapsed time per iteration (ms): 89075.2`, `time 1015.95ms`, `ms/batch 12.3`.
fn milliseconds(text: &[u8]) -> Option<f64> {
    let number = behind(
        text,
        &[
            "per iteration (ms)",
            "ms/batch",
            "ms per step",
            "step time (ms)",
            "(ms/step)",
        ],
    );
    number.map(|number| number / 1e3)
}

/// `time  0.315 ( 0.372)`, `time: 0.327s, 391.28/s (0.323s, …)`, `time: 0.5916  data_time`: the average where there is one.
fn time_of_batch(text: &[u8]) -> Option<f64> {
    for word in ["batch_time", "batch (t)", "time"] {
        for at in text.find_iter(word).take(4) {
            let mut cursor = Cursor::new(text, at + word.len());
            if !begins_word(text, at)
                || cursor
                    .peek()
                    .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            {
                continue;
            }
            cursor.skip(b" \t:=", 8);
            let Some(now_s) = duration::seconds(cursor.rest()) else {
                continue;
            };
            // 12:30:01 is no batch.
            if cursor.number().is_none() || cursor.peek() == Some(b':') {
                continue;
            }
            let rest = cursor.rest();
            let near = rest.get(..rest.len().min(32)).unwrap_or(rest);
            let average = near.find_byte(b'(').and_then(|open| {
                let is_near = !near[..open].contains(&b':');
                is_near.then(|| duration::seconds(&near[open + 1..])).flatten()
            });
            return Some(average.unwrap_or(now_s));
        }
    }
    None
}

/// The number behind the first of `words`.
fn behind(text: &[u8], words: &[&str]) -> Option<f64> {
    words.iter().find_map(|word| {
        let at = text.find(word)?;
        let mut cursor = Cursor::new(text, at + word.len());
        cursor.skip(b" \t:=\"'|", 8);
        duration::seconds(cursor.rest())
            .filter(|_| begins_word(text, at) || !word.as_bytes()[0].is_ascii_alphabetic())
    })
}

/// `eta: 4:40:12`, `remaining: 3s`.
pub fn eta_s(text: &[u8]) -> Option<f64> {
    ["eta", "remaining", "time left", "left"].iter().find_map(|word| {
        text.rfind_iter(word).take(3).find_map(|at| {
            let mut cursor = Cursor::new(text, at + word.len());
            let start = cursor.at();
            cursor.skip(b" :=", 4);
            (begins_word(text, at) && cursor.at() > start)
                .then(|| duration::seconds(cursor.rest()))
                .flatten()
        })
    })
}

/// `estimated time to finish: 1 hour, 31 minutes and 58.52 seconds`.
pub fn run_left_s(text: &[u8]) -> Option<f64> {
    let word = "time to finish:";
    let at = text.find(word)?;
    duration::seconds(&text[at + word.len()..])
}

/// How long the epoch took, in a line that ends it.
pub fn epoch_s(text: &[u8]) -> Option<f64> {
    const WORDS: [&str; 11] = [
        "epoch_time",
        "time taken",
        "time cost",
        "took",
        "duration",
        "epoch time",
        "wall time",
        "time",
        "finished in",
        "done in",
        " in",
    ];
    let named = WORDS.iter().find_map(|word| {
        let at = text.find(word)?;
        let mut cursor = Cursor::new(text, at + word.len());
        if cursor
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        {
            return None;
        }
        cursor.skip(b" \t:=(", 8);
        cursor.take(b"s): ");
        let found = duration::seconds(cursor.rest())?;
        (found > 0.0).then_some(found)
    });
    // Else whatever has the form of a time: - 93s, (12.3 s).
    let mut fields =
        (1..text.len()).filter(|at| matches!(text[at - 1], b' ' | b'(' | b'[') && text[*at].is_ascii_digit());
    named.or_else(|| fields.find_map(|at| duration::with_unit(&text[at..])))
}

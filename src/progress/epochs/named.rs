// SPDX-License-Identifier: GPL-2.0-or-later
//! Finding the epoch that a text names. All text is in lower case.

use crate::progress::cursor::{Cursor, Ratio, begins_word};
use crate::progress::sight::Base;
use crate::progress::words::{has, has_any};
use bstr::ByteSlice;

/// How many mentions of an epoch are tried in one line, from its end.
const TRIES: usize = 6;

/// An epoch that a text names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// The epoch as printed.
    pub number: f64,
    /// Epochs in all.
    pub total: Option<f64>,
    /// Its place in the text: from the first byte of the mention to behind the number or total.
    pub from: usize,
    /// Behind the last byte.
    pub to: usize,
    /// What the mention itself says of the first epoch's number.
    pub base: Base,
    /// The number stands in front of the word.
    pub word_comes_last: bool,
}

/// The last epoch that `text` names as the one being trained.
pub fn named(text: &[u8]) -> Option<Named> {
    text.rfind_iter("epoch")
        .take(TRIES)
        .find_map(|at| behind(text, at).or_else(|| before(text, at)))
}

/// `epoch 3/90`: the number stands behind the word.
fn behind(text: &[u8], at: usize) -> Option<Named> {
    if !begins_word(text, at) || text.get(..at).is_some_and(is_of_a_file_or_other_epoch) {
        return None;
    }
    let mut cursor = Cursor::new(text, at + "epoch".len());
    if text[..at].ends_with(b"for 1 ") {
        // The time taken for 1 epoch.
        return None;
    }
    let is_plural = cursor.take(b"s");
    let is_mmengine = cursor.take(b"(train)");
    if cursor.take(b"(")
        && !cursor
            .peek()
            .is_some_and(|byte| byte.is_ascii_digit() || byte == b's')
    {
        return None;
    }
    cursor.take(b"s)");
    let is_bracketed = cursor.skip(b" \t", 8).take(b"[") || cursor.take(b":[");
    cursor.skip(b" \t:=#[('\"-.", 8);
    cursor.take(b"no. ");
    cursor.take(b"number ");
    let number_start = cursor;
    let (number, total) = match cursor.ratio() {
        Some(Ratio { done, total }) => (done, total),
        None => {
            cursor = number_start;
            (cursor.number()?, None)
        }
    };
    // A plural with one number is a total, a duration or a count.
    let is_other = is_plural && total.is_none() || number.fract() != 0.0 && total.is_none() && is_bracketed;
    let next = cursor.peek();
    if is_other || next.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'%' | b'_')) {
        return None;
    }
    let is_time = [" sec", " min", " ms", " hour"]
        .iter()
        .any(|unit| cursor.rest().starts_with(unit.as_bytes()));
    if is_time
        || is_file_name(cursor.rest())
        || has(&text[at..cursor.at()], "epoch=") && has(cursor.rest(), "micro_step=")
    {
        return None;
    }
    let base = match total {
        _ if is_mmengine => Base::One,
        // fairseq pads it: epoch 001.
        None if number_start.rest().starts_with(b"00") && cursor.at() - number_start.at() == 3 => Base::One,
        Some(_) => Base::LikelyOne,
        None => Base::LikelyZero,
    };
    Some(Named {
        number,
        total,
        from: at,
        to: cursor.at(),
        base,
        word_comes_last: false,
    })
}

/// `2/200epoch started`, `3rd epoch` not.
fn before(text: &[u8], at: usize) -> Option<Named> {
    let head = text.get(..at)?;
    let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'/';
    let length = head.iter().rev().take_while(|byte| is_number(byte)).count();
    let from = at - length;
    let mut cursor = Cursor::new(head, from);
    let after = text.get(at + "epoch".len()..)?;
    if length == 0 || !begins_word(text, from) {
        return None;
    }
    let (number, total) = match cursor.ratio() {
        Some(Ratio { done, total }) => (done, total),
        None => (cursor.whole()?, None),
    };
    let is_known =
        after.starts_with(b" started") || after.starts_with(b":") || after.starts_with(b" results");
    (is_known && cursor.at() == at).then_some(Named {
        number,
        total,
        from,
        to: at + "epoch".len(),
        base: Base::One,
        word_comes_last: true,
    })
}

/// Whether the words in front of an epoch say that it is not the one being trained.
fn is_of_a_file_or_other_epoch(head: &[u8]) -> bool {
    const OTHER: [&str; 17] = [
        "best",
        "load",
        "loaded",
        "loading",
        "resume",
        "resumed",
        "resuming",
        "restored",
        "restoring",
        "from",
        "until",
        "per",
        "every",
        "last",
        "next",
        "patience",
        "since",
    ];
    // Words in front of the message (a logger's name, say) do not count.
    let near = head.get(head.len().saturating_sub(40)..).unwrap_or(head);
    let is_file = near
        .last()
        .is_some_and(|byte| matches!(byte, b'/' | b'-' | b'.' | b'\\'));
    is_file || has_any(near, &OTHER) || has(near, "checkpoint") && !has(near, "checkpoint:")
}

fn is_file_name(rest: &[u8]) -> bool {
    const ENDINGS: [&str; 11] = [
        "-step",
        "_step",
        ".pt",
        ".ckpt",
        ".h5",
        ".keras",
        ".bin",
        ".pkl",
        ".safetensors",
        ".weights",
        ".npz",
    ];
    ENDINGS.iter().any(|ending| rest.starts_with(ending.as_bytes()))
}

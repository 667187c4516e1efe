// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads from a training program's output how far the training is.
//!
//! Pure: bytes in, a [`Reading`] out; no clock and no I/O. [`lines`] cuts the bytes into the pieces that a terminal would
//! have shown, each format's reader says what a piece states ([`sight`]), and [`tracker`] puts the statements together.
//! "Unknown" stays unknown; it never becomes 0 %.
#![forbid(unsafe_code)]

mod bars;
mod cursor;
mod duration;
mod epochs;
mod format;
mod keys;
mod lines;
mod marks;
pub mod pace;
mod pairs;
pub mod pattern;
mod ranks;
mod rates;
mod reading;
mod sight;
mod stamps;
mod steps;
mod table;
mod timing;
mod tracker;
mod words;

pub use lines::PASSED_OVER;
pub use reading::Reading;

use format::Format;
use keys::Keys;
use lines::{Lines, Piece};
use pattern::Pattern;
use regex::bytes::Regex;
use sight::{Mark, Sight};
use table::Table;
use tracker::Tracker;

/// One of the two outputs of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Follows the output of one program.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    lines: [Lines; 2],
    digest: Digest,
}

/// What has been read so far.
#[derive(Clone, Debug, Default)]
struct Digest {
    pattern: Option<Pattern>,
    /// Lines that somebody waits for.
    awaited: Option<Regex>,
    has_come: bool,
    tracker: Tracker,
    table: Table,
    /// Which of several processes that write into one output is followed: the first that says something of progress.
    rank: Option<u32>,
    low: Vec<u8>,
}

impl Reader {
    /// Reads the formats of the common frameworks, or only what `pattern` finds.
    pub fn new(pattern: Option<Pattern>) -> Self {
        let digest = Digest {
            pattern,
            ..Digest::default()
        };
        Self {
            lines: Default::default(),
            digest,
        }
    }

    /// Also looks for lines in which `awaited` is found; see [`Reader::take_awaited`].
    pub fn look_for(&mut self, awaited: Option<Regex>) {
        self.digest.awaited = awaited;
    }

    /// Whether such a line has come since this was last asked.
    pub fn take_awaited(&mut self) -> bool {
        std::mem::take(&mut self.digest.has_come)
    }

    /// Takes the next bytes. The result does not depend on how they are divided.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.feed_stream(Stream::Out, bytes);
    }

    /// The same, for a program with two outputs: bars may come in the one and results in the other.
    pub fn feed_stream(&mut self, stream: Stream, bytes: &[u8]) {
        let Self { lines, digest } = self;
        lines[stream as usize].feed(bytes, |piece| digest.piece(piece));
    }

    /// Bytes of an output were passed over.
    pub fn pass_over(&mut self, stream: Stream) {
        self.lines[stream as usize].pass_over();
    }

    /// What comes next on this output is the beginning of a line.
    pub fn begin(&mut self, stream: Stream) {
        self.lines[stream as usize].forget();
    }

    /// The program was started again.
    pub fn restart(&mut self) {
        self.lines.iter_mut().for_each(Lines::forget);
        self.digest.tracker.restart();
    }

    /// What is known by the lines that are complete.
    pub fn reading(&self) -> Reading {
        self.digest.tracker.reading()
    }

    /// What is known if nothing more comes: the last line counts although its end is missing.
    pub fn last_reading(&self) -> Reading {
        self.ended().reading()
    }

    /// As it is if nothing more comes, without harm to what is known if something does.
    pub fn ended(&self) -> Self {
        let mut ended = self.clone();
        for lines in &self.lines {
            lines.rest(|piece| ended.digest.piece(piece));
        }
        ended
    }
}

impl Digest {
    fn piece(&mut self, piece: Piece<'_>) {
        let awaited = self.awaited.as_ref();
        self.has_come |= awaited.is_some_and(|awaited| awaited.is_match(piece.text));
        if let Some(pattern) = &self.pattern {
            let whole = if piece.is_cut {
                without_last_word(piece.text)
            } else {
                piece.text
            };
            if let Some((sight, finished)) = pattern.read(whole) {
                self.tracker.see(&sight, None);
                if finished {
                    self.tracker.mark(Mark::Finished);
                }
            }
            return;
        }
        self.low.clear();
        self.low.extend(piece.text.iter().map(u8::to_ascii_lowercase));
        let low = std::mem::take(&mut self.low);
        self.text(&low, piece);
        self.low = low;
    }

    fn text(&mut self, low: &[u8], piece: Piece<'_>) {
        let text = if piece.is_cut { without_last_word(low) } else { low };
        let (rank, text) = ranks::split(text);
        let is_other = rank.is_some() && self.rank.is_some() && rank != self.rank;
        if is_other
            || text.starts_with(b"wandb:")
            || text.starts_with(b"surgent: ") && !text.ends_with(b"starting the program again")
        {
            return;
        }
        let keys = Keys::of(text);
        let is_row = self.table.is_open();
        if keys == Keys::default() && !is_row {
            return;
        }
        self.learn(text);
        if keys.has(Keys::ELAPSED)
            && let Some(elapsed_s) = stamps::elapsed_s(text)
        {
            return self.tracker.stamp(elapsed_s);
        }
        let sight = self.sight(text, keys, piece.is_below);
        let sight = sight.filter(|sight| !piece.is_cut || !self.tracker.is_first_guess(sight));
        if let Some(sight) = &sight {
            self.rank = self.rank.or(rank);
            self.tracker.see(sight, stamps::seconds(text));
        }
        if keys.has(Keys::MARK) || keys.has(Keys::BRACE) {
            marks::read(text, |mark| self.tracker.mark(mark));
        }
    }

    /// What a line says of the program rather than of the training.
    fn learn(&mut self, text: &[u8]) {
        let has = |part| words::has(text, part);
        if has("v_num=") || has("`trainer.fit`") || text.starts_with(b"gpu available: ") {
            self.tracker.name_framework("Lightning");
        }
        if has("gpu_mem") && has(" obj") {
            // The heading of YOLOv5, of which later versions count from 1.
            self.tracker.counts_from_zero();
        }
    }

    fn sight(&mut self, text: &[u8], keys: Keys, is_below: bool) -> Option<Sight> {
        if let Some(sight) = self.table.read(text) {
            return Some(sight);
        }
        if keys.has(Keys::BRACE)
            && let Some(sight) = pairs::read(text)
        {
            return Some(sight);
        }
        let bar = if keys.has(Keys::BAR) {
            bars::read(text)
        } else {
            None
        };
        match bar {
            // An unnamed bar below another is an evaluation, unless the upper one counts epochs.
            Some(bars::Bar::Training(sight))
                if is_below && sight.epoch.is_none() && !self.tracker.counts_epochs() =>
            {
                return None;
            }
            Some(bars::Bar::Training(sight)) => return Some(sight),
            Some(bars::Bar::Other) => return None,
            None => {}
        }
        let asked = |key, read: fn(&[u8]) -> Option<Sight>| if keys.has(key) { read(text) } else { None };
        asked(Keys::TRAIN, timm)
            .or_else(|| asked(Keys::BRACKETS, epochs::in_brackets))
            .or_else(|| asked(Keys::EPOCH, epochs::read))
            .or_else(|| asked(Keys::STEP, steps::read))
    }
}

/// timm and Swin: `Train: 0 [ 200/10009 (  2%)]`, `Train: [30/300][100/1251]`, both counted from 0.
fn timm(text: &[u8]) -> Option<Sight> {
    use bstr::ByteSlice;
    use sight::{Base, Epoch, Means, Scope, Steps, Times};
    let at = text.find("train: ")?;
    let mut cursor = cursor::Cursor::new(text, at + "train: ".len());
    let is_swin = cursor.take(b"[");
    let (number, epochs) = match is_swin {
        true => cursor.ratio().map(|ratio| (ratio.done, ratio.total))?,
        false => (cursor.whole()?, None),
    };
    cursor.skip(b" ]", 4);
    if !cursor.take(b"[") {
        return None;
    }
    cursor.skip(b" ", 12);
    let ratio = cursor.ratio()?;
    Some(Sight {
        format: Format::named(if is_swin { "Swin" } else { "timm" }),
        epoch: Some(Epoch {
            number,
            means: Means::Inside,
            base: Base::Zero,
        }),
        epochs,
        steps: Some(Steps {
            done: ratio.done + 1.0,
            total: ratio.total,
            scope: Scope::Epoch,
        }),
        times: Times {
            step_s: rates::step_s(cursor.rest()),
            left_s: rates::eta_s(cursor.rest()),
            ..Times::default()
        },
        ..Sight::default()
    })
}

/// A text whose end may be missing, without a number or word at its end, which may be half of one.
fn without_last_word(text: &[u8]) -> &[u8] {
    let is_of_word = |byte: &u8| cursor::is_word(*byte) || *byte == b'.';
    let length = text.iter().rev().take_while(|byte| is_of_word(byte)).count();
    &text[..text.len() - length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_bar_that_comes_late_by_the_other_output_is_not_the_next_epochs() {
        let mut reader = Reader::new(None);
        let bar = |done| format!("\r{}0%|#####| {done}/10 [00:05<00:05,  1.00it/s]\r", done);
        reader.feed_stream(Stream::Out, b"Epoch 1/3\n");
        reader.feed_stream(Stream::Err, bar(5).as_bytes());
        reader.feed_stream(Stream::Out, b"Epoch 2/3\n");
        reader.feed_stream(Stream::Err, bar(10).as_bytes());
        reader.feed_stream(Stream::Err, bar(2).as_bytes());
        let reading = reader.reading();
        assert_eq!(
            (reading.epochs_done, reading.fraction_in_epoch),
            (Some(1.0), Some(0.2))
        );
    }

    #[test]
    fn a_line_whose_beginning_was_passed_over_says_nothing() {
        let mut reader = Reader::new(None);
        reader.feed(b"Epoch 1/30\nEpoch 2");
        reader.pass_over(Stream::Out);
        reader.feed(b"Epoch 9/30\nEpoch 3/30\n");
        assert_eq!(reader.reading().epochs_done, Some(2.0));
        reader.feed(&[b"Epoch 2", [PASSED_OVER].as_slice(), b"8/30\n"].concat());
        assert_eq!(reader.reading().epochs_done, Some(2.0));
    }
}

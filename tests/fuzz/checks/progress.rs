// SPDX-License-Identifier: GPL-2.0-or-later
//! A training program prints what it likes.

use surgent::progress::pattern::Pattern;
use surgent::progress::{Reader, Reading, Stream};

/// The first byte says how the rest arrives: in pieces of what length, and whether its first line is a pattern.
pub fn progress(bytes: &[u8]) {
    let Some((choice, output)) = bytes.split_first() else {
        return;
    };
    let piece_bytes = usize::from(choice & 0x3f) + 1;
    let (pattern, output) = match choice & 0x40 {
        0 => (None, output),
        _ => own_pattern(output),
    };
    let mut whole = Reader::new(pattern.clone());
    whole.feed(output);
    check(&whole.last_reading());

    let mut divided = Reader::new(pattern.clone());
    for piece in output.chunks(piece_bytes) {
        divided.feed(piece);
        check(&divided.reading());
    }
    assert_eq!(
        divided.last_reading(),
        whole.last_reading(),
        "the same however it arrives"
    );

    let mut both = Reader::new(pattern);
    for (at, piece) in output.chunks(piece_bytes).enumerate() {
        both.feed_stream([Stream::Out, Stream::Err][at % 2], piece);
    }
    check(&both.last_reading());
    both.restart();
    both.feed(output);
    check(&both.last_reading());
}

/// The first line as a pattern, if it is one, and what stands behind it.
fn own_pattern(output: &[u8]) -> (Option<Pattern>, &[u8]) {
    let end = output
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(output.len());
    let (line, rest) = output.split_at(end);
    (String::from_utf8_lossy(line).parse().ok(), rest)
}

/// Numbers that make sense, whatever was read.
fn check(reading: &Reading) {
    let fractions = [reading.fraction_in_epoch, reading.overall_fraction];
    for fraction in fractions.into_iter().flatten() {
        assert!((0.0..=1.0).contains(&fraction), "{reading:?}");
    }
    let numbers = [
        reading.epochs_done,
        reading.epochs_total,
        reading.step,
        reading.steps_total,
    ];
    for number in numbers.into_iter().flatten() {
        assert!(number.is_finite() && number >= 0.0, "{reading:?}");
    }
    let seconds = reading.seconds_per_epoch;
    assert!(
        seconds.is_none_or(|seconds| seconds.is_finite() && seconds > 0.0),
        "{reading:?}"
    );
    if let (Some(done), Some(total)) = (reading.epochs_done, reading.epochs_total) {
        assert!(done <= total, "{reading:?}");
    }
    if reading.format.is_none() {
        let known = (reading.epochs_done, reading.overall_fraction, reading.finished);
        assert_eq!(known, (None, None, None), "{reading:?}");
    }
}

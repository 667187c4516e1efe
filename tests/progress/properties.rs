// SPDX-License-Identifier: GPL-2.0-or-later
//! What holds for any output: no panic, no unbounded memory, the same result however it arrives, and no step back.

use crate::{fixtures, samples};
use proptest::prelude::*;
use surgent::progress::{Reader, Reading};

fn all_outputs() -> Vec<(String, Vec<u8>)> {
    let mut outputs = fixtures::outputs(&fixtures::folder());
    outputs.extend(
        samples::folder()
            .into_iter()
            .flat_map(|folder| fixtures::outputs(&folder)),
    );
    outputs
}

/// Numbers that make sense, whatever was read.
fn check(reading: &Reading) {
    for fraction in [reading.fraction_in_epoch, reading.overall_fraction]
        .into_iter()
        .flatten()
    {
        assert!((0.0..=1.0).contains(&fraction), "{reading:?}");
    }
    for number in [
        reading.epochs_done,
        reading.epochs_total,
        reading.step,
        reading.steps_total,
    ]
    .into_iter()
    .flatten()
    {
        assert!(number.is_finite() && number >= 0.0, "{reading:?}");
    }
    if let Some(seconds) = reading.seconds_per_epoch {
        assert!(seconds.is_finite() && seconds > 0.0, "{reading:?}");
    }
    if let (Some(done), Some(total)) = (reading.epochs_done, reading.epochs_total) {
        assert!(done <= total, "{reading:?}");
    }
    if reading.format.is_none() {
        assert_eq!(
            (reading.epochs_done, reading.overall_fraction, reading.finished),
            (None, None, None),
            "{reading:?}"
        );
    }
}

#[test]
fn within_one_run_no_epoch_is_taken_back_wherever_the_output_is_cut() {
    let mut falls = Vec::new();
    for (name, bytes) in all_outputs() {
        let mut reader = Reader::new(None);
        let mut before = Reading::default();
        for piece in bytes.chunks(bytes.len() / 1500 + 1) {
            reader.feed(piece);
            let now = reader.last_reading();
            check(&now);
            let fell = now.epochs_done.unwrap_or(0.0) < before.epochs_done.unwrap_or(0.0);
            if fell && now.restarts == before.restarts {
                falls.push(format!(
                    "{name}: {:?} after {:?}",
                    now.epochs_done, before.epochs_done
                ));
            }
            before = now;
        }
    }
    assert!(falls.is_empty(), "{}", falls.join("\n"));
}

/// Text that looks like output: pieces of formats, and bytes of any kind.
fn output() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: [&str; 44] = [
        "Epoch ",
        "epoch",
        "epochs",
        "EPOCH [",
        "[",
        "]",
        "/",
        "%|",
        "|",
        "\r",
        "\n",
        "\x1b[A",
        "\x1b[2K",
        "\x08\x08\x08\x08\x08\x08\x08\x08\x08",
        "1",
        "12",
        "90",
        "99999999999999999999",
        "0",
        "-1",
        "1e308",
        "00:01<",
        ":",
        " ",
        ", ",
        "it/s",
        "s/it",
        "step ",
        "iter ",
        "loss: 0.5",
        "{'epoch': ",
        "{\"epoch\": ",
        "}",
        "epoch,step,loss\n",
        "train: ",
        "━━━━━━",
        "█",
        "eta: ",
        "2026-01-02 03:04:05",
        "slurmstepd: error: ***",
        "training finished",
        ".",
        "=",
        "elapsed ",
    ];
    let part = prop_oneof![
        8 => (0..PARTS.len()).prop_map(|index| PARTS[index].as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(part, 0..120).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_output_is_read_the_same_however_it_arrives(bytes in output(), cuts in prop::collection::vec(0_usize..1000, 0..8)) {
        let whole = fixtures::read(&bytes);
        check(&whole);
        let mut reader = Reader::new(None);
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (piece, behind) = rest.split_at(cut.min(rest.len()));
            reader.feed(piece);
            check(&reader.reading());
            rest = behind;
        }
        reader.feed(rest);
        prop_assert_eq!(reader.last_reading(), whole);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        check(&fixtures::read(&bytes));
    }
}

#[test]
fn every_output_is_read_the_same_byte_by_byte() {
    for (name, bytes) in all_outputs() {
        let mut reader = Reader::new(None);
        for byte in &bytes {
            reader.feed(std::slice::from_ref(byte));
        }
        assert_eq!(reader.last_reading(), fixtures::read(&bytes), "{name}");
    }
}

#[test]
fn outputs_that_are_cut_and_joined_in_the_middle_are_survived() {
    let outputs = all_outputs();
    for (one, other) in outputs.iter().zip(outputs.iter().skip(1)) {
        for part in [3, 5, 7] {
            let joined = [&one.1[..one.1.len() / part], &other.1[other.1.len() / part..]].concat();
            check(&fixtures::read(&joined));
        }
    }
}

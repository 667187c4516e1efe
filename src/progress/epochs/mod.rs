// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines that name an epoch: `Epoch 3/90`, `Epoch: [0][ 400/80073]`, `[epoch=1][batch=99/391]`, `2/200epoch started`, and
//! the like. All text is in lower case.

mod named;

use super::cursor::{Cursor, Ratio, begins_word};
use super::format::Format;
use super::sight::{Base, Epoch, Means, Scope, Sight, Steps, Times};
use super::words::{has, has_any, is_evaluation};
use super::{rates, steps};
use bstr::ByteSlice;
pub use named::{Named, named};

/// So far behind an epoch its steps begin at most, where no word says that they are steps.
const SEPARATORS: &[u8] = b" \t,:;|-])([>";
/// `[3/25][100/1583] loss: 0.5`, as in PyTorch's DCGAN example.
pub fn in_brackets(text: &[u8]) -> Option<Sight> {
    let mut cursor = Cursor::new(text, 0);
    let mut bracket = || {
        let ratio = cursor
            .skip(b" ", 1)
            .take(b"[")
            .then(|| cursor.skip(b" ", 8).ratio())
            .flatten()?;
        cursor.take(b"]").then_some(ratio)
    };
    let (epoch, step) = (bracket()?, bracket()?);
    Some(Sight {
        format: Format::EPOCH_LINES,
        epoch: Some(Epoch {
            number: epoch.done,
            means: Means::Inside,
            base: Base::LikelyOne,
        }),
        epochs: epoch.total,
        steps: Some(Steps {
            done: step.done,
            total: step.total,
            scope: Scope::Epoch,
        }),
        ..Sight::default()
    })
}

/// What a line that names an epoch says.
pub fn read(text: &[u8]) -> Option<Sight> {
    let found = named(text)?;
    let (head, rest) = (text.get(..found.from)?, text.get(found.to..)?);
    let base = base(&found, text);
    let mut sight = Sight {
        format: format(text, &found),
        epochs: found.total,
        times: Times {
            left_s: None,
            ..Times::default()
        },
        is_weak: found.total.is_none(),
        ..Sight::default()
    };
    let steps_found = steps_behind(rest);
    let is_evaluation = is_evaluation(head) || steps_found.is_some_and(|(_, at)| is_evaluation(&rest[..at]));
    if is_evaluation {
        // Of an evaluation it is only known which epoch it belongs to, and not even that for certain.
        return None;
    }
    let means = match steps_found {
        Some(_) => Means::Inside,
        // 2epoch:train: comes within the epoch.
        None if found.word_comes_last && rest.starts_with(b":") => Means::Inside,
        None => means(head, rest),
    };
    sight.epoch = Some(Epoch {
        number: found.number,
        means,
        base,
    });
    if let Some((ratio, _)) = steps_found {
        sight.steps = Some(Steps {
            // Where the index of the batch is printed, one more is done.
            done: ratio.done + if counts_from_zero(text, rest) { 1.0 } else { 0.0 },
            total: ratio.total,
            scope: Scope::Epoch,
        });
        sight.times.step_s = rates::step_s(rest);
        let eta_s = rates::eta_s(rest);
        match is_eta_of_run(text, &found) {
            true => sight.times.run_left_s = eta_s,
            false => sight.times.left_s = eta_s,
        }
    } else {
        sight.fraction = percent(rest);
        if sight.fraction.is_some() {
            if let Some(epoch) = &mut sight.epoch {
                epoch.means = Means::Inside;
            }
        } else if means == Means::Over {
            sight.times.epoch_s = rates::epoch_s(rest);
        }
        sight.times.run_left_s = rates::run_left_s(rest);
    }
    Some(sight)
}

/// The steps that stand behind an epoch, and where.
fn steps_behind(rest: &[u8]) -> Option<(Ratio, usize)> {
    let mut cursor = Cursor::new(rest, 0);
    cursor.skip(SEPARATORS, 12);
    let at = cursor.at();
    if at > 0
        && let Some(ratio) = cursor.ratio()
    {
        let is_whole = ratio.done.fract() == 0.0 && ratio.total.is_none_or(|total| total >= ratio.done);
        return is_whole.then_some((ratio, at));
    }
    if let Some(found) = steps::behind_word(rest) {
        return Some(found);
    }
    // An icefall or mxnet line: the word and a number without total.
    steps::count_behind_word(rest)
}

/// Whether the epoch is over once this line is printed.
fn means(head: &[u8], rest: &[u8]) -> Means {
    const BEGIN: [&str; 7] = [
        "start",
        "starting",
        "started",
        "begin",
        "beginning",
        "begins",
        "starts",
    ];
    const END: [&str; 11] = [
        "end",
        "ended",
        "done",
        "finished",
        "finish",
        "completed",
        "complete",
        "took",
        "results",
        "summary",
        "took:",
    ];
    let near = head.get(head.len().saturating_sub(30)..).unwrap_or(head);
    if has(rest, "%|") {
        // Half a bar.
        return Means::Inside;
    }
    if has_any(near, &BEGIN) || has_any(rest, &BEGIN) {
        return Means::Inside;
    }
    if has_any(near, &END) || has_any(rest, &END) {
        return Means::Over;
    }
    const NOT_RESULTS: [&str; 10] = [
        "batch:",
        "learning rate",
        "reducing",
        "adjusting",
        "global step",
        "setting",
        "saving",
        "saved",
        "improved",
        "improve",
    ];
    if NOT_RESULTS.iter().any(|words| has(rest, words)) {
        return Means::Inside;
    }
    match has_results(rest) {
        true => Means::Over,
        false => Means::Inside,
    }
}

/// Whether there is a named number other than the learning rate.
fn has_results(rest: &[u8]) -> bool {
    let without_rate = rest.find("lr").filter(|at| begins_word(rest, *at));
    let shown = match without_rate {
        Some(at) if !rest[..at].iter().any(u8::is_ascii_digit) => {
            let mut cursor = Cursor::new(rest, at + 2);
            cursor.skip(b" :=[(\t", 6);
            let _ = cursor.number();
            // The exponent of 1e-3.
            cursor.skip(b"e-+0123456789])", 8);
            cursor.rest()
        }
        _ => rest,
    };
    shown.iter().any(u8::is_ascii_digit) && shown.iter().any(u8::is_ascii_alphabetic)
}

fn base(found: &Named, text: &[u8]) -> Base {
    if text[..found.from].ends_with(b"[train][") || has(text, "[iter:") {
        return Base::One;
    }
    let bracketed = text
        .get(found.from..)
        .is_some_and(|mention| mention.starts_with(b"epoch: ["));
    let after = text.get(found.to..).unwrap_or_default();
    match found.base {
        // torchvision, the ImageNet example and PaddleDetection: Epoch: [0] [ 10/100] or Epoch: [0][10/100].
        Base::LikelyZero if bracketed => Base::Zero,
        // mmcv: Epoch [1][50/7330].
        Base::LikelyZero if after.starts_with(b"][") => Base::One,
        // fairseq: epoch 001:   3100 / 160368.
        Base::LikelyZero if has(after, "num_updates=") || has(after, " ups=") => Base::One,
        // PyTorch's MNIST example, but not OpenCLIP, which took it over and counts from 0.
        Base::LikelyZero if text[..found.from].ends_with(b"train ") && !has(after, "data (t):") => {
            Base::LikelyOne
        }
        // PyTorch's word model and Composer.
        Base::LikelyZero if is_one_based_kind(text, found) => Base::One,
        // Lightning says at which step of the run an epoch ended; NeMo prints the index of the iteration.
        Base::LikelyZero
            if has(after, "global step") || has(after, "global_step") || has(after, ", iteration ") =>
        {
            Base::Zero
        }
        other => other,
    }
}

fn is_one_based_kind(text: &[u8], found: &Named) -> bool {
    let mention = text.get(found.from..).unwrap_or_default();
    let after = text.get(found.to..).unwrap_or_default();
    // [epoch=1][batch=99/391]:
    mention.starts_with(b"epoch=") && after.starts_with(b"][batch")
        // | epoch   1 |   200/ 2983 batches |
        || has(after, " batches |") || has(text, "| end of epoch")
}

fn counts_from_zero(text: &[u8], rest: &[u8]) -> bool {
    // torchvision's MetricLogger; NeMo's and Paddle's lines of the same kind.
    let is_metric_logger = has(text, "epoch: [") && has(rest, "eta:");
    is_metric_logger
        || has(rest, ", iteration ") && has(rest, " | lr:")
        || has(text, "[iter:") && has(text, "eta:")
}

/// OpenMMLab and Paddle print when the whole run ends.
fn is_eta_of_run(text: &[u8], found: &Named) -> bool {
    has(text, "epoch(train)")
        || text[found.to..].starts_with(b"][") && !has(text, "epoch: [")
        || has(text, "[iter:")
}

fn format(text: &[u8], found: &Named) -> Format {
    if has(text, "epoch(train)") {
        Format::named("mmengine")
    } else if has(text, "num_updates=") {
        Format::named("fairseq")
    } else if found.base == Base::One {
        Format::named("ESPnet")
    } else if has(text, "epoch: [") && has(text, "eta:") {
        Format::named("torchvision")
    } else if has(text, "][batch=") {
        Format::named("Composer")
    } else {
        Format::EPOCH_LINES
    }
}

/// `Epoch 3: 45%`, with nothing between but signs.
fn percent(rest: &[u8]) -> Option<f64> {
    let mut cursor = Cursor::new(rest, 0);
    cursor.skip(SEPARATORS, 12);
    if cursor.take(b"train") {
        cursor.skip(b"ing", 3).skip(SEPARATORS, 12);
    }
    let number = cursor.number()?;
    (cursor.peek() == Some(b'%') && number <= 100.0).then_some(number / 100.0)
}

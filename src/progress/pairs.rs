// SPDX-License-Identifier: GPL-2.0-or-later
//! Dictionaries of values: the log lines of the Hugging Face Trainer, and lines of JSON. All text is in lower case.
//!
//! Keys are looked for rather than the whole parsed: Python writes `nan` and single quotes, and a line may be cut.

use super::cursor::Cursor;
use super::duration;
use super::format::Format;
use super::sight::{Base, Epoch, Means, Scope, Sight, Steps, Times};
use super::words::has;
use bstr::ByteSlice;

const HUGGING_FACE: Format = Format::named("Hugging Face Trainer");

const TOTAL_EPOCHS: [&str; 5] = [
    "epochs",
    "num_epochs",
    "total_epochs",
    "max_epochs",
    "num_train_epochs",
];
const STEP: [&str; 9] = [
    "current_steps",
    "global_step",
    "num_updates",
    "step",
    "steps",
    "iteration",
    "iter",
    "_step",
    "trainer/global_step",
];
const TOTAL_STEPS: [&str; 6] = [
    "total_steps",
    "max_steps",
    "num_steps",
    "total_iters",
    "max_iters",
    "steps_total",
];

/// What a line with a dictionary says.
pub fn read(text: &[u8]) -> Option<Sight> {
    let from = text.find_byte(b'{')?;
    let text = &text[from..];
    let value = |key: &str| raw(text, key).and_then(number);
    let first = |keys: &[&str]| keys.iter().find_map(|key| value(key));
    let is_evaluation = [
        "'eval_",
        "\"eval_loss\": ",
        "'test_",
        "\"mode\": \"val",
        "'predict_",
    ]
    .iter()
    .any(|sign| has(text, sign))
        && !has(text, "\"current_steps\"");
    if is_evaluation && !has(text, "train") {
        // It says how many epochs are done all the same, where it counts them with a fraction.
        return huggingface(value("epoch")?, text).filter(|_| has(text, "_runtime"));
    }
    let epoch = value("epoch").or_else(|| value("current_epoch"));
    let step = first(&STEP);
    let times = Times {
        elapsed_s: raw(text, "elapsed_time").and_then(duration::seconds),
        run_left_s: raw(text, "remaining_time")
            .or_else(|| raw(text, "eta_seconds"))
            .and_then(duration::seconds),
        step_s: first(&["iteration_time", "time_per_iteration", "step_time"]),
        epoch_s: first(&["epoch_time", "epoch_s", "seconds_per_epoch", "epoch_seconds"]),
        ..Times::default()
    };
    let steps = step.map(|done| Steps {
        done,
        total: first(&TOTAL_STEPS).filter(|total| *total > 0.0),
        scope: Scope::Run,
    });
    let epochs = first(&TOTAL_EPOCHS).filter(|total| *total > 0.0);
    if epoch.is_none()
        && (steps.is_none() || !has(text, "loss") && steps.is_some_and(|steps| steps.total.is_none()))
    {
        return None;
    }
    let is_huggingface = ["'learning_rate'", "'train_runtime'", "'grad_norm'"]
        .iter()
        .any(|key| has(text, key));
    let is_float = raw(text, "epoch").is_some_and(|raw| raw.find_byte(b'.').is_some_and(|dot| dot < 8));
    // fairseq and OpenMMLab in JSON, DETR's log.txt, others.
    let done = value("update")
        .filter(|_| has(text, "num_updates"))
        .or(epoch.filter(|_| is_float || is_huggingface || times.elapsed_s.is_some()));
    let epoch = match (done, epoch) {
        (Some(done), _) => Some(Epoch {
            number: done,
            means: Means::Completed,
            base: Base::One,
        }),
        (None, Some(number)) => Some(Epoch {
            number,
            means: match steps {
                Some(_) => Means::Inside,
                None => Means::Over,
            },
            base: match has(text, "\"n_parameters\"") {
                true => Base::Zero,
                false => Base::LikelyOne,
            },
        }),
        (None, None) => None,
    };
    let format = match () {
        () if is_huggingface => HUGGING_FACE,
        () if has(text, "\"current_steps\"") => Format::named("LLaMA-Factory"),
        () if text.contains(&b'"') => Format::named("JSON lines"),
        () => Format::named("dictionaries"),
    };
    Some(Sight {
        format,
        epoch,
        epochs,
        steps,
        times,
        ..Sight::default()
    })
}

fn huggingface(number: f64, text: &[u8]) -> Option<Sight> {
    has(text, "_runtime'").then_some(Sight {
        format: HUGGING_FACE,
        epoch: Some(Epoch {
            number,
            means: Means::Completed,
            base: Base::One,
        }),
        ..Sight::default()
    })
}

/// What stands behind `'key':` or `"key":`, without an opening quote.
fn raw<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    text.find_iter(key).find_map(|at| {
        let quote = at.checked_sub(1).and_then(|before| text.get(before)).copied()?;
        let mut cursor = Cursor::new(text, at + key.len());
        let is_key = matches!(quote, b'"' | b'\'') && cursor.take(&[quote]);
        cursor.skip(b" ", 4);
        if !is_key || !cursor.take(b":") {
            return None;
        }
        cursor.skip(b" \"'", 4);
        Some(cursor.rest())
    })
}

fn number(raw: &[u8]) -> Option<f64> {
    let mut cursor = Cursor::new(raw, 0);
    let number = cursor.number()?;
    let is_whole_value = cursor
        .peek()
        .is_none_or(|byte| matches!(byte, b',' | b'}' | b'\'' | b'"' | b' '));
    is_whole_value.then_some(number)
}

/// The total seconds of a Hugging Face training that has ended.
pub fn train_runtime_s(text: &[u8]) -> Option<f64> {
    raw(text, "train_runtime").and_then(number)
}

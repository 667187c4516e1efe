// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines that count steps of the whole run: Megatron, nanoGPT, detectron2, boosting rounds, and the like. All text is in
//! lower case.

use super::cursor::{Cursor, Ratio, begins_word};
use super::format::Format;
use super::sight::{Base, Epoch, Means, Scope, Sight, Steps, Times};
use super::words::{has, is_evaluation};
use super::{duration, rates};
use bstr::ByteSlice;

/// What programs call a step.
const WORDS: [&str; 13] = [
    "iterations",
    "iteration",
    "minibatch",
    "global_step",
    "global step",
    "iters",
    "iter",
    "itr",
    "step",
    "batch",
    "update",
    "batch_idx",
    "it",
];

/// How many mentions of one word are tried.
const TRIES: usize = 4;

/// `step 140/464`, `batch: [5/100]`: the last of them, and where its word begins.
pub fn behind_word(text: &[u8]) -> Option<(Ratio, usize)> {
    mentions(text, |cursor| {
        cursor
            .ratio()
            .filter(|ratio| ratio.total.is_none_or(|total| total >= ratio.done))
    })
}

/// `batch 50`, without a total.
pub fn count_behind_word(text: &[u8]) -> Option<(Ratio, usize)> {
    mentions(text, |cursor| {
        let done = cursor.whole()?;
        let is_alone = cursor
            .peek()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'%');
        // 1-10batch and 3.5 are no counts.
        is_alone.then_some(Ratio { done, total: None })
    })
}

fn mentions(text: &[u8], read: impl Fn(&mut Cursor<'_>) -> Option<Ratio>) -> Option<(Ratio, usize)> {
    let mut last: Option<(Ratio, usize)> = None;
    for word in WORDS {
        let found = text.rfind_iter(word.as_bytes()).take(TRIES).find_map(|at| {
            if !begins_word(text, at) {
                return None;
            }
            let mut cursor = Cursor::new(text, at + word.len());
            cursor.take(b"(train)");
            let before = cursor.at();
            cursor.skip(b" \t:=#[(", 16);
            if cursor.at() == before {
                return None;
            }
            read(&mut cursor).map(|ratio| (ratio, at))
        });
        if let Some(found) = found
            && last.is_none_or(|(_, at)| at < found.1)
        {
            last = Some(found);
        }
    }
    last
}

/// What a line says that counts steps of the run.
pub fn read(text: &[u8]) -> Option<Sight> {
    if has(text, "micro_step=") || has(text, "eval") && is_evaluation(text) {
        return None;
    }
    rounds(text)
        .or_else(|| catboost(text))
        .or_else(|| marian(text))
        .or_else(|| clu(text))
        .or_else(|| table_row(text))
        .or_else(|| general(text))
}

fn sight(format: Format, done: f64, total: Option<f64>) -> Sight {
    Sight {
        format,
        steps: Some(Steps {
            done,
            total,
            scope: Scope::Run,
        }),
        is_weak: true,
        ..Sight::default()
    }
}

/// `iteration 125/ 250000 |`, `iter 3020: loss 1.0`, `iter(train) [ 50/80000]`, `step 10/100`, `global_step = 7`.
fn general(text: &[u8]) -> Option<Sight> {
    let (ratio, at) =
        behind_word(text).or_else(|| count_behind_word(text).filter(|_| is_of_training(text)))?;
    if is_evaluation(&text[..at])
        || has(&text[at.saturating_sub(24)..at], "checkpoint")
        || is_aside(&text[..at])
    {
        return None;
    }
    let rest = &text[at..];
    let is_detectron = has(rest, "total_loss:") && has(text, "eta:");
    let format = match () {
        () if is_detectron => Format::named("detectron2"),
        () if has(text, "elapsed time per iteration") => Format::named("Megatron-LM"),
        () if has(text, "iter(train)") => Format::named("mmengine"),
        () if rest.starts_with(b"iter") && has(rest, "mfu") => Format::named("nanoGPT"),
        () => Format::STEP_LINES,
    };
    let done = ratio.done + if is_detectron { 1.0 } else { 0.0 };
    let mut sight = sight(format, done, ratio.total);
    // Of the epoch, where one is under way.
    if format == Format::STEP_LINES && !rest.starts_with(b"global") && !has(text, "[batch=") {
        sight.steps = sight.steps.map(|steps| Steps {
            scope: Scope::Unknown,
            ..steps
        });
    }
    sight.times = Times {
        step_s: rates::step_s(text),
        run_left_s: rates::eta_s(text),
        ..Times::default()
    };
    Some(sight)
}

/// Whether a count without a total is one of a training.
fn is_of_training(text: &[u8]) -> bool {
    has(text, "loss")
        || has(text, "lr")
        || has(text, "acc")
        || has(text, "reward")
        || has(text, "perplexity")
        || has(text, "/s")
}

/// Whether what stands in front of a step says that it is another step.
fn is_aside(head: &[u8]) -> bool {
    const ASIDE: [&str; 9] = [
        "best ", "from ", "resum", "restor", "load", "saving", "saved", "per ", "every ",
    ];
    let near = head.get(head.len().saturating_sub(30)..).unwrap_or(head);
    ASIDE.iter().any(|word| has(near, word))
}

/// XGBoost `[29] train-rmse:0.1`, counted from 0; LightGBM `[30] train's rmse: 0.1`, counted from 1.
fn rounds(text: &[u8]) -> Option<Sight> {
    // XGBoost's may have the time in front.
    let at = text.find("]\t")?;
    let start = text[..at].rfind_byte(b'[')?;
    let mut cursor = Cursor::new(text, start + 1);
    let round = cursor.whole()?;
    let is_first = text[..start].trim_ascii().is_empty() || text[..start].trim_ascii().ends_with(b"]");
    let rest = text.get(at + 2..)?;
    if cursor.at() != at || !is_first || !has(rest, ":") {
        return None;
    }
    let name_end = rest.find_byte(b':')?;
    match has(&rest[..name_end], "'s ") {
        true => Some(sight(Format::named("LightGBM"), round, None)),
        false if has(&rest[..name_end], "-") => Some(sight(Format::named("XGBoost"), round + 1.0, None)),
        false => None,
    }
}

/// `12: learn: 0.5 total: 1.2s remaining: 3.4s` (tabs between), counted from 0.
fn catboost(text: &[u8]) -> Option<Sight> {
    let mut cursor = Cursor::new(text, 0);
    let round = cursor.skip(b" ", 8).whole()?;
    if !cursor.take(b":\tlearn:") {
        return None;
    }
    let mut sight = sight(Format::named("CatBoost"), round + 1.0, None);
    let behind = |word: &str| {
        cursor
            .rest()
            .find(word)
            .and_then(|at| duration::seconds(&cursor.rest()[at + word.len()..]))
    };
    sight.times.elapsed_s = behind("total:");
    sight.times.run_left_s = behind("remaining:");
    Some(sight)
}

/// `Ep. 1 : Up. 1000 : Sen. 12,345 : Cost 5.6`.
fn marian(text: &[u8]) -> Option<Sight> {
    let at = text.find("ep. ")?;
    let mut cursor = Cursor::new(text, at + 4);
    let number = cursor.whole()?;
    if !cursor.take(b" : up. ") {
        return None;
    }
    let mut sight = sight(Format::named("Marian"), cursor.whole()?, None);
    sight.epoch = Some(Epoch {
        number,
        means: Means::Inside,
        base: Base::One,
    });
    Some(sight)
}

/// CLU of Flax: `[500] steps_per_second=1.78, train_loss=…`.
fn clu(text: &[u8]) -> Option<Sight> {
    let at = text
        .find("] steps_per_second=")
        .or_else(|| text.find("] steps_per_sec="))?;
    let start = text[..at].rfind_byte(b'[')?;
    let mut cursor = Cursor::new(text, start + 1);
    let step = cursor.whole()?;
    if cursor.at() != at {
        return None;
    }
    let mut sight = sight(Format::named("Flax (CLU)"), step, None);
    sight.times.step_s = rates::step_s(&text[at..]);
    Some(sight)
}

/// Stable-Baselines3: `|    total_timesteps      | 2048     |`.
fn table_row(text: &[u8]) -> Option<Sight> {
    let mut cursor = Cursor::new(text, 0);
    cursor.skip(b" |", 12);
    if !cursor.take(b"total_timesteps") {
        return None;
    }
    let step = cursor.skip(b" |", 40).whole()?;
    Some(sight(Format::named("Stable-Baselines3"), step, None))
}

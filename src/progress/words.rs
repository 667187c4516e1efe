// SPDX-License-Identifier: GPL-2.0-or-later
//! Words that tell training from other work. All text is in lower case.

use super::cursor::is_word;
use bstr::ByteSlice;

/// Names of work that is no training.
const EVALUATION: [&str; 15] = [
    "val",
    "valid",
    "validation",
    "validating",
    "validate",
    "eval",
    "evaluation",
    "evaluating",
    "evaluate",
    "test",
    "testing",
    "dev",
    "predicting",
    "predict",
    "inference",
];

/// Parts of names of work in front of or between trainings.
const PREPARATION: [&str; 34] = [
    "sanity check",
    "class     images",
    "class images",
    "download",
    "loading",
    "map (",
    "map:",
    "mapping",
    "tokeniz",
    "filter",
    "generating",
    "extract",
    "scanning",
    "fetching",
    "caching",
    "saving",
    "packing",
    "preprocess",
    "resolving",
    "reading",
    "writing",
    "converting",
    "running tokenizer",
    "grouping texts",
    "creating",
    "building",
    "safetensors",
    ".bin:",
    "capturing",
    "casting",
    "computing",
    "upload",
    "push",
    "adding eos",
];

/// Whether `text` contains `word` and neither side of it is part of the word; `val_loss` is no `val`, `val=` neither.
pub fn has_word(text: &[u8], word: &str) -> bool {
    text.find_iter(word.as_bytes()).any(|at| {
        let is_start = at == 0
            || !text
                .get(at - 1)
                .is_some_and(|byte| is_word(*byte) || matches!(byte, b'/' | b'-'));
        let after = text.get(at + word.len()).copied();
        is_start && !after.is_some_and(|byte| is_word(byte) || matches!(byte, b'=' | b'/' | b'-'))
    })
}

/// Whether one of `words` is in `text`.
pub fn has_any(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| has_word(text, word))
}

/// Whether what stands behind `label` is an evaluation.
pub fn is_evaluation(label: &[u8]) -> bool {
    has_any(label, &EVALUATION) && !has_any(label, &["train", "training"])
}

/// Whether a bar of this label counts something that is no training.
pub fn is_no_training(label: &[u8]) -> bool {
    is_evaluation(label) || PREPARATION.iter().any(|part| label.contains_str(part))
}

/// Whether `text` contains `part` anywhere.
pub fn has(text: &[u8], part: &str) -> bool {
    text.contains_str(part)
}

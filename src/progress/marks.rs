// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines that speak of the run as a whole: that it ended, that it began again, how many epochs it is to have. All text is
//! in lower case.

use super::cursor::{Cursor, begins_word};
use super::pairs::train_runtime_s;
use super::sight::Mark;
use super::words::has;
use bstr::ByteSlice;

/// What programs print when their training has ended.
const FINISHED: [&str; 31] = [
    "`trainer.fit` stopped:",
    "trainer.fit stopped:",
    "training completed",
    "training complete",
    "training finished",
    "training is finished",
    "training is done",
    "training was finished",
    "training done",
    "training has finished",
    "training has completed",
    "training ended",
    "finished training",
    "done training",
    "completed training",
    "end of training",
    "total training time",
    "training took",
    "best iteration is:",
    "early stopping, best iteration",
    "stopping. best iteration",
    ": early stopping",
    "early stopping!",
    "early stopping triggered",
    "early stopped",
    "loss for final step",
    "bestiteration = ",
    "*** best metric",
    "all epochs done",
    "train finished",
    "successfully finished",
];

/// What is printed when a job, or a training, begins anew.
const RESTART: [&str; 20] = [
    "slurmstepd: error: ***",
    "srun: error:",
    "srun: job step aborted",
    "srun: force terminated",
    "due to preemption",
    "due to time limit",
    "due to node failure",
    "due to signal",
    "surgent: starting the program again",
    "starting the program again",
    "resuming training",
    "resuming from",
    "resumed from",
    "resume from",
    "restarting from",
    "restored from",
    "loaded checkpoint",
    "loading checkpoint from",
    "restoring states from the checkpoint",
    "***** running training *****",
];

/// Calls `take` with each mark in `text`.
pub fn read(text: &[u8], mut take: impl FnMut(Mark)) {
    if has(text, "traceback (most recent call last)") {
        return take(Mark::Restart);
    }
    if let Some(seconds) = train_runtime_s(text) {
        take(Mark::Finished);
        return take(Mark::Took(seconds));
    }
    let is_training_time = text.starts_with(b"training time") && text.iter().any(u8::is_ascii_digit);
    if FINISHED.iter().any(|sign| has(text, sign)) || is_training_time || is_counted_end(text) {
        take(Mark::Finished);
    }
    if RESTART.iter().any(|sign| has(text, sign)) {
        take(Mark::Restart);
    }
    if let Some(epochs) = epochs(text) {
        take(Mark::Epochs(epochs));
    }
    if let Some(steps) = steps(text) {
        take(Mark::Steps(steps));
    }
}

/// Ultralytics: `100 epochs completed in 0.123 hours.`
fn is_counted_end(text: &[u8]) -> bool {
    text.find(" epochs completed in ")
        .is_some_and(|at| text[..at].last().is_some_and(u8::is_ascii_digit))
}

/// `num epochs = 3`, `max_epochs=12`, `scheduled epochs: 310`, `starting training for 100 epochs`, `--epochs 90`.
fn epochs(text: &[u8]) -> Option<f64> {
    text.find_iter("epochs").take(8).find_map(|at| {
        let head = &text[..at];
        let before = head.trim_ascii_end();
        let mut cursor = Cursor::new(text, at + "epochs".len());
        if cursor
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        {
            return None;
        }
        // The name may go on in front: num_epochs, n-epochs, total epochs, trainer.max_epochs.
        const OTHERS: [&str; 12] = [
            "warmup", "warm_up", "patience", "cooldown", "min_", "min ", "decay", "every", "per_", "save",
            "eval", "val_",
        ];
        let near = &before[before.len().saturating_sub(16)..];
        if OTHERS.iter().any(|other| has(near, other)) {
            return None;
        }
        // for 100 epochs
        let length = before
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let is_after_for = before[..before.len() - length].trim_ascii_end().ends_with(b"for");
        if length > 0 && is_after_for && has(text, "train") {
            return Cursor::new(before, before.len() - length).whole();
        }
        cursor.skip(b"\"' ", 3);
        let start = cursor.at();
        cursor.skip(b":=", 1);
        let is_option = cursor.at() > start || head.ends_with(b"--") || head.ends_with(b"_");
        cursor.skip(b" ", 30);
        let number = cursor.whole().filter(|number| *number > 0.0)?;
        // 3/90 speaks of an epoch, 12.5 of something else.
        let is_alone = cursor
            .peek()
            .is_none_or(|byte| !matches!(byte, b'/' | b'.' | b'%' | b':') && !byte.is_ascii_alphanumeric());
        let is_stop_reason = has(text, "stopped");
        (is_option && (is_alone || is_stop_reason)).then_some(number)
    })
}

/// `total optimization steps = 60`, `max_iter: 90000`, `max_steps=1000`.
fn steps(text: &[u8]) -> Option<f64> {
    const NAMES: [&str; 8] = [
        "total optimization steps",
        "max_iter:",
        "max_iters=",
        "max_iters:",
        "max_iters =",
        "train_iters",
        "max_steps=",
        "total training steps",
    ];
    NAMES.iter().find_map(|name| {
        let at = text.find(name)?;
        let mut cursor = Cursor::new(text, at + name.len());
        cursor.skip(b" .:=", 60);
        let number = cursor.whole().filter(|number| *number > 1.0)?;
        let is_alone = cursor
            .peek()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'.');
        (is_alone && begins_word(text, at)).then_some(number)
    })
}

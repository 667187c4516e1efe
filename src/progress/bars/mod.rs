// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress bars: tqdm and what builds on it, Keras, Rich, fastprogress, Ultralytics. All text is in lower case.

mod draw;

use super::cursor::Cursor;
use super::epochs;
use super::format::Format;
use super::sight::{Base, Epoch, Means, Scope, Sight, Steps, Times};
use super::words::{has, has_word, is_no_training};
use draw::{Drawn, Kind};

/// What a line with a bar says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// Of a training.
    Training(Sight),
    /// Of something else: an evaluation, a download.
    Other,
}
/// What the last bar in `text` says.
pub fn read(text: &[u8]) -> Option<Bar> {
    draw::find(text).map(|drawn| meaning(&drawn))
}

/// What a bar counts, by its label.
fn meaning(drawn: &Drawn<'_>) -> Bar {
    let label = drawn.label;
    let is_bytes = drawn.times.step_s.is_some_and(|step_s| step_s < 1e-6);
    if is_no_training(label) || is_bytes {
        return Bar::Other;
    }
    let mut sight = Sight {
        format: format(drawn, None),
        times: drawn.times,
        fraction: drawn.percent,
        ..Sight::default()
    };
    let steps = |scope| {
        drawn.ratio.map(|ratio| Steps {
            done: ratio.done,
            total: ratio.total,
            scope,
        })
    };
    let named = epochs::named(label).or_else(|| in_columns(label));
    if let Some(named) = named {
        sight.format = format(drawn, Some(&named));
        sight.epochs = named.total;
        sight.epoch = Some(Epoch {
            number: named.number,
            means: Means::Inside,
            base: match (drawn.kind, named.base) {
                // Lightning with Rich: the last of three is 2/2; fastai counts from 1.
                (Kind::Fastprogress, _) => Base::One,
                (Kind::Keras, Base::LikelyZero) => Base::LikelyOne,
                (_, base) if is_lightning(drawn) && base == Base::LikelyZero => Base::Zero,
                (_, base) => base,
            },
        });
        sight.steps = steps(Scope::Epoch);
        return Bar::Training(sight);
    }
    let counts_epochs = drawn.counts_epochs || has_word(label, "epoch") || has_word(label, "epochs");
    if counts_epochs && let Some(ratio) = drawn.ratio {
        sight.epoch = Some(Epoch {
            number: ratio.done,
            means: Means::Completed,
            base: Base::One,
        });
        sight.epochs = ratio.total;
        sight.fraction = None;
        sight.times = Times {
            epoch_s: drawn.times.step_s,
            run_left_s: drawn.times.left_s,
            ..Times::default()
        };
        sight.format = Format::TQDM_OVER_EPOCHS;
        return Bar::Training(sight);
    }
    let scope = match drawn.kind {
        Kind::Keras | Kind::Fastprogress => Scope::Epoch,
        // diffusers and kohya count through.
        _ if has_word(label, "steps") => Scope::Run,
        Kind::Tqdm | Kind::Rich => Scope::Unknown,
    };
    sight.steps = steps(scope);
    sight.is_weak = true;
    Bar::Training(sight)
}

fn is_lightning(drawn: &Drawn<'_>) -> bool {
    drawn.kind == Kind::Rich
}

/// Ultralytics writes `153/200  9.87G  0.46 …:` in columns, torchtune `1|25|Loss: 2.3:`.
fn in_columns(label: &[u8]) -> Option<epochs::Named> {
    let mut cursor = Cursor::new(label, 0);
    cursor.skip(b" ", 16);
    let from = cursor.at();
    let mut ahead = cursor;
    if let Some(ratio) = ahead.ratio() {
        let to = ahead.at();
        let gap = ahead.skip(b" ", 16).at() - to;
        ahead.number()?;
        let has_unit = matches!(ahead.peek(), Some(b'g' | b'm' | b'b')) && gap > 1;
        return has_unit.then_some(epochs::Named {
            number: ratio.done,
            total: ratio.total,
            from,
            to,
            base: Base::LikelyOne,
            word_comes_last: false,
        });
    }
    let number = cursor.whole()?;
    let to = cursor.at();
    let is_torchtune = cursor.take(b"|") && cursor.whole().is_some() && cursor.take(b"|loss");
    is_torchtune.then_some(epochs::Named {
        number,
        total: None,
        from,
        to,
        base: Base::One,
        word_comes_last: false,
    })
}

fn format(drawn: &Drawn<'_>, named: Option<&epochs::Named>) -> Format {
    let is_in_columns = named.is_some() && !has(drawn.label, "epoch");
    match drawn.kind {
        Kind::Keras => Format::named("Keras"),
        Kind::Fastprogress => Format::named("fastai"),
        _ if is_in_columns && has(drawn.label, "|loss") => Format::named("torchtune"),
        _ if is_in_columns => Format::ULTRALYTICS,
        Kind::Rich => Format::RICH,
        Kind::Tqdm => Format::TQDM,
    }
}

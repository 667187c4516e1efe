// SPDX-License-Identifier: GPL-2.0-or-later
//! A comment is any bytes that a user likes.

#[path = "../../support/directive_model.rs"]
mod directive_model;

use directive_model::{over, share_a_key};
use surgent::policy::directives::{COMMENT_MAX_BYTES, Key, edit, edit_fitting, parse};

/// What the monitor writes, in its order.
const CHANGES: [(Key, &str); 10] = [
    (Key::Saved, "1764410000"),
    (Key::Epoch, "12.25"),
    (Key::EpochS, "340.5"),
    (Key::At, "1764410001"),
    (Key::Epochs, "90"),
    (Key::Save, "step"),
    (Key::SaveS, "20"),
    (Key::Signal, "USR1@batch"),
    (Key::Priority, "70"),
    (Key::Urgency, "normal"),
];

/// The first byte chooses what is written, the rest is the comment.
pub fn comment(bytes: &[u8]) {
    let Some((choice, comment)) = bytes.split_first() else {
        return;
    };
    let before = parse(comment);
    if let Err(error) = &before {
        let sentence = error.to_string();
        assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
        assert!(sentence.chars().count() < 900, "{sentence}");
    }
    let from = usize::from(*choice) % CHANGES.len();
    let many = 1 + usize::from(*choice) / CHANGES.len() % 5;
    let changes = CHANGES.iter().cycle().skip(from).take(many);
    let changes: Vec<(Key, String)> = changes.map(|(key, value)| (*key, (*value).to_owned())).collect();
    if let Ok(edited) = edit(comment, &changes) {
        let after = parse(&edited).expect("what was edited can be read");
        assert!(edited.len() <= COMMENT_MAX_BYTES);
        assert_eq!(
            edit(&edited, &changes).as_ref(),
            Ok(&edited),
            "the same edit again"
        );
        let said = parse(text_of(&changes).as_bytes()).expect("each value is a good one");
        // A value that could not be read may have been mended.
        if let Ok(before) = before {
            assert_eq!(after, over(said, before), "what else it says is kept");
            if !share_a_key(&said, &before) {
                assert_eq!(
                    kept_bytes(comment, &edited),
                    comment.len(),
                    "all other text is kept byte for byte"
                );
            }
        }
    }
    let (fitted, dropped) = edit_fitting(comment, &changes);
    assert!(fitted.len() <= comment.len().max(COMMENT_MAX_BYTES));
    match changes.len() - dropped {
        0 => assert_eq!(fitted, comment),
        kept => assert_eq!(edit(comment, &changes[..kept]), Ok(fitted)),
    }
}

fn text_of(changes: &[(Key, String)]) -> String {
    let words: Vec<_> = changes
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    words.join(" ")
}

/// How many bytes of `text` stand in `edited` in their order; directives are put in between.
fn kept_bytes(text: &[u8], edited: &[u8]) -> usize {
    let mut rest = edited.iter();
    text.iter()
        .take_while(|byte| rest.any(|other| other == *byte))
        .count()
}

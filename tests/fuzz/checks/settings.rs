// SPDX-License-Identifier: GPL-2.0-or-later
//! surgent.toml is an administrator's, and perhaps half written.

use surgent::policy::settings::Settings;

/// The whole of the input is a `surgent.toml`.
pub fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Settings::parse(&text) {
        Ok(settings) => {
            let written = toml::to_string(&settings).expect("settings can be written");
            assert_eq!(Settings::parse(&written), Ok(settings), "{written}");
        }
        Err(sentence) => {
            assert!(sentence.starts_with("line "), "{sentence:?}");
            assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
            assert!(sentence.len() < 1200 + 4 * longest_word(&text), "{sentence}");
        }
    }
}

/// What is unknown is named in full.
fn longest_word(text: &str) -> usize {
    text.lines().map(str::len).max().unwrap_or(0)
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Cuts a program's output into the pieces that a terminal would have shown one after the other.
//!
//! A piece ends with a newline, a carriage return, a run of backspaces or a movement of the cursor. Colours, NUL bytes
//! and single backspaces are dropped. The pieces depend on the bytes alone, not on how they arrive.

/// A piece is at most so long. Of a longer one, which has lost its carriage returns, the end counts.
pub const PIECE_BYTES_MAX: usize = 8 * 1024;

/// So much of the end of a piece that was too long is read once more with what follows.
const KEPT_BYTES: usize = 1024;

/// Longer control sequences are none.
const SEQUENCE_BYTES_MAX: usize = 64;

/// So many backspaces in a row go to the beginning of the line.
const BACKSPACES: u32 = 8;

/// Stands for bytes that were passed over (CAN, which no program prints).
pub const PASSED_OVER: u8 = 0x18;

/// One piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its text, without control characters other than tabs.
    pub text: &'a [u8],
    /// Whether the cursor went up right behind it: a bar below another bar.
    pub is_below: bool,
    /// Whether its end may be missing.
    pub is_cut: bool,
}

/// Cuts output into pieces; keeps what has no end yet.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    text: Vec<u8>,
    state: State,
    backspaces: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Text,
    /// In the rest of a line whose beginning was passed over.
    PassedOver,
    /// Behind ESC.
    Escape,
    /// Within a sequence ESC [ … of so many bytes.
    Sequence(usize),
    /// Within a title ESC ] … of so many bytes.
    Title(usize),
}

impl Lines {
    /// Takes the next bytes and hands each piece that is complete to `take`.
    pub fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Piece<'_>)) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.state == State::Text && self.backspaces == 0 {
                // The common case in one go: up to the next control character.
                let room = PIECE_BYTES_MAX - self.text.len();
                let plain = bytes
                    .iter()
                    .take(room)
                    .take_while(|byte| is_plain(**byte))
                    .count();
                if plain > 0 {
                    self.text.extend_from_slice(&bytes[..plain]);
                    bytes = &bytes[plain..];
                    self.keep_short(&mut take);
                    continue;
                }
            }
            self.byte(byte, &mut take);
            self.keep_short(&mut take);
            bytes = rest;
        }
    }

    /// Hands over what has no end yet, without forgetting it.
    pub fn rest(&self, take: impl FnOnce(Piece<'_>)) {
        if !self.text.is_empty() {
            take(Piece {
                text: &self.text,
                is_below: false,
                is_cut: true,
            });
        }
    }

    /// Bytes were passed over: what has no end yet is dropped, and what comes up to the next end of a line.
    pub fn pass_over(&mut self) {
        self.text.clear();
        self.state = State::PassedOver;
        self.backspaces = 0;
    }

    /// The writer was started anew.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    fn byte(&mut self, byte: u8, take: &mut impl FnMut(Piece<'_>)) {
        match self.state {
            State::Text if byte == 8 => self.backspaces += 1,
            State::Text => {
                let is_to_begin = std::mem::take(&mut self.backspaces) >= BACKSPACES;
                if is_to_begin {
                    self.end(false, take);
                }
                match byte {
                    b'\n' | b'\r' => self.end(false, take),
                    0x1b => self.state = State::Escape,
                    PASSED_OVER => self.pass_over(),
                    byte if is_plain(byte) => self.text.push(byte),
                    _ => {}
                }
            }
            State::PassedOver => {
                if matches!(byte, b'\n' | b'\r') {
                    self.state = State::Text;
                }
            }
            State::Escape => {
                self.state = match byte {
                    b'[' => State::Sequence(0),
                    b']' => State::Title(0),
                    _ => State::Text,
                }
            }
            State::Sequence(length) => match byte {
                b'0'..=b'?' | b' '..=b'/' if length < SEQUENCE_BYTES_MAX => {
                    self.state = State::Sequence(length + 1)
                }
                b'\n' | b'\r' => {
                    self.state = State::Text;
                    self.end(false, take);
                }
                _ => {
                    self.state = State::Text;
                    // m is a colour, everything else moves or erases.
                    if byte != b'm' {
                        self.end(byte == b'A', take);
                    }
                }
            },
            State::Title(length) => match byte {
                7 => self.state = State::Text,
                0x1b => self.state = State::Escape,
                b'\n' | b'\r' => {
                    self.state = State::Text;
                    self.end(false, take);
                }
                _ if length >= SEQUENCE_BYTES_MAX => self.state = State::Text,
                _ => self.state = State::Title(length + 1),
            },
        }
    }

    fn end(&mut self, is_below: bool, take: &mut impl FnMut(Piece<'_>)) {
        if !self.text.is_empty() {
            take(Piece {
                text: &self.text,
                is_below,
                is_cut: false,
            });
            self.text.clear();
        }
    }

    fn keep_short(&mut self, take: &mut impl FnMut(Piece<'_>)) {
        if self.text.len() >= PIECE_BYTES_MAX {
            take(Piece {
                text: &self.text,
                is_below: false,
                is_cut: true,
            });
            let from = self.text.len() - KEPT_BYTES;
            // The first word of the rest may be half a number.
            let begin = self.text[from..]
                .iter()
                .position(|byte| *byte == b' ')
                .unwrap_or(KEPT_BYTES);
            self.text.drain(..from + begin);
        }
    }
}

fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        let mut keep = |piece: Piece<'_>| {
            let below = if piece.is_below { "^" } else { "" };
            let cut = if piece.is_cut { "~" } else { "" };
            found.push(format!("{}{below}{cut}", String::from_utf8_lossy(piece.text)));
        };
        lines.feed(text.as_bytes(), &mut keep);
        lines.rest(&mut keep);
        found
    }

    #[test]
    fn table_of_pieces() {
        let table: [(&str, &[&str]); 8] = [
            ("a\nb\r\nc", &["a", "b", "c~"]),
            ("\r10%\r20%\n", &["10%", "20%"]),
            ("\x1b[1m 3/16\x1b[0m \x1b[32mx\x1b[0m\n", &[" 3/16 x"]),
            ("a\x08\x08\x08\x08\x08\x08\x08\x08\x08\rb\n", &["a", "b"]),
            ("ab\x08c\n", &["abc"]),
            ("bar\x1b[A\rmain\n", &["bar^", "main"]),
            ("\x1b]0;title\x07text\n", &["text"]),
            ("E\0p\0o\0c\0h\0\n\0", &["Epoch"]),
        ];
        for (text, expected) in table {
            assert_eq!(pieces(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_handed_over_in_pieces_and_its_end_is_kept() {
        let mut lines = Lines::default();
        let mut count = 0;
        for number in 0..10_000 {
            lines.feed(format!("|{number}/10000 [ ").as_bytes(), |piece| {
                assert!(piece.text.len() <= PIECE_BYTES_MAX);
                count += 1;
            });
        }
        assert!(count > 10);
        lines.rest(|piece| assert!(piece.text.ends_with(b"|9999/10000 [ ")));
    }
}

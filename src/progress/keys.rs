// SPDX-License-Identifier: GPL-2.0-or-later
//! Which readers a line could be for, found in one pass over it: most lines of an output are for none.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::sync::LazyLock;

/// The signs that were found in a line. All text is in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keys(u8);

impl Keys {
    /// An epoch is named.
    pub const EPOCH: Self = Self(1);
    /// There could be a bar.
    pub const BAR: Self = Self(1 << 1);
    /// Steps are counted.
    pub const STEP: Self = Self(1 << 2);
    /// It could speak of the run as a whole.
    pub const MARK: Self = Self(1 << 3);
    /// Time has elapsed.
    pub const ELAPSED: Self = Self(1 << 4);
    /// `train: `
    pub const TRAIN: Self = Self(1 << 5);
    /// `{`
    pub const BRACE: Self = Self(1 << 6);
    /// `[n/m][`
    pub const BRACKETS: Self = Self(1 << 7);

    /// What is found in `text`.
    pub fn of(text: &[u8]) -> Self {
        let Some(automaton) = &*AUTOMATON else {
            return Self(u8::MAX);
        };
        let found = automaton.find_overlapping_iter(text);
        found.fold(Self::default(), |keys, sign| {
            let key = SIGNS.get(sign.pattern().as_usize()).map_or(0, |(_, key)| key.0);
            Self(keys.0 | key)
        })
    }

    /// Whether one of `keys` was found.
    pub fn has(self, keys: Self) -> bool {
        self.0 & keys.0 != 0
    }
}

const SIGNS: [(&str, Keys); 54] = [
    ("gpu available", Keys::MARK),
    ("optimization", Keys::MARK),
    ("epoch", Keys::EPOCH),
    ("epochs", Keys::MARK),
    ("%|", Keys::BAR),
    ("% [", Keys::BAR),
    ("[=", Keys::BAR),
    ("[>", Keys::BAR),
    ("[.", Keys::BAR),
    (" - ", Keys::BAR),
    ("/step", Keys::BAR),
    ("━", Keys::BAR),
    ("╸", Keys::BAR),
    ("█", Keys::BAR),
    (" [0", Keys::BAR),
    (" [1", Keys::BAR),
    (" [2", Keys::BAR),
    (" [3", Keys::BAR),
    (" [4", Keys::BAR),
    (" [5", Keys::BAR),
    (" [6", Keys::BAR),
    (" [7", Keys::BAR),
    (" [8", Keys::BAR),
    (" [9", Keys::BAR),
    ("iter", Keys::STEP),
    ("it ", Keys::STEP),
    ("it:", Keys::STEP),
    ("itr", Keys::STEP),
    ("step", Keys::STEP),
    ("batch", Keys::STEP),
    ("update", Keys::STEP),
    ("]\t", Keys::STEP),
    (":\tlearn", Keys::STEP),
    ("ep. ", Keys::STEP),
    ("elap", Keys::ELAPSED),
    ("elas", Keys::ELAPSED),
    ("train: ", Keys::TRAIN),
    ("{", Keys::BRACE),
    ("][", Keys::BRACKETS),
    ("train", Keys::MARK),
    ("stop", Keys::MARK),
    ("best", Keys::MARK),
    ("final", Keys::MARK),
    ("finish", Keys::MARK),
    ("resum", Keys::MARK),
    ("restart", Keys::MARK),
    ("restor", Keys::MARK),
    ("again", Keys::MARK),
    ("due to", Keys::MARK),
    ("srun", Keys::MARK),
    ("slurm", Keys::MARK),
    ("checkpoint", Keys::MARK),
    ("max_", Keys::MARK),
    ("traceback", Keys::MARK),
];

/// `None` where it cannot be built; then every reader is asked.
static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let mut builder = AhoCorasick::builder();
    builder.kind(Some(AhoCorasickKind::DFA));
    builder.build(SIGNS.iter().map(|(sign, _)| sign)).ok()
});

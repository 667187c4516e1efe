// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers that look random and are the same every time.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A sequence; the same `seed` gives the same one.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `below - 1`; 0 where that is nothing.
    pub fn below(&mut self, below: usize) -> usize {
        // The remainder of a usize fits a usize.
        (self.next() % (below.max(1) as u64)) as usize
    }

    /// From 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        // 53 bits, which an f64 holds exactly.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

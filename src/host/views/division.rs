// SPDX-License-Identifier: GPL-2.0-or-later
//! How a long look is divided into holds of Slurm's locks.

use std::time::Duration;

/// See `surgent_sink_t` in `surgent.h`.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// A hold that copies jobs is to end after this.
    pub hold: Duration,
    /// But only after it has copied so many.
    pub copies_min: u32,
    /// There are so many holds at most,
    pub holds_max: u32,
    /// and the last one begins after this at the latest.
    pub divide_for: Duration,
}

/// A small cluster is looked at in a single hold. The last hold of a large one sees in addition whether all that was copied is
/// as it was, and reads the nodes: with 40,000 jobs on 10,000 nodes that takes about as long again.
///
/// Where Slurm's own threads have the locks for so long that some holds take half a second, a hold of some 30 ms more is no
/// matter to Slurm, but each further wait would be one to the urgent job.
const USUAL: Division = Division {
    hold: Duration::from_millis(6),
    copies_min: 256,
    holds_max: 32,
    divide_for: Duration::from_millis(500),
};

/// What is in force.
#[cfg(not(feature = "faults"))]
pub fn in_force() -> Division {
    USUAL
}

/// What is in force. With SURGENT_HOLD_PAUSE_MS each hold copies one job only.
#[cfg(feature = "faults")]
pub fn in_force() -> Division {
    match wanted_pause() {
        None => USUAL,
        Some(_) => Division {
            hold: Duration::ZERO,
            copies_min: 1,
            holds_max: u32::MAX,
            divide_for: Duration::MAX,
        },
    }
}

/// After each hold.
#[cfg(not(feature = "faults"))]
pub fn pause() {}

/// After each hold, so long that much may happen before the next one.
#[cfg(feature = "faults")]
pub fn pause() {
    if let Some(pause) = wanted_pause() {
        std::thread::sleep(pause);
    }
}

#[cfg(feature = "faults")]
fn wanted_pause() -> Option<Duration> {
    static WANTED: std::sync::OnceLock<Option<Duration>> = std::sync::OnceLock::new();
    *WANTED.get_or_init(|| {
        let ms = std::env::var("SURGENT_HOLD_PAUSE_MS").ok()?.parse().ok()?;
        Some(Duration::from_millis(ms))
    })
}

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

/// What is in force. With SURGENT_HOLD_PAUSE_MS or SURGENT_HOLD_WHILE each hold copies one job only.
#[cfg(feature = "faults")]
pub fn in_force() -> Division {
    if wanted_pause().is_none() && wanted_file().is_none() {
        return USUAL;
    }
    Division {
        hold: Duration::ZERO,
        copies_min: 1,
        holds_max: u32::MAX,
        divide_for: Duration::MAX,
    }
}

/// After each hold.
#[cfg(not(feature = "faults"))]
pub fn pause() {}

/// After each hold, so long that much may happen before the next one: for SURGENT_HOLD_PAUSE_MS, and as long as the file
/// SURGENT_HOLD_WHILE is there.
#[cfg(feature = "faults")]
pub fn pause() {
    if let Some(pause) = wanted_pause() {
        std::thread::sleep(pause);
    }
    let Some(file) = wanted_file().filter(|file| file.exists()) else {
        return;
    };
    log::info!("a look waits between two holds");
    let begun = std::time::Instant::now();
    while file.exists() && begun.elapsed() < FILE_MAX {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A test that has failed does not take the file away.
#[cfg(feature = "faults")]
const FILE_MAX: Duration = Duration::from_secs(120);

#[cfg(feature = "faults")]
fn wanted_file() -> Option<&'static std::path::Path> {
    static WANTED: std::sync::OnceLock<Option<std::path::PathBuf>> = std::sync::OnceLock::new();
    WANTED
        .get_or_init(|| std::env::var_os("SURGENT_HOLD_WHILE").map(Into::into))
        .as_deref()
}

#[cfg(feature = "faults")]
fn wanted_pause() -> Option<Duration> {
    static WANTED: std::sync::OnceLock<Option<Duration>> = std::sync::OnceLock::new();
    *WANTED.get_or_init(|| {
        let ms = std::env::var("SURGENT_HOLD_PAUSE_MS").ok()?.parse().ok()?;
        Some(Duration::from_millis(ms))
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! In what order jobs wait: the site factor of normal jobs, and the order among urgent ones.

mod factor;
mod settings;
mod urgent;

pub use factor::{AHEAD_S, Applicant, NORMAL_MAX, REFRESH_S, URGENT_FACTOR, factor};
pub use settings::{OVERTAKE_MAX_H, QueueSettings, UrgentOrder};
pub use urgent::place;

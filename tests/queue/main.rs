// SPDX-License-Identifier: GPL-2.0-or-later
//! The order of waiting jobs: what the factor is made of, and that nobody waits for ever.

mod order;
mod year;

use surgent::policy::directives::Urgency;
use surgent::policy::queue::Applicant;
use surgent::policy::settings::Settings;
use surgent::policy::units::{Seconds, UnixTime};

const NOW: UnixTime = UnixTime(1_764_410_000);
const HOUR_S: i64 = 3600;

/// A normal job of 8 GPUs that has come `hours` ago and nobody knows how long it takes.
fn waits_for(hours: i64) -> Applicant {
    Applicant {
        class: Urgency::Normal,
        first: UnixTime(NOW.0 - hours * HOUR_S),
        preempted: false,
        gpus: 8.0,
        remaining_s: None,
    }
}

fn settings(queue: &str) -> Settings {
    Settings::parse(&format!("[queue]\n{queue}")).unwrap()
}

fn hours(hours: f64) -> Option<Seconds> {
    Some(Seconds(hours * 3600.0))
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Every metric with its name, its labels and what it means.

use super::exposition::{counter, gauge, histogram};
use crate::policy::metrics::{Histogram, Metrics, Tally};
use crate::policy::settings::Mode;
use prometheus::proto::MetricFamily;

/// What was done, and what would have been done: in which mode an event was seen.
const ON: (&str, &str) = ("mode", "on");
const SHADOW: (&str, &str) = ("mode", "shadow");

/// All of them, in the order in which they are shown.
pub(super) fn of(metrics: &Metrics) -> Vec<MetricFamily> {
    let mut families = events(metrics);
    families.extend(work(metrics));
    families.extend(state(metrics));
    families
}

fn events(metrics: &Metrics) -> Vec<MetricFamily> {
    let (on, shadow) = (&metrics.counters.on, &metrics.counters.shadow);
    let count =
        |name, help, of: fn(&Tally) -> f64| counter(name, help, &[(&[ON], of(on)), (&[SHADOW], of(shadow))]);
    let times = |name, help, of: fn(&Tally) -> &Histogram| {
        histogram(name, help, &[(&[ON], of(on)), (&[SHADOW], of(shadow))])
    };
    let why = |mode, why| [mode, ("why", why)];
    let saved = |mode, saved| [mode, ("saved", saved)];
    vec![
        count(
            "surgent_urgent_starts_total",
            "Urgent jobs that have started, whether or not others made way.",
            |tally| tally.urgent_starts as f64,
        ),
        times(
            "surgent_urgent_wait_seconds",
            "From an urgent job's first submission to its start.",
            |tally| &tally.urgent_wait,
        ),
        counter(
            "surgent_plans_total",
            "Plans to stop jobs for an urgent one, by what they follow: the first for it, in the place of one that does not do any \
             more, or beside one with which Slurm did not start it.",
            &[
                (&why(ON, "first"), on.plans_first as f64),
                (&why(ON, "replanned"), on.plans_replanned as f64),
                (&why(ON, "widened"), on.plans_widened as f64),
                (&why(SHADOW, "first"), shadow.plans_first as f64),
                (&why(SHADOW, "replanned"), shadow.plans_replanned as f64),
                (&why(SHADOW, "widened"), shadow.plans_widened as f64),
            ],
        ),
        count(
            "surgent_no_set_total",
            "Decisions that no set of jobs would make an urgent one fit.",
            |tally| tally.no_set as f64,
        ),
        count(
            "surgent_given_up_total",
            "Urgent jobs that Slurm did not start although others had made way.",
            |tally| tally.given_up as f64,
        ),
        count(
            "surgent_saves_asked_total",
            "Requests to save that have reached their job.",
            |tally| tally.saves_asked as f64,
        ),
        count(
            "surgent_saves_acknowledged_total",
            "Requests to save that were followed by a save, also by a late one.",
            |tally| tally.saves_acknowledged as f64,
        ),
        count(
            "surgent_saves_missed_total",
            "Requests to save that were not followed by a save before their deadline.",
            |tally| tally.saves_missed as f64,
        ),
        times(
            "surgent_save_seconds",
            "From a request to save to the save.",
            |tally| &tally.save,
        ),
        counter(
            "surgent_stops_total",
            "Jobs that were stopped for an urgent one, by whether they had saved as they were asked to.",
            &[
                (&saved(ON, "true"), on.stops_saved as f64),
                (&saved(ON, "false"), on.stops_unsaved as f64),
                (&saved(SHADOW, "true"), shadow.stops_saved as f64),
                (&saved(SHADOW, "false"), shadow.stops_unsaved as f64),
            ],
        ),
        count(
            "surgent_lost_gpu_seconds_total",
            "GPU time of stopped jobs from their last save, or from the beginning of their run, to the stop: it is done again.",
            |tally| tally.lost_gpu_s,
        ),
        count(
            "surgent_saved_gpu_seconds_total",
            "GPU time of stopped jobs from their last save before the request, or from the beginning of their run, to the requested \
             save: a stop without that save would have lost it.",
            |tally| tally.kept_gpu_s,
        ),
    ]
}

fn work(metrics: &Metrics) -> Vec<MetricFamily> {
    let counters = &metrics.counters;
    let times = |name, help, of| histogram(name, help, &[(&[], of)]);
    vec![
        times(
            "surgent_lock_wait_seconds",
            "How long a look at the cluster waited for Slurm's locks, each time that it took them.",
            &counters.lock_wait,
        ),
        times(
            "surgent_lock_held_seconds",
            "How long a look at the cluster held Slurm's locks, for reading, each time that it took them.",
            &counters.lock_held,
        ),
        times(
            "surgent_plan_seconds",
            "How long it took to understand what a look had shown and to decide, under no lock.",
            &counters.plan,
        ),
        counter(
            "surgent_commands_total",
            "Commands of Slurm's that Surgent has run, by what became of them.",
            &[
                (&[("outcome", "done")], counters.commands_done as f64),
                (&[("outcome", "failed")], counters.commands_failed as f64),
            ],
        ),
        counter(
            "surgent_faults_total",
            "Faults in Surgent that were caught; Slurm's own answer was given.",
            &[(&[], counters.faults as f64)],
        ),
    ]
}

fn state(metrics: &Metrics) -> Vec<MetricFamily> {
    let state = &metrics.state;
    let is = |flag: bool| f64::from(u8::from(flag));
    let in_mode = |mode| is(state.mode == mode);
    vec![
        gauge(
            "surgent_plans_in_progress",
            "Urgent jobs for which others make way just now.",
            &[(&[], state.campaigns as f64)],
        ),
        gauge(
            "surgent_urgent_waiting",
            "Urgent jobs that wait for room just now, each task of an array by itself.",
            &[(&[], state.waiting as f64)],
        ),
        gauge(
            "surgent_latched",
            "1 if Surgent has stepped aside after faults, until slurmctld is restarted.",
            &[(&[], is(state.latched))],
        ),
        gauge(
            "surgent_mode",
            "1 for the mode that Surgent is in.",
            &[
                (&[("mode", "on")], in_mode(Mode::On)),
                (&[("mode", "shadow")], in_mode(Mode::Shadow)),
                (&[("mode", "off")], in_mode(Mode::Off)),
            ],
        ),
        gauge(
            "surgent_build_info",
            "1, for the version of Surgent that slurmctld runs.",
            &[(&[("version", &metrics.version)], 1.0)],
        ),
        gauge(
            "surgent_metrics_begun_timestamp_seconds",
            "Since when the counters count.",
            &[(&[], metrics.counters.since.0 as f64)],
        ),
        gauge(
            "surgent_metrics_written_timestamp_seconds",
            "When slurmctld has written these numbers: at least once a minute.",
            &[(&[], metrics.written.0 as f64)],
        ),
    ]
}

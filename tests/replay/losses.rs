// SPDX-License-Identifier: GPL-2.0-or-later
//! What victims lose is what the plans said that they would, to the second, where the plans know all that there is to know.
//!
//! They know less in three cases, each of them told apart here:
//! - victims wait for each other to have saved, which no victim's cost contains;
//! - a job that has not trained for a whole step since it last saved cannot lose one;
//! - a job that cannot save, and has not kept anything in this run, does not tell since when it trains: it is taken to have
//!   trained since its start, and not since it was up again; or to be like the others, where these have saved.

use crate::{jobs, replayed_with};
use proptest::prelude::*;
use std::collections::BTreeMap;
use surgent::policy::settings::Settings;
use surgent::policy::units::Seconds;
use surgent::replay::sim::{How, Replayed, Stopped, What};
use surgent::replay::way::Way;
use surgent::replay::workload::Job;

const STEP_S: i64 = 7;

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.victims.step_s = Seconds(STEP_S as f64);
    settings
}

/// A stop, and what the replay's own record of nodes says of the run before it.
struct Told {
    stopped: Stopped,
    /// When its victims left.
    left_s: i64,
    /// When the run began.
    start_s: i64,
    /// Training in this run, and what was saved before it.
    trained_s: i64,
    before_s: i64,
}

/// The stops of all jobs, but for jobs that were stopped in vain as well, which no service tells of.
fn told(replayed: &Replayed) -> Vec<Told> {
    let mut by_job: BTreeMap<usize, Vec<(i64, Stopped)>> = BTreeMap::new();
    for service in &replayed.services {
        for stopped in &service.stopped {
            by_job
                .entry(stopped.at)
                .or_default()
                .push((service.start_s, *stopped));
        }
    }
    by_job.retain(|at, stops| replayed.lives[*at].stops as usize == stops.len());
    let mut all = Vec::new();
    for (at, stops) in by_job {
        let mut before_s = 0;
        let mut last_left_s = 0;
        for (left_s, stopped) in stops {
            let of_run = |span: &&surgent::replay::sim::Span| {
                span.job == at && span.from_s >= last_left_s && span.to_s <= left_s
            };
            let spans = || replayed.spans.iter().filter(of_run);
            let training = spans().filter(|span| span.what == What::Trains);
            let trained_s = training.map(|span| span.to_s - span.from_s).sum();
            all.push(Told {
                stopped,
                left_s,
                start_s: spans().map(|span| span.from_s).min().unwrap_or(left_s),
                trained_s,
                before_s,
            });
            before_s += trained_s - stopped.loss.redone_s;
            last_left_s = left_s;
        }
    }
    all
}

impl Told {
    /// Training that is on no disk yet when the run stops training, and whether that was kept in this run.
    fn unsaved_s(&self, job: &Job, keeps_epochs: bool) -> (i64, bool) {
        let total_s = self.before_s + self.trained_s;
        let kept_s = match keeps_epochs {
            true => (total_s - total_s % job.epoch_s).max(self.before_s),
            false => self.before_s,
        };
        (total_s - kept_s, kept_s > self.before_s)
    }

    fn check(&self, job: &Job, keeps_epochs: bool) -> Result<(), TestCaseError> {
        let Stopped { stop, loss, .. } = self.stopped;
        let foreseen = stop.foreseen.expect("Surgent foresees what a stop costs");
        let (unsaved_s, kept_in_run) = self.unsaved_s(job, keeps_epochs);
        prop_assert_eq!(loss.restart_s, foreseen.restart_s);
        // Nobody but those who save waits: the others train until they leave.
        let waited_s = match stop.how {
            How::Unsaved => 0,
            How::AtStep | How::AtEpochEnd => self.left_s - stop.ready_s,
        };
        prop_assert_eq!(loss.saving_s, foreseen.saving_s + waited_s);
        match stop.how {
            How::AtEpochEnd => prop_assert_eq!((loss.redone_s, foreseen.redone_s), (0, 0)),
            How::AtStep => {
                prop_assert_eq!(foreseen.redone_s, STEP_S);
                prop_assert_eq!(loss.redone_s, STEP_S.min(unsaved_s));
            }
            How::Unsaved => {
                prop_assert_eq!(loss.redone_s, unsaved_s);
                match (kept_in_run, keeps_epochs) {
                    (true, _) => prop_assert_eq!(foreseen.redone_s, loss.redone_s),
                    (false, false) => prop_assert_eq!(foreseen.redone_s, stop.asked_s - self.start_s),
                    // The median of others.
                    (false, true) => prop_assert!(foreseen.redone_s <= stop.asked_s - self.start_s),
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn victims_lose_what_the_plans_said(jobs in jobs(), saves: bool, keeps_epochs: bool) {
        let replayed = replayed_with(&settings(), &jobs, Way::Surgent { saves }, keeps_epochs);
        for told in told(&replayed) {
            told.check(&jobs[told.stopped.at], keeps_epochs)?;
        }
    }
}

/// The property above speaks of something.
#[test]
fn there_are_stops_of_every_kind_to_compare() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::new();
    for saves in [true, false] {
        for _ in 0..64 {
            let jobs = jobs().new_tree(&mut runner).expect("jobs").current();
            let replayed = replayed_with(&settings(), &jobs, Way::Surgent { saves }, true);
            for told in told(&replayed) {
                *seen.entry(format!("{:?}", told.stopped.stop.how)).or_insert(0) += 1;
            }
        }
    }
    let kinds = ["AtStep", "AtEpochEnd", "Unsaved"];
    assert!(
        kinds
            .iter()
            .all(|kind| seen.get(*kind).is_some_and(|count| *count >= 10)),
        "{seen:?}"
    );
}

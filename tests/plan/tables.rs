// SPDX-License-Identifier: GPL-2.0-or-later
//! What one job costs, what is believed of it and when its end is waited for: a table for each rule.

use crate::cluster::NOW;
use crate::parts;
use surgent::policy::belief::{Disbelief, believe};
use surgent::policy::cost::{LossRule, Rates, typical_save_age};
use surgent::policy::directives::{self, Directives, Urgency};
use surgent::policy::eligibility::{Refusal, SaveWay, examine};
use surgent::policy::facts::{Facts, Holding, RunningJob};
use surgent::policy::fit::Ledger;
use surgent::policy::ids::{JobId, NodeIndex, UserId};
use surgent::policy::labels::{Labels, Name};
use surgent::policy::plan::{Constraints, Outcome, plan};
use surgent::policy::record::Record;
use surgent::policy::request::Request;
use surgent::policy::resources::Amounts;
use surgent::policy::settings::Settings;
use surgent::policy::units::UnixTime;

const STOP: &str = "[victims]\nunsavable = \"stop\"\n";

/// A job of one whole node that has run for 10,000 s, with this comment; `{-N}` stands for N seconds ago.
pub fn job(id: u32, comment: &str) -> RunningJob {
    RunningJob {
        holdings: vec![Holding {
            node: NodeIndex(id - 1),
            amounts: Amounts::new(20, 1000),
        }],
        directives: Some(said(comment)),
        ..RunningJob::new(JobId(id), UnixTime(NOW - 10_000))
    }
}

fn said(comment: &str) -> Directives {
    let mut text = comment.to_owned();
    while let Some((before, rest)) = text.split_once('{') {
        let (ago, after) = rest.split_once('}').unwrap();
        let at = NOW + ago.parse::<i64>().unwrap();
        text = format!("{before}{at}{after}");
    }
    directives::parse(text.as_bytes()).unwrap()
}

fn settings(text: &str) -> Settings {
    Settings::parse(text).unwrap()
}

/// The ways in which the job may be stopped: rule, seconds lost, seconds until it is ready.
fn ways(comment: &str, patience_over: bool, with: &str) -> Result<Vec<(LossRule, f64, f64)>, Refusal> {
    let (job, settings, now) = (job(1, comment), settings(with), UnixTime(NOW));
    let others = [
        self::job(2, "saved={-100}"),
        self::job(3, "saved={-700}"),
        self::job(4, "saved={-5000}"),
    ];
    let beliefs: Vec<_> = others
        .iter()
        .map(|other| believe(other, now, &settings))
        .collect();
    let facts = Facts::at(now);
    let rates = Rates {
        now,
        gres: &facts.gres,
        victims: &settings.victims,
        typical_age_s: typical_save_age(now, beliefs.iter()),
    };
    let belief = believe(&job, now, &settings);
    let ways = examine(&job, &belief, now, patience_over, &settings)?;
    let cost = |way: &SaveWay| {
        let cost = rates.cost(&job, &belief, way);
        (cost.lost_by, cost.lost_s.0.round(), cost.ready_s.0.round())
    };
    Ok(ways.iter().map(cost).collect())
}

#[test]
fn what_is_lost_by_each_rule() {
    use LossRule::{EpochSoFar, MedianOfOthers, Nothing, OneStep, SinceSave};
    let ask = "signal=USR1@batch";
    for (comment, patience_over, expected) in [
        ("save=step", true, Ok(vec![(OneStep, 1.0, 30.0)])),
        ("save=step save_s=7", false, Ok(vec![(OneStep, 1.0, 7.0)])),
        ("", false, Ok(vec![(OneStep, 1.0, 30.0)])),
        // A quarter of an epoch done, of 200 s.
        (
            "save=epoch save_s=10 epoch=40.25 epoch_s=200 at={0}",
            false,
            Ok(vec![(Nothing, 0.0, 160.0)]),
        ),
        (
            "save=epoch save_s=10 epoch=40.25 epoch_s=200 at={0}",
            true,
            Ok(vec![(Nothing, 0.0, 160.0), (EpochSoFar, 50.0, 0.0)]),
        ),
        // Reported 50 s ago: half of it is done.
        (
            "save=epoch save_s=10 epoch=40.25 epoch_s=200 at={-50}",
            false,
            Ok(vec![(Nothing, 0.0, 111.0)]),
        ),
        // Too long an epoch: only to be stopped at once.
        (
            "save=epoch save_s=10 epoch=1.25 epoch_s=2000 at={0}",
            true,
            Ok(vec![(EpochSoFar, 500.0, 0.0)]),
        ),
        (
            "save=epoch save_s=10 epoch=1.25 epoch_s=2000 at={0}",
            false,
            Err(Refusal::PatienceNotOver),
        ),
        // It does not tell: a whole epoch, or all the time that there is.
        (
            "save=epoch save_s=10 epoch_s=200",
            false,
            Ok(vec![(Nothing, 0.0, 210.0)]),
        ),
        ("save=epoch save_s=10", false, Ok(vec![(Nothing, 0.0, 300.0)])),
        ("save=none saved={-900}", true, Ok(vec![(SinceSave, 900.0, 0.0)])),
        // A save of an earlier run: all of this one is lost.
        (
            "save=none saved={-90000}",
            true,
            Ok(vec![(SinceSave, 10_000.0, 0.0)]),
        ),
        ("save=none", true, Ok(vec![(MedianOfOthers, 700.0, 0.0)])),
        // A save that is yet to come is not believed.
        (
            "save=none saved={+900}",
            true,
            Ok(vec![(MedianOfOthers, 700.0, 0.0)]),
        ),
        ("save=none", false, Err(Refusal::PatienceNotOver)),
    ] {
        let found = ways(&format!("{ask} {comment}"), patience_over, STOP);
        assert_eq!(found, expected, "{comment:?}, patience over: {patience_over}");
    }
    assert_eq!(
        ways("save=step", true, STOP),
        Ok(vec![(MedianOfOthers, 700.0, 0.0)]),
        "no signal"
    );
    assert_eq!(
        ways("save=step", true, ""),
        Err(Refusal::CannotSave),
        "no signal, and protected"
    );
    let long = "signal=USR1@batch save=epoch epoch=1.25 epoch_s=2000 at={0}";
    assert_eq!(ways(long, true, ""), Err(Refusal::NoSaveInTime));
}

#[test]
fn the_cheaper_of_waiting_and_stopping_at_once_is_taken() {
    // 2 s into an epoch of 200 s, and 190 s into it. To stop at once saves the save's 100 s and the waiting.
    for (epoch, lost_by) in [("40.01", LossRule::EpochSoFar), ("40.95", LossRule::Nothing)] {
        let comment = format!("signal=USR1@batch save=epoch save_s=100 epoch={epoch} epoch_s=200 at={{0}}");
        let facts = cluster(vec![job(1, &comment)]);
        let constraints = Constraints {
            patience_over: true,
            ..Constraints::default()
        };
        let outcome = plan(
            &facts,
            &Ledger::of(&facts),
            &facts.waiting[0],
            &constraints,
            &settings("[victims]\nunsavable = \"stop\"\n[urgent]\nwait_weight = 0\n"),
        );
        let Outcome::Stop(plan) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(plan.victims[0].cost.lost_by, lost_by, "at epoch {epoch}");
        assert_eq!(plan.victims[0].signal.is_none(), lost_by == LossRule::EpochSoFar);
    }
}

#[test]
fn whom_the_site_exempts_is_protected_by_name() {
    use Refusal::{ExemptAccount, ExemptPartition, ExemptQos, ExemptUser};
    let with = settings(
        "[victims]\nexempt_users = [\"eve\"]\nexempt_accounts = [\"Vision\", \"speech\"]\nexempt_qos = [\"high\"]\n\
         exempt_partitions = [\"debug\"]\n",
    );
    let names = |user: &str, account: &str, qos: &str, partition: &str| {
        let name = |text: &str| (!text.is_empty()).then(|| Name::from(text));
        Labels {
            user: name(user),
            account: name(account),
            qos: name(qos),
            partition: name(partition),
        }
    };
    for (labels, protected_by) in [
        (names("", "", "", ""), None),
        (names("adam", "language", "normal", "gpu"), None),
        // A part of a name is another name.
        (names("ev", "vis", "highest", "debugging"), None),
        (names("eve", "language", "normal", "gpu"), Some(ExemptUser)),
        (names("Eve", "language", "normal", "gpu"), None),
        (names("adam", "vision", "normal", "gpu"), Some(ExemptAccount)),
        (names("adam", "speech", "normal", "gpu"), Some(ExemptAccount)),
        (names("adam", "", "HIGH", "gpu"), Some(ExemptQos)),
        (names("adam", "", "", "debug"), Some(ExemptPartition)),
    ] {
        let job = RunningJob {
            labels: labels.clone(),
            ..job(1, "signal=USR1@batch")
        };
        let belief = believe(&job, UnixTime(NOW), &with);
        let refusal = examine(&job, &belief, UnixTime(NOW), true, &with).err();
        assert_eq!(refusal, protected_by, "{labels:?}");
    }
}

#[test]
fn a_job_is_left_alone_for_longer_after_each_preemption() {
    use Refusal::{BelowMinRuntime, MaxPreemptions, RestartedRecently};
    let with = settings("[victims]\nmin_runtime_s = 100\nmax_preemptions = 3\n");
    for (preempted, runs_for_s, protected_by) in [
        (0, 99, Some(BelowMinRuntime)),
        (0, 100, None),
        // Its run since then counts, however long it ran before.
        (1, 99, Some(BelowMinRuntime)),
        (1, 199, Some(RestartedRecently)),
        (1, 200, None),
        (2, 299, Some(RestartedRecently)),
        (2, 300, None),
        (3, 399, Some(RestartedRecently)),
        (3, 1_000_000, Some(MaxPreemptions)),
    ] {
        let job = RunningJob {
            start: UnixTime(NOW - runs_for_s),
            record: Some(Record {
                first: Some(UnixTime(NOW - 2_000_000)),
                preempted,
                ..Record::new(Urgency::Normal)
            }),
            ..job(1, "signal=USR1@batch")
        };
        let belief = believe(&job, UnixTime(NOW), &with);
        let refusal = examine(&job, &belief, UnixTime(NOW), true, &with).err();
        assert_eq!(refusal, protected_by, "{preempted} times, {runs_for_s} s");
    }
}

#[test]
fn a_users_priority_counts_as_far_as_the_site_lets_it() {
    for (priority_max, comment, weight) in [
        (100, "priority=100", 10.0),
        (50, "priority=100", 1.0),
        (50, "priority=0", 0.1),
        (50, "", 1.0),
        // Who says nothing is worth no more than who says the most that counts.
        (0, "", 0.1),
    ] {
        let with = settings(&format!("[victims]\npriority_max = {priority_max}\n"));
        let job = job(1, &format!("signal=USR1@batch {comment}"));
        let belief = believe(&job, UnixTime(NOW), &with);
        let facts = Facts::at(UnixTime(NOW));
        let rates = Rates {
            now: facts.now,
            gres: &facts.gres,
            victims: &with.victims,
            typical_age_s: None,
        };
        let ways = examine(&job, &belief, facts.now, true, &with).unwrap();
        let cost = rates.cost(&job, &belief, &ways[0]);
        assert!(
            (cost.priority_weight - weight).abs() < 1e-9,
            "{comment:?} with {priority_max}"
        );
    }
}

#[test]
fn an_old_report_is_trusted_less() {
    // The longer ago the report, the more the wait comes to a whole epoch: the worst that may be.
    let wait_s = |age: u32| {
        // Always a quarter into the epoch by now.
        let epoch = 30.25 - f64::from(age) / 200.0;
        let comment =
            format!("signal=USR1@batch save=epoch save_s=0 epoch={epoch} epoch_s=200 at={{-{age}}}");
        ways(&comment, false, "[victims]\nreport_half_life_s = 600\n").unwrap()[0].2
    };
    assert_eq!(
        [wait_s(0), wait_s(600), wait_s(1200), wait_s(4000)],
        [150.0, 175.0, 188.0, 200.0]
    );
}

#[test]
fn what_cannot_be_is_not_believed() {
    for (comment, disbelief) in [
        ("epoch=5 epoch_s=100 at={0}", None),
        ("epoch=5 epoch_s=100 at={+20}", None),
        ("epoch=5 epoch_s=100 at={+60}", Some(Disbelief::ReportInFuture)),
        ("saved={+60}", Some(Disbelief::SaveInFuture)),
        ("epoch=90 epoch_s=100 at={0}", None),
        (
            "epoch=200 epoch_s=100 at={0}",
            Some(Disbelief::ProgressBeyondClock),
        ),
        (
            "epoch=5 epoch_s=100 at={-20000}",
            Some(Disbelief::ReportOfEarlierRun),
        ),
        ("epoch=80 epochs=81 epoch_s=100 at={-120}", None),
        (
            "epoch=80 epochs=81 epoch_s=100 at={-200}",
            Some(Disbelief::Overdue),
        ),
    ] {
        let belief = believe(&job(1, comment), UnixTime(NOW), &Settings::default());
        assert_eq!(belief.disbelief.first().copied(), disbelief, "{comment:?}");
    }
    // A comment cannot say this, facts from elsewhere can.
    let mut beyond = job(1, "epoch=5 epoch_s=100 at={0}");
    beyond.directives.as_mut().unwrap().epochs = Some(4);
    let belief = believe(&beyond, UnixTime(NOW), &Settings::default());
    assert_eq!(belief.disbelief.to_vec(), [Disbelief::EpochBeyondTotal]);
    assert_eq!(belief.progress, None);
    // What was trained before the job was requeued counts.
    let mut requeued = job(1, "epoch=200 epoch_s=100 at={0}");
    requeued.record = Record::read(format!("surgent{{class=normal first={}}}", NOW - 30_000).as_bytes());
    let belief = believe(&requeued, UnixTime(NOW), &Settings::default());
    assert!(belief.disbelief.is_empty(), "{belief:?}");
}

#[test]
fn the_plan_says_whom_it_does_not_believe() {
    let facts = cluster(vec![
        job(1, "signal=USR1@batch save_s=10"),
        job(2, "signal=USR1@batch save_s=20 epoch=200 epoch_s=100 at={0}"),
    ]);
    let outcome = decide(&facts, "");
    let Outcome::Stop(plan) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(plan.disbelieved[&JobId(2)], [Disbelief::ProgressBeyondClock]);
    assert_eq!(plan.disbelieved.len(), 1);
}

/// Each job fills a node of its own, and an urgent job wants one.
pub fn cluster(running: Vec<RunningJob>) -> Facts {
    let mut facts = Facts::at(UnixTime(NOW));
    let nodes = 0..running.len() as u32;
    let node = |index| parts::node(index, Amounts::new(20, 1000));
    facts.nodes = nodes.clone().map(node).collect();
    facts.running = running;
    let request = Request {
        min_nodes: 1,
        cpus_per_task: 1,
        cpus_per_node: 20,
        candidates: nodes.map(NodeIndex).collect(),
        ..Request::default()
    };
    facts.waiting.push(parts::waiting(900, request));
    facts
}

pub fn decide(facts: &Facts, with: &str) -> Outcome {
    let constraints = Constraints::default();
    plan(
        facts,
        &Ledger::of(facts),
        &facts.waiting[0],
        &constraints,
        &settings(with),
    )
}

#[test]
fn who_ends_soon_by_itself_is_waited_for_where_that_is_cheaper() {
    // 20 CPUs count as one GPU: to stop job 1 costs 1 + 30 + 60, and 30 for the waiting.
    let stopping = "signal=USR1@batch";
    let ends = |comment: &str, limit_s: Option<i64>| {
        let mut ending = job(2, comment);
        // What it says of its saves says nothing of another user's.
        ending.user = UserId(1);
        ending.traits.requeue = false;
        ending.end = limit_s.map(|limit_s| UnixTime(NOW + limit_s));
        cluster(vec![job(1, stopping), ending])
    };
    let table = [
        // By its time limit.
        (ends("", Some(120)), Some(120)),
        (ends("", Some(122)), None),
        (ends("", None), None),
        // By its epochs, and one more save; the time limit is later.
        (
            ends("save_s=10 epoch=89 epochs=90 epoch_s=100 at={0}", None),
            Some(110),
        ),
        (
            ends("save_s=10 epoch=89 epochs=90 epoch_s=100 at={0}", Some(40)),
            Some(40),
        ),
        (
            ends("save_s=10 epoch=88 epochs=90 epoch_s=100 at={0}", None),
            None,
        ),
        // Its report would have it ended by now, or cannot be.
        (
            ends("save_s=10 epoch=89 epochs=90 epoch_s=100 at={-200}", None),
            None,
        ),
        (
            ends("save_s=10 epoch=899 epochs=900 epoch_s=100 at={0}", None),
            None,
        ),
        // It ends soon, but the report is too old to wait for that alone.
        (
            ends("save_s=10 epoch=49 epochs=90 epoch_s=100 at={-4000}", None),
            None,
        ),
    ];
    for (at, (facts, until)) in table.into_iter().enumerate() {
        match (decide(&facts, "[urgent]\nwait_max_s = 600\n"), until) {
            (Outcome::Wait(wait), Some(after_s)) => {
                assert_eq!(wait.until, UnixTime(NOW + after_s), "row {at}");
                assert_eq!(wait.for_jobs, [JobId(2)], "row {at}");
                assert_eq!(wait.instead_of_gpu_s, Some(121.0), "row {at}");
            }
            (Outcome::Stop(_), None) => {}
            (outcome, until) => panic!("row {at}: {outcome:?} and not {until:?}"),
        }
    }
}

#[test]
fn nobody_is_waited_for_beyond_patience_or_in_vain() {
    let mut facts = cluster(vec![job(1, ""), job(2, "")]);
    for job in &mut facts.running {
        job.end = Some(UnixTime(NOW + 300));
    }
    // 100 s of the patience are gone.
    assert!(matches!(
        decide(&facts, "[urgent]\npatience_s = 399\nwait_max_s = 600\n"),
        Outcome::NoSet { .. }
    ));
    let Outcome::Wait(wait) = decide(&facts, "[urgent]\npatience_s = 400\nwait_max_s = 600\n") else {
        panic!("within patience");
    };
    assert_eq!(
        (wait.for_jobs.len(), wait.instead_of_gpu_s),
        (1, None),
        "one is enough"
    );
    assert!(matches!(
        decide(&facts, "[urgent]\nwait_max_s = 399\n"),
        Outcome::NoSet { .. }
    ));
    // Two nodes: both, until the later one.
    facts.waiting[0].request.min_nodes = 2;
    facts.running[1].end = Some(UnixTime(NOW + 200));
    let Outcome::Wait(wait) = decide(&facts, "[urgent]\nwait_max_s = 600\n") else {
        panic!("within patience");
    };
    assert_eq!(wait.for_jobs, [JobId(1), JobId(2)]);
    assert_eq!(wait.until, UnixTime(NOW + 300));
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! What a user can gain by what is written into a comment, true or not: every comment against none.

use crate::cluster::NOW;
use crate::tables::job;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use surgent::policy::cost::Cost;
use surgent::policy::directives;
use surgent::policy::directives::Urgency;
use surgent::policy::eligibility::Refusal;
use surgent::policy::facts::{Facts, RunningJob};
use surgent::policy::ids::UserId;
use surgent::policy::outlook::Outlook;
use surgent::policy::record::Record;
use surgent::policy::settings::{Settings, Unsavable};
use surgent::policy::units::{Seconds, UnixTime};

/// Times that matter to a liar, in seconds from now.
fn moment() -> impl Strategy<Value = i64> {
    prop_oneof![
        select(&[0, 1, -1, 30, 31, -10_000, -100_000, 1_000_000, 1 - NOW][..]),
        -20_000..100_i64,
    ]
    .prop_map(|from_now| NOW + from_now)
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![
        select(&[0.0, 1e-9, 29.0, 300.0, 300.5, 9_999.0, 31_536_000.0][..]),
        0.0..20_000.0,
    ]
}

/// One directive, plausible or not.
fn directive() -> impl Strategy<Value = String> {
    let epochs = prop_oneof![0.0..100.0, Just(0.0), Just(1e9)];
    prop_oneof![
        select(
            &[
                "signal=USR1@batch",
                "signal=TERM@steps",
                "save=step",
                "save=epoch",
                "save=none",
                "priority=100",
                "priority=0",
                "priority=70",
                "epochs=1",
                "epochs=100",
                "epochs=1000000000",
                "urgency=urgent",
                "epochs=oops",
                "saved=soon",
                "{",
                "free text",
            ][..]
        )
        .prop_map(str::to_owned),
        epochs.prop_map(|epoch| format!("epoch={epoch}")),
        seconds().prop_map(|seconds| format!("epoch_s={seconds}")),
        seconds().prop_map(|seconds| format!("save_s={seconds}")),
        moment().prop_map(|time| format!("at={time}")),
        moment().prop_map(|time| format!("saved={time}")),
    ]
}

fn comment() -> impl Strategy<Value = String> {
    vec(directive(), 0..9).prop_map(|words| words.join(" "))
}

/// A job that has run for so long and was stopped so often, with this comment.
fn with_comment(comment: &str, run_s: i64, preempted: u32) -> RunningJob {
    RunningJob {
        user: UserId(1),
        start: UnixTime(NOW - run_s),
        directives: directives::parse(comment.as_bytes()).ok(),
        record: Some(Record {
            first: Some(UnixTime(NOW - 2 * run_s)),
            preempted,
            ..Record::new(Urgency::Normal)
        }),
        ..job(1, "")
    }
}

/// The cheapest way in which job 1 may be stopped beside `others`; the slowest to be ready; or what protects it.
fn judged(
    subject: RunningJob,
    others: &[RunningJob],
    patience_over: bool,
    settings: &Settings,
) -> Result<(Cost, Seconds), Refusal> {
    let mut facts = Facts::at(UnixTime(NOW));
    facts.running.push(subject);
    facts.running.extend_from_slice(others);
    let outlook = Outlook::new(&facts, settings);
    let ways = outlook.ways(patience_over)[0].clone()?;
    let costs = ways.iter().map(|(_, cost)| *cost);
    let cheapest = costs
        .clone()
        .min_by(|a, b| a.total_gpu_s().total_cmp(&b.total_gpu_s()));
    let ready_s = costs.map(|cost| cost.ready_s.0).fold(0.0, f64::max);
    Ok((cheapest.expect("one way at least"), Seconds(ready_s)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Jobs of the same user stand beside it, as he may write into their comments, too.
    #[test]
    fn no_comment_protects_a_job_that_silence_would_not(
        claim in comment(),
        others in vec((comment(), 1..200_000_i64), 0..5),
        run_s in 60..200_000_i64,
        preempted in 0..4_u32,
        patience_over: bool,
        unsavable in select(&[Unsavable::Protect, Unsavable::Stop][..]),
        priority_max in select(&[50_u8, 60, 100][..]),
    ) {
        let mut settings = Settings::default();
        settings.victims.unsavable = unsavable;
        settings.victims.priority_max = priority_max;
        let others: Vec<_> = (2..)
            .zip(&others)
            .map(|(id, (comment, run_s))| RunningJob { id: surgent::policy::ids::JobId(id), ..with_comment(comment, *run_s, 0) })
            .collect();
        let judge = |comment: &str| judged(with_comment(comment, run_s, preempted), &others, patience_over, &settings);
        let (silent, claimed) = (judge(""), judge(&claim));
        let Ok((cost, ready_s)) = claimed else {
            prop_assert!(silent.is_err(), "{claim:?} protects it: {claimed:?}");
            return Ok(());
        };
        // However it is stopped, it costs no more than a job that has run as long, never saved and waits out the deadline,
        // at the highest priority that the site lets count.
        let most = Cost {
            lost_s: Seconds((run_s as f64).max(settings.victims.step_s.0)),
            save_s: settings.victims.save_deadline_s,
            priority_weight: 10_f64.powf((f64::from(priority_max) - 50.0) / 50.0),
            ..cost
        };
        prop_assert!(cost.total_gpu_s() <= most.total_gpu_s() * (1.0 + 1e-9), "{claim:?}: {cost:?}");
        prop_assert!(ready_s <= settings.victims.save_deadline_s, "{claim:?}: {ready_s:?}");
        // Who is asked to save loses a step at most, whatever he says to have lost; who says nothing of his saves is taken
        // to be like the others.
        if let Ok((silent, _)) = silent {
            let told_of_loss = claim.contains("saved=") || claim.contains("save=epoch");
            let gain = cost.lost_s.0 > silent.lost_s.0.max(settings.victims.step_s.0);
            prop_assert!(!gain || told_of_loss, "{claim:?}: {cost:?} and silent {silent:?}");
        }
    }
}

/// Each of these was once as good as `unsavable = "protect"` for him who wrote it.
#[test]
fn words_that_once_protected_a_job() {
    let mut settings = Settings::default();
    settings.victims.unsavable = Unsavable::Stop;
    for claim in [
        "signal=USR1@batch save=step save_s=31536000",
        "signal=USR1@batch save_s=301",
        "signal=USR1@batch save=oops",
    ] {
        let judge = |patience_over| judged(with_comment(claim, 10_000, 0), &[], patience_over, &settings);
        assert_eq!(judge(false), Err(Refusal::PatienceNotOver), "{claim}");
        let (cost, ready_s) = judge(true).unwrap();
        assert_eq!(
            (cost.lost_s, ready_s),
            (Seconds(10_000.0), Seconds::ZERO),
            "{claim}"
        );
    }
    settings.victims.unsavable = Unsavable::Protect;
    let slow = judged(
        with_comment("signal=USR1@batch save_s=301", 10_000, 0),
        &[],
        true,
        &settings,
    );
    assert_eq!(slow, Err(Refusal::NoSaveInTime), "nobody is asked in vain");
}

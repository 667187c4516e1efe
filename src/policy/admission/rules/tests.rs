// SPDX-License-Identifier: GPL-2.0-or-later
//! Every rule, kept and broken.

use super::*;
use crate::policy::admission::applicant::Label;
use crate::policy::settings::Settings;
use crate::policy::units::Seconds;

const EVE: UserId = UserId(1000);

fn settings(text: &str) -> AdmissionSettings {
    Settings::parse(&format!("[admission]\n{text}"))
        .unwrap()
        .admission
}

/// A job on two nodes with four GPUs each, for three hours.
fn applicant() -> Applicant<'static> {
    Applicant {
        user: EVE,
        group: Some(GroupId(50)),
        account: Label::Is("vision"),
        qos: Label::Is("high"),
        partition: Label::Is("gpu"),
        need: Need {
            waiting: 1,
            at_once: 1,
            gpus: 8,
            nodes: 2,
            cpus: 16,
            time_limit_s: Some(Seconds(3.0 * 3600.0)),
        },
    }
}

fn circle(users: &[u32], groups: &[u32]) -> Circle {
    Circle {
        users: users.iter().copied().map(UserId).collect(),
        groups: groups.iter().copied().map(GroupId).collect(),
    }
}

fn verdict(text: &str, people: &People, applicant: &Applicant<'_>) -> Result<(), Refusal> {
    judge(&settings(text), people, Some(&Usage::default()), applicant)
}

#[test]
fn without_rules_everybody_may() {
    assert_eq!(verdict("", &People::default(), &applicant()), Ok(()));
}

#[test]
fn users_and_groups_are_one_condition_and_deny_wins() {
    let both = "allow_users = [\"eve\"]\nallow_groups = [\"staff\"]\n";
    let by_name = circle(&[1000], &[]);
    let by_own_group = circle(&[], &[50]);
    let other = circle(&[7], &[51]);
    for (text, allowed, denied, may) in [
        (both, &by_name, &other, true),
        (both, &by_own_group, &other, true),
        (both, &other, &Circle::default(), false),
        (both, &by_name, &by_own_group, false),
        ("", &other, &by_name, false),
        ("", &other, &Circle::default(), true),
    ] {
        let people = People {
            allowed: allowed.clone(),
            denied: denied.clone(),
        };
        let judged = verdict(text, &people, &applicant());
        assert_eq!(judged.is_ok(), may, "{text:?} {people:?}: {judged:?}");
        assert!(judged.is_ok() || judged.unwrap_err().kind == Kind::Permission);
    }
}

#[test]
fn accounts_qos_and_partitions_are_each_a_condition() {
    let with = |change: fn(&mut Applicant<'static>)| {
        let mut job = applicant();
        change(&mut job);
        job
    };
    let plain = applicant();
    for (text, job, named) in [
        ("allow_accounts = [\"vision\", \"nlp\"]", plain, None),
        (
            "allow_accounts = [\"nlp\"]",
            plain,
            Some("admission.allow_accounts"),
        ),
        (
            "deny_accounts = [\"vision\"]",
            plain,
            Some("admission.deny_accounts"),
        ),
        ("deny_accounts = [\"nlp\"]", plain, None),
        (
            "deny_accounts = [\"vision\"]",
            with(|job| job.account = Label::Is("VISION")),
            Some("deny_accounts"),
        ),
        (
            "allow_accounts = [\"vision\"]",
            with(|job| job.account = Label::Absent),
            Some("this job has none"),
        ),
        (
            "deny_accounts = [\"vision\"]",
            with(|job| job.account = Label::Absent),
            None,
        ),
        (
            "allow_accounts = [\"vision\"]",
            with(|job| job.account = Label::Unsaid),
            Some("--account=NAME"),
        ),
        (
            "deny_accounts = [\"nlp\"]",
            with(|job| job.account = Label::Unsaid),
            Some("--account=NAME"),
        ),
        (
            "[admission.per_account]\ngpus = 100",
            with(|job| job.account = Label::Unsaid),
            Some("--account=NAME"),
        ),
        ("allow_users = []", with(|job| job.account = Label::Unsaid), None),
        (
            "allow_accounts = [\"nlp\"]",
            with(|job| job.account = Label::Unseen),
            None,
        ),
        ("allow_qos = [\"high\"]", plain, None),
        ("allow_qos = [\"low\"]", plain, Some("admission.allow_qos")),
        ("deny_qos = [\"high\"]", plain, Some("admission.deny_qos")),
        (
            "allow_qos = [\"high\"]",
            with(|job| job.qos = Label::Unsaid),
            Some("--qos=NAME"),
        ),
        ("allow_partitions = [\"gpu\"]", plain, None),
        (
            "allow_partitions = [\"gpu\"]",
            with(|job| job.partition = Label::Is("gpu,cpu")),
            Some("this job's is cpu"),
        ),
        (
            "deny_partitions = [\"cpu\"]",
            with(|job| job.partition = Label::Is("gpu,cpu")),
            Some("partition cpu"),
        ),
        (
            "allow_accounts = [\"vision\"]\nallow_qos = [\"low\"]",
            plain,
            Some("admission.allow_qos"),
        ),
    ] {
        let judged = verdict(text, &People::default(), &job);
        match named {
            None => assert_eq!(judged, Ok(()), "{text}"),
            Some(named) => {
                let refusal = judged.expect_err(text);
                assert_eq!(refusal.kind, Kind::Permission);
                assert!(refusal.sentence.contains(named), "{text}: {}", refusal.sentence);
            }
        }
    }
}

#[test]
fn what_a_user_wrote_is_told_on_one_line() {
    let job = Applicant {
        account: Label::Is("a\nsurgent: job 7 has started"),
        ..applicant()
    };
    let refusal = verdict("allow_accounts = [\"b\"]", &People::default(), &job).unwrap_err();
    assert!(!refusal.sentence.contains('\n'), "{}", refusal.sentence);
}

#[test]
fn each_limit_counts_what_it_says() {
    let mut usage = Usage::default();
    usage.add_running(EVE, Some("nlp"), 4, 1);
    usage.add_running(UserId(7), Some("vision"), 2, 1);
    usage.add(&Applicant {
        user: UserId(7),
        ..applicant()
    });
    // Eve has 1 job, 4 GPUs, 1 node; vision 2 jobs, 1 of which waits, 10 GPUs, 3 nodes; all 3 jobs, 14 GPUs, 4 nodes.
    for (table, key, most_that_refuses) in [
        ("per_user", "running", 1),
        ("per_user", "waiting", 0),
        ("per_user", "gpus", 11),
        ("per_user", "nodes", 2),
        ("per_account", "running", 2),
        ("per_account", "waiting", 1),
        ("per_account", "gpus", 17),
        ("per_account", "nodes", 4),
        ("in_all", "running", 3),
        ("in_all", "waiting", 1),
        ("in_all", "gpus", 21),
        ("in_all", "nodes", 5),
    ] {
        let with = |limit: u32| {
            let settings = settings(&format!("[admission.{table}]\n{key} = {limit}"));
            judge(&settings, &People::default(), Some(&usage), &applicant())
        };
        assert_eq!(with(most_that_refuses + 1), Ok(()), "{table}.{key}");
        if most_that_refuses == 0 {
            continue;
        }
        let refusal = with(most_that_refuses).expect_err(key);
        assert_eq!(refusal.kind, Kind::Limit);
        let named = format!("admission.{table}.{key}");
        assert!(refusal.sentence.contains(&named), "{}", refusal.sentence);
    }
}

#[test]
fn an_array_counts_all_its_tasks_and_of_those_that_run_as_many_as_may() {
    let mut job = applicant();
    (job.need.waiting, job.need.at_once) = (10, 2);
    for (text, may) in [
        ("[admission.per_user]\nrunning = 2", true),
        ("[admission.per_user]\nrunning = 1", false),
        ("[admission.per_user]\nwaiting = 10", true),
        ("[admission.per_user]\nwaiting = 9", false),
        ("[admission.per_user]\ngpus = 16", true),
        ("[admission.per_user]\ngpus = 15", false),
        ("[admission.per_user]\nnodes = 4", true),
        ("[admission.per_user]\nnodes = 3", false),
    ] {
        assert_eq!(verdict(text, &People::default(), &job).is_ok(), may, "{text}");
    }
}

#[test]
fn the_budget_is_open_until_it_is_used_up() {
    let text = "[admission.budget]\ngpu_hours_per_account = 100\n";
    let with = |used_h: f64| {
        let mut usage = Usage::default();
        usage.spent.add(UserId(7), Some("Vision"), used_h);
        judge(&settings(text), &People::default(), Some(&usage), &applicant())
    };
    assert_eq!(with(99.9), Ok(()), "something is left, and that is enough");
    let refusal = with(100.4).unwrap_err();
    assert_eq!(refusal.kind, Kind::Budget);
    assert_eq!(
        refusal.sentence,
        "account vision has used 100.4 of 100 urgent GPU-hours in the last 168 h, so none are left, and this job may need 24 \
         more (8 GPUs × 3 h); they come back as that time passes (admission.budget.gpu_hours_per_account)"
    );
}

#[test]
fn user_and_all_have_budgets_too() {
    let mut usage = Usage::default();
    usage.spent.add(EVE, None, 5.0);
    usage.spent.add(UserId(7), None, 5.0);
    for (key, enough, named) in [
        ("gpu_hours_per_user", 5.1, "user 1000"),
        ("gpu_hours_in_all", 10.1, "all urgent jobs"),
    ] {
        let with = |hours: f64| {
            let settings = settings(&format!("[admission.budget]\n{key} = {hours}"));
            judge(&settings, &People::default(), Some(&usage), &applicant())
        };
        assert_eq!(with(enough), Ok(()), "{key}");
        assert!(with(enough - 0.1).unwrap_err().sentence.contains(named), "{key}");
    }
}

#[test]
fn what_is_not_known_yet_refuses_nobody() {
    let text = "[admission.per_user]\nrunning = 1\ngpus = 0\n[admission.budget]\ngpu_hours_per_user = 0.1";
    assert_eq!(
        judge(&settings(text), &People::default(), None, &applicant()),
        Ok(())
    );
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The look before plans are made.

use super::*;
use crate::policy::admission::applicant::Need;
use crate::policy::facts::{Hindrance, ParkedJob, WaitingJob};
use crate::policy::labels::{Labels, Name};
use crate::policy::record::Record;
use crate::policy::request::Request;
use crate::policy::settings::Settings;

fn rules(text: &str) -> AdmissionSettings {
    Settings::parse(text).unwrap().admission
}

fn application(account: Option<&str>) -> Application {
    Application {
        user: UserId(1000),
        labels: Labels {
            account: account.map(Name::from),
            ..Labels::default()
        },
        need: Need {
            waiting: 1,
            at_once: 1,
            gpus: 4,
            ..Need::default()
        },
        ..Application::default()
    }
}

fn waiting(id: u32, account: Option<&str>) -> WaitingJob {
    WaitingJob {
        id: JobId(id),
        priority: 5,
        submit: UnixTime(50),
        blocked: false,
        hindrance: None,
        tested: true,
        request: Request::default(),
        tasks: 1,
        het: None,
        worth: None,
        application: Some(application(account)),
        record: Some(Record {
            first: Some(UnixTime(i64::from(id))),
            ..Record::new(Urgency::Urgent)
        }),
        admin_comment: Vec::new(),
    }
}

fn parked(id: u32) -> ParkedJob {
    ParkedJob {
        id: JobId(id),
        array: None,
        begin: UnixTime(0),
        completing: false,
        held: false,
        het: false,
        wanted: Some(Urgency::Urgent),
        application: Some(application(None)),
        record: Some(Record::new(Urgency::Normal)),
        admin_comment: Vec::new(),
    }
}

fn look(facts: &mut Facts, text: &str, spent: Spent, in_progress: &[u32]) -> Review {
    let in_progress = in_progress.iter().map(|id| (JobId(*id), 1)).collect();
    review(facts, &rules(text), &People::default(), spent, &in_progress)
}

fn hindrances(facts: &Facts) -> Vec<Option<Hindrance>> {
    facts.waiting.iter().map(|job| job.hindrance).collect()
}

#[test]
fn the_first_in_the_queue_may_and_those_beyond_the_limit_may_not() {
    let mut facts = Facts::at(UnixTime(100));
    facts.waiting = vec![waiting(3, None), waiting(1, None), waiting(2, None)];
    let review = look(
        &mut facts,
        "[admission.per_user]\ngpus = 8\n",
        Spent::default(),
        &[],
    );
    assert_eq!(hindrances(&facts), [Some(Hindrance::AdmissionLimit), None, None]);
    assert!(facts.waiting[0].blocked && !facts.waiting[1].blocked);
    assert_eq!(review.refused.len(), 1);
    // All of them are there, and a submission counts them all.
    assert_eq!(review.usage.of_user(UserId(1000)).gpus, 12);
    assert_eq!(review.seen.len(), 3);
}

#[test]
fn what_is_under_way_goes_on_and_counts_first() {
    let mut facts = Facts::at(UnixTime(100));
    facts.waiting = vec![waiting(1, None), waiting(3, None)];
    look(
        &mut facts,
        "[admission.per_user]\nrunning = 1\n",
        Spent::default(),
        &[3],
    );
    assert_eq!(hindrances(&facts), [Some(Hindrance::AdmissionLimit), None]);
}

#[test]
fn of_an_array_that_is_under_way_no_other_task_is_begun_with() {
    let mut spent = Spent::default();
    spent.add(UserId(1000), None, 2.0);
    let mut facts = Facts::at(UnixTime(100));
    let mut array = waiting(1, None);
    array.tasks = 10;
    facts.waiting = vec![array];
    look(
        &mut facts,
        "[admission.budget]\ngpu_hours_in_all = 1\n",
        spent,
        &[1],
    );
    assert_eq!((facts.waiting[0].tasks, facts.waiting[0].blocked), (1, false));
}

#[test]
fn a_budget_that_ran_out_and_a_permission_that_was_withdrawn_are_named() {
    let mut spent = Spent::default();
    spent.add(UserId(1000), Some("vision"), 2.0);
    let budget = "[admission.budget]\ngpu_hours_per_account = 2\n";
    let permission = "[admission]\ndeny_accounts = [\"vision\"]\n";
    for (text, hindrance) in [
        (budget, Hindrance::AdmissionBudget),
        (permission, Hindrance::AdmissionPermission),
    ] {
        let mut facts = Facts::at(UnixTime(100));
        facts.waiting = vec![waiting(1, Some("vision")), waiting(2, Some("nlp"))];
        let mut held = waiting(3, Some("vision"));
        held.hindrance = Some(Hindrance::Held);
        facts.waiting.push(held);
        look(&mut facts, text, spent.clone(), &[]);
        assert_eq!(
            hindrances(&facts),
            [Some(hindrance), None, Some(Hindrance::Held)],
            "what Slurm says stays"
        );
    }
}

#[test]
fn a_job_may_become_urgent_only_within_the_rules() {
    for (text, may) in [
        ("[admission.per_user]\nrunning = 2\n", true),
        ("[admission.per_user]\nrunning = 1\n", false),
    ] {
        let mut facts = Facts::at(UnixTime(100));
        facts.waiting = vec![waiting(1, None)];
        facts.parked = vec![parked(2)];
        let review = look(&mut facts, text, Spent::default(), &[]);
        assert_eq!(facts.parked.len(), usize::from(may));
        assert_eq!(review.refused.is_empty(), may);
    }
}

#[test]
fn a_job_that_is_owed_something_stays_normal_and_gets_that() {
    let mut facts = Facts::at(UnixTime(100));
    let mut job = parked(2);
    job.record.as_mut().unwrap().ask = Some(JobId(9));
    facts.parked = vec![job];
    look(
        &mut facts,
        "[admission]\nallow_accounts = [\"vision\"]\n",
        Spent::default(),
        &[],
    );
    assert_eq!(facts.parked[0].wanted, Some(Urgency::Normal));
}

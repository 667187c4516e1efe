// SPDX-License-Identifier: GPL-2.0-or-later
//! How long a save takes: by the job, else by its user's other jobs, else by the site.

use crate::cluster::NOW;
use crate::tables::{self, decide};
use surgent::policy::belief::{SaveRule, believe_all};
use surgent::policy::directives;
use surgent::policy::facts::{Facts, RunningJob};
use surgent::policy::ids::{JobId, UserId};
use surgent::policy::plan::Outcome;
use surgent::policy::settings::Settings;
use surgent::policy::units::{Seconds, UnixTime};

/// Running jobs, each with its user and comment, on a node of its own; an urgent job wants one node.
fn cluster(jobs: &[(u32, &str)]) -> Facts {
    let job = |(id, (user, comment)): (u32, &(u32, &str))| RunningJob {
        user: UserId(*user),
        directives: directives::parse(comment.as_bytes()).ok(),
        ..tables::job(id, "")
    };
    tables::cluster((1..).zip(jobs).map(job).collect())
}

#[test]
fn a_save_takes_what_the_job_says_else_its_user_else_the_site() {
    use SaveRule::{Configured, SameUser, Told};
    let silent = "signal=USR1@batch";
    type Row<'a> = (&'a str, &'a [(u32, &'a str)], f64, SaveRule);
    let table: [Row<'_>; 8] = [
        ("its own", &[(1, "save_s=7"), (1, "save_s=90")], 7.0, Told),
        ("one other", &[(1, silent), (1, "save_s=90")], 90.0, SameUser),
        (
            "the middle of three",
            &[(1, silent), (1, "save_s=9"), (1, "save_s=1"), (1, "save_s=5")],
            5.0,
            SameUser,
        ),
        (
            "the later of two",
            &[(1, silent), (1, "save_s=9"), (1, "save_s=1")],
            9.0,
            SameUser,
        ),
        (
            "another user's",
            &[(1, silent), (2, "save_s=90")],
            30.0,
            Configured,
        ),
        (
            "others that do not say",
            &[(1, silent), (1, silent)],
            30.0,
            Configured,
        ),
        (
            "others that are malformed",
            &[(1, silent), (1, "save_s=often")],
            30.0,
            Configured,
        ),
        (
            "malformed itself",
            &[(1, "save_s=often"), (1, "save_s=4")],
            4.0,
            SameUser,
        ),
    ];
    for (name, jobs, takes_s, by) in table {
        let save = believe_all(&cluster(jobs), &Settings::default())[0].save;
        assert_eq!((save.takes_s, save.by), (Seconds(takes_s), by), "{name}");
    }
}

#[test]
fn the_plan_goes_by_it_and_says_so() {
    // Job 1 would be taken for its lower id; its user's other job lets it be thought slow.
    let facts = cluster(&[
        (1, "signal=USR1@batch"),
        (2, "signal=USR1@batch"),
        (1, "save_s=90"),
    ]);
    let Outcome::Stop(plan) = decide(&facts, "") else {
        panic!()
    };
    let victim = &plan.victims[0];
    assert_eq!(
        (victim.job, victim.cost.save_s, victim.cost.save_by),
        (JobId(2), Seconds(30.0), Some(SaveRule::Configured))
    );
    assert!(
        serde_json::to_string(&plan)
            .unwrap()
            .contains(r#""save_by":"configured""#)
    );
}

#[test]
fn it_counts_for_deadlines_and_ends_too() {
    // 100 s to the epoch's end; with a save of 250 s that is too late, with the site's 30 s it is not.
    let late = format!("signal=USR1@batch save=epoch epoch=9.5 epoch_s=200 at={NOW}");
    let alone = cluster(&[(1, &late)]);
    assert!(matches!(decide(&alone, ""), Outcome::Stop(_)));
    let beside = cluster(&[(1, &late), (1, "save_s=250")]);
    assert!(matches!(decide(&beside, ""), Outcome::NoSet { .. }));
    // It ends in 20 s and one more save.
    let ending = format!("epochs=10 epoch=9.9 epoch_s=200 at={NOW}");
    for (jobs, until_s) in [
        (&[(1, ending.as_str())][..], 50),
        (&[(1, &ending), (1, "save_s=5")], 25),
    ] {
        let Outcome::Wait(wait) = decide(&cluster(jobs), "[urgent]\nwait_max_s = 600\n") else {
            panic!()
        };
        assert_eq!(wait.until, UnixTime(NOW + until_s));
    }
}

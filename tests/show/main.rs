// SPDX-License-Identifier: GPL-2.0-or-later
//! Whatever users write into names and comments, what Slurm's commands print is read the same.

mod forms;
mod printer;

use printer::{Job, Printed, read};
use proptest::prelude::*;
use surgent::policy::facts::Facts;
use surgent::policy::ids::JobId;
use surgent::slurm::show::details::{Details, shares};
use surgent::slurm::show::list::Listed;

/// Jobs 1 to 6, of which two run on several nodes with different parts.
fn crowd() -> Vec<Job> {
    vec![
        Job::running(1, vec![(0, 8, 2)]),
        Job::running(2, vec![(0, 8, 1), (1, 16, 3)]),
        Job::running(3, vec![(1, 4, 0), (2, 8, 4), (3, 2, 1)]),
        Job::waiting(4),
        Job::running(5, vec![(3, 8, 2)]),
        Job::waiting(6),
    ]
}

fn read_all(jobs: &[Job]) -> (Vec<Listed>, Facts) {
    let alone = |id: JobId| {
        let job = jobs.iter().find(|job| job.id == id.0);
        job.map(Job::record).unwrap_or_default()
    };
    read(&Printed::of(4, jobs), alone).expect("the tables are whole")
}

/// Whole records and pieces of them, and what else might cut a line or a field.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let forged = (1u32..9).prop_map(|id| {
        let mut job = Job::running(id, vec![(0, 64, 8), (2, 64, 8)]);
        job.name = b"x".to_vec();
        let record = job.record();
        [b"\n", &record[..record.len().min(1000)]].concat()
    });
    let piece = prop_oneof![
        forged,
        (1u32..9).prop_map(|id| format!("\nJobId={id} JobName=train-{id} UserId=root(0)").into_bytes()),
        Just(b" Nodes=n3 CPU_IDs=0-63 Mem=1 GRES=gpu:8 MinCPUsNode=1 ".to_vec()),
        Just(
            b" UserId=root(0) PreemptEligibleTime=9999999999 OverSubscribe=NO Exclusive=NODE Contiguous=0 "
                .to_vec()
        ),
        Just(b"\x1f\x1f\n".to_vec()),
        Just(b"(null)".to_vec()),
        Just(b"\"'\\$(reboot)%s%n".to_vec()),
        prop::collection::vec(1u8..=255, 0..40),
        prop::collection::vec(1u8..=255, 1000),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| {
        let mut text = pieces.concat();
        text.truncate(1024);
        // Blanks at the end cannot be told from the filling of the column.
        while text.last() == Some(&b' ') {
            text.pop();
        }
        text
    })
}

#[test]
fn a_crowd_is_read_as_it_is() {
    let (jobs, facts) = read_all(&crowd());
    assert_eq!((jobs.len(), facts.running.len(), facts.nodes.len()), (6, 4, 4));
    let third = facts.job(JobId(3)).expect("it runs");
    let parts: Vec<_> = third
        .holdings
        .iter()
        .map(|one| {
            (
                one.node.0,
                one.amounts.cpus,
                facts.gres.total_of(&one.amounts, "gpu"),
            )
        })
        .collect();
    assert_eq!(parts, [(1, 4, 0), (2, 8, 4), (3, 2, 1)]);
    assert_eq!(third.directives.as_ref().expect("directives").epochs, Some(90));
}

#[test]
fn a_job_whose_parts_are_not_told_holds_all_of_them_together() {
    let mut printed = Printed::of(4, &crowd());
    printed.records.clear();
    let (_, facts) = read(&printed, |_| Vec::new()).expect("the tables are whole");
    let third = facts.job(JobId(3)).expect("it runs");
    assert_eq!(third.holdings.len(), 3);
    assert_eq!(third.held().cpus, 14);
    assert_eq!(facts.gres.total_of(&third.held(), "gpu"), 5);
}

proptest! {
    #[test]
    fn what_users_write_changes_nothing_but_their_own_texts(
        name in hostile(), comment in hostile(), admin_comment in hostile(), at in 0usize..6,
    ) {
        let plain = crowd();
        let mut sly = crowd();
        sly[at].name = name;
        sly[at].comment = comment;
        // An administrator's words behind Surgent's own.
        let record = b"surgent{class=normal first=1764400000} ".to_vec();
        sly[at].admin_comment = [record, admin_comment].concat();
        let (jobs, mut facts) = read_all(&sly);
        let (_, expected) = read_all(&plain);
        for (job, made) in jobs.iter().zip(&sly) {
            // squeue prints the same for this as for nothing.
            let shown = |text: &[u8]| if text == b"(null)" { Vec::new() } else { text.to_vec() };
            prop_assert_eq!(&job.job.comment, &shown(&made.comment));
            prop_assert_eq!(job.job.id.0, made.id);
            prop_assert_eq!(&job.job.user, "eve");
        }
        let id = JobId(sly[at].id);
        for (job, expected) in facts.running.iter_mut().zip(&expected.running) {
            if job.id == id {
                // These are his to say.
                job.directives = expected.directives;
                job.admin_comment = expected.admin_comment.clone();
            }
        }
        prop_assert_eq!(facts, expected);
    }

    /// Without accounting anything passes for one. It stands in the middle of the record, so his own job may be garbled.
    #[test]
    fn an_account_of_any_name_changes_nothing_of_others(account in hostile(), at in 0usize..6) {
        let plain = crowd();
        let mut sly = crowd();
        sly[at].account = account;
        let id = JobId(sly[at].id);
        let others = |(jobs, mut facts): (Vec<Listed>, Facts)| {
            facts.running.retain(|job| job.id != id);
            let jobs: Vec<Listed> = jobs.into_iter().filter(|job| job.job.id != id).collect();
            (jobs, facts)
        };
        prop_assert_eq!(others(read_all(&sly)), others(read_all(&plain)));
    }

    #[test]
    fn rubbish_is_no_cluster_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0usize..6, cut in 0usize..4000) {
        let mut printed = Printed::of(4, &crowd());
        let stream = printer::stream(&mut printed, which);
        let at = cut.min(stream.len());
        stream.splice(at..at, bytes.iter().copied());
        let _ = read(&printed, |_| bytes.clone());
    }

    #[test]
    fn any_record_can_be_taken_apart(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let printed = [b"JobId=7 JobName=", &bytes[..]].concat();
        let details = Details::of(&printed);
        if let Some(record) = details.record(JobId(7), b"") {
            let _ = shares(&record);
        }
    }
}

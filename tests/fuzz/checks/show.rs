// SPDX-License-Identifier: GPL-2.0-or-later
//! What squeue and scontrol print of a whole cluster, in which one user's texts are hostile.

#[path = "../../show/printer.rs"]
#[allow(dead_code, reason = "the properties use the rest")]
mod printer;

use printer::{Job, Printed, read};
use surgent::policy::facts::Facts;
use surgent::policy::ids::JobId;
use surgent::policy::resources::GresTable;
use surgent::slurm::show::details::{Details, alone, shares};
use surgent::slurm::show::hostlist::expand;
use surgent::slurm::show::places::{Nodes, partitions, reservations};
use surgent::slurm::show::{gres, list};

/// Slurm takes no longer text of a user.
const TEXT_MAX_BYTES: usize = 1024;

/// The first byte says whether the rest is a user's text, or which command printed it.
pub fn show(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    match choice % 8 {
        0..=2 => sly_user(usize::from(choice / 8), rest),
        3 => spliced(usize::from(choice / 8), rest),
        _ => rubbish(rest),
    }
}

fn crowd() -> Vec<Job> {
    vec![
        Job::running(1, vec![(0, 8, 2)]),
        Job::running(2, vec![(0, 8, 1), (1, 16, 3)]),
        Job::waiting(3),
        Job::running(4, vec![(1, 4, 0), (2, 8, 4)]),
    ]
}

fn facts(jobs: &[Job]) -> Facts {
    let alone = |id: JobId| {
        jobs.iter()
            .find(|job| job.id == id.0)
            .map(Job::record)
            .unwrap_or_default()
    };
    read(&Printed::of(4, jobs), alone)
        .expect("the tables are whole")
        .1
}

/// Whatever he writes into name and comment of his job, only what is believed of his own directives is another.
fn sly_user(choice: usize, text: &[u8]) {
    let mut text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| *byte != 0)
        .take(TEXT_MAX_BYTES)
        .collect();
    // Blanks at the end cannot be told from the filling of the column.
    text.truncate(text.trim_ascii_end().len());
    let mut jobs = crowd();
    let at = choice % jobs.len();
    let expected = facts(&jobs);
    let as_name = choice / jobs.len();
    if as_name.is_multiple_of(2) {
        jobs[at].name.clone_from(&text);
    }
    jobs[at].comment = text;
    let mut seen = facts(&jobs);
    let id = JobId(jobs[at].id);
    for (job, expected) in seen.running.iter_mut().zip(&expected.running) {
        if job.id == id {
            job.directives = expected.directives;
        }
    }
    assert_eq!(seen, expected);
}

/// Bytes that are no text of a user's within what a command printed.
fn spliced(choice: usize, bytes: &[u8]) {
    let mut printed = Printed::of(4, &crowd());
    let stream = printer::stream(&mut printed, choice);
    let at = bytes
        .first()
        .map_or(0, |byte| usize::from(*byte) * 16)
        .min(stream.len());
    stream.splice(at..at, bytes.iter().copied());
    let _ = read(&printed, |_| bytes.to_vec());
}

/// Bytes in the place of all that a command prints.
fn rubbish(bytes: &[u8]) {
    let mut table = GresTable::default();
    let nodes = Nodes::read(bytes, &mut table);
    partitions(bytes, &nodes);
    reservations(bytes, &nodes);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let (jobs, unread) = list::read(bytes);
    assert!(jobs.len() + unread <= lines);
    let details = Details::of(bytes);
    for id in details.contested().into_iter().chain([JobId(7)]) {
        for record in [details.record(id, b""), alone(bytes, id, b"")]
            .into_iter()
            .flatten()
        {
            assert!(shares(&record).len() <= bytes.len());
        }
    }
    assert!(gres::read(bytes).len() <= bytes.len() + 1);
    // A name can be as long as the list, and be meant as often as a list may mean names.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64)]);
    assert!(expand(&text).len() <= 1 << 18);
}

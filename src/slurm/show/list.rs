// SPDX-License-Identifier: GPL-2.0-or-later
//! Every job in one line of what squeue prints: all that holds no text of a user's own.

use super::SeenJob;
use super::fields::{duration_s, given, number, time, word};
use crate::policy::facts::Component;
use crate::policy::ids::{ArrayTask, GroupId, JobId, UserId};
use crate::policy::units::Seconds;
use bstr::ByteSlice;

/// Between the columns. None of them can hold it: they are numbers, names that an administrator gave, and Slurm's words. An
/// account is none of these: without accounting a job may name anything.
const SEPARATOR: char = '\x1f';

/// squeue's names for the columns, which all releases know.
const COLUMNS: [&str; 26] = [
    "JobID",
    "ArrayJobID",
    "ArrayTaskID",
    "HetJobID",
    "HetJobOffset",
    "UserID",
    "UserName",
    "GroupID",
    "QOS",
    "Partition",
    "State",
    "Reason",
    "SubmitTime",
    "EligibleTime",
    "StartTime",
    "EndTime",
    "TimeLimit",
    "PriorityLong",
    "NumNodes",
    "RestartCnt",
    "PreemptTime",
    "BatchFlag",
    "Requeue",
    "Reservation",
    "tres-alloc",
    "NodeList",
];

/// A job of the list, without its texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What others see of it.
    pub job: SeenJob,
    /// The group that it runs as.
    pub group: Option<GroupId>,
    /// The array that it is of.
    pub array_job: Option<JobId>,
    /// The numbers of its tasks, such as `0-9%2`, where several wait under one number.
    pub array_tasks: Vec<u8>,
    /// It has a batch script.
    pub batch: bool,
    /// Its user lets it be requeued.
    pub requeue: bool,
    /// It asked for a reservation: its name.
    pub reservation: Option<String>,
    /// What it holds in all, such as `cpu=4,mem=8G`.
    pub tres: Vec<u8>,
}

/// What state a job is in, as far as planning goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits.
    Waiting,
    /// It holds its resources and runs, or is about to.
    Running,
    /// It is stopped and may have given up its CPUs.
    Suspended,
    /// It has ended, though it may still be cleaned up.
    Ended,
}

impl Listed {
    /// See [`Phase`].
    pub fn phase(&self) -> Phase {
        match self.job.state.as_str() {
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "RESV_DEL_HOLD"
            | "EXPEDITING" => Phase::Waiting,
            "RUNNING" | "CONFIGURING" | "RESIZING" | "SIGNALING" => Phase::Running,
            "SUSPENDED" | "STOPPED" => Phase::Suspended,
            _ => Phase::Ended,
        }
    }
}

/// What `squeue --Format` is given.
pub fn format() -> String {
    COLUMNS.map(|column| format!("{column}:0{SEPARATOR}")).join(",")
}

/// The jobs that squeue printed, sorted by number, and how many lines could not be read.
pub fn read(printed: &[u8]) -> (Vec<Listed>, usize) {
    let mut unread = 0;
    let mut jobs: Vec<Listed> = printed
        .lines()
        .filter_map(|line| {
            let job = job(line);
            unread += usize::from(job.is_none());
            job
        })
        .collect();
    jobs.sort_by_key(|job| job.job.id);
    jobs.dedup_by_key(|job| job.job.id);
    (jobs, unread)
}

fn job(line: &[u8]) -> Option<Listed> {
    let mut columns = [&b""[..]; COLUMNS.len()];
    let mut cells = line.split(|byte| *byte == SEPARATOR as u8);
    for column in &mut columns {
        *column = cells.next()?;
    }
    // The last one has a separator behind it, too.
    if cells.next() != Some(b"") || cells.next().is_some() {
        return None;
    }
    let [
        id,
        array_job,
        array_task,
        het,
        het_offset,
        user_id,
        user,
        group,
        qos,
        partition,
        state,
        reason,
        submit,
        eligible,
        start,
        end,
        time_limit,
        priority,
        node_count,
        restarts,
        preempt_time,
        batch,
        requeue,
        reservation,
        tres,
        nodes,
    ] = columns;
    let id = JobId(number(id)?);
    // Of a job that is no array's, squeue shows its own number as the array's.
    let array_job = given(array_task).and_then(|_| number(array_job)).map(JobId);
    let task = array_job.zip(number(array_task));
    Some(Listed {
        job: SeenJob {
            id,
            array: task.map(|(array, task)| ArrayTask { array, task }),
            het: number(het).map(|leader| Component {
                leader: JobId(leader),
                offset: number(het_offset).unwrap_or(0),
                of: None,
            }),
            name: String::new(),
            user: user.to_str_lossy().into_owned(),
            user_id: UserId(number(user_id)?),
            account: None,
            qos: word(qos),
            partition: word(partition),
            state: state.to_str_lossy().into_owned(),
            reason: word(reason),
            submit: time(submit),
            eligible: time(eligible),
            start: time(start),
            end: time(end),
            // Exact: no limit has more than 2^53 seconds.
            time_limit_s: duration_s(time_limit).map(|limit_s| Seconds(limit_s as f64)),
            priority: number(priority),
            nodes: word(nodes).unwrap_or_default(),
            node_count: number(node_count).unwrap_or(0),
            comment: Vec::new(),
            admin_comment: Vec::new(),
            restarts: number(restarts).unwrap_or(0),
            preempt_time: time(preempt_time),
        },
        group: number(group).map(GroupId),
        array_job,
        array_tasks: array_task.to_vec(),
        batch: batch == b"1",
        requeue: requeue == b"1",
        reservation: word(reservation),
        tres: tres.to_vec(),
    })
}

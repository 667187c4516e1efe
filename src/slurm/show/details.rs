// SPDX-License-Identifier: GPL-2.0-or-later
//! What only `scontrol show job -d -o` tells: what a job holds on each node, and how it asked for it.
//!
//! A record is one line, but names and comments can hold newlines, and so whole records of other jobs. Slurm prints each
//! job once: a number at the start of two lines means that somebody has forged one of them, and then neither is believed.

use super::fields::Fields;
use crate::policy::ids::JobId;
use bstr::ByteSlice;
use std::collections::HashMap;

/// How a record begins.
const START: &[u8] = b"JobId=";

/// The records that scontrol printed.
#[derive(Debug)]
pub struct Details<'a> {
    printed: &'a [u8],
    /// Where each record begins; `None` where there are several with that number.
    starts: HashMap<JobId, Option<usize>>,
}

impl<'a> Details<'a> {
    /// Finds the records.
    pub fn of(printed: &'a [u8]) -> Self {
        let mut starts = HashMap::new();
        for (at, id) in records(printed) {
            starts
                .entry(id)
                .and_modify(|start| *start = None)
                .or_insert(Some(at));
        }
        Self { printed, starts }
    }

    /// The numbers that more than one record claims, in order.
    pub fn contested(&self) -> Vec<JobId> {
        let several = self.starts.iter().filter(|(_, start)| start.is_none());
        let mut ids: Vec<JobId> = several.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// What follows the name in the record of this job, if there is exactly one and it has this name, byte for byte.
    pub fn record(&self, id: JobId, name: &[u8]) -> Option<Fields<'a>> {
        behind_name(&self.printed[(*self.starts.get(&id)?)?..], name)
    }
}

/// The first record of this job in what scontrol printed when it was asked for this one alone: whatever else is in there
/// was written by the same user.
pub fn alone<'a>(printed: &'a [u8], id: JobId, name: &[u8]) -> Option<Fields<'a>> {
    let (start, _) = records(printed).find(|(_, one)| *one == id)?;
    behind_name(&printed[start..], name)
}

/// Where the records begin, with their jobs.
fn records(printed: &[u8]) -> impl Iterator<Item = (usize, JobId)> {
    let mut at = 0;
    printed.lines_with_terminator().filter_map(move |line| {
        let start = at;
        at += line.len();
        Some((start, id_of(line)?))
    })
}

/// The job whose record this line begins.
fn id_of(line: &[u8]) -> Option<JobId> {
    let rest = line.strip_prefix(START)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (rest.get(digits) == Some(&b' ')).then_some(())?;
    rest[..digits].to_str().ok()?.parse().ok().map(JobId)
}

/// What of a record stands behind the name, in the same line: up to the comments nothing else can hold a newline.
fn behind_name<'a>(record: &'a [u8], name: &[u8]) -> Option<Fields<'a>> {
    let key = b"JobName=";
    let rest = record[record.find(key)? + key.len()..].strip_prefix(name)?;
    Some(Fields::of(&rest[..rest.find_byte(b'\n').unwrap_or(rest.len())]))
}

/// With whom a job shares its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// With nobody.
    pub whole_node: bool,
    /// With its user's other jobs only.
    pub user_node: bool,
    /// It asks to share even its CPUs.
    pub cpus: bool,
}

/// Reads `OverSubscribe`, and from 26.05 on `Exclusive`, which says the same more plainly.
pub fn sharing(fields: &mut Fields<'_>) -> Sharing {
    let share = fields.next("OverSubscribe").unwrap_or_default();
    let exclusive = fields.next("Exclusive");
    Sharing {
        whole_node: exclusive.map_or(share == b"NO", |word| matches!(word, b"NODE" | b"TOPO")),
        user_node: share == b"USER" || exclusive == Some(b"USER"),
        cpus: share == b"YES",
    }
}

/// What a job holds on some nodes, each the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share<'a> {
    /// Names of the nodes.
    pub nodes: &'a [u8],
    /// The CPUs, such as `0-3`.
    pub cpus: &'a [u8],
    /// Memory in MiB.
    pub memory: &'a [u8],
    /// Generic resources, such as `gpu:a100:2(IDX:0-1)`.
    pub gres: &'a [u8],
}

/// The shares of a running job, in the order of its nodes.
pub fn shares<'a>(record: &Fields<'a>) -> Vec<Share<'a>> {
    let mut shares = Vec::new();
    // Behind these come the texts that a user may choose.
    let mut fields = record.up_to("MinCPUsNode");
    while let Some(from) = next_share(&fields) {
        fields = from;
        let mut next = |key| fields.next(key);
        let (Some(nodes), Some(cpus), Some(memory), gres) =
            (next("Nodes"), next("CPU_IDs"), next("Mem"), next("GRES"))
        else {
            break;
        };
        shares.push(Share {
            nodes,
            cpus,
            memory,
            gres: gres.unwrap_or_default(),
        });
    }
    shares
}

/// From the next `Nodes=… CPU_IDs=…` on.
fn next_share<'a>(fields: &Fields<'a>) -> Option<Fields<'a>> {
    let from = fields.from("Nodes")?;
    from.from("CPU_IDs").map(|_| from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "JobId=7 JobName=a b UserId=eve(1000) GroupId=eve(1000) NodeList=n[1-2] NumNodes=2 \
        JOB_GRES=gpu:3   Nodes=n1 CPU_IDs=0-3 Mem=100 GRES=gpu:2(IDX:0-1)   Nodes=n2 CPU_IDs=0 Mem=100 GRES=gpu:1(IDX:0) \
        MinCPUsNode=1 Comment=Nodes=n9 CPU_IDs=0-99 Mem=1 GRES= \n";

    fn nodes_of(printed: &str, id: u32, name: &str) -> Option<Vec<String>> {
        let details = Details::of(printed.as_bytes());
        let record = details.record(JobId(id), name.as_bytes())?;
        let shares = shares(&record);
        Some(
            shares
                .iter()
                .map(|share| share.nodes.to_str_lossy().into_owned())
                .collect(),
        )
    }

    #[test]
    fn what_a_job_holds_is_found_behind_its_name_and_before_its_comment() {
        assert_eq!(nodes_of(RECORD, 7, "a b").expect("a record"), ["n1", "n2"]);
        assert_eq!(nodes_of(RECORD, 7, "other"), None);
        assert_eq!(nodes_of(RECORD, 8, "a b"), None);
        let name = "x\nJobId=9 JobName=Nodes=n9 CPU_IDs=0 Mem=1 GRES= y";
        let nine = RECORD.replace("a b", name);
        assert_eq!(nodes_of(&nine, 7, name).expect("a record"), ["n1", "n2"]);
        let sly = RECORD.replace("a b", "x Nodes=n9 CPU_IDs=0 Mem=1 GRES= y");
        let name = "x Nodes=n9 CPU_IDs=0 Mem=1 GRES= y";
        assert_eq!(nodes_of(&sly, 7, name).expect("a record"), ["n1", "n2"]);
    }

    #[test]
    fn a_job_that_two_records_claim_is_contested_and_asked_for_alone() {
        let forger = RECORD
            .replace("JobId=7", "JobId=6")
            .replace("Comment=", "Comment=\nJobId=7 JobName=a b ");
        let printed = format!("{forger}{RECORD}");
        let details = Details::of(printed.as_bytes());
        assert_eq!(details.contested(), [JobId(7)]);
        assert_eq!(nodes_of(&printed, 7, "a b"), None);
        assert_eq!(
            nodes_of(&printed, 6, "a b").expect("the forger's own"),
            ["n1", "n2"]
        );
        let record = alone(RECORD.as_bytes(), JobId(7), b"a b").expect("a record");
        assert_eq!(shares(&record).len(), 2);
    }
}

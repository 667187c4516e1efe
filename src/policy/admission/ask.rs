// SPDX-License-Identifier: GPL-2.0-or-later
//! What a submission asks for, from Slurm's own texts: it is not worked out by Slurm yet.

use super::applicant::Need;
use crate::policy::units::Seconds;

/// No text names more tasks or GPUs.
const COUNT_MAX: u64 = 1 << 32;

/// What a submission, or a change, asks for; `None` where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Nodes at least.
    pub min_nodes: Option<u32>,
    /// Tasks of a parallel program, in all.
    pub tasks: Option<u32>,
    /// The same on each node.
    pub tasks_per_node: Option<u32>,
    /// CPUs of each such task.
    pub cpus_per_task: Option<u32>,
    /// CPUs in all.
    pub min_cpus: Option<u32>,
    /// In minutes.
    pub time_limit_min: Option<u32>,
    /// Of an array that Slurm knows: how many jobs of it wait, and how many of these may run at once.
    pub array: Option<(u32, u32)>,
    /// Of an array that is submitted: its indexes, `1-10%2`.
    pub array_text: Option<&'a [u8]>,
    /// What each node gives, as `gres:gpu:a100:2,gres:nic:1` or `gres/gpu=2`.
    pub tres_per_node: Option<&'a [u8]>,
    /// What all nodes give together, in the same form.
    pub tres_per_job: Option<&'a [u8]>,
    /// What each socket gives.
    pub tres_per_socket: Option<&'a [u8]>,
    /// What each task has.
    pub tres_per_task: Option<&'a [u8]>,
}

impl Ask<'_> {
    /// This where it says something, else `other`.
    pub fn or(self, other: Self) -> Self {
        Self {
            min_nodes: self.min_nodes.or(other.min_nodes),
            tasks: self.tasks.or(other.tasks),
            tasks_per_node: self.tasks_per_node.or(other.tasks_per_node),
            cpus_per_task: self.cpus_per_task.or(other.cpus_per_task),
            min_cpus: self.min_cpus.or(other.min_cpus),
            time_limit_min: self.time_limit_min.or(other.time_limit_min),
            array: self.array.or(other.array),
            array_text: self.array_text.or(other.array_text),
            tres_per_node: self.tres_per_node.or(other.tres_per_node),
            tres_per_job: self.tres_per_job.or(other.tres_per_job),
            tres_per_socket: self.tres_per_socket.or(other.tres_per_socket),
            tres_per_task: self.tres_per_task.or(other.tres_per_task),
        }
    }

    /// What that takes, at least: where something is not said (the sockets of a node, say) it counts as one.
    pub fn need(&self) -> Need {
        let by_tasks = match (self.tasks, self.tasks_per_node.filter(|tasks| *tasks > 0)) {
            (Some(tasks), Some(per_node)) => tasks.div_ceil(per_node),
            _ => 1,
        };
        let nodes = u64::from(self.min_nodes.unwrap_or(1).max(by_tasks).max(1));
        let per_node = self.tasks_per_node.map(|tasks| u64::from(tasks) * nodes);
        let tasks = self.tasks.map(u64::from).or(per_node).unwrap_or(nodes);
        let on_each = gpus(self.tres_per_node).max(gpus(self.tres_per_socket));
        let cpus = tasks.saturating_mul(u64::from(self.cpus_per_task.unwrap_or(1)));
        let (waiting, at_once) = match (self.array, self.array_text) {
            (Some((waiting, at_once)), _) => (u64::from(waiting), u64::from(at_once)),
            (None, Some(text)) => array(text),
            (None, None) => (1, 1),
        };
        Need {
            waiting,
            at_once,
            gpus: on_each
                .saturating_mul(nodes)
                .max(gpus(self.tres_per_job))
                .max(gpus(self.tres_per_task).saturating_mul(tasks)),
            nodes,
            cpus: cpus.max(u64::from(self.min_cpus.unwrap_or(0))),
            time_limit_s: self
                .time_limit_min
                .map(|minutes| Seconds(f64::from(minutes) * 60.0)),
        }
    }
}

/// How many GPUs, of whatever model, a text like `gres:gpu:a100:2,gres/gpu:1` names.
fn gpus(text: Option<&[u8]>) -> u64 {
    let text = text.unwrap_or_default();
    let count = |item: &[u8]| {
        let item = [&b"gres:"[..], b"gres/"]
            .iter()
            .find_map(|prefix| item.strip_prefix(*prefix))
            .unwrap_or(item);
        let rest = item.strip_prefix(b"gpu")?;
        // Which sockets they are to be on, or so: `gpu:2(S:0)`.
        let rest = rest.split(|byte| *byte == b'(').next()?;
        match rest.first() {
            None => Some(1),
            Some(b':' | b'=') => {
                let last = rest.rsplit(|byte| matches!(byte, b':' | b'=')).next()?;
                Some(number(last).unwrap_or(1))
            }
            // Another resource whose name begins with "gpu".
            Some(_) => None,
        }
    };
    let items = text.split(|byte| matches!(byte, b',' | b';'));
    items
        .filter_map(count)
        .fold(0, u64::saturating_add)
        .min(COUNT_MAX)
}

/// A count with one of Slurm's suffixes for thousands; `None` for the name of a model.
fn number(text: &[u8]) -> Option<u64> {
    let (digits, factor) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        _ => (text, 1),
    };
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(number.saturating_mul(factor))
}

/// How many tasks an array like `1-10:2,15%3` has, and how many of these may run at once. What cannot be read counts as
/// one: Slurm will refuse it.
fn array(text: &[u8]) -> (u64, u64) {
    let mut halves = text.splitn(2, |byte| *byte == b'%');
    let indexes = halves.next().unwrap_or_default();
    let plain = |text: &[u8]| -> Vec<u8> {
        let kept = text.iter().filter(|byte| !b"[] ".contains(byte));
        kept.copied().collect()
    };
    let indexes = plain(indexes);
    let tasks = indexes
        .split(|byte| *byte == b',')
        .map(|range| range_len(range).unwrap_or(1))
        .fold(0, u64::saturating_add)
        .clamp(1, COUNT_MAX);
    let limit = halves
        .next()
        .and_then(|limit| number(&plain(limit)))
        .filter(|limit| *limit > 0);
    (tasks, limit.map_or(tasks, |limit| limit.min(tasks)))
}

fn range_len(range: &[u8]) -> Option<u64> {
    let mut parts = range.splitn(2, |byte| *byte == b':');
    let mut ends = parts.next()?.splitn(2, |byte| *byte == b'-');
    let step = match parts.next() {
        Some(step) => number(step)?.max(1),
        None => 1,
    };
    let first = number(ends.next()?)?;
    let last = match ends.next() {
        Some(last) => number(last)?,
        None => first,
    };
    Some((last.checked_sub(first)? / step).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_counted_in_the_texts_of_all_releases() {
        for (text, count) in [
            ("gres:gpu:2", 2),
            ("gres:gpu:a100:2,gres:gpu:h100:1,gres:nic:5", 3),
            ("gres/gpu:4", 4),
            ("gres/gpu=4", 4),
            ("cpu=10,gres/gpu:gtx=1,license/iop1=1", 1),
            ("gres:gpu", 1),
            ("gres:gpu:a100", 1),
            ("gpu:2(S:0-1)", 2),
            ("gres:gpu:1K", 1024),
            ("gres:gpudirect:7", 0),
            ("gres:gpu:99999999999999999999", 1),
            ("gres:gpu:18446744073709551615,gres:gpu:9", COUNT_MAX),
            ("", 0),
            (",;::", 0),
        ] {
            assert_eq!(gpus(Some(text.as_bytes())), count, "{text}");
        }
    }

    #[test]
    fn arrays_count_all_their_tasks_and_the_limit_of_those_that_run() {
        for (text, expected) in [
            ("1-10", (10, 10)),
            ("0-9%2", (10, 2)),
            ("[0-9]%2", (10, 2)),
            ("1,3,5-7", (5, 5)),
            ("0-99:10", (10, 10)),
            ("7", (1, 1)),
            ("0-4%100", (5, 5)),
            ("0-4%0", (5, 5)),
            ("9-1", (1, 1)),
            ("x", (1, 1)),
            ("0-18446744073709551615", (1, 1)),
        ] {
            let (tasks, at_once) = array(text.as_bytes());
            if text.starts_with("0-184") {
                assert!(tasks <= COUNT_MAX && at_once <= tasks);
            } else {
                assert_eq!((tasks, at_once), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_is_not_said_counts_as_one() {
        assert_eq!(Ask::default().need().nodes, 1);
        let ask = Ask {
            tasks: Some(16),
            tasks_per_node: Some(4),
            tres_per_task: Some(b"gres:gpu:1"),
            ..Ask::default()
        };
        assert_eq!((ask.need().nodes, ask.need().gpus), (4, 16));
        let ask = Ask {
            min_nodes: Some(2),
            tres_per_node: Some(b"gres:gpu:4"),
            time_limit_min: Some(180),
            ..Ask::default()
        };
        assert_eq!(
            (ask.need().gpus, ask.need().time_limit_s),
            (8, Some(Seconds(10_800.0)))
        );
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let now = Ask {
            min_nodes: Some(2),
            array: Some((10, 3)),
            ..Ask::default()
        };
        let change = Ask {
            min_nodes: Some(4),
            ..Ask::default()
        };
        let need = change.or(now).need();
        assert_eq!((need.nodes, need.waiting, need.at_once), (4, 10, 3));
    }
}

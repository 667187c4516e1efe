// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurmctld says of itself, and what the kernel says of it.

use crate::support::{Cluster, LogLine, Outcome};
use std::fs;
use std::ops::{Add, Sub};
use std::path::Path;

/// Linux counts the time of processes in these, on every architecture that Slurm is built for.
const TICKS_PER_S: f64 = 100.0;

/// What sdiag answered.
pub struct Sdiag(String);

/// Requests of one kind, and what they took.
#[derive(Clone, Copy, Default)]
pub struct Rpc {
    pub count: u64,
    pub total_us: u64,
}

impl Sdiag {
    pub fn ask(cluster: &Cluster) -> Outcome<Self> {
        cluster.ask("sdiag", &[]).map(Self)
    }

    /// The number behind `name`, the first time that it comes after the heading `section`; "" is the beginning.
    pub fn number(&self, section: &str, name: &str) -> Outcome<u64> {
        let found = self.0.split_once(section).and_then(|(_, rest)| {
            let line = rest
                .lines()
                .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
            line?.trim().parse().ok()
        });
        found.ok_or_else(|| format!("sdiag does not say {name:?} below {section:?}:\n{}", self.0).into())
    }

    /// Requests of the kind `name`. sdiag does not mention a kind of which there were none.
    pub fn rpc(&self, name: &str) -> Outcome<Rpc> {
        // REQUEST_SUBMIT_BATCH_JOB ( 4003) count:5 ave_time:567 total_time:2839
        let line = self
            .0
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        let Some(line) = line else {
            return Ok(Rpc::default());
        };
        match (after(line, "count:"), after(line, "total_time:")) {
            (Some(count), Some(total_us)) => Ok(Rpc { count, total_us }),
            _ => Err(format!("sdiag does not say what requests took: {line}").into()),
        }
    }
}

impl Rpc {
    /// What one took, on average.
    pub fn average_us(self) -> f64 {
        self.total_us as f64 / self.count as f64
    }
}

impl Add for Rpc {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            count: self.count + more.count,
            total_us: self.total_us + more.total_us,
        }
    }
}

impl Sub for Rpc {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            count: self.count - earlier.count,
            total_us: self.total_us - earlier.total_us,
        }
    }
}

/// The number in the word that begins with `name`.
pub fn after(line: &str, name: &str) -> Option<u64> {
    let value = line.split_whitespace().find_map(|word| word.strip_prefix(name))?;
    value.parse().ok()
}

/// One look of Surgent's at the cluster, in milliseconds, as slurmctld's log has it at log level debug.
pub struct Look {
    pub under_locks_ms: f64,
    pub longest_hold_ms: f64,
    pub read_ms: f64,
    pub decided_ms: f64,
}

/// All looks in these lines of the log.
pub fn looks(log: &[LogLine]) -> Vec<Look> {
    log.iter().filter_map(|line| look(&line.text)).collect()
}

/// Of a line such as "debug:  surgent: looked at 8 nodes and 9 running jobs: 0.00 ms until …, 1.23 ms under them, …; the locks
/// were had 3 times, 0.70 ms at most".
fn look(line: &str) -> Option<Look> {
    let times = line.split_once("surgent: looked at ")?.1.split_once(": ")?.1;
    let (times, holds) = times.split_once("; ")?;
    let longest = holds.split_once(", ")?.1.split_once(" ms ")?.0;
    let mut times = times
        .split(", ")
        .map(|part| part.split_once(" ms ")?.0.parse().ok());
    let _waited: f64 = times.next()??;
    Some(Look {
        under_locks_ms: times.next()??,
        longest_hold_ms: longest.parse().ok()?,
        read_ms: times.next()??,
        decided_ms: times.next()??,
    })
}

/// So many quarters through sorted values.
pub fn quantile<T: Copy>(sorted: &[T], quarters: usize) -> T {
    sorted[(sorted.len() - 1) * quarters / 4]
}

/// slurmctld's memory.
pub fn rss_mib(cluster: &Cluster) -> Outcome<u64> {
    let status = of_process(cluster, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    Ok(kib.ok_or("slurmctld's memory is not known")? / 1024)
}

/// The CPU time that slurmctld has taken so far.
pub fn cpu_s(cluster: &Cluster) -> Outcome<f64> {
    ticks_s(&of_process(cluster, "stat")?)
}

/// That of Surgent's planner in it; zero where there is none. A planner that has ended is not counted.
pub fn planner_cpu_s(cluster: &Cluster) -> Outcome<f64> {
    let tasks = Path::new("/proc").join(pid(cluster)?).join("task");
    let threads = fs::read_dir(&tasks).map_err(|error| format!("{}: {error}", tasks.display()))?;
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    stats
        .filter(|stat| stat.contains("(surgent)"))
        .map(|stat| ticks_s(&stat))
        .sum()
}

fn ticks_s(stat: &str) -> Outcome<f64> {
    // Behind the program's name in brackets, the 12th and 13th word: in user mode and in the kernel, in ticks.
    let words = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
    let ticks: Option<Vec<u64>> =
        words.and_then(|words| words.skip(11).take(2).map(|word| word.parse().ok()).collect());
    let ticks = ticks.ok_or("slurmctld's CPU time is not known")?;
    Ok(ticks.iter().sum::<u64>() as f64 / TICKS_PER_S)
}

fn of_process(cluster: &Cluster, file: &str) -> Outcome<String> {
    read(&Path::new("/proc").join(pid(cluster)?).join(file))
}

fn pid(cluster: &Cluster) -> Outcome<String> {
    Ok(read(&cluster.folder().join("slurmctld.pid"))?.trim().to_owned())
}

fn read(path: &Path) -> Outcome<String> {
    Ok(fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?)
}

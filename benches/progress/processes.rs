// SPDX-License-Identifier: GPL-2.0-or-later
//! What processes used, by the kernel's account.

use std::fs;
use std::io::Read;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Of all processes of one name below one process, itself included.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub wall: Duration,
    pub cpu: Duration,
    /// The most that one of them held.
    pub memory_kib: u64,
    /// What came out of its pipe, or is in its file.
    pub bytes: u64,
}

/// Follows a child to its end.
pub fn watch(child: &mut Child, name: &str) -> Usage {
    let begin = Instant::now();
    let pipe = child.stdout.take();
    let bytes = thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        let mut total = 0;
        if let Some(mut pipe) = pipe {
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                total += count as u64;
            }
        }
        total
    });
    let mut last: Vec<(u32, Duration, u64)> = Vec::new();
    while child.try_wait().expect("a child").is_none() {
        for pid in family(child.id()) {
            if let Some((cpu, memory_kib)) = account(pid, name) {
                last.retain(|(known, ..)| *known != pid);
                last.push((pid, cpu, memory_kib));
            }
        }
        thread::sleep(LOOK_INTERVAL);
    }
    let wall = begin.elapsed();
    let bytes = bytes.join().expect("it reads");
    Usage {
        wall,
        cpu: last.iter().map(|(_, cpu, _)| *cpu).sum(),
        memory_kib: last
            .iter()
            .map(|(_, _, memory_kib)| *memory_kib)
            .max()
            .unwrap_or(0),
        bytes: if bytes > 0 {
            bytes
        } else {
            super::MB_PER_S * super::SECONDS * 1_000_000
        },
    }
}

fn family(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|child| child.parse::<u32>().ok()),
            );
        }
        next += 1;
    }
    found
}

/// CPU time and peak memory of a process of that name.
fn account(pid: u32, name: &str) -> Option<(Duration, u64)> {
    // In nanoseconds; of the main thread only, so all threads are added up.
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |field: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(field))
            .map(str::trim)
    };
    if field("Name:") != Some(name) && !(name == "surgent" && field("Name:") == Some("exe")) {
        return None;
    }
    let cpu_ns: u64 = tasks
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    let memory_kib = field("VmHWM:")?.trim_end_matches(" kB").parse().ok()?;
    Some((Duration::from_nanos(cpu_ns), memory_kib))
}

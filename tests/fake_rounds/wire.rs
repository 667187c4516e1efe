// SPDX-License-Identifier: GPL-2.0-or-later
//! What the model of Slurm, the process with the core, and the commands say to each other: one line of JSON each way.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::SystemTime;

/// What slurmctld has its plugins asked.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    Submit {
        comment: String,
        flags: u32,
        user: u32,
    },
    Modify {
        job: u32,
        state: u32,
        by_user: u32,
        comment: Option<String>,
        admin_comment: Option<String>,
        was: String,
    },
    /// Of each of these runs, a job and its start, whether the first may preempt it.
    Preemptable {
        preemptor: u32,
        admin_comment: String,
        runs: Vec<(u32, i64)>,
    },
    Mode {
        job: u32,
        start: i64,
    },
    /// fini and init.
    Reload,
    /// fini, and the process ends.
    End,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Answer {
    pub refused: Option<String>,
    pub comment: Option<String>,
    pub admin_comment: Option<String>,
    pub priority: Option<u32>,
    pub preemptable: Vec<bool>,
    pub mode: u32,
}

/// A look at the cluster.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Look {
    /// `SURGENT_SNAPSHOT_*`
    pub outcome: u32,
    /// One of the records cannot be read.
    pub unreadable: bool,
    /// The flags of each node.
    pub nodes: Vec<u32>,
    pub jobs: Vec<JobLook>,
}

/// A job in a look; see `surgent_job_view_t`.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobLook {
    pub id: u32,
    /// The array, and which task.
    pub array: Option<(u32, u32)>,
    /// The first component, which one it is, and how many there are.
    pub het: Option<(u32, u32, u32)>,
    pub user: u32,
    pub state: u32,
    pub flags: u32,
    pub hindrance: u32,
    pub priority: u32,
    pub restarts: u32,
    pub submit: i64,
    pub begin: i64,
    pub start: i64,
    pub end: i64,
    pub partition: String,
    pub comment: String,
    pub admin_comment: String,
    /// What it holds.
    pub nodes: Vec<u32>,
    /// How many it wants.
    pub want: u32,
}

/// Where the model of the round in `folder` answers.
pub fn address(folder: &Path) -> io::Result<SocketAddr> {
    let name = folder.file_name().unwrap_or(OsStr::new("round"));
    SocketAddr::from_abstract_name([b"surgent-rounds-", name.as_bytes()].concat())
}

pub fn write(mut to: impl io::Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

pub fn read<T: DeserializeOwned>(from: &mut impl io::BufRead) -> io::Result<T> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Says `words` to the model, and hears what it answers.
pub fn call<T: DeserializeOwned>(folder: &Path, words: &[String]) -> io::Result<T> {
    let stream = UnixStream::connect_addr(&address(folder)?)?;
    write(&stream, &words)?;
    read(&mut BufReader::new(stream))
}

/// Adds a line to `slurmctld.log`.
pub fn log(folder: &Path, line: &str) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join("slurmctld.log"));
    // In one go: two processes write.
    let line = format!("[{}.{:03}] {line}\n", now.as_secs() % 1000, now.subsec_millis());
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the log can be written");
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A round under way: a folder with the round's own slurmctld and commands, all of which are this very program, and a thread
//! in which its Slurm lives.

use crate::job::Job;
use crate::rounds::damage;
use crate::rounds::round::Round;
use crate::rounds::settings;
use crate::rounds::sight::{Account, Event, Sight};
use crate::slurm::{NODES, Slurm};
use crate::support::{self, Outcome, finish, leftovers};
use crate::wire;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often Slurm's time passes.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 40_000_000,
};
const POLL: Duration = Duration::from_millis(20);
/// A generous limit for whatever should take a moment.
pub const LIMIT: Duration = Duration::from_secs(60);

/// See above.
pub struct Field<'a> {
    pub round: &'a Round,
    pub folder: TempDir,
    slurm: Arc<Mutex<Slurm>>,
    pub victims: Vec<u32>,
    pub urgent: Vec<u32>,
    /// Jobs whose run ends by the fault itself, or by their users.
    pub excused: BTreeSet<u32>,
    /// Jobs that Slurm may have been stopping when slurmctld was killed.
    pub interrupted: BTreeSet<u32>,
    /// What slurmctld is started with.
    pub environment: Vec<(String, String)>,
    is_over: Arc<AtomicBool>,
    lives: Option<JoinHandle<()>>,
}

impl<'a> Field<'a> {
    pub fn new(round: &'a Round) -> Outcome<Self> {
        let of = |error: std::io::Error| format!("the round's folder: {error}");
        // Where this program is, so that it can have other names there.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(of)?;
        for part in ["bin", "sbin", "state"] {
            fs::create_dir(folder.path().join(part)).map_err(of)?;
        }
        let this = std::env::current_exe().map_err(of)?;
        for name in ["sbin/slurmctld", "bin/scontrol", "bin/scancel", "bin/squeue"] {
            fs::hard_link(&this, folder.path().join(name)).map_err(of)?;
        }
        // A set that does not do is given up sooner than by default, so that no round takes minutes.
        let toml = settings(&folder.path().join("bin")) + "[urgent]\ngate_patience_s = 8\n";
        fs::write(folder.path().join("surgent.toml"), toml).map_err(of)?;
        if round.fault.wants_root() {
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", "size=2m", "surgent-state"]);
            finish(mount.arg(folder.path().join("state")), "mount")?;
        }
        let slurm = Arc::new(Mutex::new(Slurm::new(folder.path().to_owned())));
        let is_over = Arc::new(AtomicBool::new(false));
        let address = wire::address(folder.path()).map_err(of)?;
        let listener = UnixListener::bind_addr(&address).map_err(of)?;
        let lives = thread::spawn({
            let (slurm, is_over) = (Arc::clone(&slurm), Arc::clone(&is_over));
            move || live(&listener, &slurm, &is_over)
        });
        Ok(Self {
            round,
            folder,
            slurm,
            victims: Vec::new(),
            urgent: Vec::new(),
            excused: BTreeSet::new(),
            interrupted: BTreeSet::new(),
            environment: Vec::new(),
            is_over,
            lives: Some(lives),
        })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn slurm(&self) -> MutexGuard<'_, Slurm> {
        self.slurm.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Notes in slurmctld's log what happens to it.
    pub fn tell(&self, sentence: &str) {
        self.slurm().log(&format!("-- {sentence}"));
    }

    /// The log with the story in it, the audit file, and the jobs.
    pub fn tale(&self) -> String {
        let jobs: String = self.lines().iter().map(|line| format!("\n{line}")).collect();
        let (log, audit) = (self.log(), self.audit());
        format!("\nslurmctld.log:\n{log}\nThe audit file:\n{audit}\nJobs:{jobs}")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path().join("slurmctld.log")).unwrap_or_default()
    }

    fn audit(&self) -> String {
        fs::read_to_string(self.path().join("state/surgent.audit.jsonl")).unwrap_or_default()
    }

    /// The jobs as `scontrol show job -o` has them.
    fn lines(&self) -> Vec<String> {
        let slurm = self.slurm();
        let line = |(id, job): (&u32, &Job)| {
            let completing = if job.completing_until.is_some() {
                "COMPLETING"
            } else {
                job.shown().0
            };
            format!(
                "JobId={id} JobName={} JobState={completing} Reason={} Restarts={} StartTime={} AdminComment={} Comment={}",
                job.name, job.priority, job.restarts, job.begin, job.admin_comment, job.comment
            )
        };
        slurm.jobs.iter().map(line).collect()
    }

    /// All that can be seen of the round.
    pub fn sight(&self) -> Sight {
        let jobs = self.lines();
        let slurm = self.slurm();
        let account = |id: &u32| Account {
            id: support::JobId(*id),
            events: slurm
                .programs
                .events(*id)
                .iter()
                .map(|(run, kind)| Event {
                    run: *run,
                    kind: (*kind).to_owned(),
                })
                .collect(),
        };
        let id = |id: &u32| support::JobId(*id);
        Sight {
            fault: self.round.fault,
            jobs: jobs.iter().map(|line| support::Job::parse(line)).collect(),
            victims: self.victims.iter().map(account).collect(),
            urgent: self.urgent.iter().map(id).collect(),
            excused: self.excused.iter().map(id).collect(),
            interrupted: self.interrupted.iter().map(id).collect(),
            log: self.log(),
            audit: self.audit(),
            state: self.path().join("state"),
        }
    }

    /// What is left, no job being there any more.
    pub fn left(&self) -> Vec<String> {
        let pid = self.slurm().daemon.as_ref().map(|daemon| daemon.pid());
        leftovers::left(self.path(), pid)
    }

    /// Waits until `look` is content; else what it said last.
    pub fn wait(&self, limit: Duration, look: impl Fn(&Self) -> Outcome) -> Outcome {
        let begun = Instant::now();
        loop {
            match look(self) {
                Err(failure) if begun.elapsed() > limit => {
                    return Err(failure.during(&format!("after {} s", limit.as_secs())));
                }
                Err(_) => thread::sleep(POLL),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// A victim that runs, one that was asked where there is any; else any at all.
    pub fn target(&self) -> u32 {
        let (log, slurm) = (self.log(), self.slurm());
        let runs = |id: &u32| slurm.jobs[id].is_running();
        let is_asked = |id: &u32| log.contains(&format!("asked job {id} to save"));
        let running: Vec<u32> = self.victims.iter().copied().filter(runs).collect();
        let asked: Vec<u32> = running.iter().copied().filter(is_asked).collect();
        let among = [&asked, &running, &self.victims];
        let among = among.iter().find(|among| !among.is_empty());
        among.map_or(1, |among| among[self.round.die as usize % among.len()])
    }

    /// The first node that a job holds.
    pub fn node_of(&self, job: u32) -> usize {
        self.slurm().jobs[&job]
            .nodes
            .first()
            .copied()
            .unwrap_or(NODES - 1)
    }
}

impl Drop for Field<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(lives) = self.lives.take() {
            // It has said itself why it panicked.
            let _ = lives.join();
        }
        self.slurm().daemon = None;
        if self.round.fault.wants_root() {
            let mut umount = Command::new("umount");
            let _ = finish(umount.arg("-l").arg(self.path().join("state")), "umount");
        }
        let _ = damage::set_clock(self.path(), 0);
    }
}

/// Time passes, and commands are answered.
fn live(listener: &UnixListener, slurm: &Mutex<Slurm>, is_over: &AtomicBool) {
    let mut ticked = Instant::now();
    while !is_over.load(Ordering::Acquire) {
        let mut waits = [PollFd::new(listener, PollFlags::IN)];
        let called = poll(&mut waits, Some(&TICK)).is_ok_and(|ready| ready > 0);
        let mut slurm = slurm.lock().unwrap_or_else(|poison| poison.into_inner());
        if ticked.elapsed().as_nanos() >= TICK.tv_nsec as u128 {
            ticked = Instant::now();
            slurm.tick();
        }
        let Some((stream, _)) = called.then(|| listener.accept().ok()).flatten() else {
            continue;
        };
        let words: Vec<String> = wire::read(&mut BufReader::new(&stream)).unwrap_or_default();
        // Whoever asked may have been killed meanwhile.
        let _ = match words.first().map(String::as_str) {
            Some("look") => wire::write(&stream, &slurm.look()),
            _ => wire::write(&stream, &slurm.answer(&words)),
        };
    }
}

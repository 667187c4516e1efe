// SPDX-License-Identifier: GPL-2.0-or-later
//! A Slurm cluster of four nodes on this machine, in a folder of its own, that ends with its owner.

use super::{LIMIT, Outcome, places};
use rustix::process::{Pid, Signal};
use std::cell::RefCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// What slurmctld is run by, with its arguments: valgrind, say. Then everything may take ten times as long.
pub(super) const UNDER: &str = "SURGENT_TEST_SLURMCTLD_UNDER";

/// A running cluster. Dropped, or its owner ended in any way, it leaves no process and no file.
pub struct Cluster {
    pub(super) folder: PathBuf,
    pub(super) keeper: Child,
    pub(super) controller: Option<Child>,
    pub(super) daemons: Vec<Child>,
    pub(super) controller_environment: Vec<(String, String)>,
    pub(super) interrupted: Arc<AtomicBool>,
}

impl Cluster {
    /// The folder that holds all of this cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where jobs are submitted from and write to.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// StateSaveLocation.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(super) fn start_munge(&mut self) -> Outcome {
        let key = self.folder.join("munge.key");
        let mut random = [0; 128];
        std::io::Read::read_exact(
            &mut fs::File::open("/dev/urandom").map_err(|e| e.to_string())?,
            &mut random,
        )
        .map_err(|error| format!("/dev/urandom: {error}"))?;
        fs::write(&key, random).map_err(|error| format!("munge.key: {error}"))?;
        fs::set_permissions(&key, Permissions::from_mode(0o400))
            .map_err(|error| format!("munge.key: {error}"))?;
        self.run_munge()
    }

    /// Starts munged with the key that is there.
    pub fn run_munge(&mut self) -> Outcome {
        let options = ["socket", "key-file", "pid-file", "log-file", "seed-file"].map(|name| {
            format!(
                "--{name}={}/munge.{}",
                self.folder.display(),
                name.split('-').next().unwrap_or(name)
            )
        });
        let mut arguments = vec!["--foreground", "--force", "--num-threads=2"];
        arguments.extend(options.iter().map(String::as_str));
        let munged = self.daemon("munged", &arguments)?;
        self.daemons.push(munged);
        self.wait_for("munged's socket", LIMIT, |cluster| {
            Ok(cluster.folder.join("munge.socket").exists())
        })
    }

    /// Variables that slurmctld has in its environment from its next start on, instead of those that it had.
    pub fn set_controller_env(&mut self, environment: Vec<(String, String)>) {
        self.controller_environment = environment;
    }

    /// Starts slurmctld and waits until it answers.
    pub fn start_controller(&mut self) -> Outcome {
        self.controller = Some(self.daemon("slurmctld", &["-D"])?);
        self.wait_for("slurmctld to answer", LIMIT, |cluster| {
            Ok(cluster
                .ask("scontrol", &["ping"])
                .is_ok_and(|answer| answer.contains("is UP")))
        })
    }

    /// What a variable in slurmctld's environment is to be when it is started the next time.
    pub fn controller_environment(&mut self, name: &str, value: &str) {
        self.controller_environment
            .push((name.to_owned(), value.to_owned()));
    }

    /// Starts slurmctld and waits until it has ended by itself.
    pub fn run_controller_to_its_end(&mut self) -> Outcome<ExitStatus> {
        self.end_of(self.daemon("slurmctld", &["-D"])?)
    }

    /// Waits until this slurmctld has ended.
    pub(super) fn end_of(&self, controller: Child) -> Outcome<ExitStatus> {
        let controller = RefCell::new(controller);
        self.wait_until("slurmctld to end", LIMIT, |_| {
            let ended = controller.borrow_mut().try_wait();
            ended.map_err(|error| format!("slurmctld: {error}").into())
        })
    }

    /// SIGKILL for slurmctld: it gets no chance to save anything.
    pub fn kill_controller(&mut self) -> Outcome {
        let mut controller = self.controller.take().ok_or("slurmctld does not run")?;
        controller
            .kill()
            .and_then(|()| controller.wait())
            .map_err(|error| format!("slurmctld: {error}"))?;
        Ok(())
    }

    /// Ends slurmctld as an administrator does, and checks that it ends well.
    pub fn stop_controller(&mut self) -> Outcome {
        let controller = self.controller.take().ok_or("slurmctld does not run")?;
        self.ask("scontrol", &["shutdown", "slurmctld"])?;
        let status = self.end_of(controller)?;
        match status.success() {
            true => Ok(()),
            false => Err(self.with_logs(format!("slurmctld has ended: {status}"))),
        }
    }

    /// SIGTERM for slurmctld, as from an init system; returns when it has ended, in whatever way.
    pub fn terminate_controller(&mut self) -> Outcome {
        let controller = self.controller.take().ok_or("slurmctld does not run")?;
        let signalled = rustix::process::kill_process(Pid::from_child(&controller), Signal::TERM);
        signalled.map_err(|error| format!("slurmctld: {error}"))?;
        self.end_of(controller).map(drop)
    }

    /// The process of slurmctld, if it was started.
    pub fn controller_pid(&self) -> Option<Pid> {
        self.controller.as_ref().map(Pid::from_child)
    }

    /// Starts the slurmd of a node; it must not run.
    pub fn start_slurmd(&mut self, node: &str) -> Outcome {
        self.start_slurmd_by(&["-D", "-N", node])
    }

    /// The same with a slurm.conf of its own.
    pub fn start_slurmd_with(&mut self, node: &str, conf: &Path) -> Outcome {
        self.start_slurmd_by(&["-D", "-N", node, "-f", &conf.to_string_lossy()])
    }

    fn start_slurmd_by(&mut self, arguments: &[&str]) -> Outcome {
        let slurmd = self.daemon("slurmd", arguments)?;
        self.daemons.push(slurmd);
        Ok(())
    }

    /// Signals the daemon that wrote this file with its process's number into the cluster's folder; on SIGKILL, returns
    /// when it has ended.
    pub fn signal_daemon(&mut self, pid_file: &str, signal: Signal) -> Outcome {
        let path = self.folder.join(pid_file);
        let failed = |error: String| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        let pid = text.trim().parse().ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| failed(format!("{text:?} is no process")))?;
        rustix::process::kill_process(pid, signal).map_err(|error| failed(error.to_string()))?;
        if signal == Signal::KILL {
            let at = self
                .daemons
                .iter()
                .position(|daemon| Pid::from_child(daemon) == pid);
            let at = at.ok_or_else(|| failed(format!("process {pid:?} is not one of this cluster's")))?;
            let ended = self.daemons.swap_remove(at).wait();
            ended.map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    /// `scontrol reconfigure`.
    pub fn reconfigure(&self) -> Outcome {
        self.ask("scontrol", &["reconfigure"]).map(drop)
    }

    /// Whether slurmctld is the process that was started and answers.
    pub fn controller_is_well(&mut self) -> Outcome {
        let ended = self
            .controller
            .as_mut()
            .ok_or("slurmctld was not started")?
            .try_wait();
        match ended {
            Ok(None) => self.ask("scontrol", &["ping"]).map(drop),
            Ok(Some(status)) => Err(self.with_logs(format!("slurmctld has ended: {status}"))),
            Err(error) => Err(format!("slurmctld: {error}").into()),
        }
    }

    pub(super) fn daemon(&self, name: &str, arguments: &[&str]) -> Outcome<Child> {
        let output = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("{name}.output")))
            .map_err(|error| error.to_string())?;
        let errors = output.try_clone().map_err(|error| error.to_string())?;
        let program = places::daemon(name)?;
        let mut command = match std::env::var(UNDER) {
            Ok(under) if name == "slurmctld" => {
                let mut words = under.split_whitespace();
                let mut command = self.prepared(Path::new(words.next().unwrap_or("env")));
                command.args(words).arg(program);
                command
            }
            _ => self.prepared(&program),
        };
        if name == "slurmctld" {
            command.envs(
                self.controller_environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            );
        }
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            // Ctrl-C in a terminal is for the owner; the keeper then ends the rest.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{name} could not be started: {error}").into())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "{}",
                self.with_logs("The cluster, when a test on it failed:".to_owned())
            );
        }
        // The end of its input is the keeper's sign to clean up.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        for child in self.controller.iter_mut().chain(&mut self.daemons) {
            let _ = child.wait();
        }
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! A Slurm cluster of four nodes on this machine, in a folder of its own, that ends with its owner.

use super::{LIMIT, Outcome, places};
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

    /// Starts slurmctld and waits until it answers.
    pub fn start_controller(&mut self) -> Outcome {
        self.controller = Some(self.daemon("slurmctld", &["-D"])?);
        self.wait_for("slurmctld to answer", LIMIT, |cluster| {
            Ok(cluster
                .ask("scontrol", &["ping"])
                .is_ok_and(|answer| answer.contains("is UP")))
        })
    }

    /// Starts slurmctld and waits until it has ended by itself.
    pub fn run_controller_to_its_end(&mut self) -> Outcome<ExitStatus> {
        let controller = RefCell::new(self.daemon("slurmctld", &["-D"])?);
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
        let controller = RefCell::new(self.controller.take().ok_or("slurmctld does not run")?);
        self.ask("scontrol", &["shutdown", "slurmctld"])?;
        let status = self.wait_until("slurmctld to end", LIMIT, |_| {
            let ended = controller.borrow_mut().try_wait();
            ended.map_err(|error| format!("slurmctld: {error}").into())
        })?;
        match status.success() {
            true => Ok(()),
            false => Err(self.with_logs(format!("slurmctld has ended: {status}"))),
        }
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

// SPDX-License-Identifier: GPL-2.0-or-later
//! A Slurm cluster of four nodes on this machine, in a folder of its own, that ends with its owner.

use super::conf::{Configuration, NODES, Preempt};
use super::{Failure, Outcome, places};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A generous limit for whatever should take a moment. Reached only when something is broken.
pub const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);
const COMMAND_LIMIT_S: &str = "90";

/// What a cluster is to be like; see the methods.
pub struct Builder {
    configuration: Configuration,
    controller_environment: Vec<(String, String)>,
    interrupted: Arc<AtomicBool>,
}

impl Builder {
    pub fn preempt(mut self, preempt: Preempt) -> Self {
        self.configuration.preempt = preempt;
        self
    }

    /// A further line of slurm.conf. Where a key comes twice Slurm takes the later.
    pub fn conf(mut self, line: &str) -> Self {
        self.configuration.lines += &format!("{line}\n");
        self
    }

    /// The text of surgent.toml.
    pub fn toml(mut self, text: &str) -> Self {
        self.configuration.surgent_toml = text.to_owned();
        self
    }

    /// The plugins of another folder than [`places::plugins`].
    pub fn plugins(mut self, folder: PathBuf) -> Self {
        self.configuration.plugins = Some(folder);
        self
    }

    /// A variable in slurmctld's environment.
    pub fn controller_env(mut self, name: &str, value: &str) -> Self {
        self.controller_environment
            .push((name.to_owned(), value.to_owned()));
        self
    }

    /// Every wait on the cluster ends with a failure once `flag` is set.
    pub fn interrupted_by(mut self, flag: Arc<AtomicBool>) -> Self {
        self.interrupted = flag;
        self
    }

    /// Starts all daemons; returns when all nodes are idle.
    pub fn start(self) -> Outcome<Cluster> {
        places::check()?;
        let folder = tempfile::Builder::new()
            .prefix("surgent-")
            .tempdir()
            .map_err(|error| format!("no folder for the cluster: {error}"))?
            .keep();
        let keeper = keeper(&folder)?;
        let mut cluster = Cluster {
            folder,
            keeper,
            controller: None,
            daemons: Vec::new(),
            controller_environment: self.controller_environment,
            interrupted: self.interrupted,
        };
        // Jobs of ordinary users read the configuration and write their output.
        let open = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode))
                .map_err(|error| format!("{}: {error}", path.display()))
        };
        open(&cluster.folder, 0o755)?;
        self.configuration.write(&cluster.folder)?;
        open(&cluster.work(), 0o1777)?;
        cluster.start_munge()?;
        cluster.start_controller()?;
        for node in NODES {
            let slurmd = cluster.daemon("slurmd", &["-D", "-N", node])?;
            cluster.daemons.push(slurmd);
        }
        // A node is listed once for each of its partitions.
        cluster.wait_for("all nodes to be idle", LIMIT, |cluster| {
            let states = cluster.ask("sinfo", &["-h", "-N", "-o", "%T"])?;
            Ok(states.lines().count() >= NODES.len() && states.lines().all(|state| state == "idle"))
        })?;
        Ok(cluster)
    }
}

/// The keeper ends all processes of the cluster when this process ends, in whatever way.
fn keeper(folder: &Path) -> Outcome<Child> {
    let mut keeper = Command::new("/bin/sh")
        .arg(places::keeper())
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("the cluster's keeper could not be started: {error}"))?;
    let pipe = keeper.stdin.as_mut().expect("stdin is piped");
    writeln!(pipe, "{}", folder.display())
        .map_err(|error| format!("the cluster's keeper is gone: {error}"))?;
    Ok(keeper)
}

/// A running cluster. Dropped, or its owner ended in any way, it leaves no process and no file.
pub struct Cluster {
    folder: PathBuf,
    keeper: Child,
    controller: Option<Child>,
    daemons: Vec<Child>,
    controller_environment: Vec<(String, String)>,
    interrupted: Arc<AtomicBool>,
}

impl Cluster {
    /// A cluster with Surgent and Slurm's defaults.
    pub fn builder() -> Builder {
        Builder {
            configuration: Configuration {
                preempt: Preempt::Surgent,
                lines: String::new(),
                surgent_toml: String::new(),
                plugins: None,
            },
            controller_environment: Vec::new(),
            interrupted: Arc::default(),
        }
    }

    /// The folder that holds all of this cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where jobs are submitted from and write to.
    pub fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    fn start_munge(&mut self) -> Outcome {
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

    /// SIGKILL for slurmctld: it gets no chance to save anything.
    pub fn kill_controller(&mut self) -> Outcome {
        let mut controller = self.controller.take().ok_or("slurmctld does not run")?;
        controller
            .kill()
            .and_then(|()| controller.wait())
            .map_err(|error| format!("slurmctld: {error}"))?;
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

    fn daemon(&self, name: &str, arguments: &[&str]) -> Outcome<Child> {
        let output = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("{name}.output")))
            .map_err(|error| error.to_string())?;
        let errors = output.try_clone().map_err(|error| error.to_string())?;
        let mut command = self.prepared(&places::daemon(name)?);
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

    /// One of Slurm's commands, ended if it takes very long, ready for arguments.
    pub fn command(&self, name: &str) -> Command {
        let mut command = self.prepared(Path::new("timeout"));
        command.args(["--kill-after=5", COMMAND_LIMIT_S, name]);
        command
    }

    /// The same as an ordinary user, for whom nothing has to be set up.
    pub fn command_as_nobody(&self, name: &str) -> Command {
        let mut command = self.command("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--", name]);
        command
    }

    fn prepared(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let inherited = std::env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| {
            ["SLURM", "SBATCH", "SQUEUE"]
                .iter()
                .any(|p| name.to_string_lossy().starts_with(p))
        }) {
            command.env_remove(name);
        }
        // cargo puts its own folders there, whose libsurgent.so would be taken instead of the one beside the plugins.
        command.env_remove("LD_LIBRARY_PATH");
        // One time zone in all logs and answers, whatever the machine has.
        command
            .env("SLURM_CONF", self.folder.join("slurm.conf"))
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8");
        command.current_dir(self.work());
        command
    }

    /// Runs one of Slurm's commands; its output, or what it said when it failed.
    pub fn ask(&self, name: &str, arguments: &[&str]) -> Outcome<String> {
        finish(
            self.command(name).args(arguments),
            &format!("{name} {}", arguments.join(" ")),
        )
    }

    /// Waits until `condition` holds. On failure the sentence is followed by the end of slurmctld's log.
    pub fn wait_for(
        &self,
        what: &str,
        limit: Duration,
        condition: impl Fn(&Self) -> Outcome<bool>,
    ) -> Outcome {
        self.wait_until(what, limit, |cluster| Ok(condition(cluster)?.then_some(())))
    }

    /// Waits until `look` sees something and returns that.
    pub fn wait_until<T>(
        &self,
        what: &str,
        limit: Duration,
        look: impl Fn(&Self) -> Outcome<Option<T>>,
    ) -> Outcome<T> {
        let begin = Instant::now();
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(format!("interrupted while waiting for {what}").into());
            }
            let seen = look(self);
            match seen {
                Ok(Some(found)) => return Ok(found),
                // Nobody answers while slurmctld is down or restarts; that is no failure yet.
                Ok(None) | Err(_) if begin.elapsed() < limit => thread::sleep(POLL),
                Ok(None) => {
                    return Err(self.with_logs(format!("waited {} s in vain for {what}", limit.as_secs())));
                }
                Err(failure) => {
                    return Err(self.with_logs(failure.during(&format!("waiting for {what}")).to_string()));
                }
            }
        }
    }

    /// The sentence with the end of slurmctld's log below.
    pub fn with_logs(&self, sentence: String) -> Failure {
        let lines = self.log();
        let tail = lines
            .iter()
            .skip(lines.len().saturating_sub(25))
            .map(|line| format!("\n  {line}"));
        let ours = lines
            .iter()
            .filter(|line| line.text.starts_with("surgent:"))
            .map(|line| format!("\n  {line}"));
        let said = fs::read_to_string(self.folder.join("slurmctld.output")).unwrap_or_default();
        // Most of it is the log once more; what a crash or the dynamic loader says is only here.
        let said: String = said
            .lines()
            .filter(|line| !line.starts_with("slurmctld: "))
            .map(|line| format!("\n  {line}"))
            .collect();
        let queue = self
            .ask("squeue", &["-o", "%i %j %T %r %N %S"])
            .unwrap_or_else(|failure| failure.to_string());
        format!(
            "{sentence}\nSurgent's lines in slurmctld.log:{}\nThe end of slurmctld.log:{}\nslurmctld's other output:{said}\nsqueue:\n{queue}",
            ours.collect::<String>(),
            tail.collect::<String>(),
        )
        .into()
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

/// Runs a command to its end; its standard output, or a failure with all it said.
pub fn finish(command: &mut Command, what: &str) -> Outcome<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{what}: {error}"))?;
    let said = String::from_utf8_lossy(&stderr);
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        false => Err(format!("{what} failed ({status}): {said}").into()),
    }
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! Slurm's own commands, run against one cluster.

use super::{Cluster, Outcome, accounting};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const COMMAND_LIMIT_S: &str = "90";

impl Cluster {
    /// One of Slurm's commands, ended if it takes very long, ready for arguments.
    pub fn command(&self, name: &str) -> Command {
        let mut command = self.prepared(Path::new("timeout"));
        command.args(["--kill-after=5", COMMAND_LIMIT_S, name]);
        command
    }

    /// The same as an ordinary user, for whom nothing has to be set up.
    pub fn command_as_nobody(&self, name: &str) -> Command {
        self.command_as("nobody", "nogroup", name)
    }

    /// The same as any user of this machine, in one group.
    pub fn command_as(&self, user: &str, group: &str, name: &str) -> Command {
        let mut command = self.command("setpriv");
        command
            .args([&format!("--reuid={user}"), &format!("--regid={group}")])
            .args(["--clear-groups", "--", name]);
        command
    }

    pub(super) fn prepared(&self, program: &Path) -> Command {
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
            .env("LC_ALL", "C.UTF-8")
            // Where slurmdbd finds its database.
            .env("MYSQL_UNIX_PORT", accounting::socket(&self.folder));
        // What a killed job leaves behind goes with the cluster.
        command.env("TMPDIR", self.work()).current_dir(self.work());
        command
    }

    /// Runs one of Slurm's commands; its output, or what it said when it failed.
    pub fn ask(&self, name: &str, arguments: &[&str]) -> Outcome<String> {
        finish(
            self.command(name).args(arguments),
            &format!("{name} {}", arguments.join(" ")),
        )
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

/// Writes a program that Slurm or Surgent is to run.
pub fn write_program(path: &Path, text: &str) -> Outcome {
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o755)))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

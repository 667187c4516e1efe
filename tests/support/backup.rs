// SPDX-License-Identifier: GPL-2.0-or-later
//! A backup controller. Slurm tells controllers by the name of their machine, so it gets a name of its own.

use super::{Builder, Cluster, LIMIT, Outcome, places};
use std::fs;
use std::path::PathBuf;

/// The name of the machine that the backup takes itself to be on.
const NAME: &str = "surgent-backup";

impl Builder {
    /// With a backup controller in slurm.conf, to be started by [`Cluster::start_backup`].
    pub fn backup(self) -> Self {
        self.conf(&format!("SlurmctldHost={NAME}(127.0.0.2)"))
            // Both have one port.
            .conf("CommunicationParameters=NoCtldInAddrAny")
    }
}

impl Cluster {
    /// Starts the backup controller, with a log of its own, and waits until it stands by.
    pub fn start_backup(&mut self) -> Outcome {
        let at = self.backup_folder();
        let failed = |error: std::io::Error| format!("{}: {error}", at.display());
        fs::create_dir(&at).map_err(failed)?;
        for name in ["gres.conf", "cgroup.conf", "surgent.toml"] {
            fs::copy(self.folder().join(name), at.join(name)).map_err(failed)?;
        }
        let common = fs::read_to_string(self.folder().join("slurm.conf")).map_err(failed)?;
        let own = format!(
            "{common}SlurmctldLogFile={at}/slurmctld.log\nSlurmctldPidFile={at}/slurmctld.pid\n",
            at = at.display()
        );
        fs::write(at.join("slurm.conf"), own).map_err(failed)?;
        // It looks up its own name, for nobody else to see.
        let hosts = at.join("hosts");
        fs::write(&hosts, format!("127.0.0.1 localhost\n127.0.0.2 {NAME}\n")).map_err(failed)?;
        let script = "set -e; printf %s \"$1\" >/proc/sys/kernel/hostname; mount --bind \"$4\" /etc/hosts; \
                      exec \"$2\" -D -f \"$3\"";
        let program = places::daemon("slurmctld")?;
        let conf = at.join("slurm.conf");
        let words = [
            "--uts",
            "--mount",
            "--propagation",
            propagation()?,
            "sh",
            "-c",
            script,
            "sh",
            NAME,
            &program.to_string_lossy(),
            &conf.to_string_lossy(),
            &hosts.to_string_lossy(),
        ];
        let backup = self.daemon("unshare", &words)?;
        self.daemons.push(backup);
        self.wait_for_controller("backup")
    }

    /// Has the backup take control, as an administrator does, and waits until it has and the other one has ended.
    pub fn take_over(&mut self) -> Outcome {
        self.ask("scontrol", &["takeover"])?;
        let primary = self.controller.take().ok_or("slurmctld does not run")?;
        self.end_of(primary)?;
        self.wait_for("the backup to answer", LIMIT, |cluster| {
            Ok(cluster.ask("squeue", &[]).is_ok())
        })
    }

    /// Starts the primary controller once more, and waits until the backup has given it control back.
    pub fn take_back(&mut self) -> Outcome {
        self.start_controller()?;
        self.wait_for_controller("primary")?;
        self.wait_for("the primary to be in control", LIMIT, |cluster| {
            Ok(cluster.ask("squeue", &[]).is_ok())
        })
    }

    /// What the backup has logged.
    pub fn backup_log(&self) -> String {
        fs::read_to_string(self.backup_folder().join("slurmctld.log")).unwrap_or_default()
    }

    fn backup_folder(&self) -> PathBuf {
        self.folder().join("backup")
    }

    fn wait_for_controller(&self, role: &str) -> Outcome {
        self.wait_for(&format!("the {role} controller to be up"), LIMIT, |cluster| {
            // It fails where one of them is down.
            let ping = cluster.command("scontrol").arg("ping").output();
            let said = ping.map_err(|error| format!("scontrol ping: {error}"))?.stdout;
            let said = String::from_utf8_lossy(&said).into_owned();
            let mut lines = said.lines();
            Ok(lines.any(|line| line.contains(&format!("({role}")) && line.contains("is UP")))
        })
    }
}

/// Its mounts are for nobody else to see. In a chroot they cannot be made private, and in those of the tests they are.
fn propagation() -> Outcome<&'static str> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|error| format!("mountinfo: {error}"))?;
    Ok(match mounts.contains(" shared:") {
        true => "private",
        false => "unchanged",
    })
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! The process that is slurmctld, as the model holds it.

use crate::wire::{self, Answer, Ask};
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// See above. Dropped, it is killed.
pub struct Daemon {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Daemon {
    pub fn start(folder: &Path, environment: &[(String, String)]) -> Self {
        let mut child = Command::new(folder.join("sbin/slurmctld"))
            .envs(environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("slurmctld starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, output }
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// `None` where it has ended.
    pub fn ask(&mut self, ask: &Ask) -> Option<Answer> {
        wire::write(&mut self.input, ask).ok()?;
        wire::read(&mut self.output).ok()
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        // Whatever comes of it, it is waited for below.
        let _ = self.child.kill();
    }

    /// SIGTERM: fini, then the end. Whether it ended well.
    pub fn end(mut self) -> bool {
        self.ask(&Ask::End).is_some() && self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

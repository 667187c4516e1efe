// SPDX-License-Identifier: GPL-2.0-or-later
//! Waiting for what is to be seen, and what is shown where it is not.

use super::cluster::UNDER;
use super::{Cluster, Failure, Outcome};
use std::fs;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// A generous limit for whatever should take a moment. Reached only when something is broken.
pub const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

impl Cluster {
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
        let limit = limit * if std::env::var_os(UNDER).is_some() { 10 } else { 1 };
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

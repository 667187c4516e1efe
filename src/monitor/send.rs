// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent report`: the way of a report to whoever listens.

use super::direct::{own_job, publish_report};
use super::environment::{JobEnvironment, REPORT};
use super::report::Report;
use super::say::say;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Sends a report that was checked: to `surgent run` around this process, else straight into the job's comment.
///
/// Never fails, because a training script must not end for want of a listener: says so instead.
pub fn send(report: Report, environment: &JobEnvironment) {
    if environment.rank > 0 {
        // Every rank runs the same script; the first one speaks for all.
        return;
    }
    if let Some(path) = std::env::var_os(REPORT) {
        match append(Path::new(&path), report.clone()) {
            Ok(()) => return,
            // Left over from the job that submitted this one, or on another node.
            Err(error) if error.kind() == io::ErrorKind::NotFound && environment.job.is_some() => {}
            Err(error) => {
                return say(&format!(
                    "{REPORT} cannot be written ({error}); nothing was reported"
                ));
            }
        }
    }
    let Some(job) = own_job(environment) else {
        return say("neither in a Slurm job nor within surgent run; nothing was reported");
    };
    if let Err(error) = publish_report(&job, &report) {
        say(&format!(
            "the job's comment could not be updated ({error}); nothing was reported"
        ));
    }
}

/// Appends the report in one piece, so that lines of several processes do not mix.
fn append(path: &Path, mut report: Report) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    report.at = Some((now.as_secs_f64() * 1000.0).round() / 1000.0);
    // Not created: a file that is not there has no reader.
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(report.to_line().as_bytes())
}

// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent drill`

use super::job_name::JobName;
use super::output;
use crate::monitor;
use crate::monitor::drill::{Answer, End, News, drill};
use crate::slurm::command::Environment;
use crate::slurm::job::Job;
use serde::Serialize;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

/// Between two lines that say that it is still waited.
const STILL_INTERVAL_S: u64 = 10;

/// Ask a running job to save now, and say what came of it
///
/// Nobody is preempted: the training goes on, or is started again from its save where it ends with one. So you know that
/// a job can be saved before it matters. Its user and administrators may do this.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Args {
    /// The job; 17_4 for a task of an array
    #[arg(value_name = "JOBID")]
    job: JobName,

    /// How long to wait for the save
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit code:
  0 if the job saved;
  1 if it did not within the time, or ended, or went back into the queue before it had;
  2 for a wrong command line;
  3 if it could not be asked: no such job, not running, not yours, or nothing says how it saves

Example:
  surgent drill 4711 --timeout 120";

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    job: &'a str,
    /// `saved`, `timed_out`, `ended`, `requeued` or `not_asked`.
    result: &'a str,
    /// Unix seconds.
    saved: Option<i64>,
    save_s: Option<f64>,
    waited_s: f64,
    /// The urgent job for which the job was asked at the end, if it was.
    urgent: Option<u32>,
    sentence: String,
}

pub(super) fn main(args: &Args) -> ExitCode {
    let name = &args.job.to_string();
    let limit = Duration::from_secs(args.timeout.into());
    let mut progress = Progress::new(name, args.timeout);
    let answer = Job::find(name, Environment::of_user(std::env::vars_os()))
        .map_err(Into::into)
        .and_then(|job| drill(&job, limit, &mut |news| progress.tell(&news)));
    progress.clear();
    let (printed, code) = match answer {
        Ok(answer) => described(name, &answer, args.timeout),
        Err(error) => {
            let printed = Printed {
                job: name,
                result: "not_asked",
                saved: None,
                save_s: None,
                waited_s: 0.0,
                urgent: None,
                sentence: error.to_string(),
            };
            (printed, 3)
        }
    };
    let answer = if args.json {
        serde_json::to_string(&printed).unwrap_or_default()
    } else if code == 0 {
        printed.sentence
    } else {
        monitor::say(&printed.sentence);
        return ExitCode::from(code);
    };
    match output::end(Ok(answer + "\n")) {
        ExitCode::SUCCESS => ExitCode::from(code),
        failed => failed,
    }
}

fn described<'a>(name: &'a str, answer: &Answer, timeout_s: u32) -> (Printed<'a>, u8) {
    let waited_s = (answer.waited.as_secs_f64() * 10.0).round() / 10.0;
    let hint = "; its output says more";
    let (result, code, sentence) = match answer.end {
        End::Saved { save_s, .. } => {
            let took = save_s.map_or_else(String::new, |save_s| {
                format!(", and the save took {} s", save_s.0)
            });
            (
                "saved",
                0,
                format!("job {name} saved: the answer came after {waited_s} s{took}"),
            )
        }
        End::TimedOut => (
            "timed_out",
            1,
            format!("job {name} did not save within {timeout_s} s{hint}"),
        ),
        End::Ended => (
            "ended",
            1,
            format!("job {name} ended after {waited_s} s without a save{hint}"),
        ),
        End::Requeued => {
            let sentence =
                format!("job {name} went back into the queue after {waited_s} s, and no save was seen{hint}");
            ("requeued", 1, sentence)
        }
    };
    let by = answer.urgent.map_or_else(String::new, |by| {
        format!(" (it is being asked for the urgent job {by} now)")
    });
    let (saved, save_s) = match answer.end {
        End::Saved { saved, save_s } => (Some(saved.0), save_s.map(|save_s| save_s.0)),
        _ => (None, None),
    };
    let printed = Printed {
        job: name,
        result,
        saved,
        save_s,
        waited_s,
        urgent: answer.urgent.map(|by| by.0),
        sentence: sentence + &by,
    };
    (printed, code)
}

/// Lines on standard error; on a terminal the last of them is written over.
struct Progress<'a> {
    name: &'a str,
    timeout_s: u32,
    is_terminal: bool,
    is_open: bool,
    told_s: u64,
}

impl<'a> Progress<'a> {
    fn new(name: &'a str, timeout_s: u32) -> Self {
        Self {
            name,
            timeout_s,
            is_terminal: std::io::stderr().is_terminal(),
            is_open: false,
            told_s: 0,
        }
    }

    fn tell(&mut self, news: &News) {
        let (name, timeout_s) = (self.name, self.timeout_s);
        match news {
            News::WaitsFor(urgent) => {
                let sentence = format!(
                    "job {name} is being asked to save for the urgent job {urgent}; waiting for that"
                );
                self.line(&sentence);
            }
            News::Asked(signal) => {
                self.line(&format!(
                    "asked job {name} to save ({signal}); waiting up to {timeout_s} s"
                ));
            }
            News::Waiting(waited) if self.is_terminal => {
                let _ = write!(
                    std::io::stderr(),
                    "\rwaiting: {} s of {timeout_s} s",
                    waited.as_secs()
                );
                self.is_open = true;
            }
            News::Waiting(waited) => {
                if waited.as_secs() >= self.told_s + STILL_INTERVAL_S {
                    self.told_s = waited.as_secs();
                    self.line(&format!("waiting: {} s of {timeout_s} s", self.told_s));
                }
            }
        }
    }

    fn line(&mut self, sentence: &str) {
        self.clear();
        let _ = writeln!(std::io::stderr(), "{sentence}");
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

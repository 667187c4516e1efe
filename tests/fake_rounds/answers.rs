// SPDX-License-Identifier: GPL-2.0-or-later
//! What the model answers to Slurm's commands.

use crate::job::{Job, State};
use crate::programs::nodes_clock;
use crate::slurm::Slurm;
use crate::wire::Ask;
use surgent::host::abi::SURGENT_STATE_PENDING;
use surgent::policy::record::Record;

const ROOT: u32 = 0;

impl Slurm {
    /// Carries out a command.
    ///
    /// # Errors
    /// What the command says when it fails.
    pub fn answer(&mut self, words: &[String]) -> Result<String, String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if self.daemon.is_none() {
            return Err("Unable to contact slurm controller (connect failure)".to_owned());
        }
        match words[..] {
            ["nudge"] => self.schedule(),
            ["scontrol", "update", job, ref changes @ ..] => {
                let id = self.find(job.trim_start_matches("JobId="))?;
                self.update(id, changes, ROOT)?;
            }
            ["scontrol", "requeue", "Incomplete", jobs] => {
                for job in jobs.split(',') {
                    let id = self.find(job)?;
                    if self.jobs[&id].is_running() {
                        self.requeue_by_command(id);
                    }
                }
            }
            ["scontrol", "requeue", job] => {
                let id = self.find(job)?;
                if self.jobs[&id].state == State::Pending {
                    return Err("Job is pending execution".to_owned());
                }
                self.requeue_by_command(id);
            }
            ["scontrol", "hold", job] => {
                let id = self.find(job)?;
                self.update(id, &["Priority=0"], ROOT)?;
            }
            ["scontrol", "release", job] => {
                let id = self.find(job)?;
                self.update(id, &["Priority=1000"], ROOT)?;
            }
            ["scancel", ref options @ .., job] => {
                let id = self.find(job)?;
                match options.iter().find_map(|word| word.strip_prefix("--signal=")) {
                    Some(signal) => self.signal(id, signal)?,
                    None => self.finish(id, "CANCELLED"),
                }
            }
            ["squeue", .., "--jobs", job, "--Format", _] => {
                let id = self.find(job)?;
                let (state, exit) = self.jobs[&id].shown();
                return Ok(format!("{id} {id} N/A {state} {exit}\n"));
            }
            _ => return Err(format!("{words:?}: this Slurm does not know that")),
        }
        Ok(String::new())
    }

    /// A job by number, by array and task, or by leader and component.
    fn find(&self, name: &str) -> Result<u32, String> {
        let is_it = |(id, job): &(&u32, &Job)| {
            let task = job.array.map(|(array, task)| format!("{array}_{task}"));
            let part = job.het.map(|(leader, offset, _)| format!("{leader}+{offset}"));
            id.to_string() == name || [task, part].contains(&Some(name.to_owned()))
        };
        let found = self.jobs.iter().find(is_it).map(|(id, _)| *id);
        found.ok_or_else(|| format!("Invalid job id specified: {name}"))
    }

    fn update(&mut self, id: u32, changes: &[&str], by_user: u32) -> Result<(), String> {
        let changes: Vec<(&str, &str)> = changes
            .iter()
            .filter_map(|change| change.split_once('='))
            .collect();
        let new = |key: &str| {
            let found = changes.iter().find(|(changed, _)| *changed == key);
            found.map(|(_, value)| (*value).to_owned())
        };
        let job = &self.jobs[&id];
        let ask = Ask::Modify {
            job: id,
            state: job.state_code(),
            by_user,
            comment: new("Comment"),
            admin_comment: new("AdminComment"),
            was: job.admin_comment.clone(),
        };
        let answer = self.ask(&ask).ok_or("Unable to contact slurm controller")?;
        if let Some(sentence) = answer.refused {
            return Err(sentence);
        }
        let now = self.now();
        let job = self.jobs.get_mut(&id).expect("it was found");
        for (key, value) in &changes {
            let is_pending = job.state_code() == SURGENT_STATE_PENDING;
            match *key {
                "Comment" => job.comment = (*value).to_owned(),
                "AdminComment" => job.admin_comment = (*value).to_owned(),
                _ if !is_pending => return Err("Job is no longer pending execution".to_owned()),
                "StartTime" => job.begin = now,
                "Partition" => job.partition = (*value).to_owned(),
                "Priority" => job.priority = value.parse().map_err(|_| "Invalid priority")?,
                "NumNodes" => job.want = value.parse().map_err(|_| "Invalid node count")?,
                _ => return Err(format!("Update of this parameter is not supported: {key}")),
            }
        }
        job.comment = answer.comment.unwrap_or(job.comment.clone());
        job.admin_comment = answer.admin_comment.unwrap_or(job.admin_comment.clone());
        Ok(())
    }

    fn requeue_by_command(&mut self, id: u32) {
        self.requeue(id);
        self.log(&format!("_job_requeue: Requeuing JobId={id}"));
    }

    /// A monitor that is called looks at its record first: nobody may ask any more.
    fn signal(&mut self, id: u32, signal: &str) -> Result<(), String> {
        let job = &self.jobs[&id];
        if !job.is_running() {
            return Err("Job/step already completing or completed".to_owned());
        }
        let record = Record::read(job.admin_comment.as_bytes());
        if signal == "USR1" || record.is_some_and(|record| record.ask.is_some()) {
            self.programs.ask((id, job.restarts));
        }
        Ok(())
    }

    /// A program tells that it has saved; whether that was taken.
    pub fn report(&mut self, id: u32, saved: i64) -> bool {
        let Some(job) = self.jobs.get(&id) else {
            return false;
        };
        let comment = format!("Comment=signal={} save=step saved={saved}", job.signal);
        let user = job.user;
        self.update(id, &[&comment], user).is_ok()
    }

    /// Submits a job as its user; its number.
    pub fn submit(&mut self, job: Job, flags: u32) -> Result<u32, String> {
        let ask = Ask::Submit {
            comment: job.comment.clone(),
            flags,
            user: job.user,
        };
        let answer = self.ask(&ask).ok_or("Unable to contact slurm controller")?;
        if let Some(sentence) = answer.refused {
            return Err(sentence);
        }
        let id = self.jobs.keys().last().map_or(1, |last| last + 1);
        let job = Job {
            comment: answer.comment.unwrap_or(job.comment),
            admin_comment: answer.admin_comment.unwrap_or_default(),
            priority: answer.priority.unwrap_or(1000),
            submit: nodes_clock() + self.clock_by_s,
            ..job
        };
        self.jobs.insert(id, job);
        Ok(id)
    }
}

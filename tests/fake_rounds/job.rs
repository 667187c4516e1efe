// SPDX-License-Identifier: GPL-2.0-or-later
//! A job as Slurm knows it.

use crate::wire::JobLook;
use std::time::{Duration, Instant};
use surgent::host::abi::*;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Pending,
    Running,
    Over(&'static str),
}

#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub user: u32,
    pub want: usize,
    pub partition: String,
    pub comment: String,
    pub admin_comment: String,
    pub state: State,
    /// What it holds, also while these are being cleared.
    pub nodes: Vec<usize>,
    pub completing_until: Option<Instant>,
    pub submit: i64,
    pub begin: i64,
    pub start: i64,
    pub end: i64,
    pub restarts: u32,
    /// 0: held.
    pub priority: u32,
    /// The scheduler has looked at it.
    pub tested: bool,
    pub array: Option<(u32, u32)>,
    pub het: Option<(u32, u32, u32)>,
    /// What its save takes; an urgent job does not save.
    pub save: Option<Duration>,
    /// How it wants to be asked.
    pub signal: &'static str,
}

impl Job {
    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// `SURGENT_STATE_*`
    pub fn state_code(&self) -> u32 {
        match self.state {
            State::Pending => SURGENT_STATE_PENDING,
            State::Running => SURGENT_STATE_RUNNING,
            State::Over(_) => SURGENT_STATE_ENDED,
        }
    }

    pub fn may_start(&self, now: i64) -> bool {
        self.state == State::Pending
            && self.completing_until.is_none()
            && self.priority > 0
            && self.begin <= now
    }

    /// What the shim gives the core to see of it.
    pub fn look(&self, id: u32, now: i64) -> JobLook {
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        JobLook {
            id,
            array: self.array,
            het: self.het,
            user: self.user,
            state: self.state_code(),
            flags: flag(self.completing_until.is_some(), SURGENT_JOB_COMPLETING)
                | flag(self.het.is_some(), SURGENT_JOB_HET)
                | flag(!self.tested, SURGENT_JOB_UNTESTED),
            hindrance: match self.state {
                State::Pending if self.priority == 0 => SURGENT_HINDRANCE_HELD,
                State::Pending if self.begin > now => SURGENT_HINDRANCE_DATE,
                _ => SURGENT_HINDRANCE_NONE,
            },
            priority: self.priority,
            restarts: self.restarts,
            submit: self.submit,
            begin: self.begin,
            start: self.start,
            end: self.end,
            partition: self.partition.clone(),
            comment: self.comment.clone(),
            admin_comment: self.admin_comment.clone(),
            nodes: match self.state {
                State::Running => self.nodes.iter().map(|node| *node as u32).collect(),
                _ => Vec::new(),
            },
            want: self.want as u32,
        }
    }

    /// State and exit code, as commands show them. Of a script that Slurm killed and then forgot that it did, it is a failure.
    pub fn shown(&self) -> (&'static str, &'static str) {
        match self.state {
            State::Pending => ("PENDING", "0:0"),
            State::Running => ("RUNNING", "0:0"),
            State::Over("KILLED") => ("FAILED", "0:15"),
            State::Over("FAILED") => ("FAILED", "1:0"),
            State::Over(how) => (how, "0:0"),
        }
    }
}

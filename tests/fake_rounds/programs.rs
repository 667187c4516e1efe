// SPDX-License-Identifier: GPL-2.0-or-later
//! What runs on the nodes, whether or not slurmctld does: training programs that save when asked, and urgent ones. Each
//! keeps an account of its own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// How often a report that slurmctld has not taken is sent again.
const REPORT_EVERY: Duration = Duration::from_millis(300);
/// An urgent job runs for so long.
const URGENT_TAKES: Duration = Duration::from_millis(1500);

/// One run of a job: the job, and how often it had been requeued before.
pub type Run = (u32, u32);

struct Program {
    /// What its save takes; an urgent one does not save.
    save: Option<Duration>,
    saving_until: Option<Instant>,
    /// When its last save was done, by the nodes' clock; still to be told.
    report: Option<i64>,
    report_at: Instant,
    ends_at: Option<Instant>,
}

/// See above.
#[derive(Default)]
pub struct Programs {
    live: BTreeMap<Run, Program>,
    /// How those have ended that did: the state of their job.
    ends: BTreeMap<Run, &'static str>,
    /// Run and event: `up`, `asked`, `saved`.
    events: BTreeMap<u32, Vec<(u32, &'static str)>>,
}

impl Programs {
    pub fn start(&mut self, run: Run, save: Option<Duration>) {
        self.ends.remove(&run);
        self.note(run, "up");
        let now = Instant::now();
        let program = Program {
            save,
            saving_until: None,
            report: None,
            report_at: now,
            ends_at: save.is_none().then(|| now + URGENT_TAKES),
        };
        self.live.insert(run, program);
    }

    /// Ends it, if it runs.
    pub fn end(&mut self, run: Run, how: &'static str) {
        if self.live.remove(&run).is_some() {
            self.ends.insert(run, how);
        }
    }

    /// A request to save.
    pub fn ask(&mut self, run: Run) {
        let Some(program) = self.live.get_mut(&run) else {
            return;
        };
        if let (Some(save), None) = (program.save, program.saving_until) {
            program.saving_until = Some(Instant::now() + save);
            self.note(run, "asked");
        }
    }

    /// Time passes; runs that have a save to report now, with its time.
    pub fn go_on(&mut self) -> Vec<(Run, i64)> {
        let now = Instant::now();
        let is_due = |at: &Option<Instant>| at.is_some_and(|at| at <= now);
        let over: Vec<Run> = self.runs(|program| is_due(&program.ends_at));
        for run in over {
            self.end(run, "COMPLETED");
        }
        for run in self.runs(|program| is_due(&program.saving_until)) {
            self.note(run, "saved");
            let program = self.live.get_mut(&run).expect("it is live");
            program.saving_until = None;
            program.report = Some(nodes_clock());
        }
        let mut reports = Vec::new();
        for (run, program) in &mut self.live {
            if let Some(saved) = program.report.filter(|_| program.report_at <= now) {
                program.report_at = now + REPORT_EVERY;
                reports.push((*run, saved));
            }
        }
        reports
    }

    /// Its report was taken.
    pub fn has_reported(&mut self, run: Run) {
        if let Some(program) = self.live.get_mut(&run) {
            program.report = None;
        }
    }

    /// How this run has ended; `None` while it goes on.
    pub fn ending(&self, run: Run) -> Option<&'static str> {
        let is_live = self.live.contains_key(&run);
        (!is_live).then(|| self.ends.get(&run).copied().unwrap_or("KILLED"))
    }

    pub fn all_live(&self) -> Vec<Run> {
        self.runs(|_| true)
    }

    pub fn events(&self, job: u32) -> &[(u32, &'static str)] {
        self.events.get(&job).map_or(&[], Vec::as_slice)
    }

    fn runs(&self, which: impl Fn(&Program) -> bool) -> Vec<Run> {
        let found = self.live.iter().filter(|(_, program)| which(program));
        found.map(|(run, _)| *run).collect()
    }

    fn note(&mut self, (job, run): Run, what: &'static str) {
        self.events.entry(job).or_default().push((run, what));
    }
}

/// Seconds by a clock that no fault steps.
pub fn nodes_clock() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() as i64)
}
